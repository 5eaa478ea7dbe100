//! What a caller changed of a handback is its word (contract K5).

use bytestring::ByteString;

use super::hidden::Visible;
use super::pairing;
use super::round::{Reply, Round, RoundCall};
use crate::wire::message::CallHead;
use crate::wire::raw::{Members, Raw};
use crate::wire::{Call, Message};

/// The handback as it is to be shown: the original, but for what the caller changed.
pub(super) fn merge(original: Round, visible: &Visible<'_>, text_edited: bool) -> Round {
    let sent = sent_calls(&visible.message);
    let mut edited = text_edited;
    let mut calls: Vec<RoundCall> = Vec::with_capacity(original.calls.len());
    for mut call in original.calls {
        let Some(id) = &call.visible else {
            calls.push(call);
            continue;
        };
        // A call that the caller took out is not shown.
        let Some(at) = visible.message.calls.iter().position(|sent| sent.id == *id) else {
            edited = true;
            continue;
        };
        if let Some(sent) = sent.get(at).filter(|sent| !is_same(sent, &call.call)) {
            call.call = Call {
                id: call.call.id,
                extra: Vec::new(),
                ..sent.clone()
            };
            edited = true;
        }
        let result = visible.results.get(at).cloned().flatten();
        call.result = result.map(|message| Reply::of_caller(&message, &call.call.id));
        calls.push(call);
    }
    // One that it put in is its own.
    let taken: Vec<ByteString> = calls.iter().map(|call| call.call.id.clone()).collect();
    for (at, head) in visible.message.calls.iter().enumerate() {
        if calls
            .iter()
            .all(|call| call.visible.as_ref() != Some(&head.id))
        {
            let Some(mut call) = sent.get(at).cloned() else {
                continue;
            };
            // One that bears an id that the model knows another call by gets a new one.
            if taken.contains(&call.id) {
                call.id = pairing::derived_id(&call.id);
            }
            let result = visible.results.get(at).cloned().flatten();
            let result = result.map(|message| Reply::of_caller(&message, &call.id));
            calls.push(RoundCall::external(call, result));
            edited = true;
        }
    }
    if !edited {
        return Round {
            message: original.message,
            calls,
        };
    }
    let shown: Vec<Call> = calls.iter().map(|call| call.call.clone()).collect();
    let source = if text_edited {
        &visible.message
    } else {
        &original.message
    };
    let content = source.field("content").filter(|content| !content.is_null());
    let mut message = Message::assistant(None, &[], &shown);
    if let Some(content) = content {
        message.raw = Raw::written(message.text_with("content", content.get()));
    }
    Round { message, calls }
}

/// The calls of a message of the caller.
fn sent_calls(message: &Message) -> Vec<Call> {
    let list = message.field("tool_calls");
    let elements: Vec<&serde_json::value::RawValue> = list
        .as_ref()
        .and_then(|list| serde_json::from_str(list.get()).ok())
        .unwrap_or_default();
    let call = |(element, head): (&&serde_json::value::RawValue, &CallHead)| {
        let members = Members::parse(element.get()).ok()?;
        let function = Members::parse(members.get("function")?.get()).ok()?;
        let arguments: String = serde_json::from_str(function.get("arguments")?.get()).ok()?;
        Some(Call {
            id: head.id.clone(),
            name: head.name.clone(),
            arguments: arguments.into(),
            extra: Vec::new(),
        })
    };
    let made = elements.iter().zip(&message.calls).map(|pair| {
        let (_, head) = pair;
        call(pair).unwrap_or_else(|| Call {
            id: head.id.clone(),
            name: head.name.clone(),
            arguments: ByteString::from_static("{}"),
            extra: Vec::new(),
        })
    });
    made.collect()
}

/// Whether the caller's version of a call says the same: half of all clients write the arguments
/// anew.
fn is_same(sent: &Call, original: &Call) -> bool {
    if sent.name != original.name {
        return false;
    }
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    sent.arguments == original.arguments
        || value(&sent.arguments).is_some_and(|sent| Some(sent) == value(&original.arguments))
}
