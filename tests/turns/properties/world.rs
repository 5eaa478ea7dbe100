//! The world around a turn: it knows which calls wait for whom, and answers them.

use bytestring::ByteString;
use handback::turn::{Action, CallerResult, Input, Millis, Provider, Turn};
use handback::wire::delta::{CallDelta, Claim};
use handback::wire::{Delta, Message};

use super::sequences::{ARGUMENTS, EXTERNAL, Event, IDS, INTERNAL, Returned, raw, user};

/// What the world around a turn knows: which calls wait for whom.
#[derive(Default)]
pub(super) struct World {
    /// Service calls without a reply.
    running: Vec<ByteString>,
    /// Calls that are with the caller.
    handed_back: Vec<ByteString>,
    now: u64,
}

impl World {
    /// The inputs that an event is, as things stand.
    pub(super) fn inputs(&mut self, event: &Event, turn: &Turn) -> Vec<Input> {
        self.now += 1;
        match event {
            Event::Answer {
                text,
                calls,
                finish,
            } => match turn {
                Turn::Calling(_) => self.running.iter().rev().cloned().map(replied).collect(),
                Turn::HandedBack(_) => vec![self.returned(self.handed_back.iter().rev(), *text)],
                _ => vec![
                    Input::Delta(answer(*text, calls, *finish)),
                    Input::AnswerEnded,
                ],
            },
            Event::Delta(delta) => vec![Input::Delta(Delta::clone(delta))],
            Event::Ended => vec![Input::AnswerEnded],
            Event::Failed => vec![Input::AnswerFailed],
            Event::AskedAgain if turn.may_ask_again() => vec![Input::AskedAgain {
                provider: Provider::default(),
            }],
            Event::AskedAgain => Vec::new(),
            Event::Cancelled => vec![Input::Cancelled],
            Event::TimeUp => vec![Input::TimeUp],
            Event::Reply { foreign: true, .. } => vec![replied("nobody".into())],
            Event::Reply { which, .. } if !self.running.is_empty() => {
                let at = which.index(self.running.len());
                vec![replied(self.running[at].clone())]
            }
            Event::Reply { .. } => vec![replied("a".into())],
            Event::Returned { which, says } => vec![match which {
                Returned::Foreign => self.returned([ByteString::from("nobody")].iter(), *says),
                Returned::None => self.returned([].iter(), *says),
                Returned::Some => self.returned(self.handed_back.iter().skip(1), *says),
            }],
        }
    }

    fn returned<'a>(&self, ids: impl Iterator<Item = &'a ByteString>, says: bool) -> Input {
        Input::CallerReturned {
            results: ids.map(result).collect(),
            messages: if says { vec![user("And?")] } else { Vec::new() },
            now: Millis(self.now),
        }
    }

    /// Takes note of what a turn asked for, and of what it was told.
    pub(super) fn observe(&mut self, input: &Input, actions: &[Action], turn: &Turn) {
        if let Input::ServiceReplied { id, .. } = input {
            self.running.retain(|running| running != id);
        }
        for action in actions {
            match action {
                Action::CallService(service) => self.running.push(service.call.id.clone()),
                Action::Answer(answered) => {
                    self.handed_back = answered.calls.iter().map(|call| call.id.clone()).collect();
                }
                _ => {}
            }
        }
        if !matches!(turn, Turn::Calling(_)) {
            self.running.clear();
        }
    }
}

fn answer(text: bool, calls: &[(usize, Option<usize>, usize)], finish: Option<Claim>) -> Delta {
    let names = [EXTERNAL, INTERNAL].concat();
    let calls = calls
        .iter()
        .enumerate()
        .map(|(nth, (name, id, arguments))| CallDelta {
            index: Some(nth as u64),
            id: id.map(|id| IDS[id].into()),
            name: Some((*names.get(*name).unwrap_or(&"unknown")).into()),
            arguments: Some(raw(ARGUMENTS[*arguments])),
            extra: Vec::new(),
        });
    Delta {
        text: text.then(|| raw("\"x\"")),
        calls: calls.collect(),
        finish,
        ..Delta::default()
    }
}

fn replied(id: ByteString) -> Input {
    Input::ServiceReplied {
        id,
        result: "ok".to_owned(),
    }
}

fn result(id: &ByteString) -> CallerResult {
    CallerResult {
        id: id.clone(),
        message: Message::tool(id, "f", "ok"),
    }
}
