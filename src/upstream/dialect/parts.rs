//! The parts of a message: its calls, and the parts of its content.

use bytestring::ByteString;
use serde_json::value::RawValue;

use crate::wire::raw::Members;
use crate::wire::write::{ObjectWriter, quoted, with_member};

/// What a provider documents for calls that it did not sign.
const UNSIGNED: &str = "\"skip_thought_signature_validator\"";

/// How the calls of a message are written anew.
pub(super) struct Calls<'a> {
    /// The id of each call, where it gets another one.
    pub(super) ids: &'a [Option<ByteString>],
    /// Members that the reference does not have are left out.
    pub(super) plain: bool,
    /// The first call is signed if it is not.
    pub(super) signed: bool,
}

impl Calls<'_> {
    /// The list `tool_calls` as it is sent; none if that is as it stands.
    pub(super) fn rewrite(&self, list: &str) -> Option<String> {
        let elements: Vec<&RawValue> = serde_json::from_str(list).ok()?;
        let mut changed = false;
        let mut calls = Vec::with_capacity(elements.len());
        for (nth, element) in elements.into_iter().enumerate() {
            let new = self.call(nth, element.get());
            changed = changed || new.is_some();
            calls.push(new.unwrap_or_else(|| element.get().to_owned()));
        }
        changed.then(|| format!("[{}]", calls.join(",")))
    }

    fn call(&self, nth: usize, call: &str) -> Option<String> {
        let mut new = if self.plain {
            reduced(call, |key| ["id", "type", "function"].contains(&key))
        } else {
            None
        };
        if let Some(id) = self.ids.get(nth).and_then(Option::as_ref) {
            let text = new.as_deref().unwrap_or(call);
            new = Some(with_member(text, "id", &quoted(id)));
        }
        if nth == 0 && self.signed {
            new = signed(new.as_deref().unwrap_or(call)).or(new);
        }
        new
    }
}

/// The call with a signature; none if it has one.
fn signed(call: &str) -> Option<String> {
    const SIGNATURE: &str = "thought_signature";
    let object = |text: &str, key: &str| {
        let value = Members::parse(text).ok()?.get(key)?.get().to_owned();
        Some(value).filter(|value| value.starts_with('{'))
    };
    let extra = object(call, "extra_content").unwrap_or_else(|| "{}".to_owned());
    let google = object(&extra, "google").unwrap_or_else(|| "{}".to_owned());
    if Members::parse(&google).is_ok_and(|members| members.get(SIGNATURE).is_some()) {
        return None;
    }
    let google = with_member(&google, SIGNATURE, UNSIGNED);
    let extra = with_member(&extra, "google", &google);
    Some(with_member(call, "extra_content", &extra))
}

/// Parts of a content without members that the reference does not have: a part has its `type`,
/// and what that type names. None if that is as they stand.
pub(super) fn plain_parts(content: &str) -> Option<String> {
    let elements: Vec<&RawValue> = serde_json::from_str(content).ok()?;
    let mut changed = false;
    let parts: Vec<String> = elements
        .into_iter()
        .map(|part| {
            let kind = kind(part.get());
            let new = reduced(part.get(), |key| {
                key == "type" || Some(key) == kind.as_deref()
            });
            changed = changed || new.is_some();
            new.unwrap_or_else(|| part.get().to_owned())
        })
        .collect();
    changed.then(|| format!("[{}]", parts.join(",")))
}

/// Parts of a content as one text, with a note for each part that is none.
pub(super) fn as_text(content: &str) -> Option<String> {
    let elements: Vec<&RawValue> = serde_json::from_str(content).ok()?;
    let text = |part: &RawValue| {
        let members = Members::parse(part.get()).ok();
        let text =
            members.and_then(|members| serde_json::from_str(members.get("text")?.get()).ok());
        text.unwrap_or_else(|| match kind(part.get()) {
            Some(kind) => format!("[{kind} left out: this model takes text only]"),
            None => "[left out: this model takes text only]".to_owned(),
        })
    };
    let texts: Vec<String> = elements.into_iter().map(text).collect();
    Some(quoted(&texts.join("\n")))
}

fn kind(part: &str) -> Option<String> {
    let kind = Members::parse(part).ok()?.get("type")?;
    serde_json::from_str(kind.get()).ok()
}

/// The object with the members that are `kept`; none if these are all.
fn reduced(text: &str, kept: impl Fn(&str) -> bool) -> Option<String> {
    let members = Members::parse(text).ok()?;
    if members.0.iter().all(|(key, _)| kept(key)) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut object = ObjectWriter::begin(&mut out);
    for (key, value) in members.0.iter().filter(|(key, _)| kept(key)) {
        object.member(key, value.get());
    }
    object.end();
    Some(out)
}
