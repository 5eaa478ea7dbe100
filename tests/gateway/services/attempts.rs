//! A request that failed or was abandoned after a service tool had run: the same request again
//! takes it up where it stood (contract K7).

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::{
    Handback, KEY, call, calling, closes, kb, keys, messages, result, says, sealed_with, setup,
    weather,
};
use crate::harness::caller::{Caller, Reply, chat_bytes, connect_and_send};
use crate::harness::case::{request, user};
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::script::{self, Answer, Gate, Step, event};
use crate::harness::service::{Service, held};
use crate::harness::upstream::Upstream;

/// What the model says before it calls a tool that writes.
fn saving() -> Value {
    calling(Some("One moment. "), &[call("call_1", "save", "{}")])
}

/// What the model is asked once that tool has run.
fn saved() -> Vec<Value> {
    vec![
        user("Is it raining in Lisbon?"),
        saving(),
        result("call_1", r#"{"tool":"save"}"#),
    ]
}

/// The ways in which a model request fails.
fn failures() -> Vec<Answer> {
    let begun = event(&script::says("It is "));
    vec![
        Answer::body(500, "text/plain", "no"),
        Answer::stream(vec![begun.clone(), Step::Cut]),
        Answer::stream(vec![begun, Step::Reset]),
        Answer::body(400, "application/json", r#"{"error":{"message":"no"}}"#),
    ]
}

/// A gateway whose agent has the service, and both.
async fn scene(tables: &str) -> (Upstream, Service, Setup) {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let setup = setup(&upstream, &service).tables(tables);
    (upstream, service, setup)
}

fn says_it_is_dry(reply: &Reply) {
    let folded = reply.folded();
    assert_eq!(folded["message"]["content"], "One moment. It is dry.");
    assert_eq!(folded["finish_reason"], "stop");
}

/// A caller goes away during the call, and sends its request again before the call ends.
async fn leaves_and_comes_again(gateway: &Gateway, save: &Upstream, gate: &Gate) {
    let body = request(false);
    let socket = connect_and_send(gateway, &chat_bytes(&body)).await;
    save.asked(1).await;
    drop(socket);
    let caller = Caller::of(gateway);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        gateway.said("an earlier attempt is taken up").await;
        gate.open();
    });
    says_it_is_dry(&reply);
}

#[tokio::test]
async fn a_failed_request_goes_on_where_it_stood() {
    for streamed in [false, true] {
        let (upstream, service, setup) = scene("").await;
        let gateway = setup.start().await;
        for (nth, failure) in failures().into_iter().enumerate() {
            upstream.play([
                says(&saving()),
                failure.clone(),
                failure,
                closes("It is dry."),
            ]);
            let caller = Caller::of(&gateway);
            let mut body = request(streamed);
            body["seed"] = json!(nth);
            for _ in 0..2 {
                let reply = caller.ask(&body).await;
                let folded = reply.folded();
                assert!(folded["error"].is_object(), "{folded}");
                if !streamed {
                    assert_eq!(reply.header("x-should-retry"), "false");
                }
            }
            says_it_is_dry(&caller.ask(&body).await);
            assert_eq!(service.calls("save"), nth + 1);
            let asked = upstream.requests();
            assert_eq!(asked.len(), 4);
            for asked in &asked[1..] {
                assert_eq!(messages(asked), saved());
                assert_eq!(asked.text(), upstream.requests()[1].text());
            }
        }
    }
}

#[tokio::test]
async fn usage_counts_what_the_failed_attempt_used() {
    let (upstream, _service, setup) = scene("").await;
    let gateway = setup.start().await;
    let no = Answer::body(500, "text/plain", "no");
    upstream.play([says(&saving()), no, closes("It is dry.")]);
    let caller = Caller::of(&gateway);
    caller.ask(&request(false)).await;
    let reply = caller.ask(&request(false)).await;
    assert_eq!(reply.json()["usage"]["total_tokens"], 30);
}

