//! Requests: what Handback does not act on reaches the upstream byte for byte (contract R4).

use handback::upstream::{Dialect, Prompt};
use handback::wire::Raw;
use handback::wire::raw::Members;
use handback::wire::request::ChatRequest;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::values::{body, cases, json, object};

/// Fields that mean nothing to Handback, in the order sent.
fn fields() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    const KEYS: [&str; 6] = ["seed", "temperature", "metadata", "x-1", "", "\u{5317} y"];
    let keys = proptest::sample::subsequence(&KEYS[..], 0..=KEYS.len()).prop_shuffle();
    (keys, proptest::collection::vec(json(), KEYS.len()))
        .prop_map(|(keys, values)| keys.into_iter().zip(values).collect())
}

/// A message that needs no change.
fn message() -> impl Strategy<Value = String> {
    let text = (body(), proptest::sample::select(&[1_usize, 1, 1, 900][..]))
        .prop_map(|(body, times)| format!("\"{}\"", body.repeat(times)));
    let parts = proptest::collection::vec(object(), 0..3)
        .prop_map(|parts| format!("[{}]", parts.join(" , ")));
    let content = prop_oneof![text, parts, Just("null".to_owned())];
    let role = proptest::sample::select(&["user", "system", "developer", "assistant"][..]);
    let call = (object(), any::<bool>()).prop_map(|(arguments, spaced)| {
        let arguments = serde_json::to_string(&arguments).unwrap_or_default();
        let space = if spaced { " " } else { "" };
        format!(
            r#"[{{"id":"c",{space}"type":"function","function":{{"name":"f","arguments":{arguments}}},"x":1.0}}]"#
        )
    });
    (role, content, json(), call, any::<bool>()).prop_map(|(role, content, extra, call, calls)| {
        let calls = if calls && role == "assistant" {
            format!(r#","tool_calls":{call}"#)
        } else {
            String::new()
        };
        format!(r#"{{ "x" :{extra}, "role":"{role}" , "content":{content}{calls}}}"#)
    })
}

fn tool() -> impl Strategy<Value = String> {
    (json(), json()).prop_map(|(extra, default)| {
        format!(
            r#"{{"type":"function" ,"x":{extra},"function":{{"name":"f","parameters":{{"type":"object","properties":{{"a":{{"default":{default}}}}}}}}}}}"#
        )
    })
}

fn elements(text: &str) -> Vec<String> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).expect("an array");
    elements
        .iter()
        .map(|element| element.get().to_owned())
        .collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn fields_messages_and_tools_come_out_as_they_went_in(
        before in fields(),
        messages in proptest::collection::vec(message(), 1..5),
        tools in proptest::collection::vec(tool(), 0..3),
        space in proptest::sample::select(&["", " ", "\r\n"][..]),
    ) {
        let members = before.iter().map(|(key, value)| {
            let key = serde_json::json!(key);
            format!("{key}:{space}{value}{space},")
        });
        let written = members.collect::<Vec<_>>().concat();
        let body = format!(
            r#"{{"model":"m",{written}"messages":[{}]{space},"tools":[{}],"stream":true}}"#,
            messages.join(&format!("{space},{space}")),
            tools.join(","),
        );
        let request = ChatRequest::parse(body.into()).expect("a request");
        let offered: Vec<&Raw> = request.tools.iter().map(|tool| &tool.raw).collect();
        let prompt = Prompt {
            model: "up",
            instructions: None,
            messages: &request.messages,
            tools: &offered,
            tool_choice: None,
            fields: &request.fields,
            dialect: &Dialect::REFERENCE,
        };
        let body = prompt.render();
        let length = body.len();
        let rendered = body.into_bytes();
        prop_assert_eq!(length, rendered.len());
        let text = std::str::from_utf8(&rendered).expect("text");
        let members = Members::parse(text).expect("an object").0;
        let (known, others): (Vec<_>, Vec<_>) = members
            .iter()
            .map(|(key, value)| (key.as_ref(), value.get()))
            .partition(|(key, _)| matches!(*key, "model" | "messages" | "tools"));
        let sent: Vec<(&str, &str)> = before.iter().map(|(key, value)| (*key, &**value)).collect();
        prop_assert_eq!(others, sent);
        prop_assert_eq!(known[0], ("model", "\"up\""));
        prop_assert_eq!(elements(known[1].1), messages);
        let out = known.get(2).map_or_else(Vec::new, |(_, tools)| elements(tools));
        prop_assert_eq!(out, tools);
    }

    #[test]
    fn bodies_of_any_kind_are_read_or_refused(
        value in json(),
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let _ = ChatRequest::parse(bytes.into());
        let _ = ChatRequest::parse(value.clone().into());
        let user = r#"{"role":"user","content":""}"#;
        let body = format!(
            r#"{{"model":"m","messages":[{user},{value}],"tools":[{value}],"n":{value}}}"#
        );
        let _ = ChatRequest::parse(body.into());
    }
}
