//! An upstream that fails: whatever breaks and wherever, the caller gets a named error, never a
//! clean end, never a part of a call, and the gateway goes on (U4, S3).

use serde_json::{Value, json};

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, Framing, Step, completion, delta, done, event, finish, says};
use crate::harness::upstream::{Upstream, nobody};

/// Short, so that a stalled upstream is given up soon; long enough for a busy machine.
const SHORT: &str = r#"{ connect = "5s", first_byte = "700ms", idle = "700ms" }"#;

/// Plays `answer`, whole and streamed, and checks that the error has this status and code.
async fn fails_with(answer: Answer, status: u16, code: &str) -> Vec<Value> {
    let upstream = Upstream::playing([answer]).await;
    let setup = Setup::with_upstream(&upstream.base_url()).timeouts(SHORT);
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let mut answers = Vec::new();
    for streamed in [false, true] {
        let folded = caller.ask(&request(streamed)).await.folded();
        assert_eq!(
            folded["error"]["code"], code,
            "streamed: {streamed}; {folded}"
        );
        if folded["streamed"] == false {
            assert_eq!(folded["status"], status, "streamed: {streamed}; {folded}");
        }
        assert!(folded.get("finish_reason").is_none(), "{folded}");
        answers.push(folded);
    }
    upstream.play([]);
    let after = caller.ask(&request(false)).await.folded();
    assert_eq!(after["message"]["content"], "done", "the gateway goes on");
    answers
}

/// The same for an answer that breaks after some text: a stream has given the text out by then.
async fn fails_after_text(rest: Vec<Step>, status: u16, code: &str) {
    let mut steps = vec![
        event(&delta(&json!({"role": "assistant", "content": ""}))),
        event(&says("It is ")),
        event(&says("dry")),
    ];
    steps.extend(rest);
    let answers = fails_with(Answer::stream(steps), status, code).await;
    let streamed = &answers[1];
    assert_eq!(streamed["streamed"], true, "{streamed}");
    assert_eq!(streamed["message"]["content"], "It is dry");
}

#[tokio::test]
async fn nobody_listens() {
    let gateway = Setup::with_upstream(&nobody().await).start().await;
    let caller = Caller::of(&gateway);
    for streamed in [false, true] {
        let folded = caller.ask(&request(streamed)).await.folded();
        assert_eq!(folded["status"], 502, "{folded}");
        assert_eq!(folded["error"]["code"], "upstream_error");
    }
}

#[tokio::test]
async fn connection_closed_in_place_of_an_answer() {
    fails_with(Answer::raw(""), 502, "upstream_error").await;
}

#[tokio::test]
async fn connection_reset_in_place_of_an_answer() {
    let mut answer = Answer::raw("");
    answer.steps = vec![Step::Reset];
    fails_with(answer, 502, "upstream_error").await;
}

#[tokio::test]
async fn garbage_in_place_of_an_answer() {
    fails_with(
        Answer::raw("\u{1}\u{2}not http at all\r\n\r\n"),
        502,
        "upstream_error",
    )
    .await;
}

#[tokio::test]
async fn half_a_head() {
    fails_with(
        Answer::raw("HTTP/1.1 200 OK\r\ncontent-ty"),
        502,
        "upstream_error",
    )
    .await;
}

#[tokio::test]
async fn silence_before_the_head() {
    fails_with(Answer::silence(), 504, "upstream_timeout").await;
}

#[tokio::test]
async fn silence_behind_the_head() {
    fails_with(Answer::stream(vec![Step::Stall]), 504, "upstream_timeout").await;
}

#[tokio::test]
async fn whole_answer_cut_in_the_middle() {
    let whole = completion(
        &json!({"role": "assistant", "content": "It is dry."}),
        "stop",
    );
    let half = whole.to_string().into_bytes()[..80].to_vec();
    for framing in [Framing::Chunked, Framing::Close] {
        let mut answer = Answer::body(200, "application/json", half.clone());
        answer.framing = framing;
        answer.steps.push(Step::Cut);
        fails_with(answer, 502, "upstream_error").await;
    }
}

#[tokio::test]
async fn whole_answer_reset_in_the_middle() {
    fails_with(Answer::begun(Step::Reset), 502, "upstream_error").await;
}

#[tokio::test]
async fn whole_answer_stalled_in_the_middle() {
    fails_with(Answer::begun(Step::Stall), 504, "upstream_timeout").await;
}

#[tokio::test]
async fn stream_cut_after_text() {
    fails_after_text(vec![Step::Cut], 502, "upstream_error").await;
}

#[tokio::test]
async fn stream_reset_after_text() {
    fails_after_text(vec![Step::Reset], 502, "upstream_error").await;
}

#[tokio::test]
async fn stream_ended_in_order_after_text() {
    fails_after_text(Vec::new(), 502, "upstream_error").await;
}

#[tokio::test]
async fn stream_stalled_after_text() {
    fails_after_text(vec![Step::Stall], 504, "upstream_timeout").await;
}

#[tokio::test]
async fn stalled_stream_behind_keep_alive_comments() {
    let babble = Step::Babble(b": keepalive\n\n".to_vec());
    fails_after_text(vec![babble], 504, "upstream_timeout").await;
}

#[tokio::test]
async fn stalled_stream_behind_events_that_say_nothing() {
    let noise = [
        "event: ping\ndata: {}\n\n",
        "data: {\"type\":\"ping\"}\n\n",
        "data: : PROCESSING\n\n",
        "data: ping\n\n",
        "data: null\n\n",
        "data:\n\n",
        "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n",
    ];
    let babble = Step::Babble(noise.concat().into_bytes());
    fails_after_text(vec![babble], 504, "upstream_timeout").await;
}

#[tokio::test]
async fn stream_cut_within_an_event() {
    let half = Step::Write(br#"data: {"id":"c","choices":[{"index":0,"delta":{"con"#.to_vec());
    fails_after_text(vec![half, Step::Cut], 502, "upstream_error").await;
}

#[tokio::test]
async fn stream_that_turns_into_garbage() {
    let garbage = Step::Write(b"data: \xff\xfe\x00{{{\n\n".to_vec());
    fails_after_text(vec![garbage, done()], 502, "upstream_error").await;
}

#[tokio::test]
async fn stream_cut_within_a_call_gives_nothing_of_the_call() {
    let call = json!({"index": 0, "id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\":\"Lis"}});
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "tool_calls": [call]}))),
        Step::Cut,
    ];
    for folded in fails_with(Answer::stream(steps), 502, "upstream_error").await {
        assert!(folded["message"].get("tool_calls").is_none(), "{folded}");
    }
}

#[tokio::test]
async fn connection_cut_behind_a_complete_answer_is_no_fault() {
    let steps = vec![
        event(&delta(
            &json!({"role": "assistant", "content": "It is dry."}),
        )),
        event(&finish("stop")),
        done(),
        Step::Cut,
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for streamed in [false, true] {
        let folded = Caller::of(&gateway).ask(&request(streamed)).await.folded();
        assert_eq!(folded["message"]["content"], "It is dry.");
        assert_eq!(folded["finish_reason"], "stop");
    }
}
