//! Upstreams that fail for a moment or for good (contract U5).

use serde_json::{Value, json};

use crate::admin::admin_of;
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::{Gateway, Setup, UPSTREAM_MODEL};
use crate::harness::script::{Answer, Step, delta, done, event, finish, says};
use crate::harness::upstream::{Upstream, nobody};

fn refusal(status: u16) -> Answer {
    let error = json!({"message": "no", "type": "some_error", "param": null, "code": null});
    Answer::json(status, &json!({"error": error}))
}

/// The same, from a server that says that it may be asked again at once.
fn passing(status: u16) -> Answer {
    refusal(status).header("retry-after", "0")
}

/// A whole answer, a stream that breaks off, and so on: whatever is no answer but may be one soon.
fn failures_that_pass() -> Vec<(&'static str, Answer)> {
    let half_a_call = json!({"tool_calls": [{"index": 0, "id": "a", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"ci"}}]});
    let begun = || event(&delta(&json!({"role": "assistant", "content": ""})));
    let in_body = json!({"error": {"message": "overloaded", "code": 503}});
    vec![
        ("408", passing(408)),
        ("429", passing(429)),
        ("500", passing(500)),
        (
            "502 in HTML",
            Answer::body(502, "text/html", "<html>Bad gateway</html>"),
        ),
        ("503", passing(503)),
        ("529", passing(529)),
        ("closed in place of an answer", Answer::raw("")),
        ("no body", Answer::body(200, "application/json", "")),
        ("no choices", Answer::json(200, &json!({"choices": []}))),
        ("an error in a 200", Answer::json(200, &in_body)),
        (
            "an error in a stream",
            Answer::stream(vec![begun(), event(&in_body)]),
        ),
        (
            "cut before a word",
            Answer::stream(vec![begun(), Step::Cut]),
        ),
        (
            "reset before a word",
            Answer::stream(vec![begun(), Step::Reset]),
        ),
        (
            "cut within a call",
            Answer::stream(vec![begun(), event(&delta(&half_a_call)), Step::Cut]),
        ),
    ]
}

/// The values of a metric by its labels.
async fn decisions(gateway: &Gateway) -> Vec<String> {
    let text = admin_of(gateway).get("/metrics").await.text();
    let lines = text.lines();
    let of_interest = lines.filter(|line| line.starts_with("handback_upstream_decisions_total"));
    of_interest.map(str::to_owned).collect()
}

#[tokio::test]
async fn what_passes_is_asked_again() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).retries(1);
    for (what, failure) in failures_that_pass() {
        let gateway = setup.start().await;
        for streamed in [false, true] {
            upstream.play([failure.clone(), Answer::streamed_text("done")]);
            let reply = Caller::of(&gateway).ask(&request(streamed)).await;
            let folded = reply.folded();
            assert_eq!(folded["message"]["content"], "done", "{what}: {folded}");
            let [first, second] = &upstream.requests()[..] else {
                panic!("{what}: {} requests", upstream.requests().len());
            };
            assert_eq!(first.body, second.body, "{what}");
        }
        let counted = r#"handback_upstream_decisions_total{agent="support",decision="repeated",upstream="model"} 2"#;
        assert_eq!(decisions(&gateway).await, [counted], "{what}");
    }
}

#[tokio::test]
async fn the_callers_own_faults_are_not_asked_again() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).retries(3);
    let gateway = setup.start().await;
    for status in [400, 401, 403, 404, 413, 422] {
        upstream.play([passing(status)]);
        Caller::of(&gateway).ask(&request(true)).await.folded();
        upstream.only_request();
    }
    assert!(decisions(&gateway).await.is_empty());
}

#[tokio::test]
async fn repetitions_are_bounded_and_the_last_error_is_the_callers() {
    let upstream = Upstream::playing([passing(503), passing(429)]).await;
    let setup = Setup::with_upstream(&upstream.base_url()).retries(2);
    let gateway = setup.start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!(reply.status, 429);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn nothing_is_asked_again_once_a_word_is_said() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).retries(3);
    let gateway = setup.start().await;
    upstream.play([Answer::stream(vec![event(&says("It ra")), Step::Cut])]);
    let folded = Caller::of(&gateway).ask(&request(true)).await.folded();
    assert_eq!(folded["error"]["code"], "upstream_error", "{folded}");
    upstream.only_request();
}

