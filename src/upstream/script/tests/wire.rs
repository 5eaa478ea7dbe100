//! The bytes of replies.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{MOMENT, play, request, user};
use crate::upstream::script::{Moment, Reply, Script};

const BOTH: &str = "[[answers]]\nsay = \"One, two\\nthree.\"\n\
                    calls = [{ name = 'a', arguments = { text = 'größer' } }, { name = 'b' }]";

fn reply(script: &str, request: &Value, moment: Moment) -> Reply {
    Script::parse(script, "test")
        .unwrap()
        .answer(request.to_string().as_bytes(), moment)
}

/// The JSON of a stream's events, the closing one aside.
fn events(reply: &Reply) -> Vec<Value> {
    assert_eq!(
        (reply.status, reply.content_type),
        (200, "text/event-stream")
    );
    let (last, events) = reply.body.split_last().unwrap();
    assert_eq!(last.as_ref(), b"data: [DONE]\n\n");
    let read = |event: &bytes::Bytes| {
        let event = std::str::from_utf8(event).unwrap();
        let data = event
            .strip_prefix("data: ")
            .unwrap()
            .strip_suffix("\n\n")
            .unwrap();
        assert!(!data.contains('\n'));
        serde_json::from_str(data).unwrap()
    };
    events.iter().map(read).collect()
}

fn asked() -> Value {
    request(&json!([user("Hi")]), &["a", "b"])
}

#[test]
fn a_whole_answer_is_a_chat_completion() {
    let (status, body) = play(BOTH, &asked());
    assert_eq!(status, 200);
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "m");
    assert_eq!(body["created"], MOMENT.created);
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &body["choices"][0];
    assert_eq!(choice["index"], 0);
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["message"]["content"], "One, two\nthree.");
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["type"], "function");
    assert_eq!(
        call["function"],
        json!({ "name": "a", "arguments": "{\"text\":\"größer\"}" })
    );
    assert!(call.get("index").is_none());
}

#[test]
fn without_a_text_the_content_is_null_and_without_calls_there_are_none() {
    let (_, body) = play("[[answers]]\ncalls = [{ name = 'a' }]", &asked());
    assert_eq!(
        body["choices"][0]["message"].get("content"),
        Some(&Value::Null)
    );
    let (_, body) = play("[[answers]]\nsay = ''", &asked());
    assert_eq!(body["choices"][0]["message"]["content"], "");
    assert!(body["choices"][0]["message"].get("tool_calls").is_none());
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
}

#[test]
fn a_stream_brings_the_answer_in_pieces() {
    let mut asked = asked();
    asked["stream"] = json!(true);
    let events = events(&reply(BOTH, &asked, MOMENT));
    let deltas: Vec<&Value> = events
        .iter()
        .map(|event| &event["choices"][0]["delta"])
        .collect();
    assert_eq!(
        *deltas[0],
        json!({ "role": "assistant", "content": "", "refusal": null })
    );
    let texts: Vec<_> = deltas[1..4]
        .iter()
        .map(|delta| delta["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["One, ", "two\n", "three."]);
    let pieces: Vec<&Value> = deltas[4..]
        .iter()
        .map(|delta| &delta["tool_calls"][0])
        .collect();
    assert_eq!(pieces[0]["index"], 0);
    assert_eq!(
        pieces[0]["function"],
        json!({ "name": "a", "arguments": "" })
    );
    assert!(pieces[0]["id"].is_string());
    assert_eq!(
        *pieces[1],
        json!({ "index": 0, "function": { "arguments": "{\"tex" } })
    );
    let joined = |index: u64| -> String {
        let of_call = pieces.iter().filter(|piece| piece["index"] == index);
        of_call
            .map(|piece| piece["function"]["arguments"].as_str().unwrap())
            .collect()
    };
    assert_eq!(joined(0), "{\"text\":\"größer\"}");
    assert_eq!(joined(1), "{}");
    assert_eq!(pieces.iter().filter(|piece| piece["index"] == 1).count(), 3);
    let (finish, before) = events.split_last().unwrap();
    assert_eq!(finish["choices"][0]["delta"], json!({}));
    assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    for event in before {
        assert_eq!(event["choices"][0].get("finish_reason"), Some(&Value::Null));
    }
    for event in &events {
        assert_eq!(event["object"], "chat.completion.chunk");
        assert_eq!(event["id"], events[0]["id"]);
        assert!(event.get("usage").is_none());
    }
}

#[test]
fn a_stream_has_usage_if_it_is_asked_for_and_it_is_that_of_the_whole_answer() {
    let mut asked = asked();
    let (_, whole) = play(BOTH, &asked);
    asked["stream"] = json!(true);
    asked["stream_options"] = json!({ "include_usage": true });
    let events = events(&reply(BOTH, &asked, MOMENT));
    let (last, before) = events.split_last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"], whole["usage"]);
    assert!(
        before
            .iter()
            .all(|event| event.get("usage") == Some(&Value::Null))
    );
    assert_eq!(last["id"], whole["id"]);
}

#[test]
fn usage_is_a_token_for_every_4_bytes() {
    let request = br#"{"model":"m", "messages":[{"role":"user","content":"Hi!"}], "tools":null}"#;
    let script = Script::parse("[[answers]]\nsay = 'Hello'", "test").unwrap();
    let reply = script.answer(request, MOMENT);
    let body: Value = serde_json::from_slice(&reply.body[0]).unwrap();
    // 33 bytes of messages, 5 bytes of text.
    let expected = json!({ "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11 });
    assert_eq!(body["usage"], expected);
}

#[test]
fn ids_of_calls_are_distinct_for_each_seed_and_position() {
    let mut ids = HashSet::new();
    for seed in (0..500).chain([u64::MAX, u64::MAX - 1]) {
        let body = reply(BOTH, &asked(), Moment { seed, ..MOMENT })
            .body
            .remove(0);
        let body: Value = serde_json::from_slice(&body).unwrap();
        for call in body["choices"][0]["message"]["tool_calls"]
            .as_array()
            .unwrap()
        {
            let id = call["id"].as_str().unwrap();
            let rest = id.strip_prefix("call_").unwrap();
            assert!(rest.len() == 24 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            assert!(ids.insert(id.to_owned()), "{id} came twice");
        }
    }
    assert_eq!(reply(BOTH, &asked(), MOMENT), reply(BOTH, &asked(), MOMENT));
}

#[test]
fn the_finish_reason_can_be_any() {
    let (_, body) = play("[[answers]]\nsay = 'cut'\nfinish = 'length'", &asked());
    assert_eq!(body["choices"][0]["finish_reason"], "length");
}
