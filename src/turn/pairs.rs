//! Which calls belong together, and which message answers which call (contract P1 to P6).

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use bytestring::ByteString;

use super::hidden::Hidden;
use super::pairing;
use super::said;
use crate::wire::refusal::excerpt;
use crate::wire::{Code, Message, Refusal, Role};

/// Assistant messages that count as one, and their calls.
pub(super) struct Group {
    /// From the first message to the last: text that goes before parallel calls is among them, and
    /// results that stand between the calls of one handback.
    pub(super) messages: Range<usize>,
    /// The first message with calls: what a refusal points to.
    pub(super) at: usize,
    /// The group's calls among all.
    pub(super) calls: Range<usize>,
    /// Its messages together say what the caller was given with the handback, and nothing else.
    pub(super) said: bool,
}

/// A call and the message that answers it.
pub(super) struct Slot {
    pub(super) id: ByteString,
    pub(super) name: ByteString,
    pub(super) result: Option<usize>,
}

/// The work of pairing.
pub(super) struct Pairs {
    pub(super) groups: Vec<Group>,
    pub(super) slots: Vec<Slot>,
    /// Whether the last group is the frontier.
    pub(super) frontier: bool,
    /// Results that belong to nobody's call.
    pub(super) dropped: usize,
}

impl Pairs {
    /// Finds the calls of a conversation.
    pub(super) fn find(messages: &[Message]) -> Pairs {
        let bears_calls = |at: usize| {
            messages
                .get(at)
                .is_some_and(|message| !message.calls.is_empty())
        };
        let is_assistant = |at: usize| {
            messages
                .get(at)
                .is_some_and(|message| message.role == Role::Assistant)
        };
        let (mut groups, mut slots): (Vec<Group>, Vec<Slot>) = (Vec::new(), Vec::new());
        let mut next = 0;
        let mut frontier = false;
        while next < messages.len() {
            if !bears_calls(next) {
                frontier = frontier && !is_assistant(next);
                next += 1;
                continue;
            }
            let at = next;
            let first_slot = slots.len();
            while bears_calls(next) {
                let calls = messages[next].calls.iter();
                slots.extend(calls.map(|call| Slot {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    result: None,
                }));
                next += 1;
            }
            // Parallel calls stored as messages of their own had one text before them.
            let parallel = next - at > 1;
            let start = if parallel && at > 0 && is_assistant(at - 1) {
                at - 1
            } else {
                at
            };
            groups.push(Group {
                messages: start..next,
                at,
                calls: first_slot..slots.len(),
                said: false,
            });
            frontier = true;
        }
        Pairs {
            groups,
            slots,
            frontier,
            dropped: 0,
        }
    }

    /// The ids of a group's calls.
    pub(super) fn ids(&self, group: &Group) -> impl Iterator<Item = &ByteString> {
        self.slots[group.calls.clone()].iter().map(|slot| &slot.id)
    }

    /// Makes one group of those that a client has made of one handback, which what was carried
    /// behind one of them tells, and takes in the text that it keeps before them.
    pub(super) fn join<C: AsRef<Hidden>>(
        &mut self,
        messages: &[Message],
        carried: Vec<Option<C>>,
    ) -> Vec<Option<C>> {
        let (mut groups, mut kept): (Vec<Group>, Vec<Option<C>>) = (Vec::new(), Vec::new());
        for (mut group, mut own) in std::mem::take(&mut self.groups).into_iter().zip(carried) {
            while let (Some(before), Some(theirs)) = (groups.last(), kept.last())
                && let Some(hidden) = theirs.as_ref().xor(own.as_ref())
                && messages[before.messages.end..group.messages.start]
                    .iter()
                    .all(|message| message.answers.is_some())
                && self.are_of_one(hidden.as_ref(), before, &group)
            {
                group = Group {
                    messages: before.messages.start..group.messages.end,
                    at: before.at,
                    calls: before.calls.start..group.calls.end,
                    said: false,
                };
                groups.pop();
                own = own.or(kept.pop().flatten());
            }
            groups.push(group);
            kept.push(own);
        }
        for (group, carried) in groups.iter_mut().zip(&kept) {
            let hidden = carried.as_ref().map(AsRef::as_ref);
            if let Some(start) = hidden.and_then(|hidden| text_start(messages, group, hidden)) {
                group.messages.start = start;
                group.said = true;
            }
        }
        self.groups = groups;
        kept
    }

    /// Whether the calls of two groups are different ones of one handback.
    fn are_of_one(&self, hidden: &Hidden, one: &Group, other: &Group) -> bool {
        let mut ids: HashSet<&ByteString> = hidden.visible_ids().collect();
        self.ids(one)
            .chain(self.ids(other))
            .all(|id| ids.remove(id))
    }

    /// Whether the results that are due have come.
    pub(super) fn returned(&self) -> bool {
        let due = self.last().map(|group| &self.slots[group.calls.clone()]);
        due.is_some_and(|due| due.iter().any(|slot| slot.result.is_some()))
    }

    fn last(&self) -> Option<&Group> {
        self.groups.last().filter(|_| self.frontier)
    }