#[tokio::test]
async fn who_gets_a_whole_answer_sees_nothing_of_one_that_broke_off() {
    let (upstream, spare) = (Upstream::start().await, Upstream::start().await);
    let gateway = with_fallback(&upstream.base_url(), &spare).start().await;
    let thinks = json!({"role": "assistant", "content": "It ra", "reasoning_content": "Clouds"});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}});
    let begun = [event(&delta(&thinks)), event(&usage)];
    for end in [
        Step::Cut,
        event(&json!({"error": {"message": "busy", "code": 503}})),
    ] {
        let steps = begun.iter().cloned().chain([end]).collect();
        upstream.play([Answer::stream(steps)]);
        spare.play([Answer::streamed_text("It is dry.")]);
        let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
        assert_eq!(folded["message"]["content"], "It is dry.", "{folded}");
        assert!(folded["message"]["reasoning_content"].is_null(), "{folded}");
    }
}

#[tokio::test]
async fn empty_fields_reach_the_caller_and_are_no_word() {
    let (upstream, spare) = (Upstream::start().await, Upstream::start().await);
    let gateway = with_fallback(&upstream.base_url(), &spare).start().await;
    let begins =
        json!({"role": "assistant", "content": "", "reasoning_content": "", "annotations": []});
    for streamed in [false, true] {
        upstream.play([Answer::stream(vec![event(&delta(&begins)), Step::Cut])]);
        spare.play([Answer::streamed_text("It is dry.")]);
        let folded = Caller::of(&gateway).ask(&request(streamed)).await.folded();
        assert_eq!(folded["message"]["content"], "It is dry.", "{folded}");
        let text = json!({"content": "It is dry."});
        let steps = [&begins, &text].map(|one| event(&delta(one))).into_iter();
        let steps = steps.chain([event(&finish("stop")), done()]);
        upstream.play([Answer::stream(steps.collect())]);
        let folded = Caller::of(&gateway).ask(&request(streamed)).await.folded();
        assert_eq!(folded["message"]["annotations"], json!([]), "{folded}");
    }
}

#[tokio::test]
async fn an_upstream_that_wants_a_long_rest_gets_it() {
    let upstream = Upstream::playing([refusal(429).header("retry-after", "3600")]).await;
    let setup = Setup::with_upstream(&upstream.base_url()).retries(3);
    let gateway = setup.start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, "3600"));
    upstream.only_request();
}

/// An agent with a second upstream behind the first.
fn with_fallback(first: &str, second: &Upstream) -> Setup {
    Setup::with_upstream(first).fallback(&second.base_url(), "dialect = \"mistral\"\n")
}

#[tokio::test]
async fn the_fallback_is_asked_in_its_own_dialect() {
    let spare = Upstream::start().await;
    let gateway = with_fallback(&nobody().await, &spare).start().await;
    for streamed in [false, true] {
        spare.play([Answer::streamed_text("from the spare")]);
        let mut body = request(streamed);
        body["messages"] = json!([{"role": "developer", "content": "Be brief."}, user("Hi")]);
        let folded = Caller::of(&gateway).ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "from the spare");
        let asked = spare.only_request().json();
        assert_eq!(asked["model"], "spare-model");
        assert_eq!(asked["messages"][0]["role"], "system", "{asked}");
    }
    let counted = r#"handback_upstream_decisions_total{agent="support",decision="fell_back",upstream="model"} 2"#;
    assert_eq!(decisions(&gateway).await, [counted]);
    assert!(gateway.log().contains("\"decision\":\"fell_back\""));
}

#[tokio::test]
async fn a_key_that_is_refused_is_a_case_for_the_fallback_and_bad_input_is_not() {
    let first = Upstream::start().await;
    let spare = Upstream::start().await;
    let gateway = with_fallback(&first.base_url(), &spare).start().await;
    for (status, falls_back) in [
        (401, true),
        (403, true),
        (500, true),
        (400, false),
        (404, false),
    ] {
        first.play([refusal(status)]);
        spare.play([Answer::streamed_text("done")]);
        let reply = Caller::of(&gateway).ask(&request(true)).await;
        assert_eq!(spare.requests().len(), usize::from(falls_back), "{status}");
        assert_eq!(reply.status, if falls_back { 200 } else { status });
    }
}

