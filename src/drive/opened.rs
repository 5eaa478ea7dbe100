//! Opens what came back sealed, and puts it into the history (contract K3).

use std::sync::Arc;

use bytestring::ByteString;

use super::agent::Agent;
use super::clock;
use super::identity::Origin;
use super::order::Order;
use crate::continuation::settings::OnLost;
use crate::continuation::{Binding, Carry, is_sealed};
use crate::turn::{Handback, History, is_bound, unbound};
use crate::wire::refusal::excerpt;
use crate::wire::{Code, Message, Refusal, Role};

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

impl Opened {
    /// Reads the conversation of an order.
    pub(super) fn read(order: &mut Order) -> Result<Opened, Refusal> {
        let messages = std::mem::take(&mut order.messages);
        let order = &*order;
        let messages = without_strangers(order, messages);
        let (mut agent, mut lost, mut origin) = (None, false, None);
        let first = active(order, &messages);
        let upstream = first
            .as_ref()
            .map_or(&order.agent.source.name, |agent| &agent.source.name);
        let history = History::restore(messages, |handback| match open(order, &handback) {
            Found::Nothing => Ok(None),
            Found::Carry(carry) => {
                if handback.frontier {
                    agent.clone_from(&first);
                    origin = sealed_id(&handback).map(|id| Origin::of_handback(id));
                }
                let own = carry.upstream == *upstream;
                Ok(Some(if own {
                    carry.hidden
                } else {
                    carry.hidden.unbound()
                }))
            }
            Found::Lost if handback.frontier && order.common.on_lost == OnLost::Fail => {
                Err(refusal(&handback))
            }
            Found::Lost => {
                lost = lost || handback.frontier;
                Ok(None)
            }
        })?;
        let history = if lost { with_note(history) } else { history };
        Ok(Opened {
            history,
            agent,
            lost,
            handback: origin,
        })
    }
}

/// The member of a team that the last handback of a conversation names, whoever is asked first.
fn active(order: &Order, messages: &[Message]) -> Option<Arc<Agent>> {
    let team = order.team.as_ref()?;
    // Only a handback that still waits for its results: a later answer ended the turn.
    let last = messages
        .iter()
        .rfind(|message| message.role == Role::Assistant)?;
    let ids = last.calls.iter().map(|call| &call.id).collect();
    match open(
        order,
        &Handback {
            ids,
            frontier: true,
            at: 0,
        },
    ) {
        Found::Carry(carry) => team.agent(&carry.agent).cloned(),
        _ => None,
    }
}

enum Found {
    Carry(Box<Carry>),
    Lost,
    Nothing,
}

fn open(order: &Order, handback: &Handback<'_>) -> Found {
    let Some(id) = sealed_id(handback) else {
        return Found::Nothing;
    };
    let binding = Binding {
        key: &order.key,
        model: &order.model,
    };
    match order.common.sealer.open(id, binding, clock::now_millis()) {
        Ok(mut carry) => {
            carry.hidden = carry.hidden.under_sealed(id);
            Found::Carry(Box::new(carry))
        }
        Err(_) => Found::Lost,
    }
}

/// The id of a handback that carries its hidden part.
fn sealed_id<'a>(handback: &Handback<'a>) -> Option<&'a ByteString> {
    handback.ids.iter().copied().find(|id| is_sealed(id))
}

fn refusal(handback: &Handback<'_>) -> Refusal {
    let id = sealed_id(handback).map_or("", |id| &**id);
    let message = format!(
        "the call {:?} of messages[{}] came back altered, too late, or with another key or model, and what it carries is lost; send tool_call ids back unchanged, or begin the turn anew",
        excerpt(id),
        handback.at
    );
    Refusal::at(
        Code::ContinuationLost,
        format!("messages[{}]", handback.at),
        message,
    )
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

/// The messages without provider fields of upstreams that nobody knows: a handback whose id does
/// not open, since it was another agent's or is too old, does not say where it is from (contract
/// U3). What the caller sends under ids that carry nothing is its own affair.
fn without_strangers(order: &Order, messages: Vec<Message>) -> Vec<Message> {
    let binding = Binding {
        key: &order.key,
        model: &order.model,
    };
    let now = clock::now_millis();
    let is_stranger = |message: &Message| {
        let mut sealed = message.calls.iter().filter(|call| is_sealed(&call.id));
        let opens = |id| order.common.sealer.open(id, binding, now).is_ok();
        // Few clients send provider fields back: for the others nothing is opened twice.
        sealed.any(|call| is_bound(message) && !opens(&call.id))
    };
    let known = |message| {
        if is_stranger(&message) {
            unbound(message)
        } else {
            message
        }
    };
    messages.into_iter().map(known).collect()
}