    /// Refuses two calls of the frontier with one id (contract P6).
    pub(super) fn check_ids(&self) -> Result<(), Refusal> {
        let Some(group) = self.last() else {
            return Ok(());
        };
        let mut seen = HashSet::new();
        for slot in &self.slots[group.calls.clone()] {
            if !seen.insert(&slot.id) {
                let message = format!(
                    "two calls of messages[{}] have the id {:?}; give each its own",
                    group.at,
                    excerpt(&slot.id)
                );
                let place = format!("messages[{}]", group.at);
                return Err(Refusal::at(Code::DuplicateToolCallId, place, message));
            }
        }
        Ok(())
    }

    /// Gives every tool message to the call that it answers: one of the calls before it, the
    /// latest that bears its id.
    pub(super) fn assign(&mut self, messages: &[Message]) -> Result<(), Refusal> {
        let mut bearers: HashMap<ByteString, VecDeque<usize>> = HashMap::new();
        let mut groups = 0;
        for (at, message) in messages.iter().enumerate() {
            if let Some(group) = self.groups.get(groups).filter(|group| group.at == at) {
                groups += 1;
                let mut fresh: HashMap<&ByteString, VecDeque<usize>> = HashMap::new();
                for slot in group.calls.clone() {
                    fresh
                        .entry(&self.slots[slot].id)
                        .or_default()
                        .push_back(slot);
                }
                bearers.extend(fresh.into_iter().map(|(id, slots)| (id.clone(), slots)));
            }
            if let Some(id) = &message.answers {
                let due = self.frontier && groups == self.groups.len();
                self.assign_one(messages, at, id, due, bearers.get_mut(id))?;
            }
        }
        Ok(())
    }

    /// Gives the tool message `at` to one of `bearers`, the calls with its id that no later call
    /// hides. A call that has its result stays among them as the last one.
    fn assign_one(
        &mut self,
        messages: &[Message],
        at: usize,
        id: &ByteString,
        due: bool,
        bearers: Option<&mut VecDeque<usize>>,
    ) -> Result<(), Refusal> {
        let Some(bearers) = bearers else {
            if due || !self.frontier {
                return Err(unknown(at, id));
            }
            self.dropped += 1;
            return Ok(());
        };
        let Some(&slot) = bearers.front() else {
            return Ok(());
        };
        match self.slots[slot].result {
            None => {
                self.slots[slot].result = Some(at);
                if bearers.len() > 1 {
                    bearers.pop_front();
                }
                Ok(())
            }
            Some(first) => {
                let of_frontier = self.last().is_some_and(|group| group.calls.contains(&slot));
                if of_frontier && !pairing::same_result(&messages[first], &messages[at]) {
                    let message = format!(
                        "messages[{at}] is a second, different result for the call {:?}; send one",
                        excerpt(id)
                    );
                    let place = format!("messages[{at}]");
                    return Err(Refusal::at(Code::DuplicateToolResult, place, message));
                }
                Ok(())
            }
        }
    }

    /// Refuses a frontier that is answered in part (contract P2).
    pub(super) fn check_frontier(&self) -> Result<(), Refusal> {
        let Some(group) = self.last() else {
            return Ok(());
        };
        let slots = &self.slots[group.calls.clone()];
        let missing: Vec<&str> = slots
            .iter()
            .filter(|slot| slot.result.is_none())
            .map(|slot| &*slot.id)
            .collect();
        if missing.is_empty() || missing.len() == slots.len() {
            return Ok(());
        }
        let message = format!(
            "messages[{}] has {} calls and results are missing for: {}; send a tool message for each call, or none at all",
            group.at,
            slots.len(),
            listed(&missing)
        );
        Err(Refusal::at(
            Code::PartialToolResults,
            format!("messages[{}]", group.at),
            message,
        ))
    }
}

/// Where the text of a handback begins that a client keeps in messages of its own: the first of
/// the assistant messages before its calls that say, with them, what the caller was given. None
/// if its one message says that, or nothing, or another thing.
fn text_start(messages: &[Message], group: &Group, hidden: &Hidden) -> Option<usize> {
    let is_text = |message: &&Message| message.role == Role::Assistant && message.calls.is_empty();
    let own = messages[group.at..group.messages.end]
        .iter()
        .filter(|message| message.role == Role::Assistant);
    let before = messages[..group.at].iter().rev().take_while(is_text);
    let taken = said::taken(hidden.said(), own.rev(), before)?;
    Some(group.at - taken)
}

/// Longest list of ids in a message, in ids: far more than any client calls at once.
const LISTED_IDS: usize = 128;

fn listed(ids: &[&str]) -> String {
    let shown: Vec<String> = ids.iter().take(LISTED_IDS).map(|id| excerpt(id)).collect();
    let rest = ids.len() - shown.len();
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

fn unknown(at: usize, id: &str) -> Refusal {
    let message = format!(
        "messages[{at}] answers the call {:?}, and no call before it has that id; send the assistant message with its tool_calls before the results",
        excerpt(id)
    );
    Refusal::at(Code::UnknownToolCallId, format!("messages[{at}]"), message)
}