#[tokio::test]
async fn a_call_of_the_fallback_is_handed_back_and_followed_up() {
    let first = Upstream::playing([refusal(500)]).await;
    let spare = Upstream::start().await;
    let gateway = with_fallback(&first.base_url(), &spare).start().await;
    let call = json!({"role": "assistant", "content": null, "reasoning_content": "Hm.",
        "tool_calls": [{"index": 0, "id": "abcdefghi", "type": "function",
            "function": {"name": "get_weather", "arguments": "{\"city\":\"Lisbon\",\"unit\":\"c\"}"}}]});
    spare.play([Answer::stream(vec![
        event(&delta(&call)),
        event(&finish("tool_calls")),
        done(),
    ])]);
    let folded = Caller::of(&gateway).ask(&request(true)).await.folded();
    let message = folded["message"].clone();
    // The upstream of the agent is back, and gets nothing that is bound to the other.
    first.play([Answer::streamed_text("It rains.")]);
    let mut body = request(true);
    let result =
        json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain"});
    let messages = body["messages"].as_array_mut().expect("a conversation");
    messages.extend([without_fields(&message), result]);
    let folded = Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "It rains.");
    let asked = first.only_request().json();
    assert_eq!(asked["model"], UPSTREAM_MODEL);
    assert_eq!(asked["messages"][1]["tool_calls"][0]["id"], "abcdefghi");
    assert!(
        asked["messages"][1].get("reasoning_content").is_none(),
        "{asked}"
    );
}

/// The message as a client keeps it that knows the reference only.
fn without_fields(message: &Value) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": message["tool_calls"]})
}

#[tokio::test]
async fn a_sick_upstream_is_left_alone_for_a_moment() {
    let upstream = Upstream::playing([refusal(500)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let caller = Caller::of(&gateway);
    while !gateway.log().contains("\"decision\":\"rests\"") {
        assert!(upstream.requests().len() < 50, "it is never left alone");
        caller.ask(&request(false)).await.folded();
        admin_of(&gateway).get("/healthz").await;
    }
    let asked = upstream.requests().len();
    let counted =
        r#"handback_upstream_decisions_total{agent="support",decision="rests",upstream="model"} 1"#;
    assert!(decisions(&gateway).await.contains(&counted.to_owned()));
    assert!(asked >= 10, "{asked} failures put it to rest");
    let counted = format!("handback_upstream_errors_total{{kind=\"refused\"}} {asked}\n");
    let metrics = admin_of(&gateway).get("/metrics").await.text();
    assert!(
        metrics.contains(&counted),
        "each failure is counted once: {metrics}"
    );
}

#[tokio::test]
async fn a_refused_key_shows_by_the_status_alone() {
    let first = Upstream::start().await;
    let spare = Upstream::start().await;
    let gateway = with_fallback(&first.base_url(), &spare).start().await;
    let alone = Setup::with_upstream(&first.base_url()).start().await;
    for status in [401, 403] {
        for (kind, body) in [("text/html", "<html>No.</html>"), ("application/json", "")] {
            first.play([Answer::body(status, kind, body)]);
            let folded = Caller::of(&gateway).ask(&request(true)).await.folded();
            assert_eq!(folded["message"]["content"], "done", "{status} {kind}");
            let folded = Caller::of(&alone).ask(&request(true)).await.folded();
            assert_eq!(folded["error"]["code"], "upstream_auth", "{status} {kind}");
        }
    }
}

#[tokio::test]
async fn a_wish_for_rest_reaches_the_caller_with_every_status() {
    let upstream = Upstream::playing([refusal(503).header("retry-after", "30")]).await;
    let setup = Setup::with_upstream(&upstream.base_url()).retries(2);
    let gateway = setup.start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!((reply.status, reply.header("retry-after")), (502, "30"));
    upstream.only_request();
}
