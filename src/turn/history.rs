//! The conversation as a caller sends it: calls and results are paired, and what is missing is
//! filled in or refused (contract P1 to P8).
//!
//! **The frontier** is the last assistant message with tool calls, as long as no assistant
//! message follows it; consecutive assistant messages with calls count as one. Its results are
//! due. Whatever lies before it is history, and never stands in the way of a conversation.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use bytestring::ByteString;

use super::hidden::{Hidden, Resume, Visible};
use super::notes;
use super::pairing;
use crate::wire::refusal::excerpt;
use crate::wire::{Code, Message, Refusal, Role};

/// A conversation in which every call has exactly one result, right behind it and in order.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The messages as they go upstream.
    pub messages: Vec<Message>,
    /// Results that were dropped, since nothing in a trimmed history bears their id.
    pub dropped: usize,
    /// Calls that got a placeholder, since their results are not there.
    pub placeholders: usize,
    /// How the turn goes on, if something of it was hidden.
    pub resume: Option<Resume>,
}

/// The calls of an assistant message of a history.
#[derive(Debug)]
pub struct Handback<'a> {
    /// Their ids.
    pub ids: Vec<&'a ByteString>,
    /// Whether their results are due.
    pub frontier: bool,
    /// The message's place in the request.
    pub at: usize,
}

/// Assistant messages that count as one, and their calls.
struct Group {
    /// The messages: text that goes before parallel calls is the first of them.
    messages: Range<usize>,
    /// The first message with calls: what a refusal points to.
    at: usize,
    /// The group's calls among all.
    calls: Range<usize>,
}

/// A call and the message that answers it.
struct Slot {
    id: ByteString,
    name: ByteString,
    result: Option<usize>,
}

/// The work of pairing.
struct Pairs {
    groups: Vec<Group>,
    slots: Vec<Slot>,
    /// Whether the last group is the frontier.
    frontier: bool,
    dropped: usize,
}

impl History {
    /// Pairs a caller's messages.
    pub fn settle(messages: Vec<Message>) -> Result<History, Refusal> {
        History::restore(messages, |_| Ok(None))
    }

    /// As [`History::settle`], with what is hidden behind the calls of each assistant message.
    /// `open` is asked once for each of them, in order, with the ids of its calls, whether it is
    /// the frontier, and where it stands; it can refuse the request.
    pub fn restore(
        messages: Vec<Message>,
        mut open: impl FnMut(Handback<'_>) -> Result<Option<Hidden>, Refusal>,
    ) -> Result<History, Refusal> {
        let mut pairs = Pairs::find(&messages);
        pairs.check_ids()?;
        pairs.assign(&messages)?;
        pairs.check_frontier()?;
        let mut hidden = Vec::with_capacity(pairs.groups.len());
        for (nth, group) in pairs.groups.iter().enumerate() {
            let frontier = pairs.frontier && nth + 1 == pairs.groups.len();
            let ids = pairs.slots[group.calls.clone()]
                .iter()
                .map(|slot| &slot.id)
                .collect();
            hidden.push(open(Handback {
                ids,
                frontier,
                at: group.at,
            })?);
        }
        Ok(pairs.arrange(messages, hidden))
    }
}

impl Pairs {
    fn find(messages: &[Message]) -> Pairs {
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

    fn last(&self) -> Option<&Group> {
        self.groups.last().filter(|_| self.frontier)
    }

    /// Refuses two calls of the frontier with one id (contract P6).
    fn check_ids(&self) -> Result<(), Refusal> {
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
    fn assign(&mut self, messages: &[Message]) -> Result<(), Refusal> {
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
    fn check_frontier(&self) -> Result<(), Refusal> {
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

    /// Puts every result right behind its call, with a placeholder where there is none (P1, P3,
    /// P7), and what was hidden back in its place; the other messages keep their order.
    fn arrange(self, messages: Vec<Message>, mut hidden: Vec<Option<Hidden>>) -> History {
        let mut history = History {
            messages: Vec::with_capacity(messages.len()),
            dropped: self.dropped,
            placeholders: 0,
            resume: None,
        };
        let mut left: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
        let mut next_group = 0;
        for at in 0..left.len() {
            if let Some(group) = self
                .groups
                .get(next_group)
                .filter(|group| group.messages.start == at)
            {
                let last = self.frontier && next_group + 1 == self.groups.len();
                let (own, later) = hidden.split_at_mut(next_group + 1);
                let (own, later) = (
                    own[next_group].take(),
                    later.first().and_then(Option::as_ref),
                );
                self.place(group, &mut left, (own, later, last), &mut history);
                next_group += 1;
            }
            // What is still here and answers something is a repeat, or of nobody's call.
            let other = left[at].take().filter(|message| message.answers.is_none());
            match history
                .resume
                .as_mut()
                .filter(|resume| resume.round.is_some())
            {
                Some(resume) => resume.then.extend(other),
                None => history.messages.extend(other),
            }
        }
        history
    }

    fn place(
        &self,
        group: &Group,
        left: &mut [Option<Message>],
        (own, later, last): (Option<Hidden>, Option<&Hidden>, bool),
        history: &mut History,
    ) {
        let mut run = left[group.messages.clone()]
            .iter_mut()
            .filter_map(Option::take);
        let message = match (run.next(), run.next()) {
            (Some(only), None) => only,
            (first, second) => {
                pairing::merged(first.into_iter().chain(second).chain(run).collect())
            }
        };
        let slots = &self.slots[group.calls.clone()];
        let mut take = |slot: &Slot| slot.result.and_then(|result| left[result].take());
        let Some(own) = own else {
            history.messages.push(pairing::with_short_ids(message));
            for slot in slots {
                let result = take(slot);
                history.placeholders += usize::from(result.is_none());
                history.messages.push(if let Some(result) = result {
                    pairing::with_short_answer(result)
                } else {
                    let id = pairing::short_id(&slot.id);
                    Message::tool(&id, &slot.name, notes::NOT_RUN_BY_CALLER)
                });
            }
            return;
        };
        let results: Vec<Option<Message>> = slots.iter().map(take).collect();
        history.placeholders += results.iter().filter(|result| result.is_none()).count();
        let parked = later
            .filter(|later| later.turn() == own.turn())
            .map(Hidden::parked);
        let answered = results.iter().any(Option::is_some);
        let mut resume = own.resume();
        resume.round = own.restore(
            &Visible {
                message,
                results,
                parked,
                due: last,
            },
            &mut history.messages,
        );
        // Without results the caller has moved on: what follows is another turn.
        history.resume = Some(resume).filter(|_| last && answered);
    }
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
