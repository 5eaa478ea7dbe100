//! A stream that has nothing to say stays alive (contract S2). Each test waits for a comment that
//! comes after 15 seconds, and measures nothing.

use serde_json::json;

use super::{call, calling, closes, kb, says, setup};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::Gateway;
use crate::harness::script::{Answer, Gate, Step, delta, done, event, finish};
use crate::harness::service::held;
use crate::harness::sse::{self, Event};
use crate::harness::upstream::Upstream;
use crate::harness::within;

const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Asks, lets the silence end once a comment has come, and gives what else came.
async fn after_a_comment(gateway: &Gateway, gate: &Gate) -> String {
    let asked = Caller::of(gateway).request("POST", "/v1/chat/completions");
    let asked = asked.json(&request(true)).send();
    let mut response = within("the head", asked).await.expect("an answer");
    let mut body = Vec::new();
    loop {
        let read = within("a comment, or the rest", response.chunk()).await;
        let Some(bytes) = read.expect("the stream does not break") else {
            break;
        };
        let silent = !contains(&body, KEEP_ALIVE);
        body.extend_from_slice(&bytes);
        if silent && contains(&body, KEEP_ALIVE) {
            gate.open();
        }
    }
    assert!(contains(&body, KEEP_ALIVE), "nothing kept the stream alive");
    let events = sse::events(&body).expect("data lines and comments");
    assert_eq!(events.last(), Some(&Event::Done));
    let text = |event: &Event| match event {
        Event::Json(chunk) => chunk["choices"][0]["delta"]["content"]
            .as_str()
            .map(str::to_owned),
        Event::Done => None,
    };
    events.iter().filter_map(text).collect()
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn comments_keep_a_stream_alive_while_a_service_tool_runs() {
    let gate = Gate::closed();
    let service = kb().await.lines("look", "timeout = \"25s\"");
    service
        .tool("look")
        .play([held(&gate, &json!({"found": 1}))]);
    let look = calling(Some("One moment. "), &[call("call_k1", "look", "{}")]);
    let upstream = Upstream::playing([says(&look), closes("Dry.")]).await;
    let gateway = setup(&upstream, &service).start().await;
    assert_eq!(after_a_comment(&gateway, &gate).await, "One moment. Dry.");
    assert_eq!(service.tool("look").requests().len(), 1);
}

/// Everything that is said of a model's answer that begins so and pauses until a comment has come.
async fn said_around_a_comment(begin: &str, end: &str) -> String {
    let gate = Gate::closed();
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": begin}))),
        Step::Wait(gate.clone()),
        event(&delta(&json!({"content": end}))),
        event(&finish("stop")),
        done(),
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    after_a_comment(&gateway, &gate).await
}

#[tokio::test]
async fn comments_keep_a_stream_alive_while_the_model_thinks() {
    assert_eq!(said_around_a_comment("One. ", "Two.").await, "One. Two.");
}

#[tokio::test]
async fn comments_keep_a_stream_alive_that_has_only_opened() {
    assert_eq!(said_around_a_comment("", "Dry.").await, "Dry.");
}
