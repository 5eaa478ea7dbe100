//! A model's answer with calls, and what comes of them.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::core::Core;
use super::foreign;
use super::gather::{Gather, GatheredCall};
use super::notes;
use super::pieces::Pieces;
use super::verdict::Verdict;
use crate::tools::{SideEffect, name};
use crate::wire::raw::is_object;
use crate::wire::write::quoted;
use crate::wire::{Call, Message, Raw};

/// A model's answer with calls, and what came of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Round {
    /// The upstream that it is from; empty if that is not known.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub(super) upstream: ByteString,
    /// The message as it goes back to the model.
    pub(super) message: Message,
    /// Its calls, in order.
    pub(super) calls: Vec<RoundCall>,
}

/// One call of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RoundCall {
    /// The call as the upstream knows it.
    pub(super) call: Call,
    /// The id under which it is handed back; none for internal calls.
    pub(super) visible: Option<ByteString>,
    /// Of an internal call: whether it may run beside others.
    pub(super) side_effect: SideEffect,
    /// What came of it, once something has.
    pub(super) result: Option<Reply>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The caller's tool message, under the id that the upstream knows.
    Message(Message),
    /// Text: a service's result, or what the model is told instead of one.
    Text(String),
}

impl Round {
    /// Sorts the calls of a checked answer: handed back, to be run, or answered already.
    pub(super) fn settle(
        core: &mut Core,
        gather: &Gather,
        pieces: &Pieces,
        calls: Vec<GatheredCall>,
        verdicts: &[Verdict],
    ) -> Round {
        let limited = core.is_over_round_limit();
        let answers: Vec<Option<String>> = calls
            .iter()
            .zip(verdicts)
            .map(|(call, verdict)| match verdict {
                Verdict::Unfit { internal: true, .. } => Some(verdict.note(core, call)),
                Verdict::Withdrawn => Some(notes::ROUND_LIMIT.to_owned()),
                Verdict::Internal(_) if limited => Some(notes::ROUND_LIMIT.to_owned()),
                _ => None,
            })
            .collect();
        let mut calls = with_ids(core, calls);
        for (call, _) in calls
            .iter_mut()
            .zip(verdicts)
            .filter(|(_, verdict)| !verdict.is_external())
        {
            *call = presentable(std::mem::take(call));
        }
        let message = message(gather, &calls);
        let mut taken: Vec<ByteString> = Vec::new();
        let mut round = Round {
            upstream: core.provider.upstream.clone(),
            message,
            calls: Vec::with_capacity(calls.len()),
        };
        for ((call, verdict), result) in calls.into_iter().zip(verdicts).zip(answers) {
            let visible = verdict.is_external().then(|| {
                let passed_on = pieces.visible_id(taken.len());
                passed_on.unwrap_or_else(|| core.visible_id(&call.id, &taken))
            });
            taken.extend(visible.clone());
            let side_effect = verdict.side_effect();
            round.calls.push(RoundCall {
                call,
                visible,
                side_effect,
                result: result.map(Reply::Text),
            });
        }
        round
    }
}

impl RoundCall {
    /// A call that the caller put into a handback.
    pub(super) fn external(call: Call, result: Option<Reply>) -> RoundCall {
        let visible = Some(call.id.clone());
        RoundCall {
            call,
            visible,
            side_effect: SideEffect::default(),
            result,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.result.is_none()
    }

    pub(super) fn into_message(self) -> Message {
        match self.result {
            Some(Reply::Message(message)) => message,
            Some(Reply::Text(text)) => Message::tool(&self.call.id, &self.call.name, &text),
            None => Message::tool(&self.call.id, &self.call.name, ""),
        }
    }
}

impl Reply {
    /// The caller's message with the upstream's id of the call.
    pub(super) fn of_caller(message: &Message, id: &ByteString) -> Reply {
        if message.answers.as_ref() == Some(id) {
            return Reply::Message(message.clone());
        }
        let raw = Raw::written(message.text_with("tool_call_id", &quoted(id)));
        Reply::Message(Message {
            raw,
            answers: Some(id.clone()),
            ..message.clone()
        })
    }
}

/// The calls with an id each: the upstream's own, unless it gave none or the same one twice.
pub(super) fn with_ids(core: &mut Core, calls: Vec<GatheredCall>) -> Vec<Call> {
    let mut taken: Vec<ByteString> = calls.iter().filter_map(|call| call.id.clone()).collect();
    let mut used: Vec<ByteString> = Vec::with_capacity(calls.len());
    let mut out = Vec::with_capacity(calls.len());
    for call in calls {
        let id = match call.id {
            Some(id) if !used.contains(&id) => core.kept_id(id),
            _ => core.fresh_id(&taken),
        };
        taken.push(id.clone());
        used.push(id.clone());
        out.push(Call {
            id,
            name: call.name.into(),
            arguments: call.arguments.into(),
            extra: call.extra,
        });
    }
    out
}

/// A faulty call in a form that upstreams take in a history: a strict one refuses a whole
/// conversation over a name or over arguments that it cannot parse.
pub(super) fn presentable(call: Call) -> Call {
    let object = is_object(&call.arguments);
    Call {
        name: name::presentable(&call.name).into(),
        arguments: if object {
            call.arguments
        } else {
            ByteString::from_static("{}")
        },
        ..call
    }
}

/// The model's message as it goes back to the model.
pub(super) fn message(gather: &Gather, calls: &[Call]) -> Message {
    let mut fields = gather.fields.values();
    fields.retain(|(key, _)| foreign::is_provider_field(key));
    Message::assistant(gather.text.as_deref(), &fields, calls)
}
