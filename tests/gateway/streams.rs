//! Streams as they are on the wire: each token at once, the headers that keep proxies from
//! buffering, nothing but data lines and comments (S1).

use serde_json::{Value, json};

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::fold::{Calls, fold};
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, Gate, Step, delta, done, event, finish, says};
use crate::harness::sse::Event;
use crate::harness::upstream::Upstream;

#[tokio::test]
async fn each_token_arrives_before_the_upstream_sends_the_next() {
    let gate = Gate::closed();
    let wait = || Step::Wait(gate.clone());
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": ""}))),
        event(&says("one")),
        wait(),
        event(&says("two")),
        wait(),
        event(&says("three")),
        wait(),
        event(&finish("stop")),
        done(),
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    for token in ["one", "two", "three"] {
        assert_eq!(live.next_text().await, token);
        gate.open();
    }
    let mut last = None;
    while let Some(event) = live.next().await {
        last = Some(event);
    }
    assert_eq!(last, Some(Event::Done));
}

#[tokio::test]
async fn text_before_calls_does_not_wait_for_them() {
    let gate = Gate::closed();
    let call = json!({"index": 0, "id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\":\"Lisbon\"}"}});
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": "I look."}))),
        Step::Wait(gate.clone()),
        event(&delta(&json!({"tool_calls": [call]}))),
        event(&finish("tool_calls")),
        done(),
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    assert_eq!(live.next_text().await, "I look.");
    gate.open();
    while live.next().await.is_some() {}
}

#[tokio::test]
async fn unchecked_calls_of_an_agent_without_services_are_forwarded_as_they_come() {
    let gate = Gate::closed();
    let call = json!({"index": 0, "id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"ci"}});
    let rest = json!({"index": 0, "function": {"arguments": "ty\":\"Lisbon\"}"}});
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "tool_calls": [call]}))),
        Step::Wait(gate.clone()),
        event(&delta(&json!({"tool_calls": [rest]}))),
        event(&finish("tool_calls")),
        done(),
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let setup = Setup::with_upstream(&upstream.base_url()).agent(r#"arguments = "pass""#);
    let gateway = setup.start().await;
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    let mut pieces = String::new();
    while !pieces.contains("{\"ci") {
        let Some(Event::Json(chunk)) = live.next().await else {
            panic!("the stream ended before the first piece");
        };
        let function = &chunk["choices"][0]["delta"]["tool_calls"][0]["function"];
        pieces.push_str(function["arguments"].as_str().unwrap_or_default());
    }
    gate.open();
    while live.next().await.is_some() {}
}

#[tokio::test]
async fn headers_keep_proxies_from_holding_a_stream_back() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let caller = Caller::of(&gateway);
    let asked = caller
        .request("POST", "/v1/chat/completions")
        .header("accept-encoding", "gzip, br")
        .json(&request(true));
    let reply = caller.send(asked).await;
    assert_eq!(reply.status, 200);
    assert!(
        reply
            .header("content-type")
            .starts_with("text/event-stream")
    );
    assert!(reply.header("cache-control").contains("no-cache"));
    assert_eq!(reply.header("x-accel-buffering"), "no");
    assert_eq!(reply.header("content-length"), "");
    assert_eq!(reply.header("content-encoding"), "");
    assert_eq!(reply.folded()["message"]["content"], "done");
}

#[tokio::test]
async fn the_head_of_a_stream_is_there_before_its_end() {
    let gate = Gate::closed();
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": "Dry."}))),
        Step::Wait(gate.clone()),
        event(&finish("stop")),
        done(),
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    assert_eq!(live.status(), 200);
    assert!(live.headers().contains_key("x-request-id"));
    gate.open();
    while live.next().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn many_streams_at_once_do_not_mix() {
    let upstream = Upstream::playing([Answer::streamed_text("It is dry in Lisbon.")]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let caller = Caller::of(&gateway);
    let body = request(true);
    let answers = futures_util::future::join_all((0..40).map(|_| caller.ask(&body))).await;
    let mut ids = std::collections::BTreeSet::new();
    for answer in answers {
        let folded = answer.folded();
        assert_eq!(folded["message"]["content"], "It is dry in Lisbon.");
        ids.insert(folded["id"].to_string());
    }
    assert_eq!(ids.len(), 40, "each answer has an id of its own");
}

#[tokio::test]
async fn a_stream_opens_with_its_upstreams() {
    let gate = Gate::closed();
    let upstream = Upstream::playing([Answer::stream(vec![
        event(&delta(&json!({"role": "assistant", "content": ""}))),
        Step::Wait(gate.clone()),
        event(&delta(&json!({"content": "Dry."}))),
        event(&finish("stop")),
        done(),
    ])])
    .await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    let Some(Event::Json(first)) = live.next().await else {
        panic!("the stream begins with a chunk")
    };
    assert_eq!(first["choices"][0]["delta"]["role"], "assistant");
    gate.open();
    assert_eq!(live.next_text().await, "Dry.");
}

#[tokio::test]
async fn an_error_along_with_what_says_nothing_has_its_own_status() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let error = event(&json!({"error": {"message": "slow down", "code": 429}}));
    let call = json!({"index": 0, "id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\":\"Lisbon\"}"}});
    let begun = |delta_of: Value| event(&delta(&delta_of));
    for before in [
        vec![begun(json!({"role": "assistant"}))],
        vec![begun(json!({"role": "assistant", "content": ""}))],
        vec![
            begun(json!({"role": "assistant", "content": null, "reasoning_content": null})),
            begun(json!({"content": ""})),
        ],
        vec![begun(
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        )],
        vec![event(&json!({"choices": [], "usage": {"total_tokens": 1}}))],
        vec![begun(
            json!({"role": "assistant", "reasoning_content": "", "refusal": "", "annotations": [], "extra_content": {}}),
        )],
    ] {
        // All in one write: it is there along with what says nothing.
        let steps = before.into_iter().chain([error.clone()]);
        let bytes = steps.flat_map(|step| match step {
            Step::Write(bytes) => bytes,
            _ => panic!("a step that is no write"),
        });
        let steps = vec![Step::Write(bytes.collect())];
        upstream.play([Answer::stream(steps).header("retry-after", "7")]);
        let reply = Caller::of(&gateway).ask(&request(true)).await;
        assert_eq!(reply.status, 429, "{}", reply.text());
        assert_eq!(reply.header("retry-after"), "7");
        reply.folded();
    }
}

#[tokio::test]
async fn an_error_behind_a_word_is_an_event() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).agent(r#"arguments = "pass""#);
    let gateway = setup.start().await;
    let error = event(&json!({"error": {"message": "slow down", "code": 429}}));
    let call = json!({"index": 0, "id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"ci"}});
    for said in [
        json!({"content": "It"}),
        json!({"content": "", "reasoning_content": "Clouds"}),
        json!({"tool_calls": [call]}),
    ] {
        upstream.play([Answer::stream(vec![event(&delta(&said)), error.clone()])]);
        let reply = Caller::of(&gateway).ask(&request(true)).await;
        assert_eq!(reply.status, 200, "{said}");
        let folded = fold(&reply, Calls::Forwarded).expect("an answer that broke off");
        assert!(folded["error"]["message"].is_string(), "{folded}");
    }
}
