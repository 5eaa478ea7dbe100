//! Plays scripts: each `fixtures/script/NAME.json` names one and says what it answers to which
//! request, and the demo model goes once through the conversation that the documentation shows.
//!
//! Every request is sent whole and streamed, and the two must say the same. The streams are put
//! together by the few lines below, not by the crate's own decoder.
//!
//! Invariant: adding a case to `fixtures/script` needs no Rust.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::{Path, PathBuf};

use handback::upstream::script::{Moment, Reply, Script};
use serde_json::{Value, json};

const MOMENT: Moment = Moment {
    seed: 42,
    created: 1_764_500_000,
};

fn fixtures(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(path)
}

/// What a caller makes of a reply: the finish reason and the message, or the error.
#[derive(Debug, PartialEq)]
enum Outcome {
    Answer {
        finish: Value,
        content: Value,
        calls: Vec<Value>,
    },
    Error {
        status: u16,
        error: Value,
    },
}

/// Sends the request whole and streamed.
fn ask(script: &Script, request: &Value) -> Outcome {
    let mut request = request.clone();
    let send = |request: &Value| script.answer(request.to_string().as_bytes(), MOMENT);
    let whole = read(&send(&request));
    request["stream"] = json!(true);
    request["stream_options"] = json!({ "include_usage": true });
    let streamed = read(&send(&request));
    assert_eq!(whole, streamed, "whole and streamed answers differ");
    whole
}

fn read(reply: &Reply) -> Outcome {
    if reply.content_type == "text/event-stream" {
        return join(reply);
    }
    let body: Value = serde_json::from_slice(&reply.body.concat()).unwrap();
    if reply.status != 200 {
        return Outcome::Error {
            status: reply.status,
            error: body["error"].clone(),
        };
    }
    let choice = &body["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array();
    Outcome::Answer {
        finish: choice["finish_reason"].clone(),
        content: choice["message"]["content"].clone(),
        calls: calls.cloned().unwrap_or_default(),
    }
}

/// Puts the pieces of a stream together.
fn join(reply: &Reply) -> Outcome {
    let text = String::from_utf8(reply.body.concat()).unwrap();
    let events = text
        .strip_suffix("data: [DONE]\n\n")
        .expect("the stream has no end");
    let (mut finish, mut content, mut calls) = (Value::Null, None::<String>, Vec::new());
    for event in events.split_terminator("\n\n") {
        let chunk: Value = serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
        let Some(choice) = chunk["choices"].get(0) else {
            continue;
        };
        assert!(finish.is_null(), "something follows the finish reason");
        finish = choice["finish_reason"].clone();
        if let Some(piece) = choice["delta"]["content"].as_str() {
            content.get_or_insert_default().push_str(piece);
        }
        for piece in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            add(&mut calls, piece);
        }
    }
    Outcome::Answer {
        finish,
        content: json!(content),
        calls,
    }
}

/// Adds a piece to the call of its index.
fn add(calls: &mut Vec<Value>, piece: &Value) {
    let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
    if index == calls.len() {
        let mut call = piece.clone();
        call.as_object_mut().unwrap().remove("index");
        calls.push(call);
    } else {
        let arguments = &mut calls[index]["function"]["arguments"];
        let more = piece["function"]["arguments"].as_str().unwrap();
        *arguments = json!(arguments.as_str().unwrap().to_owned() + more);
    }
}

/// The outcome that a case expects; the ids of the calls are whatever they are.
fn expected(case: &Value, outcome: &Outcome) -> Outcome {
    if let Some(error) = case.get("error") {
        return Outcome::Error {
            status: u16::try_from(case["status"].as_u64().unwrap()).unwrap(),
            error: error.clone(),
        };
    }
    let id = |place: usize| match outcome {
        Outcome::Answer { calls, .. } => calls.get(place).map(|call| &call["id"]),
        Outcome::Error { .. } => None,
    };
    let calls = case["calls"].as_array().unwrap().iter().enumerate();
    let calls = calls.map(|(place, call)| {
        json!({ "id": id(place), "type": "function",
                "function": { "name": call[0], "arguments": call[1] } })
    });
    Outcome::Answer {
        finish: case["finish_reason"].clone(),
        content: case["content"].clone(),
        calls: calls.collect(),
    }
}

/// What all cases of a file share, and what the case says itself.
fn request(shared: &Value, own: &Value) -> Value {
    let mut request = shared.as_object().unwrap().clone();
    request.extend(own.as_object().unwrap().clone());
    request.into()
}

#[test]
fn every_case_is_played() {
    let mut played = 0;
    for entry in std::fs::read_dir(fixtures("script")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let script = Script::load(&fixtures(file["script"].as_str().unwrap())).unwrap();
        for case in file["cases"].as_array().unwrap() {
            let outcome = ask(&script, &request(&file["request"], &case["request"]));
            let expected = expected(case, &outcome);
            assert_eq!(outcome, expected, "{}: {}", path.display(), case["case"]);
            played += 1;
        }
    }
    assert!(played > 0, "no case was found");
}

#[test]
fn the_demo_model_creates_a_ticket_and_quotes_it() {
    let script = Script::load(&fixtures("demo/support-ticket.toml")).unwrap();
    let problem = json!({ "role": "user", "content": "The packaging line camera is misaligned." });
    let tool = json!({ "type": "function", "function": { "name": "create_service_ticket" } });
    let mut request = json!({ "model": "m", "messages": [problem], "tools": [tool] });
    let Outcome::Answer { finish, calls, .. } = ask(&script, &request) else {
        panic!("the first request failed");
    };
    assert_eq!((finish, calls.len()), (json!("tool_calls"), 1));
    let result = json!({ "role": "tool", "tool_call_id": calls[0]["id"],
                         "content": r#"{"ticket_id":"INC-2026-417","status":"created"}"# });
    let call = json!({ "role": "assistant", "content": null, "tool_calls": calls });
    let messages = request["messages"].as_array_mut().unwrap();
    messages.extend([call, result]);
    let Outcome::Answer {
        finish,
        content,
        calls,
    } = ask(&script, &request)
    else {
        panic!("the follow-up failed");
    };
    assert_eq!((finish, calls.len()), (json!("stop"), 0));
    let text = content.as_str().unwrap();
    assert!(
        text.contains("INC-2026-417") && text.contains("created"),
        "{text}"
    );
}

#[test]
fn a_script_that_cannot_be_read_is_told_by_its_path() {
    let path = fixtures("demo/no-such-script.toml");
    let error = Script::load(&path).unwrap_err().to_string();
    assert!(
        error.contains("no-such-script.toml cannot be read: "),
        "{error}"
    );
}
