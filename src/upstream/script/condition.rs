//! `when`: the conditions under which an answer is given.
//!
//! Invariant: conditions only read the conversation; they hold or not whatever was asked before.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::conversation::{Conversation, Role};
use super::list::{List, Name, Phrase};
use super::tree::Tree;

/// The conditions of one answer; an absent one holds. The module's documentation explains each.
#[derive(Debug, Default, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table of conditions, such as when.last_role = \"user\""
)]
pub(super) struct When {
    last_role: Option<List<Role>>,
    user_says: Option<List<Phrase>>,
    anyone_says: Option<List<Phrase>>,
    offered: Option<List<Name>>,
    forced: Option<List<Name>>,
    result: Option<List<Name>>,
    no_result: Option<List<Name>>,
    result_says: BTreeMap<String, List<Phrase>>,
    result_has: BTreeMap<String, Tree<String>>,
    rounds: Option<List<u32>>,
}

impl When {
    /// Whether there is no condition at all.
    pub(super) fn is_empty(&self) -> bool {
        // Names every field, so that a new condition cannot be forgotten here.
        let Self {
            last_role,
            user_says,
            anyone_says,
            offered,
            forced,
            result,
            no_result,
            result_says,
            result_has,
            rounds,
        } = self;
        last_role.is_none()
            && [user_says, anyone_says].iter().all(|texts| texts.is_none())
            && [offered, forced, result, no_result]
                .iter()
                .all(|names| names.is_none())
            && result_says.is_empty()
            && result_has.is_empty()
            && rounds.is_none()
    }

    /// Whether all conditions hold.
    pub(super) fn holds(&self, conversation: &Conversation) -> bool {
        self.messages_fit(conversation)
            && self.tools_fit(conversation)
            && self.results_fit(conversation)
            && absent_or(self.rounds.as_ref(), |numbers| {
                numbers.any(|number| usize::try_from(*number) == Ok(conversation.rounds()))
            })
    }

    fn messages_fit(&self, conversation: &Conversation) -> bool {
        absent_or(self.last_role.as_ref(), |roles| {
            let last = conversation.last().map(|message| message.role);
            roles.any(|role| Some(*role) == last)
        }) && absent_or(self.user_says.as_ref(), |texts| {
            let said = conversation.last_user().unwrap_or_default();
            texts.any(|text| text.is_in(said))
        }) && absent_or(self.anyone_says.as_ref(), |texts| {
            conversation
                .texts()
                .any(|said| texts.any(|text| text.is_in(said)))
        })
    }

    fn tools_fit(&self, conversation: &Conversation) -> bool {
        absent_or(self.offered.as_ref(), |names| {
            names.all(|name| conversation.offers(name.as_str()))
        }) && absent_or(self.forced.as_ref(), |names| {
            names.any(|name| conversation.forced() == Some(name.as_str()))
        })
    }

    fn results_fit(&self, conversation: &Conversation) -> bool {
        let is_in = |name: &Name| conversation.result(name.as_str()).is_some();
        absent_or(self.result.as_ref(), |names| names.all(is_in))
            && absent_or(self.no_result.as_ref(), |names| !names.any(is_in))
            && self.result_says.iter().all(|(tool, texts)| {
                let result = conversation.result(tool);
                result.is_some_and(|result| texts.any(|text| text.is_in(result)))
            })
            && self.result_has.iter().all(|(tool, wanted)| {
                let result = conversation.result(tool);
                let value = result.and_then(|result| serde_json::from_str::<Value>(result).ok());
                value.is_some_and(|value| wanted.is_in(&value))
            })
    }
}

fn absent_or<T>(condition: Option<&T>, holds: impl FnOnce(&T) -> bool) -> bool {
    condition.is_none_or(holds)
}
