//! The harness itself: streams and errors that break a rule of the contract are caught.

use serde_json::{Value, json};

use crate::harness::conformance;
use crate::harness::fold::Calls;
use crate::harness::pattern;
use crate::harness::sse;
use crate::harness::stream::Stream;

fn chunk(delta: &Value, finish_reason: &Value) -> String {
    let chunk = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "support",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    });
    format!("data: {chunk}\n\n")
}

fn role() -> String {
    chunk(&json!({"role": "assistant", "content": ""}), &Value::Null)
}

fn call(index: u64, id: &str) -> Value {
    json!({"index": index, "id": id, "type": "function",
        "function": {"name": "get_weather", "arguments": "{}"}})
}

fn ends(reason: &str) -> String {
    chunk(&json!({}), &json!(reason)) + "data: [DONE]\n\n"
}

fn folded(stream: &str) -> Result<Value, String> {
    let mut fold = Stream::new(Calls::Checked);
    for event in sse::events(stream.as_bytes())? {
        fold.take(&event)?;
    }
    fold.end(200)
}

#[test]
fn a_stream_by_the_rules_is_folded() {
    let stream = role()
        + ": keep-alive\n\n"
        + &chunk(&json!({"content": "I look."}), &Value::Null)
        + &chunk(&json!({"tool_calls": [call(0, "call_a")]}), &Value::Null)
        + &chunk(&json!({"tool_calls": [call(1, "call_b")]}), &Value::Null)
        + &ends("tool_calls");
    let folded = folded(&stream).expect("nothing is wrong with it");
    assert_eq!(folded["message"]["content"], "I look.");
    assert_eq!(folded["message"]["tool_calls"][1]["id"], "call_b");
    assert_eq!(folded["finish_reason"], "tool_calls");
}

#[test]
fn a_stream_that_breaks_a_rule_is_caught() {
    let text = |text: &str| chunk(&json!({"content": text}), &Value::Null);
    let calls = |calls: Value| chunk(&json!({"tool_calls": calls}), &Value::Null);
    let broken = [
        ("no role", text("a") + &ends("stop")),
        ("two roles", role() + &role() + &ends("stop")),
        (
            "a null",
            role() + &chunk(&json!({"refusal": null}), &Value::Null) + &ends("stop"),
        ),
        ("no end", role() + &text("a")),
        ("no reason", role() + "data: [DONE]\n\n"),
        ("no mark", role() + &chunk(&json!({}), &json!("stop"))),
        (
            "text with the reason",
            role() + &chunk(&json!({"content": "a"}), &json!("stop")),
        ),
        ("text after the end", role() + &ends("stop") + &text("a")),
        ("an unknown reason", role() + &ends("eos")),
        (
            "two calls in a chunk",
            role() + &calls(json!([call(0, "a"), call(1, "b")])),
        ),
        (
            "no index",
            role() + &calls(json!([{"id": "a", "type": "function"}])),
        ),
        (
            "a gap",
            role() + &calls(json!([call(1, "a")])) + &ends("tool_calls"),
        ),
        ("an id twice", {
            role()
                + &calls(json!([call(0, "a")]))
                + &calls(json!([call(1, "a")]))
                + &ends("tool_calls")
        }),
        (
            "a call and stop",
            role() + &calls(json!([call(0, "a")])) + &ends("stop"),
        ),
        ("no call and tool_calls", role() + &ends("tool_calls")),
        ("an empty list", role() + &calls(json!([])) + &ends("stop")),
        (
            "an event field",
            "event: x\n".to_owned() + &role() + &ends("stop"),
        ),
        (
            "no space",
            role().replace("data: ", "data:") + &ends("stop"),
        ),
        ("an open event", role() + "data: {"),
    ];
    for (name, stream) in broken {
        assert!(folded(&stream).is_err(), "{name} is not caught");
    }
}

