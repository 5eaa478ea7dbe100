//! Services that go wrong in every way, in hidden and in parked calls: the model is told and
//! decides, and the turn goes on (contract V4).

use serde_json::{Value, json};

use super::{call, calling, closes, follow_up, kb, messages, says, setup, weather};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::Gateway;
use crate::harness::script::{Answer, Gate};
use crate::harness::service::{SERVICE_KEY, Service, binary, cut, held, huge, redirect};
use crate::harness::upstream::{Upstream, nobody};

/// What a service does, and what the model is told of it.
fn faults(stranger: &str) -> Vec<(Answer, &'static str)> {
    vec![
        (
            Answer::body(500, "text/plain", "out of order"),
            "HTTP 500: out of order",
        ),
        (
            Answer::json(404, &json!({"error": "no such article"})),
            "no such article",
        ),
        (Answer::silence(), "no answer within 300ms"),
        (held(&Gate::closed(), &json!({})), "no answer within 300ms"),
        (redirect(307, stranger), "a redirect to another host"),
        (redirect(302, "/again"), "a redirect too many"),
        (huge(200, 1_000_000), "[cut off"),
        (huge(500, 1_000_000), "HTTP 500: xxx"),
        (binary(50_000), "not text"),
        (
            Answer::body(200, "application/json", "{\"half\": [1, 2"),
            "{\"half\": [1, 2",
        ),
        (
            Answer::body(200, "application/json", b"\xff\xfe{".to_vec()),
            "\u{fffd}\u{fffd}{",
        ),
        (cut(200), "broke off"),
        (Answer::raw("SSH-2.0-OpenSSH\r\n"), "without an answer"),
    ]
}

/// A gateway whose service has 300 ms.
async fn hasty() -> (Upstream, Service, Gateway) {
    let upstream = Upstream::start().await;
    let service = kb().await.lines("save", "timeout = \"300ms\"");
    let gateway = setup(&upstream, &service).start().await;
    (upstream, service, gateway)
}

/// Sends a request that has to end well, and gives what the model was told last.
async fn told(upstream: &Upstream, service: &Service, caller: &Caller, body: &Value) -> String {
    let reply = caller.ask(body).await;
    let folded = reply.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    let asked = upstream.requests().pop().expect("the model was asked");
    let last = messages(&asked).pop().expect("a conversation");
    let told = last["content"].as_str().unwrap_or_default().to_owned();
    for private in [
        SERVICE_KEY,
        &service.tool("save").authority(),
        "/tools/save",
    ] {
        assert!(!told.contains(private), "{told:.300}");
        assert!(!reply.text().contains(private), "{}", reply.text());
    }
    assert!(!reply.text().contains("failed"), "{}", reply.text());
    told
}

#[tokio::test]
async fn a_hidden_call_that_fails_is_the_models_business() {
    let stranger = Upstream::start().await;
    let (upstream, service, gateway) = hasty().await;
    let caller = Caller::of(&gateway);
    for (at, (answer, words)) in faults(&stranger.base_url()).into_iter().enumerate() {
        service.tool("save").play([answer]);
        upstream.play([
            says(&calling(None, &[call("call_1", "save", "{}")])),
            closes("done"),
        ]);
        let body = request(at % 2 == 0);
        let told = told(&upstream, &service, &caller, &body).await;
        assert!(told.contains(words), "{words}: {told:.300}");
        assert!(told.len() <= 128 * 1024, "{}", told.len());
    }
    assert!(stranger.requests().is_empty());
}

#[tokio::test]
async fn a_parked_call_that_fails_is_the_models_business() {
    let stranger = Upstream::start().await;
    let (upstream, service, gateway) = hasty().await;
    let caller = Caller::of(&gateway);
    for (at, (answer, words)) in faults(&stranger.base_url()).into_iter().enumerate() {
        service.tool("save").play([answer]);
        let calls = [weather("call_ex"), call("call_in", "save", "{}")];
        upstream.play([says(&calling(None, &calls))]);
        let body = request(at % 2 == 0);
        let handed = caller.ask(&body).await.folded();
        upstream.play([closes("done")]);
        let body = follow_up(&body, &handed["message"], &["dry"]);
        let told = told(&upstream, &service, &caller, &body).await;
        assert!(told.contains(words), "{words}: {told:.300}");
    }
    assert!(stranger.requests().is_empty());
}

#[tokio::test]
async fn a_service_that_is_down_fails_its_call_and_no_other() {
    let upstream = Upstream::start().await;
    let url = format!("url = \"{}\"", nobody().await);
    let service = kb().await.lines("look", &url);
    let gateway = setup(&upstream, &service).start().await;
    let calls = [
        call("call_1", "look", "{}"),
        call("call_2", "find", "{}"),
        call("call_3", "save", "{}"),
    ];
    upstream.play([says(&calling(None, &calls)), closes("done")]);
    let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    let asked = messages(&upstream.requests()[1]);
    let told = asked[2]["content"].as_str().unwrap_or_default();
    assert!(told.contains("cannot be reached"), "{told}");
    assert_eq!(asked[3]["content"], r#"{"tool":"find"}"#);
    assert_eq!(asked[4]["content"], r#"{"tool":"save"}"#);
}

#[tokio::test]
async fn a_service_that_hangs_delays_nobody_else() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let gate = Gate::closed();
    service.tool("save").play([held(&gate, &json!({}))]);
    let calls = [weather("call_ex"), call("call_in", "save", "{}")];
    upstream.play([says(&calling(None, &calls))]);
    let body = request(false);
    let handed = caller.ask(&body).await.folded();
    let body = follow_up(&body, &handed["message"], &["dry"]);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        service.tool("save").asked(1).await;
        for _ in 0..8 {
            upstream.play([
                says(&calling(None, &[call("call_o", "look", "{}")])),
                closes("other"),
            ]);
            let folded = caller.ask(&request(false)).await.folded();
            assert_eq!(folded["message"]["content"], "other", "{folded}");
        }
        upstream.play([closes("done")]);
        gate.open();
    });
    assert_eq!(reply.folded()["message"]["content"], "done");
}

#[tokio::test]
async fn the_model_may_try_again() {
    let (upstream, service, gateway) = hasty().await;
    service.tool("save").play([
        Answer::body(503, "text/plain", "busy"),
        Answer::json(200, &json!({"saved": true})),
    ]);
    upstream.play([
        says(&calling(None, &[call("call_1", "save", r#"{"q":1}"#)])),
        says(&calling(None, &[call("call_2", "save", r#"{"q":1}"#)])),
        closes("done"),
    ]);
    let caller = Caller::of(&gateway);
    let told = told(&upstream, &service, &caller, &request(false)).await;
    assert_eq!(told, r#"{"saved":true}"#);
    let asked = upstream.requests().pop().expect("the model was asked");
    let first = &messages(&asked)[2]["content"];
    assert!(
        first
            .as_str()
            .is_some_and(|told| told.contains("HTTP 503: busy")),
        "{first}"
    );
    // It is another call, whatever it says: a service must not take it for the first.
    let keys = super::keys(&service, "save");
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}
