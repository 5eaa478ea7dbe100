//! The messages of a conversation in the form in which a server takes them.

use std::borrow::Cow;

use bytestring::ByteString;

use super::ids::Ids;
use super::parts::{self, Calls};
use super::{
    AfterResults, CallIds, DeveloperRole, Dialect, EmptyContent, MessageKeys, Reasoning,
    ResultContent, ResultName, ThoughtSignature,
};
use crate::wire::message::CallHead;
use crate::wire::raw::Members;
use crate::wire::write::{ObjectWriter, quoted};
use crate::wire::{Message, Raw, Role};

const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// What a server gets that insists on reasoning which is not there. An empty text counts as none
/// with some of them.
const NO_REASONING: &str = "\" \"";

/// What the model says between results and another message, for servers that want it to say
/// something there.
const BRIDGE: &str = "(The results are in.)";

impl Dialect {
    /// The messages as they are sent; none if that is as they stand, all of them.
    pub(in crate::upstream) fn messages<'a>(
        &self,
        messages: &'a [Message],
    ) -> Option<Vec<Cow<'a, Message>>> {
        if !self.changes_messages() {
            return None;
        }
        let mut translation = Translation::new(self, messages);
        let mut sent: Vec<Cow<'a, Message>> = Vec::with_capacity(messages.len());
        for (at, message) in messages.iter().enumerate() {
            let behind_result = at > 0 && messages[at - 1].role == Role::Tool;
            let of_model = matches!(message.role, Role::Assistant | Role::Tool);
            if self.after_results == AfterResults::Bridged && behind_result && !of_model {
                let bridge = Raw::string(BRIDGE);
                sent.push(Cow::Owned(Message::assistant(
                    Some(bridge.body()),
                    &[],
                    &[],
                )));
            }
            sent.push(translation.message(at, message));
        }
        Some(sent)
    }

    fn changes_messages(&self) -> bool {
        self.call_ids == CallIds::NineAlphanumerics
            || self.result_name != ResultName::AsSent
            || self.result_content != ResultContent::AsSent
            || self.after_results != AfterResults::AsSent
            || self.developer_role != DeveloperRole::AsSent
            || self.empty_content != EmptyContent::AsSent
            || self.reasoning != Reasoning::AsSent
            || self.thought_signature != ThoughtSignature::AsSent
            || self.message_keys != MessageKeys::Any
    }
}

/// What is known on the way through a conversation.
struct Translation<'d, 'a> {
    dialect: &'d Dialect,
    ids: Ids,
    /// The calls whose results follow.
    calls: &'a [CallHead],
    /// Where the last user message stands.
    last_user: usize,
}

/// What becomes of a member.
enum Member {
    Dropped,
    Kept,
    Set(String),
}

impl<'d, 'a> Translation<'d, 'a> {
    fn new(dialect: &'d Dialect, messages: &[Message]) -> Translation<'d, 'a> {
        let last_user = messages
            .iter()
            .rposition(|message| message.role == Role::User);
        Translation {
            dialect,
            ids: Ids::new(dialect.call_ids),
            calls: &[],
            last_user: last_user.unwrap_or(0),
        }
    }

    fn message(&mut self, at: usize, message: &'a Message) -> Cow<'a, Message> {
        if message.role == Role::Assistant {
            self.calls = &message.calls;
        }
        let ids: Vec<Option<ByteString>> = message
            .calls
            .iter()
            .map(|call| &call.id)
            .chain(&message.answers)
            .map(|id| self.ids.replacement(id))
            .collect();
        let reader = Reader {
            dialect: self.dialect,
            message,
            ids: &ids,
            past: at < self.last_user,
        };
        let name = message.answers.as_ref().and_then(|id| self.name_of(id));
        match reader.rewritten(name) {
            None => Cow::Borrowed(message),
            Some(raw) => Cow::Owned(Message {
                raw,
                ..message.clone()
            }),
        }
    }

    /// The function whose result a tool message is, where it must be named.
    fn name_of(&self, id: &ByteString) -> Option<&'a str> {
        let filled = self.dialect.result_name == ResultName::Filled;
        let call = self.calls.iter().find(|call| call.id == *id)?;
        filled.then_some(&*call.name)
    }
}

