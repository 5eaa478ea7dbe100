//! Reads the calls of an assistant message of a request (contract R8).

use bytestring::ByteString;
use serde_json::value::RawValue;

use super::CallHead;
use super::parse::{missing, required_text, twice, unreadable};
use crate::wire::cursor::{Cursor, NotJson};
use crate::wire::raw::{Kind, Members, says};
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

/// The members of a call, and of its function, that Handback looks at.
#[derive(Default)]
struct Shape<'a> {
    id: Option<&'a str>,
    kind: Option<&'a str>,
    function: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
    twice: Option<&'static str>,
}

/// Reads `tool_calls` of the message `at`.
pub(super) fn parse(
    document: &ByteString,
    text: &str,
    at: usize,
) -> Result<(Vec<CallHead>, Option<ToolCalls>), Refusal> {
    let place = || format!("messages[{at}].tool_calls");
    match Kind::of(text) {
        Kind::Array => {}
        Kind::Null => return Ok((Vec::new(), Some(ToolCalls::Dropped))),
        _ => {
            let wanted = "an array of calls, or null";
            return Err(Refusal::wrong_type(place(), text, wanted));
        }
    }
    let mut calls = Vec::new();
    let mut untidy = false;
    let mut refused = None;
    let walked = Cursor::new(text).array(|cursor| {
        let nth = calls.len();
        match call(document, cursor, &|| format!("{}[{nth}]", place()))? {
            Ok((head, arguments_are_text)) => {
                untidy = untidy || !arguments_are_text;
                calls.push(head);
            }
            Err(refusal) => {
                refused.get_or_insert(refusal);
            }
        }
        Ok(())
    });
    if let Some(refusal) = refused {
        return Err(refusal);
    }
    walked.map_err(|_| unreadable(&place()))?;
    if calls.is_empty() {
        return Ok((calls, Some(ToolCalls::Dropped)));
    }
    let rewritten = untidy.then(|| ToolCalls::Rewritten(rewritten(text)));
    Ok((calls, rewritten))
}

/// Walks through one call: its head, and whether its arguments are text already.
fn call(
    document: &ByteString,
    cursor: &mut Cursor<'_>,
    place: &dyn Fn() -> String,
) -> Result<Result<(CallHead, bool), Refusal>, NotJson> {
    if cursor.kind()? != Kind::Object {
        let text = cursor.value()?;
        return Ok(Err(Refusal::wrong_type(place(), text, FORM)));
    }
    let mut shape = Shape::default();
    cursor.object(|cursor, key| shape.member(&key, cursor))?;
    Ok(shape.head(document, place))
}

impl<'a> Shape<'a> {
    fn member(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Result<(), NotJson> {
        let is_function = key == "function" && cursor.kind()? == Kind::Object;
        let value = if is_function {
            cursor.object(|cursor, key| self.of_function(&key, cursor))?
        } else {
            cursor.value()?
        };
        let (slot, name) = match key {
            "id" => (&mut self.id, ".id"),
            "type" => (&mut self.kind, ".type"),
            "function" => (&mut self.function, ".function"),
            _ => return Ok(()),
        };
        if slot.replace(value).is_some() {
            self.twice = Some(name);
        }
        Ok(())
    }

    fn of_function(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Result<(), NotJson> {
        let value = cursor.value()?;
        let (slot, name) = match key {
            "name" => (&mut self.name, ".function.name"),
            "arguments" => (&mut self.arguments, ".function.arguments"),
            _ => return Ok(()),
        };
        if slot.replace(value).is_some() {
            self.twice = Some(name);
        }
        Ok(())
    }

    fn head(
        &self,
        document: &ByteString,
        place: &dyn Fn() -> String,
    ) -> Result<(CallHead, bool), Refusal> {
        let under = |key: &str| format!("{}{key}", place());
        if let Some(key) = self.twice {
            return Err(twice(&under(key)));
        }
        let is_function = |kind: &str| matches!(kind, "null" | "\"\"") || says(kind, "function");
        if let Some(kind) = self.kind.filter(|kind| !is_function(kind)) {
            let message = format!(
                "{} is {}; only \"function\" is supported",
                under(".type"),
                excerpt(kind)
            );
            let place = under(".type");
            return Err(Refusal::at(Code::UnsupportedToolType, place, message));
        }
        match self.function {
            None => return Err(missing(&under(".function"), FORM)),
            Some(other) if Kind::of(other) != Kind::Object => {
                return Err(Refusal::wrong_type(under(".function"), other, FORM));
            }
            Some(_) => {}
        }
        let text = |value, key, wanted| required_text(document, value, &|| under(key), wanted);
        let id = text(self.id, ".id", "the id of the call")?;
        let name = text(self.name, ".function.name", "the function's name")?;
        let arguments_are_text = match self.arguments {
            Some("null") | None => false,
            Some(text) if is_blank(text) || text.starts_with('{') => false,
            Some(text) if text.starts_with('"') => true,
            Some(text) => {
                let wanted = "a string that holds a JSON object";
                let place = under(".function.arguments");
                return Err(Refusal::wrong_type(place, text, wanted));
            }
        };
        Ok((CallHead { id, name }, arguments_are_text))
    }
}

/// The calls with every `arguments` as text: an object becomes its compact string, nothing
/// becomes `"{}"`.
fn rewritten(calls: &str) -> String {
    let elements: Vec<&RawValue> = serde_json::from_str(calls).unwrap_or_default();
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
