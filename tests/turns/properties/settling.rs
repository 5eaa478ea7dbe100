//! Has a turn settle one answer, where all tools are the caller's.

use handback::tools::{Catalogue, Choice};
use handback::turn::{
    Action, ArgumentPolicy, Input, Limits, Millis, Origins, Provider, Say, Setup, Turn,
};
use handback::wire::{Call, Raw, answer};

use super::pieces::NAMES;

/// A turn whose tools are all the caller's.
fn open(arguments: ArgumentPolicy) -> Turn {
    let tools = NAMES.iter().map(|name| {
        let tool = format!(r#"{{"type":"function","function":{{"name":"{name}"}}}}"#);
        serde_json::from_str(&tool).expect("a tool")
    });
    let limits = Limits {
        repairs: 0,
        ..Limits::default()
    };
    let setup = Setup {
        messages: Vec::new(),
        catalogue: Catalogue::merge(tools.collect(), Vec::new(), 99).expect("a catalogue"),
        choice: Choice::Free,
        arguments,
        limits,
        now: Millis(0),
        seed: 1,
        resume: None,
        origins: Origins::default(),
        provider: Provider::default(),
        patient: false,
    };
    Turn::open(setup, &mut Vec::new())
}

/// The calls that are handed back, and what was passed on of them before.
pub(super) fn settled(chunks: &[String], policy: ArgumentPolicy) -> (Vec<Call>, Vec<Say>) {
    let mut actions = Vec::new();
    let mut turn = open(policy);
    for chunk in chunks {
        let Ok(answer::Part::Delta(delta)) = answer::event(chunk.clone().into()) else {
            return Default::default();
        };
        turn = turn.handle(Input::Delta(delta), &mut actions);
    }
    let _ = turn.handle(Input::AnswerEnded, &mut actions);
    let mut said = Vec::new();
    let mut calls = Vec::new();
    for action in actions {
        match action {
            Action::Answer(answered) => calls = answered.calls,
            Action::Say(say) => said.push(say),
            _ => {}
        }
    }
    (calls, said)
}

/// Folds what was passed on of the calls.
pub(super) fn folded(said: &[Say]) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    for say in said {
        match say {
            Say::CallHead { id, name, .. } => {
                calls.push((id.to_string(), name.to_string(), String::new()));
            }
            Say::CallArguments { index, piece } => calls[*index].2.push_str(piece.body()),
            _ => {}
        }
    }
    for call in &mut calls {
        let text = Raw::parse(&format!("\"{}\"", call.2)).expect("JSON");
        call.2 = text.text().unwrap_or_default().into_owned();
    }
    calls
}