/// Reads one message member by member.
struct Reader<'a> {
    dialect: &'a Dialect,
    message: &'a Message,
    /// The new ids of its calls, or of the call that it answers.
    ids: &'a [Option<ByteString>],
    /// A later message of the user follows.
    past: bool,
}

impl Reader<'_> {
    /// The message anew; none if it can stay as it is. A result without a name gets `name`.
    fn rewritten(&self, name: Option<&str>) -> Option<Raw> {
        let text = self.message.raw.get();
        let members = Members::parse(text).ok()?;
        let mut out = String::with_capacity(text.len() + 64);
        let mut object = ObjectWriter::begin(&mut out);
        let mut changed = false;
        for (key, value) in &members.0 {
            match self.member(key, value.get(), name) {
                Member::Kept => object.member(key, value.get()),
                Member::Dropped => changed = true,
                Member::Set(value) => {
                    object.member(key, &value);
                    changed = true;
                }
            }
        }
        for (key, value) in self.missing(&members, name) {
            object.member(key, &value);
            changed = true;
        }
        object.end();
        changed.then(|| Raw::written(out))
    }

    fn member(&self, key: &str, value: &str, name: Option<&str>) -> Member {
        if !self.dialect.message_keys.allow(key) {
            return Member::Dropped;
        }
        if self.message.role == Role::Assistant && REASONING.contains(&key) {
            return self.reasoning(key, value);
        }
        let new = match key {
            "role" => self.role(),
            "content" => self.content(value),
            "tool_calls" => self.calls(value),
            "tool_call_id" => self
                .ids
                .first()
                .and_then(Option::as_ref)
                .map(|id| quoted(id)),
            "name" if matches!(value, "null" | "\"\"") => name.map(quoted),
            _ => None,
        };
        new.map_or(Member::Kept, Member::Set)
    }

    fn role(&self) -> Option<String> {
        let unknown = self.message.role == Role::Developer
            && self.dialect.developer_role == DeveloperRole::System;
        unknown.then(|| "\"system\"".to_owned())
    }

    fn content(&self, value: &str) -> Option<String> {
        let is_list = value.starts_with('[');
        if is_list
            && self.message.role == Role::Tool
            && self.dialect.result_content == ResultContent::Text
        {
            return parts::as_text(value);
        }
        if is_list && self.dialect.message_keys != MessageKeys::Any {
            return parts::plain_parts(value);
        }
        if self.message.calls.is_empty() {
            return None;
        }
        match (self.dialect.empty_content, value) {
            (EmptyContent::Null, "\"\"" | "[]") => Some("null".to_owned()),
            (EmptyContent::Text, "null" | "[]") => Some("\"\"".to_owned()),
            _ => None,
        }
    }

    fn calls(&self, list: &str) -> Option<String> {
        let calls = Calls {
            ids: self.ids,
            plain: self.dialect.message_keys != MessageKeys::Any,
            signed: self.dialect.thought_signature == ThoughtSignature::Filled,
        };
        calls.rewrite(list)
    }

    fn reasoning(&self, key: &str, value: &str) -> Member {
        match self.dialect.reasoning {
            Reasoning::Dropped => Member::Dropped,
            Reasoning::CurrentTurn if self.past => Member::Dropped,
            Reasoning::AsSent | Reasoning::CurrentTurn => Member::Kept,
            Reasoning::Required => {
                let blank = key == "reasoning_content" && matches!(value, "null" | "\"\"");
                if blank && !self.message.calls.is_empty() {
                    Member::Set(NO_REASONING.to_owned())
                } else {
                    Member::Kept
                }
            }
        }
    }

    /// The members that must be there and are not.
    fn missing(
        &self,
        members: &Members<'_>,
        name: Option<&str>,
    ) -> impl Iterator<Item = (&'static str, String)> {
        let is_missing = |key: &str| members.get(key).is_none();
        let calling = !self.message.calls.is_empty();
        let name = name.filter(|_| is_missing("name")).map(quoted);
        let content =
            (calling && self.dialect.empty_content == EmptyContent::Text && is_missing("content"))
                .then(|| "\"\"".to_owned());
        let reasoning = (calling
            && self.dialect.reasoning == Reasoning::Required
            && is_missing("reasoning_content"))
        .then(|| NO_REASONING.to_owned());
        [
            ("name", name),
            ("content", content),
            ("reasoning_content", reasoning),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
    }
}
