//! Conversations: whatever callers keep of theirs, calls and results are paired (contract P1 to
//! P8).

use std::borrow::Cow;

use handback::turn::History;
use handback::wire::{Message, Role};
use proptest::prelude::*;

use super::values::cases;

/// Ids, one of them too long for upstreams.
const IDS: [&str; 4] = [
    "a",
    "b",
    "c",
    "long-long-long-long-long-long-long-long-long",
];

fn message() -> impl Strategy<Value = Message> {
    let id = || proptest::sample::select(&IDS[..]);
    let text = || proptest::sample::select(&["", "x", "y z"][..]);
    let calls = proptest::collection::vec(id(), 0..3);
    let plain = proptest::sample::select(&["user", "system", "developer"][..]);
    prop_oneof![
        2 => (plain, text()).prop_map(|(role, text)| {
            format!(r#"{{"role":"{role}","content":"{text}"}}"#)
        }),
        4 => (calls, text(), any::<bool>()).prop_map(|(ids, text, silent)| {
            let calls: Vec<String> = ids
                .iter()
                .map(|id| format!(r#"{{"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}"#))
                .collect();
            let content = if silent { "null".to_owned() } else { format!("\"{text}\"") };
            format!(
                r#"{{"role":"assistant","content":{content},"tool_calls":[{}]}}"#,
                calls.join(",")
            )
        }),
        5 => (id(), text()).prop_map(|(id, text)| {
            format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
        }),
    ]
    .prop_map(|text| serde_json::from_str(&text).expect("a message"))
}

/// Checks that every call is answered once, right behind it and in order, and nothing else is.
pub(super) fn is_paired(messages: &[Message]) -> bool {
    let mut rest = messages;
    while let Some((first, behind)) = rest.split_first() {
        let answers = behind.iter().map_while(|message| message.answers.as_ref());
        let calls = first.calls.iter().map(|call| &call.id);
        if first.answers.is_some() || !answers.eq(calls) {
            return false;
        }
        rest = &behind[first.calls.len()..];
    }
    true
}

/// What is said besides calls and results: other messages one by one, the model's text and calls
/// as they follow each other, since parallel calls are put into one message.
fn said(messages: &[Message]) -> (Vec<(Role, String)>, String, usize) {
    let text = |message: &Message| {
        let content = message.field("content");
        content.and_then(|content| content.text().map(Cow::into_owned))
    };
    let others = messages
        .iter()
        .filter(|message| !matches!(message.role, Role::Assistant | Role::Tool))
        .map(|message| (message.role, text(message).unwrap_or_default()))
        .collect();
    let model = || {
        messages
            .iter()
            .filter(|message| message.role == Role::Assistant)
    };
    let spoken: String = model().filter_map(text).collect();
    let calls = model().map(|message| message.calls.len()).sum();
    (others, spoken.replace("\n\n", ""), calls)
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn accepted_conversations_are_paired_and_stay_so(
        messages in proptest::collection::vec(message(), 0..9),
    ) {
        let Ok(settled) = History::settle(messages.clone()) else {
            return Ok(());
        };
        prop_assert!(is_paired(&settled.messages), "{:?}", settled.messages);
        prop_assert_eq!(said(&settled.messages), said(&messages));
        let mut calls = settled.messages.iter().flat_map(|message| &message.calls);
        prop_assert!(calls.all(|call| call.id.chars().count() <= 40));
        // What is stored and read again is the same.
        let stored = serde_json::to_string(&settled.messages).expect("JSON");
        let read: Vec<Message> = serde_json::from_str(&stored).expect("messages");
        prop_assert_eq!(&read, &settled.messages);
        let again = History::settle(settled.messages.clone()).expect("accepted once");
        prop_assert_eq!(again.messages, settled.messages);
        prop_assert_eq!((again.dropped, again.placeholders), (0, 0));
    }
}
