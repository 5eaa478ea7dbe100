//! The conversation as a caller sends it: calls and results are paired, and what is missing is
//! filled in or refused (contract P1 to P8).
//!
//! **The frontier** is the last assistant message with tool calls, as long as no assistant
//! message follows it; consecutive assistant messages with calls count as one, and so do those
//! whose calls one continuation shows to be of one handback, with results between them. Its
//! results are due. Whatever lies before it is history, and never stands in the way of a
//! conversation.

use bytestring::ByteString;

use super::foreign;
use super::hidden::{Hidden, Resume, Visible};
use super::notes;
use super::origins::Origins;
use super::pairing;
use super::pairs::{Group, Pairs, Slot};
use super::said;
use crate::wire::{Message, Refusal, Role};

/// A conversation in which every call has exactly one result, right behind it and in order.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The messages as they go upstream.
    pub messages: Vec<Message>,
    /// Which upstream these are from.
    pub origins: Origins,
    /// Results that were dropped, since nothing in a trimmed history bears their id.
    pub dropped: usize,
    /// Calls that got a placeholder, since their results are not there.
    pub placeholders: usize,
    /// The results of a handback have come: the turn goes on.
    pub returned: bool,
    /// How it goes on, if something of it was hidden.
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

/// A conversation whose calls have been found, each handback with what was hidden behind it.
pub struct Conversation<C> {
    messages: Vec<Message>,
    pairs: Pairs,
    carried: Vec<Option<C>>,
}

impl History {
    /// Adds messages that the caller does not bring.
    pub(super) fn append(&mut self, messages: Vec<Message>, origins: &Origins) {
        let at = self.messages.len();
        self.messages.extend(messages);
        self.origins.append(at, origins);
        self.origins.begin(self.messages.len(), None);
    }

    /// Pairs a caller's messages.
    pub fn settle(messages: Vec<Message>) -> Result<History, Refusal> {
        Conversation::read(messages, |_| None::<Hidden>).settle(|hidden| hidden)
    }
}

impl<C: AsRef<Hidden>> Conversation<C> {
    /// Finds the handbacks of a caller's messages. `open` is asked once for each, in order, for
    /// what is hidden behind it.
    pub fn read(
        messages: Vec<Message>,
        mut open: impl FnMut(&Handback<'_>) -> Option<C>,
    ) -> Conversation<C> {
        let mut pairs = Pairs::find(&messages);
        let mut carried = Vec::with_capacity(pairs.groups.len());
        for (nth, group) in pairs.groups.iter().enumerate() {
            let frontier = pairs.frontier && nth + 1 == pairs.groups.len();
            let ids = pairs.ids(group).collect();
            carried.push(open(&Handback {
                ids,
                frontier,
                at: group.at,
            }));
        }
        if carried.iter().any(Option::is_some) {
            carried = pairs.join(&messages, carried);
        }
        Conversation {
            messages,
            pairs,
            carried,
        }
    }

    /// Takes out what binds messages to their provider, of the handbacks that have such an id and
    /// nothing hidden behind them.
    pub fn unbind(&mut self, is_such: impl Fn(&ByteString) -> bool) {
        for (group, carried) in self.pairs.groups.iter().zip(&self.carried) {
            if carried.is_none() && self.pairs.ids(group).any(&is_such) {
                for message in &mut self.messages[group.messages.clone()] {
                    let own = std::mem::replace(message, Message::system(""));
                    *message = foreign::without_provider_fields(own);
                }
            }
        }
    }

    /// What was hidden behind the handback whose results are due.
    pub fn due(&self) -> Option<&C> {
        self.carried
            .last()?
            .as_ref()
            .filter(|_| self.pairs.frontier)
    }

    /// Pairs the messages and puts what was hidden back in its place.
    pub fn settle(self, hidden: impl Fn(C) -> Hidden) -> Result<History, Refusal> {
        let mut pairs = self.pairs;
        pairs.check_ids()?;
        pairs.assign(&self.messages)?;
        pairs.check_frontier()?;
        let carried = self.carried.into_iter();
        let hidden = carried.map(|carried| carried.map(&hidden)).collect();
        Ok(pairs.arrange(self.messages, hidden))
    }
}

impl Pairs {
    /// Puts every result right behind its call, with a placeholder where there is none (P1, P3,
    /// P7), and what was hidden back in its place; the other messages keep their order.
    fn arrange(self, messages: Vec<Message>, mut hidden: Vec<Option<Hidden>>) -> History {
        let mut history = History {
            messages: Vec::with_capacity(messages.len()),
            origins: Origins::default(),
            dropped: self.dropped,
            placeholders: 0,
            returned: self.returned(),
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
        let of_model = |message: &mut Message| message.role == Role::Assistant;
        let mut run = left[group.messages.clone()]
            .iter_mut()
            .filter_map(|message| message.take_if(of_model));
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
                    pairing::with_short_ids(result)
                } else {
                    let id = pairing::short_id(&slot.id);
                    Message::tool(&id, &slot.name, notes::NOT_RUN_BY_CALLER)
                });
            }
            return;
        };
        let message = if group.said {
            said::without_text(message)
        } else {
            message
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
            history,
        );
        // Without results the caller has moved on: what follows is another turn.
        history.resume = Some(resume).filter(|_| last && answered);
    }
}
