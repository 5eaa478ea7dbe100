//! What is written to the caller reads back as what was said (contract S1).

use handback::wire::chunk::{ChunkWriter, Ending, FinishReason, Heading};
use handback::wire::write::compact;
use handback::wire::{Call, Raw, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::values::{body, cases, json as any_json, object};

const HEADING: Heading<'static> = Heading {
    id: "chatcmpl-\"1",
    created: 7,
    model: "m/\u{5317}",
};

/// The JSON of one event; the frame around it is the reference's.
fn read(event: &[u8]) -> Value {
    let text = std::str::from_utf8(event).expect("text");
    let data = text
        .strip_prefix("data: ")
        .and_then(|data| data.strip_suffix("\n\n"));
    let data = data.expect("one event with one line of data");
    assert!(!data.contains(['\n', '\r']), "{data}");
    let chunk: Value = serde_json::from_str(data).expect("JSON");
    let heading = json!([
        HEADING.id,
        HEADING.created,
        HEADING.model,
        "chat.completion.chunk"
    ]);
    let said = json!([
        chunk["id"],
        chunk["created"],
        chunk["model"],
        chunk["object"]
    ]);
    assert_eq!(said, heading);
    chunk
}

/// Folds the deltas of chunks as the reference's clients do.
fn fold(events: &[Vec<u8>]) -> (String, Vec<(String, String, String)>) {
    let mut text = String::new();
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for event in events {
        let chunk = read(event);
        let delta = &chunk["choices"][0]["delta"];
        assert_eq!(chunk["choices"][0]["finish_reason"], Value::Null);
        text.push_str(delta["content"].as_str().unwrap_or_default());
        let pieces = delta["tool_calls"].as_array().cloned().unwrap_or_default();
        assert!(
            pieces.len() <= 1,
            "some clients lose the second call of a chunk"
        );
        for piece in pieces {
            let index = usize::try_from(piece["index"].as_u64().expect("an index")).expect("small");
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            if index == calls.len() {
                assert_eq!(piece["type"], "function");
                calls.push((
                    word(&piece["id"]),
                    word(&piece["function"]["name"]),
                    String::new(),
                ));
            }
            calls[index]
                .2
                .push_str(&word(&piece["function"]["arguments"]));
        }
    }
    (text, calls)
}

/// A value as most upstreams send it: on one line.
fn raw(value: &str) -> Raw {
    Raw::parse(&compact(value)).expect("JSON")
}

fn decoded(body: &str) -> String {
    serde_json::from_str(&format!("\"{body}\"")).expect("a JSON string")
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn chunks_fold_back_to_what_was_said(
        texts in proptest::collection::vec((body(), proptest::option::of(any_json())), 0..6),
        calls in proptest::collection::vec(
            (any::<String>(), any::<String>(), any::<String>(), object()),
            0..4,
        ),
        usage in object(),
    ) {
        let mut writer = ChunkWriter::new(&HEADING);
        let mut events = vec![writer.role_with_text().to_vec(), writer.role().to_vec()];
        for (body, logprobs) in &texts {
            let logprobs = logprobs.as_deref().map(raw);
            events.push(writer.text(body, logprobs.as_ref()).to_vec());
        }
        for (index, (id, name, arguments, extra)) in calls.iter().enumerate() {
            let extra = vec![("extra".into(), raw(extra))];
            let (id, name) = (id.as_str().into(), name.as_str().into());
            let call = Call { id, name, arguments: arguments.as_str().into(), extra };
            events.push(writer.call(index, &call).to_vec());
        }
        let said: String = texts.iter().map(|(body, _)| decoded(body)).collect();
        let called = calls.iter().cloned().map(|(id, name, arguments, _)| (id, name, arguments));
        prop_assert_eq!(fold(&events), (said, called.collect::<Vec<_>>()));
        let usage = Usage::new(raw(&usage));
        let ending = Ending {
            finish: FinishReason::ToolCalls,
            usage: usage.as_ref(),
            system_fingerprint: None,
            service_tier: None,
        };
        let end = read(&writer.finish(&ending));
        let choice = json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"});
        prop_assert_eq!(&end["choices"], &json!([choice]));
        let counted = read(&writer.usage(&ending));
        prop_assert_eq!(&counted["choices"], &json!([]));
        prop_assert!(counted["usage"].is_object());
    }

    /// Whole answers come with line ends between their tokens, and so do chunks that stand on
    /// several lines of an event.
    #[test]
    fn values_that_came_on_several_lines_leave_on_one(value in object()) {
        let value = Raw::parse(&value).expect("JSON");
        let mut writer = ChunkWriter::new(&HEADING);
        read(&writer.text("x", Some(&value)));
        read(&writer.fields(&[("annotations".into(), value.clone())]));
        let extra = vec![("extra_content".into(), value.clone())];
        let arguments = "{}".into();
        let call = Call { id: "a".into(), name: "f".into(), arguments, extra };
        read(&writer.call(0, &call));
        let usage = Usage::new(value);
        let ending = Ending {
            finish: FinishReason::Stop,
            usage: usage.as_ref(),
            system_fingerprint: None,
            service_tier: None,
        };
        read(&writer.usage(&ending));
    }

    #[test]
    fn calls_in_pieces_fold_back_to_the_calls(
        calls in proptest::collection::vec(
            (any::<String>(), any::<String>(), proptest::collection::vec(body(), 0..5)),
            0..4,
        ),
    ) {
        let mut writer = ChunkWriter::new(&HEADING);
        let mut events = Vec::new();
        for (index, (id, name, _)) in calls.iter().enumerate() {
            events.push(writer.call_head(index, id, name).to_vec());
        }
        for turn in 0..5 {
            for (index, (_, _, pieces)) in calls.iter().enumerate() {
                if let Some(piece) = pieces.get(turn) {
                    events.push(writer.call_arguments(index, piece).to_vec());
                }
            }
        }
        let called = calls
            .iter()
            .cloned()
            .map(|(id, name, pieces)| (id, name, decoded(&pieces.concat())));
        prop_assert_eq!(fold(&events).1, called.collect::<Vec<_>>());
    }
}
