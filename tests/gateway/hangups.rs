//! A caller who goes away ends the model request at once, streamed or not (S4).

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::harness::caller::{Caller, chat_bytes, connect_and_send};
use crate::harness::case::request;
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, Step, delta, event, says};
use crate::harness::upstream::Upstream;
use crate::harness::within;

/// How soon "at once" is. Far below every time-out of the configuration.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Asks, waits until the upstream is at it and the caller has seen `until`, hangs up, and waits
/// for the upstream to notice.
async fn upstream_notices(streamed: bool, answer: Answer, until: &str) {
    let upstream = Upstream::playing([answer]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let mut socket = connect_and_send(&gateway, &chat_bytes(&request(streamed))).await;
    upstream.asked(1).await;
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(until) {
        let read = within("the beginning of the answer", socket.read_buf(&mut seen))
            .await
            .expect("the gateway answers");
        assert_ne!(read, 0, "the answer ended early");
    }
    drop(socket);
    tokio::time::timeout(AT_ONCE, upstream.hung_up())
        .await
        .expect("the upstream sees the caller go");
    upstream.play([]);
    let after = Caller::of(&gateway).ask(&request(false)).await.folded();
    assert_eq!(after["message"]["content"], "done", "the gateway goes on");
}

#[tokio::test]
async fn before_the_upstream_answers_a_whole_request() {
    upstream_notices(false, Answer::silence(), "").await;
}

#[tokio::test]
async fn in_the_middle_of_a_whole_answer() {
    upstream_notices(false, Answer::begun(Step::Stall), "").await;
}

#[tokio::test]
async fn before_the_first_chunk_of_a_stream() {
    upstream_notices(true, Answer::silence(), "").await;
}

#[tokio::test]
async fn before_the_first_chunk_behind_the_head_of_a_stream() {
    upstream_notices(true, Answer::stream(vec![Step::Stall]), "").await;
}

#[tokio::test]
async fn after_the_first_chunk_of_a_stream() {
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": ""}))),
        event(&says("Dry so far")),
        Step::Stall,
    ];
    upstream_notices(true, Answer::stream(steps), "Dry so far").await;
}

#[tokio::test]
async fn while_calls_are_gathered() {
    let call = json!({"index": 0, "id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"ci"}});
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": "I look."}))),
        event(&delta(&json!({"tool_calls": [call]}))),
        Step::Stall,
    ];
    upstream_notices(true, Answer::stream(steps), "I look.").await;
}
