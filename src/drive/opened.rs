//! Opens what came back sealed, and puts it into the history (contract K3).

use std::sync::Arc;

use bytestring::ByteString;

use super::agent::Agent;
use super::clock;
use super::identity::Origin;
use super::order::Order;
use crate::continuation::settings::OnLost;
use crate::continuation::{Binding, Carry, is_sealed};
use crate::turn::{Conversation, Hidden, History};
use crate::wire::refusal::excerpt;
use crate::wire::{Code, Message, Refusal};

/// A history with its hidden parts in their places.
pub(super) struct Opened {
    pub(super) history: History,
    /// The agent that is active, if it is not the one that is asked first.
    pub(super) agent: Option<Arc<Agent>>,
    /// The hidden part of the frontier is lost.
    pub(super) lost: bool,
    /// The frontier, if something is hidden in it.
    pub(super) handback: Option<Origin>,
}

/// What an id carried.
struct Held {
    id: ByteString,
    carry: Carry,
}

impl AsRef<Hidden> for Held {
    fn as_ref(&self) -> &Hidden {
        &self.carry.hidden
    }
}

impl Opened {
    /// Reads the conversation of an order.
    pub(super) fn read(order: &mut Order) -> Result<Opened, Refusal> {
        let messages = std::mem::take(&mut order.messages);
        let order = &*order;
        let (mut lost, mut strangers) = (None, false);
        let mut conversation = Conversation::read(messages, |handback| {
            let mut sealed = handback.ids.iter().filter(|id| is_sealed(id));
            let id = sealed.next()?;
            // Two handbacks that the caller made one of: only one of them can go on.
            if let Some(other) = sealed.next().filter(|_| handback.frontier) {
                lost = Some(refusal(other, handback.at));
            }
            let held = open(order, id);
            strangers = strangers || held.is_none();
            if held.is_none() && handback.frontier {
                lost = Some(refusal(id, handback.at));
            }
            held
        });
        // One that does not open, since it was another agent's or is too old, does not say where
        // it is from (contract U3). What comes under ids that carry nothing is the caller's affair.
        if strangers {
            conversation.unbind(|id| is_sealed(id));
        }
        let due = conversation.due();
        let handback = due.map(|held| Origin::of_handback(&held.id));
        // In a team the agent that handed back goes on, whoever is asked first.
        let agent = order.team.as_ref().zip(due);
        let agent = agent.and_then(|(team, held)| team.agent(&held.carry.agent).cloned());
        let history = conversation.settle(|held| held.carry.hidden)?;
        match lost {
            Some(refusal) if order.common.on_lost == OnLost::Fail => Err(refusal),
            lost => Ok(Opened {
                lost: lost.is_some(),
                history: if lost.is_some() {
                    with_note(history)
                } else {
                    history
                },
                agent,
                handback,
            }),
        }
    }
}

/// What an id carries, if it opens for this caller and model.
fn open(order: &Order, id: &ByteString) -> Option<Held> {
    let binding = Binding {
        key: &order.key,
        model: &order.model,
    };
    let now = clock::now_millis();
    let mut carry = order.common.sealer.open(id, binding, now).ok()?;
    let hidden = carry.hidden.or_from(&carry.upstream);
    carry.hidden = hidden.under_sealed(id);
    let id = id.clone();
    Some(Held { id, carry })
}

/// Says which id was to carry something, and does not open.
fn refusal(id: &str, at: usize) -> Refusal {
    let message = format!(
        "the call {:?} of messages[{at}] came back altered, too late, or with another key or model, and what it carries is lost; send tool_call ids back unchanged, or begin the turn anew",
        excerpt(id)
    );
    Refusal::at(Code::ContinuationLost, format!("messages[{at}]"), message)
}

/// Tells the model that it has forgotten something, in the last result that it gets.
fn with_note(mut history: History) -> History {
    const NOTE: &str = "(Earlier steps of this turn are not available any more.)";
    let Some(last) = history
        .messages
        .iter()
        .rposition(|message| message.answers.is_some())
    else {
        return history;
    };
    let message = &history.messages[last];
    let content = message
        .field("content")
        .and_then(|content| content.text().map(|text| format!("{text}\n{NOTE}")));
    if let (Some(content), Some(id)) = (content, message.answers.clone()) {
        let name = message
            .field("name")
            .and_then(|name| name.text().map(std::borrow::Cow::into_owned));
        history.messages[last] = Message::tool(&id, name.as_deref().unwrap_or("tool"), &content);
    }
    history
}
