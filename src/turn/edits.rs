//! What a caller changed of a handback is its word (contract K5).

use bytestring::ByteString;
use serde_json::{Number, Value};

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
            call.id = pairing::short_id(&call.id);
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
            upstream: original.upstream,
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
    Round {
        upstream: original.upstream,
        message,
        calls,
    }
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
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let values = || Some((value(&sent.arguments)?, value(&original.arguments)?));
    sent.arguments == original.arguments || values().is_some_and(|(a, b)| is_equal(&a, &b))
}

/// Whether two values are the same. Of numbers the value counts: a client in JavaScript writes
/// `1.0` as `1`.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64() && !exact(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a)| b.get(key).is_some_and(|b| is_equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// Whether both are whole numbers as written, which can differ beyond what a float tells apart.
fn exact(a: &Number, b: &Number) -> bool {
    !a.is_f64() && !b.is_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let equal = |a: &str, b: &str| {
            let value = |text: &str| serde_json::from_str(text).unwrap();
            is_equal(&value(a), &value(b))
        };
        for (a, b) in [
            ("1.0", "1"),
            ("1e2", "100"),
            ("-0", "0"),
            ("[{\"a\":2.50}]", "[{\"a\":2.5}]"),
        ] {
            assert!(equal(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("1", "2"),
            ("9007199254740993", "9007199254740992"),
            ("1", "\"1\""),
        ] {
            assert!(!equal(a, b), "{a} {b}");
        }
    }
}
