//! Texts with references to the conversation: `{{last_user}}`, `{{result.TOOL.path}}`.
//!
//! Invariant: a template that was parsed can be filled from any conversation; what is not there
//! is said in the text.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::Conversation;

/// A text with references.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Plain(String),
    Reference(Reference),
}

#[derive(Debug)]
enum Reference {
    LastUser,
    Result { tool: String, path: Vec<String> },
}

/// What a reference stands for.
enum Found<'c> {
    Json(&'c RawValue),
    Text(&'c str),
    Nothing,
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some((plain, behind)) = rest.split_once("{{") {
            let Some((reference, behind)) = behind.split_once("}}") else {
                return Err(format!(
                    "`{{{{` without `}}}}` behind it; write a reference, such as {KINDS}"
                ));
            };
            pieces.push(Piece::Plain(plain.to_owned()));
            pieces.push(Piece::Reference(Reference::parse(reference.trim())?));
            rest = behind;
        }
        pieces.push(Piece::Plain(rest.to_owned()));
        pieces.retain(|piece| !matches!(piece, Piece::Plain(plain) if plain.is_empty()));
        Ok(Self(pieces))
    }
}

impl Template {
    /// The text with its references filled in.
    pub(super) fn text(&self, conversation: &Conversation) -> String {
        self.0
            .iter()
            .map(|piece| piece.text(conversation))
            .collect()
    }

    /// The text as a JSON value: a string, but where it is nothing but the value of a result,
    /// that value.
    pub(super) fn json(&self, conversation: &Conversation) -> String {
        if let [Piece::Reference(reference)] = self.0.as_slice()
            && let Found::Json(value) = reference.find(conversation)
        {
            return value.get().to_owned();
        }
        Value::from(self.text(conversation)).to_string()
    }
}

impl Piece {
    fn text(&self, conversation: &Conversation) -> String {
        match self {
            Self::Plain(plain) => plain.clone(),
            Self::Reference(reference) => reference.text(conversation),
        }
    }
}

/// The references that there are, for messages.
const KINDS: &str = "{{last_user}} or {{result.TOOL.path}}";

impl Reference {
    fn parse(text: &str) -> Result<Self, String> {
        let mut steps = text.split('.').map(str::trim);
        let kind = steps.next().unwrap_or_default();
        let mut steps = steps.map(str::to_owned).peekable();
        match kind {
            "last_user" if steps.peek().is_none() => Ok(Self::LastUser),
            "last_user" => Err(format!(
                "`{text}` goes too deep: the message is a text; write {{{{last_user}}}}"
            )),
            "result" => {
                let names: Vec<String> = steps.collect();
                match names.split_first() {
                    Some((tool, path)) if names.iter().all(|name| !name.is_empty()) => {
                        Ok(Self::Result {
                            tool: tool.clone(),
                            path: path.to_vec(),
                        })
                    }
                    _ => Err(format!(
                        "`{text}` lacks a name; write {{{{result.TOOL}}}} or {{{{result.TOOL.path}}}}"
                    )),
                }
            }
            _ => Err(format!("unknown reference `{text}`; write {KINDS}")),
        }
    }

    fn find<'c>(&self, conversation: &'c Conversation) -> Found<'c> {
        match self {
            Self::LastUser => conversation.last_user().map_or(Found::Nothing, Found::Text),
            Self::Result { tool, path } => match conversation.result(tool) {
                None => Found::Nothing,
                Some(result) if path.is_empty() => Found::Text(result),
                Some(result) => walk(result, path).map_or(Found::Nothing, Found::Json),
            },
        }
    }

    fn text(&self, conversation: &Conversation) -> String {
        match self.find(conversation) {
            Found::Json(value) => {
                serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().into())
            }
            Found::Text(text) => text.to_owned(),
            Found::Nothing => format!("(missing: {})", self.name()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::LastUser => "last_user".to_owned(),
            Self::Result { tool, path } => {
                let mut name = format!("result.{tool}");
                for step in path {
                    name = name + "." + step;
                }
                name
            }
        }
    }
}

/// The value at the end of `path`, in the spelling of the result: a parsed tree would change
/// long numbers and the order of keys.
fn walk<'r>(result: &'r str, path: &[String]) -> Option<&'r RawValue> {
    let root: &RawValue = serde_json::from_str(result).ok()?;
    path.iter().try_fold(root, |value, step| {
        let text = value.get();
        if text.starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            return items.get(step.parse::<usize>().ok()?).copied();
        }
        let members: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        members.get(step).copied()
    })
}
