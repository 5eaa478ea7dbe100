//! The text of a handback, in whichever messages and pieces a client keeps it.

use serde_json::value::RawValue;

use crate::wire::raw::{Members, Raw};
use crate::wire::{Message, Role};

/// Whether a message says what the caller was given (`said`, escaped), or nothing.
pub(super) fn is_said(said: &str, message: &Message) -> bool {
    let sent = text(message);
    sent.trim().is_empty() || sent.trim() == unescaped(said).trim()
}

/// How many messages of `before` say, together with `own`, what the caller was given; both are
/// told last one first. Blanks do not count, since clients trim and join pieces as they like.
/// None where messages say another thing, and where the only one is enough by itself.
pub(super) fn taken<'a>(
    said: &str,
    own: impl Iterator<Item = &'a Message>,
    before: impl Iterator<Item = &'a Message>,
) -> Option<usize> {
    let given = without_blanks(&unescaped(said));
    let mut rest = given.as_str();
    let mut messages = 0;
    for message in own {
        rest = rest.strip_suffix(without_blanks(&text(message)).as_str())?;
        messages += 1;
    }
    let mut taken = 0;
    for message in before {
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_suffix(without_blanks(&text(message)).as_str())?;
        taken += 1;
    }
    (rest.is_empty() && messages + taken > 1).then_some(taken)
}

/// A message of the model that says something without its text; others as they are.
pub(super) fn without_text_of_model(message: Message) -> Result<Message, Message> {
    if message.role == Role::Assistant && !text(&message).is_empty() {
        Ok(without_text(message))
    } else {
        Err(message)
    }
}

/// A message without its text.
pub(super) fn without_text(message: Message) -> Message {
    let raw = Raw::written(message.text_with("content", "null"));
    Message { raw, ..message }
}

fn unescaped(body: &str) -> String {
    serde_json::from_str(&format!("\"{body}\"")).unwrap_or_default()
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The text of a message, its parts joined.
fn text(message: &Message) -> String {
    let Some(content) = message.field("content") else {
        return String::new();
    };
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let parts: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let text = |part: &RawValue| {
        serde_json::from_str::<String>(Members::parse(part.get()).ok()?.get("text")?.get()).ok()
    };
    parts.into_iter().filter_map(text).collect()
}
