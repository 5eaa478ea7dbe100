//! The calls of an answer.
//!
//! Invariant: a call is made with one text as its arguments, whichever way that was written.

use serde::Deserialize;

use super::conversation::Conversation;
use super::list::Name;
use super::template::Template;
use super::tree::Table;

/// A call of an answer.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(super) struct Call {
    name: Name,
    arguments: Arguments,
    pub if_not_offered: NotOffered,
}

#[derive(Debug)]
enum Arguments {
    None,
    Table(Table<Template>),
    Text(Template),
}

/// A call as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Name,
    arguments: Option<Table<Template>>,
    arguments_json: Option<Template>,
    #[serde(default)]
    if_not_offered: NotOffered,
}

/// What becomes of a call whose tool the request does not offer.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum NotOffered {
    /// It is made all the same.
    Call,
    /// The whole answer does not fit: a model does not call what it does not know.
    #[default]
    NoMatch,
    /// It is left out.
    Skip,
}

/// A call, its references filled in.
#[derive(Debug)]
pub(super) struct PlayedCall {
    pub name: String,
    pub arguments: String,
}

impl Call {
    /// The call as it is made.
    fn play(&self, conversation: &Conversation) -> PlayedCall {
        let arguments = match &self.arguments {
            Arguments::None => "{}".to_owned(),
            Arguments::Table(table) => table.json(conversation),
            Arguments::Text(template) => template.text(conversation),
        };
        PlayedCall {
            name: self.name.as_str().to_owned(),
            arguments,
        }
    }
}

/// The calls that are made; `None` if one of them keeps the answer from fitting.
pub(super) fn play(calls: &[Call], conversation: &Conversation) -> Option<Vec<PlayedCall>> {
    let mut played = Vec::new();
    for call in calls {
        let offered = conversation.offers(call.name.as_str());
        match call.if_not_offered {
            NotOffered::NoMatch if !offered => return None,
            NotOffered::Skip if !offered => {}
            _ => played.push(call.play(conversation)),
        }
    }
    Some(played)
}

impl TryFrom<Written> for Call {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written {
            name,
            arguments,
            arguments_json,
            if_not_offered,
        } = written;
        let arguments = match (arguments, arguments_json) {
            (None, None) => Arguments::None,
            (Some(table), None) => Arguments::Table(table),
            (None, Some(text)) => Arguments::Text(text),
            (Some(_), Some(_)) => {
                return Err("a call has either `arguments` or `arguments_json`; remove one");
            }
        };
        Ok(Self {
            name,
            arguments,
            if_not_offered,
        })
    }
}
