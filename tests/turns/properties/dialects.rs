//! Every dialect writes a request that can be read again, and the same bytes in every later one.

use handback::turn::History;
use handback::upstream::Prompt;
use handback::upstream::dialect::{Dialect, ROWS, Reasoning};
use handback::wire::request::ChatRequest;
use handback::wire::{Message, Raw, Role};
use proptest::prelude::*;

use super::history::is_paired;
use super::values::{body, cases, json, object};

const IDS: [&str; 4] = ["call_1", "list:0", "k7Qp2ZxWa", "a"];

/// A message with what clients and providers put into theirs.
fn message() -> impl Strategy<Value = String> {
    let id = || proptest::sample::select(&IDS[..]);
    let text = body().prop_map(|body| format!("\"{body}\""));
    let parts = proptest::collection::vec((body(), object()), 0..3).prop_map(|parts| {
        let part = |(text, extra): &(String, String)| {
            format!(r#"{{"type":"text","text":"{text}","cache_control":{extra}}}"#)
        };
        format!(
            "[{}]",
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        )
    });
    let content = prop_oneof![
        text,
        parts,
        Just("null".to_owned()),
        Just("\"\"".to_owned())
    ];
    let extra = (
        proptest::sample::select(&["reasoning_content", "name", "x"][..]),
        json(),
    );
    let calls = proptest::sample::subsequence(&IDS[..], 0..3);
    let kind = prop_oneof![
        2 => proptest::sample::select(&["user", "system", "developer"][..])
            .prop_map(|role| format!(r#""role":"{role}""#)),
        3 => (calls, json()).prop_map(|(ids, extra)| {
            let call = |id: &&str| format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}},"extra_content":{extra}}}"#
            );
            let calls: Vec<String> = ids.iter().map(call).collect();
            format!(r#""role":"assistant","tool_calls":[{}]"#, calls.join(","))
        }),
        3 => id().prop_map(|id| format!(r#""role":"tool","tool_call_id":"{id}""#)),
    ];
    (kind, content, extra).prop_map(|(kind, content, (key, value))| {
        format!(r#"{{{kind},"content":{content},"{key}":{value}}}"#)
    })
}

/// The conversation of a request in a dialect, as it leaves.
fn sent(messages: &[Message], dialect: &Dialect) -> Vec<Raw> {
    let prompt = Prompt {
        model: "m",
        instructions: None,
        messages,
        tools: &[],
        tool_choice: None,
        fields: &[],
        dialect,
    };
    let bytes = prompt.render().into_bytes();
    let request = ChatRequest::parse(bytes).expect("what is sent can be read");
    request
        .messages
        .into_iter()
        .map(|message| message.raw)
        .collect()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn every_dialect_keeps_calls_paired_and_says_the_same_later(
        messages in proptest::collection::vec(message(), 1..7),
    ) {
        let body = format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
        let request = ChatRequest::parse(body.into()).expect("a request");
        let history = History::settle(request.messages);
        prop_assume!(history.is_ok());
        let history = history.expect("a history");
        let whole = &history.messages;
        // A request is sent when something has been said by another than the model.
        let ends = (1..=whole.len()).filter(|end| whole[end - 1].role != Role::Assistant);
        let earlier: Vec<&[Message]> = ends
            .map(|end| &whole[..end])
            .filter(|messages| is_paired(messages))
            .collect();
        for (family, dialect) in ROWS {
            let last = sent(whole, dialect);
            let read: Vec<Message> = last
                .iter()
                .map(|raw| serde_json::from_str(raw.get()).expect("a message"))
                .collect();
            prop_assert!(is_paired(&read), "{}: {:?}", family, last);
            if dialect.reasoning == Reasoning::CurrentTurn {
                continue;
            }
            for messages in &earlier {
                let before = sent(messages, dialect);
                prop_assert_eq!(&before[..], &last[..before.len()], "{}", family);
            }
        }
    }
}