#[test]
fn an_error_of_another_shape_is_caught() {
    let whole = json!({"message": "m", "type": "t", "param": null, "code": "c"});
    conformance::body(400, &json!({"error": whole})).expect("nothing is wrong with it");
    let broken = [
        json!({"error": "text"}),
        json!({"error": {"message": "m", "type": "t", "code": "c"}}),
        json!({"error": {"message": "", "type": "t", "param": null, "code": "c"}}),
        json!({"error": {"message": "m", "type": null, "param": null, "code": "c"}}),
        json!({"error": {"message": "m", "type": "t", "param": null, "code": 4}}),
        json!({"error": whole, "status": 400}),
        json!({"detail": "m"}),
    ];
    for body in broken {
        assert!(
            conformance::body(400, &body).is_err(),
            "{body} is not caught"
        );
        assert!(conformance::event(&body).is_err(), "{body} is not caught");
    }
}

#[test]
fn a_whole_answer_that_breaks_a_rule_is_caught() {
    let whole = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "support",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [{
                "id": "call_a", "type": "function", "extra_content": {},
                "function": {"name": "get_weather", "arguments": "{}"},
            }],
        }}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.1},
    });
    conformance::body(200, &whole).expect("nothing is wrong with it");
    let message = "/choices/0/message";
    let call = "/choices/0/message/tool_calls/0";
    let function = "/choices/0/message/tool_calls/0/function";
    let broken = [
        ("", "id", json!("")),
        ("", "object", json!("chat.completion.chunk")),
        ("", "created", json!(1.5)),
        ("", "choices", json!([])),
        ("", "usage", Value::Null),
        ("", "provider", json!("x")),
        ("/choices/0", "finish_reason", json!("stop")),
        ("/choices/0", "finish_reason", json!("tool_use")),
        ("/choices/0", "logprobs", Value::Null),
        (message, "role", json!("tool")),
        (message, "content", json!(["x"])),
        (message, "refusal", Value::Null),
        (message, "tool_calls", json!([])),
        (call, "index", json!(0)),
        (call, "id", json!("")),
        (call, "type", json!("custom")),
        (function, "name", json!("a.b")),
        (function, "arguments", json!({})),
        ("/usage", "total_tokens", json!("2")),
    ];
    for (place, key, value) in broken {
        let mut body = whole.clone();
        let object = body.pointer_mut(place).and_then(Value::as_object_mut);
        object
            .expect("the place is there")
            .insert(key.to_owned(), value);
        assert!(
            conformance::body(200, &body).is_err(),
            "{body} is not caught"
        );
    }
}

#[test]
fn patterns_say_what_they_mean() {
    let actual = json!({"a": [1, {"b": "text", "c": null}], "j": "{\"x\": 1}"});
    let holds = [
        json!({}),
        json!({"a": [1, {"b": {"$contains": ["te", "xt"]}}]}),
        json!({"a": [1, {"$only": {"b": {"$any": true}, "c": null}}]}),
        json!({"j": {"$json": {"x": 1}}, "z": {"$absent": true}}),
        json!({"z": {"$one_of": [{"$absent": true}, 3]}}),
        json!({"a": [{"$one_of": [2, 1]}, {"b": {"$all": [{"$id": true}, {"$text": [1, 9]}]}}]}),
        json!({"a": [1, {"b": {"$lacks": ["TEXT"]}}]}),
    ];
    for pattern in holds {
        pattern::matches(&pattern, Some(&actual)).expect("the pattern holds");
    }
    let fails = [
        json!({"z": 1}),
        json!({"a": [1]}),
        json!({"a": [1, {"b": {"$contains": ["te", "zz"]}}]}),
        json!({"a": [1, {"$only": {"b": {"$any": true}}}]}),
        json!({"j": {"$json": {"x": 2}}}),
        json!({"a": {"$absent": true}}),
        json!({"a": {"$typo": true}}),
    ];
    for pattern in fails {
        assert!(
            pattern::matches(&pattern, Some(&actual)).is_err(),
            "{pattern} holds"
        );
    }
}
