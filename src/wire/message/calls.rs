//! Reads the calls of an assistant message of a request (contract R8).

use bytestring::ByteString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::CallHead;
use super::parse::{missing, present, required_text, unreadable};
use crate::wire::raw::{Elements, Kind, Members};
use crate::wire::refusal::{Code, Refusal, excerpt};
use crate::wire::write::{ObjectWriter, compact, quote_into};

/// How `tool_calls` must be written where it cannot go upstream as it stands.
pub(super) enum ToolCalls {
    /// Not at all: null and `[]` mean that there are none.
    Dropped,
    /// With every `arguments` as text.
    Rewritten(String),
}

const FORM: &str = "{\"id\":\"...\",\"type\":\"function\",\"function\":{\"name\":\"...\",\"arguments\":\"{...}\"}}";

#[derive(Deserialize)]
struct CallShape<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionShape<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
}

/// Reads `tool_calls` of the message `at`.
pub(super) fn parse(
    document: &ByteString,
    value: &RawValue,
    at: usize,
) -> Result<(Vec<CallHead>, Option<ToolCalls>), Refusal> {
    let elements = match serde_json::from_str(value.get()) {
        Ok(Elements::Array(elements)) => elements,
        Ok(Elements::Other(Kind::Null)) => return Ok((Vec::new(), Some(ToolCalls::Dropped))),
        _ => {
            let place = format!("messages[{at}].tool_calls");
            return Err(Refusal::wrong_type(
                place,
                value.get(),
                "an array of calls, or null",
            ));
        }
    };
    if elements.is_empty() {
        return Ok((Vec::new(), Some(ToolCalls::Dropped)));
    }
    let mut calls = Vec::with_capacity(elements.len());
    let mut untidy = false;
    for (nth, element) in elements.iter().enumerate() {
        let (head, arguments_are_text) = call(document, element, &|| {
            format!("messages[{at}].tool_calls[{nth}]")
        })?;
        untidy = untidy || !arguments_are_text;
        calls.push(head);
    }
    Ok((
        calls,
        untidy.then(|| ToolCalls::Rewritten(rewritten(&elements))),
    ))
}

/// The head of one call, and whether its arguments are text already.
fn call(
    document: &ByteString,
    element: &RawValue,
    place: &dyn Fn() -> String,
) -> Result<(CallHead, bool), Refusal> {
    let under = |key: &str| format!("{}.{key}", place());
    if !element.get().starts_with('{') {
        return Err(Refusal::wrong_type(place(), element.get(), FORM));
    }
    let shape: CallShape<'_> =
        serde_json::from_str(element.get()).map_err(|_| unreadable(&place()))?;
    if let Some(kind) = shape
        .kind
        .filter(|kind| !matches!(kind.get(), "\"function\"" | "null" | "\"\""))
    {
        let message = format!(
            "{} is {}; only \"function\" is supported",
            under("type"),
            excerpt(kind.get())
        );
        return Err(Refusal::at(
            Code::UnsupportedToolType,
            under("type"),
            message,
        ));
    }
    let function = shape
        .function
        .ok_or_else(|| missing(&under("function"), FORM))?;
    if !function.get().starts_with('{') {
        return Err(Refusal::wrong_type(under("function"), function.get(), FORM));
    }
    let function: FunctionShape<'_> =
        serde_json::from_str(function.get()).map_err(|_| unreadable(&under("function")))?;
    let text = |value, key: &str, wanted| match value {
        Some(value) => required_text(document, Some(value), &|| under(key), wanted),
        None => Err(missing(&under(key), wanted)),
    };
    let id = text(shape.id, "id", "the id of the call")?;
    let name = text(function.name, "function.name", "the function's name")?;
    let arguments_are_text = match function.arguments.map(RawValue::get) {
        Some("null") | None => false,
        Some(text) if is_blank(text) => false,
        Some(text) if text.starts_with('{') => false,
        Some(text) if text.starts_with('"') => true,
        Some(text) => {
            let wanted = "a string that holds a JSON object";
            return Err(Refusal::wrong_type(
                under("function.arguments"),
                text,
                wanted,
            ));
        }
    };
    Ok((CallHead { id, name }, arguments_are_text))
}

/// The calls with every `arguments` as text: an object becomes its compact string, nothing
/// becomes `"{}"`.
fn rewritten(elements: &[&RawValue]) -> String {
    let mut out = String::from("[");
    for (nth, element) in elements.iter().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        let mut object = ObjectWriter::begin(&mut out);
        for (key, value) in Members::of(element.get()) {
            if key == "function" {
                function(object.key(&key), value.get());
            } else {
                object.member(&key, value.get());
            }
        }
        object.end();
    }
    out.push(']');
    out
}

fn function(out: &mut String, text: &str) {
    let mut object = ObjectWriter::begin(out);
    let mut arguments = None;
    for (key, value) in Members::of(text) {
        if key == "arguments" {
            arguments = Some(value.get());
        } else {
            object.member(&key, value.get());
        }
    }
    match arguments {
        Some(text) if text.starts_with('{') => quote_into(object.key("arguments"), &compact(text)),
        None | Some("null") => object.string("arguments", "{}"),
        Some(text) if is_blank(text) => object.string("arguments", "{}"),
        Some(text) => object.member("arguments", text),
    }
    object.end();
}

/// Whether a JSON string holds nothing but spaces.
fn is_blank(text: &str) -> bool {
    text.starts_with('"') && text.trim_matches(['"', ' ']).is_empty()
}
