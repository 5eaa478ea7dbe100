//! Large and small: the body limit in every way of sending a body, long lines, deep nesting.

use std::fmt::Write as _;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::caller::{Caller, Reply, connect_and_send};
use crate::harness::case::{request, user};
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::script::{Answer, Step, delta, done, event, finish};
use crate::harness::upstream::Upstream;
use crate::harness::within;

/// A body of a request that says as many bytes.
fn body_of(bytes: usize) -> String {
    json!({"model": "support", "messages": [user(&"x".repeat(bytes))]}).to_string()
}

async fn post(gateway: &Gateway, body: String, chunked: bool) -> Reply {
    let caller = Caller::of(gateway);
    let chat = caller
        .request("POST", "/v1/chat/completions")
        .header("content-type", "application/json");
    let chat = if chunked {
        let pieces: Vec<Result<Vec<u8>, std::io::Error>> = body
            .into_bytes()
            .chunks(16 * 1024)
            .map(|piece| Ok(piece.to_vec()))
            .collect();
        chat.body(reqwest::Body::wrap_stream(futures_util::stream::iter(
            pieces,
        )))
    } else {
        chat.body(body)
    };
    caller.send(chat).await
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_in_both_ways_of_sending_it() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).server(r#"max_body = "64KiB""#);
    let gateway = setup.start().await;
    for chunked in [false, true] {
        let folded = post(&gateway, body_of(80_000), chunked).await.folded();
        assert_eq!(folded["status"], 413, "chunked: {chunked}; {folded}");
        assert_eq!(folded["error"]["code"], "request_too_large");
    }
    assert_eq!(upstream.requests().len(), 0);
    for chunked in [false, true] {
        let folded = post(&gateway, body_of(60_000), chunked).await.folded();
        assert_eq!(folded["message"]["content"], "done", "chunked: {chunked}");
    }
}

#[tokio::test]
async fn the_usual_limit_lets_images_and_long_histories_through() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for megabytes in [3, 18] {
        upstream.play([]);
        let body = body_of(megabytes * 1_000_000);
        let folded = post(&gateway, body, false).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{megabytes} MB");
        let sent = upstream.only_request().json()["messages"][0]["content"].clone();
        assert_eq!(sent.as_str().map(str::len), Some(megabytes * 1_000_000));
    }
}

#[tokio::test]
async fn a_caller_who_waits_for_100_continue_gets_it() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let body = body_of(100);
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut socket = connect_and_send(&gateway, head.as_bytes()).await;
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        let read = within("100 Continue", socket.read_buf(&mut seen)).await;
        assert_ne!(read.expect("the gateway answers"), 0);
    }
    assert!(seen.starts_with(b"HTTP/1.1 100"));
    socket
        .write_all(body.as_bytes())
        .await
        .expect("the gateway reads");
    let mut answer = String::new();
    within("the answer", socket.read_to_string(&mut answer))
        .await
        .expect("the gateway answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn long_lines_of_a_stream_arrive_whole() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let caller = Caller::of(&gateway);
    for length in [70_000, 1_200_000] {
        let city = "a".repeat(length);
        let arguments = json!({"city": city}).to_string();
        let call = json!({"index": 0, "id": "call_w1", "type": "function",
            "function": {"name": "get_weather", "arguments": arguments}});
        upstream.play([Answer::stream(vec![
            event(&delta(&json!({"role": "assistant", "tool_calls": [call]}))),
            event(&finish("tool_calls")),
            done(),
        ])]);
        for streamed in [false, true] {
            let folded = caller.ask(&request(streamed)).await.folded();
            let function = &folded["message"]["tool_calls"][0]["function"];
            let same = function["arguments"] == arguments.as_str();
            assert!(same, "{length} bytes, streamed: {streamed}");
        }
    }
}

#[tokio::test]
async fn an_endless_line_ends_in_an_error_or_arrives_whole() {
    let content = "a".repeat(9_000_000);
    let upstream = Upstream::playing([Answer::streamed_text(&content)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for streamed in [false, true] {
        let folded = Caller::of(&gateway).ask(&request(streamed)).await.folded();
        if folded.get("error").is_some() {
            assert_eq!(folded["error"]["code"], "upstream_error");
        } else {
            let whole = folded["message"]["content"] == content.as_str();
            assert!(whole, "cut short, streamed: {streamed}");
        }
    }
}

#[tokio::test]
async fn deep_nesting_is_refused_or_passed_on_and_never_a_crash() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let levels = 10_000;
    let mut schema = String::new();
    for _ in 0..levels {
        schema.push_str(r#"{"type":"object","properties":{"a":"#);
    }
    schema.push_str("{}");
    schema.push_str(&"}}".repeat(levels));
    let mut body = String::new();
    let _ = write!(
        body,
        r#"{{"model":"support","messages":[{{"role":"user","content":"hi"}}],"tools":[{{"type":"function","function":{{"name":"deep","parameters":{schema}}}}}]}}"#
    );
    let reply = post(&gateway, body, false).await;
    assert!(matches!(reply.status, 200 | 400), "{}", reply.status);
    reply.folded();
    let after = Caller::of(&gateway).ask(&request(false)).await.folded();
    assert_eq!(after["message"]["content"], "done", "the gateway lives");
}

#[tokio::test]
async fn many_small_events_at_once_and_one_event_in_many_writes_are_the_same() {
    let pieces: Vec<String> = (0..2_000).map(|number| format!("{number} ")).collect();
    let mut bytes = Vec::new();
    for piece in &pieces {
        let chunk = delta(&json!({"content": piece}));
        bytes.extend_from_slice(format!("data: {chunk}\n\n").as_bytes());
    }
    let end = || vec![event(&finish("stop")), done()];
    let mut at_once = vec![Step::Write(bytes.clone())];
    at_once.extend(end());
    let mut in_pieces: Vec<Step> = bytes
        .chunks(97)
        .map(|chunk| Step::Write(chunk.to_vec()))
        .collect();
    in_pieces.extend(end());
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for steps in [at_once, in_pieces] {
        upstream.play([Answer::stream(steps)]);
        for streamed in [false, true] {
            let folded = Caller::of(&gateway).ask(&request(streamed)).await.folded();
            assert_eq!(folded["message"]["content"], pieces.concat());
        }
    }
}