#[tokio::test]
async fn every_round_that_ran_is_behind_it() {
    for streamed in [false, true] {
        let (handback, gateway) = Handback::reach(&sealed_with(&[KEY]), streamed).await;
        let more = calling(Some("More. "), &[call("call_d", "file", "{}")]);
        let no = Answer::body(500, "text/plain", "no");
        handback
            .upstream
            .play([no.clone(), says(&more), no, closes("done")]);
        let caller = Caller::of(&gateway);
        let body = handback.follow_up();
        // Before the first byte, an error of a stream is a plain error as well.
        let first = caller.ask(&body).await;
        assert_eq!(first.status, 502, "{}", first.text());
        assert_eq!(first.header("x-should-retry"), "false");
        let second = caller.ask(&body).await.folded();
        assert_eq!(second["error"]["code"], "upstream_error", "{second}");
        let third = caller.ask(&body).await.folded();
        assert_eq!(third["message"]["content"], "More. done", "{third}");
        assert_eq!(handback.service.calls("save"), 1);
        assert_eq!(handback.service.calls("file"), 1);
        let asked = handback.upstream.requests();
        assert_eq!(asked.len(), 4);
        let mut history = Handback::history();
        assert_eq!(messages(&asked[1]), history);
        history.extend([more, result("call_d", r#"{"tool":"file"}"#)]);
        assert_eq!(messages(&asked[3]), history);
    }
}

#[tokio::test]
async fn a_caller_who_leaves_during_a_call_joins_it_again() {
    let (upstream, service, setup) = scene("").await;
    let gateway = setup.start().await;
    let gate = Gate::closed();
    let save = service.tool("save");
    save.play([held(&gate, &json!({"tool": "save"}))]);
    upstream.play([says(&saving()), closes("It is dry.")]);
    leaves_and_comes_again(&gateway, save, &gate).await;
    assert_eq!(service.calls("save"), 1);
    let asked = upstream.requests();
    assert_eq!(asked.len(), 2);
    assert_eq!(messages(&asked[1]), saved());
    // The log has what ran, not what was answered from memory.
    gateway.said("\"outcome\":\"answered\"").await;
    assert_eq!(gateway.log().matches("\"service call\"").count(), 1);
}

#[tokio::test]
async fn a_caller_who_leaves_while_the_model_is_asked_gets_what_ran() {
    for streamed in [false, true] {
        let (upstream, service, setup) = scene("").await;
        let gateway = setup.start().await;
        upstream.play([says(&saving()), Answer::silence(), closes("It is dry.")]);
        let body = request(streamed);
        let socket = connect_and_send(&gateway, &chat_bytes(&body)).await;
        upstream.asked(2).await;
        drop(socket);
        upstream.hung_up().await;
        says_it_is_dry(&Caller::of(&gateway).ask(&body).await);
        assert_eq!(service.calls("save"), 1);
        let asked = upstream.requests();
        assert_eq!(asked.len(), 3);
        assert_eq!(messages(&asked[2]), saved());
    }
}

#[tokio::test]
async fn calls_that_did_not_begin_run_in_the_next_attempt() {
    let (upstream, service, setup) = scene("").await;
    let gateway = setup.start().await;
    let gate = Gate::closed();
    let save = service.tool("save");
    save.play([held(&gate, &json!({"tool": "save"}))]);
    let both = calling(
        Some("One moment. "),
        &[call("call_1", "save", "{}"), call("call_2", "file", "{}")],
    );
    upstream.play([says(&both), closes("It is dry.")]);
    leaves_and_comes_again(&gateway, save, &gate).await;
    assert_eq!((service.calls("save"), service.calls("file")), (1, 1));
    let results = [
        result("call_1", r#"{"tool":"save"}"#),
        result("call_2", r#"{"tool":"file"}"#),
    ];
    assert_eq!(messages(&upstream.requests()[1])[2..], results);
}

#[tokio::test]
async fn time_that_was_up_begins_anew_and_the_call_is_joined() {
    let (upstream, service, setup) = scene("[limits]\nturn_time = \"4s\"\n").await;
    let gateway = setup.start().await;
    let gate = Gate::closed();
    let save = service.tool("save");
    save.play([held(&gate, &json!({"tool": "save"}))]);
    upstream.play([says(&saving()), closes("It is dry.")]);
    let caller = Caller::of(&gateway);
    let reply = caller.ask(&request(false)).await;
    assert_eq!(reply.json()["error"]["code"], "turn_timeout");
    gate.open();
    says_it_is_dry(&caller.ask(&request(false)).await);
    assert_eq!(service.calls("save"), 1);
}

#[tokio::test]
async fn a_success_ends_it_and_the_same_request_is_a_new_one() {
    let (upstream, service, setup) = scene("").await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    for _ in 0..2 {
        let no = Answer::body(500, "text/plain", "no");
        upstream.play([says(&saving()), no, closes("It is dry.")]);
        assert_eq!(caller.ask(&request(false)).await.status, 502);
        says_it_is_dry(&caller.ask(&request(false)).await);
        assert_eq!(upstream.requests().len(), 3);
    }
    let keys = keys(&service, "save");
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test]
async fn without_a_window_nothing_is_remembered() {
    let (upstream, service, setup) = scene("[continuation]\nretry_window = \"0s\"\n").await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let no = Answer::body(500, "text/plain", "no");
    upstream.play([says(&saving()), no, says(&saving()), closes("It is dry.")]);
    assert_eq!(caller.ask(&request(false)).await.status, 502);
    says_it_is_dry(&caller.ask(&request(false)).await);
    assert_eq!(service.calls("save"), 2);
}

#[tokio::test]
async fn another_key_shares_nothing() {
    let both = "[[keys]]\nname = \"one\"\nkey = \"sk-one\"\n[[keys]]\nname = \"other\"\nkey = \"sk-other\"\n";
    let (upstream, service, setup) = scene(both).await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let ask = async |key: &str| {
        let request = caller.request("POST", "/v1/chat/completions");
        caller
            .send(request.bearer_auth(key).json(&self::request(false)))
            .await
    };
    let no = Answer::body(500, "text/plain", "no");
    upstream.play([
        says(&saving()),
        no,
        says(&saving()),
        closes("It is dry."),
        closes("It is dry."),
    ]);
    assert_eq!(ask("sk-one").await.status, 502);
    says_it_is_dry(&ask("sk-other").await);
    assert_eq!(service.calls("save"), 2);
    says_it_is_dry(&ask("sk-one").await);
    assert_eq!(service.calls("save"), 2);
}

#[tokio::test]
async fn another_body_shares_nothing() {
    let (upstream, service, setup) = scene("").await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let no = Answer::body(500, "text/plain", "no");
    upstream.play([says(&saving()), no, says(&saving()), closes("It is dry.")]);
    let mut body = request(false);
    assert_eq!(caller.ask(&body).await.status, 502);
    body["seed"] = json!(1);
    says_it_is_dry(&caller.ask(&body).await);
    assert_eq!(service.calls("save"), 2);
}

#[tokio::test]
async fn a_failed_attempt_that_ends_in_a_handback_goes_on_from_there() {
    let (upstream, service, setup) = scene(&sealed_with(&[KEY])).await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let no = Answer::body(500, "text/plain", "no");
    let mixed = calling(None, &[weather("call_2"), call("call_3", "file", "{}")]);
    upstream.play([says(&saving()), no, says(&mixed), closes("It is dry.")]);
    let body = request(false);
    assert_eq!(caller.ask(&body).await.status, 502);
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "One moment. ");
    let body = super::follow_up(&body, &folded["message"], &["dry"]);
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "It is dry.", "{folded}");
    assert_eq!((service.calls("save"), service.calls("file")), (1, 1));
    let mut history = saved();
    history.extend([
        mixed,
        result("call_2", "dry"),
        result("call_3", r#"{"tool":"file"}"#),
    ]);
    assert_eq!(messages(&upstream.requests()[3]), history);
}

/// The model calls the tool, then says this.
fn plays(upstream: &Upstream, text: &str) {
    upstream.play([says(&saving()), closes(text)]);
}

#[tokio::test]
async fn an_answer_that_the_caller_did_not_get_is_there_when_it_comes_again() {
    let (upstream, service, setup) = scene("").await;
    let gateway = setup.start().await;
    // More than connections hold: the caller cannot have it all.
    let text = "dry ".repeat(4_000_000);
    for streamed in [false, true] {
        service
            .tool("save")
            .play([Answer::json(200, &json!({"tool": "save"}))]);
        plays(&upstream, &text);
        let body = request(streamed);
        let mut socket = connect_and_send(&gateway, &chat_bytes(&body)).await;
        let mut some = vec![0; 4_000];
        socket
            .read_exact(&mut some)
            .await
            .expect("the answer begins");
        assert!(some.starts_with(b"HTTP/1.1 200"));
        drop(socket);
        upstream.play([closes(&text)]);
        let folded = Caller::of(&gateway).ask(&body).await.folded();
        let content = folded["message"]["content"].as_str().unwrap_or_default();
        assert!(content == format!("One moment. {text}"));
        assert_eq!(service.calls("save"), 1, "streamed: {streamed}");

        // It has it now, so it means another one.
        plays(&upstream, "It is dry.");
        says_it_is_dry(&Caller::of(&gateway).ask(&body).await);
        assert_eq!(service.calls("save"), 2, "streamed: {streamed}");
    }
}

#[tokio::test]
async fn a_retry_begins_with_the_agents_own_upstream() {
    let (upstream, service, setup) = scene("").await;
    let spare = Upstream::start().await;
    let gateway = setup.fallback(&spare.base_url(), "").start().await;
    let caller = Caller::of(&gateway);
    let busy = || Answer::json(503, &json!({"error": {"message": "busy"}}));
    upstream.play([busy()]);
    spare.play([says(&saving()), busy()]);
    let body = request(false);
    assert_eq!(caller.ask(&body).await.folded()["status"], 502);
    upstream.play([closes("It is dry.")]);
    says_it_is_dry(&caller.ask(&body).await);
    assert_eq!(messages(&upstream.only_request()), saved());
    assert_eq!(service.calls("save"), 1);
}
