//! What a turn asks for, in few words.

use std::error::Error;

use handback::turn::{Action, Answered, Ask, Say, ServiceCall};
use handback::wire::write::ObjectWriter;
use handback::wire::{Call, Message, Usage};
use serde::Serialize;

/// The messages that the model saw when it was last asked.
#[derive(Default)]
pub(crate) struct Seen(Vec<Message>);

/// One action as JSON text. `messages` is the conversation as it stands.
pub(crate) fn action(
    action: &Action,
    messages: &[Message],
    seen: &mut Seen,
) -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    let mut object = ObjectWriter::begin(&mut out);
    match action {
        Action::Answer(answered) => answer(&mut object, answered)?,
        Action::AskModel(model) => ask(&mut object, model, messages, seen)?,
        Action::CallService(call) => run(&mut object, call)?,
        Action::Say(said) => say(&mut object, said)?,
        Action::Stop(stopped) => object.member("stop", &json(stopped)?),
    }
    object.end();
    Ok(out)
}

fn answer(object: &mut ObjectWriter<'_>, answered: &Answered) -> Result<(), Box<dyn Error>> {
    object.string("answer", answered.finish.as_str());
    if !answered.calls.is_empty() {
        object.member("calls", &json(&answered.calls)?);
    }
    if answered.usage.is_some() {
        object.member("usage", &Usage::text(answered.usage.as_ref()));
    }
    for (key, value) in [
        ("system_fingerprint", &answered.system_fingerprint),
        ("service_tier", &answered.service_tier),
    ] {
        if let Some(value) = value {
            object.member(key, value.get());
        }
    }
    if answered.unrepaired {
        object.member("unrepaired", "true");
    }
    Ok(())
}

/// What the model is asked with: how many messages are as they were, and those behind them.
fn ask(
    object: &mut ObjectWriter<'_>,
    ask: &Ask,
    messages: &[Message],
    seen: &mut Seen,
) -> Result<(), Box<dyn Error>> {
    object.member("ask", &ask.round.to_string());
    object.member("offer", &json(&ask.offer)?);
    if let Some(choice) = &ask.choice {
        object.member("choice", choice.get());
    }
    let same = messages
        .iter()
        .zip(&seen.0)
        .take_while(|(now, before)| now == before)
        .count();
    if !seen.0.is_empty() {
        object.member("as_before", &format!("\"{same} of {}\"", seen.0.len()));
    }
    object.member("sees", &json(&messages[same..])?);
    seen.0 = messages.to_vec();
    Ok(())
}

fn run(object: &mut ObjectWriter<'_>, service: &ServiceCall) -> Result<(), Box<dyn Error>> {
    let Call {
        id,
        name,
        arguments,
        extra,
    } = &service.call;
    object.string("run", name);
    object.string("id", id);
    object.string("arguments", arguments);
    if !extra.is_empty() {
        object.member("extra", &json(extra)?);
    }
    object.member("side_effect", &json(&service.side_effect)?);
    Ok(())
}

fn say(object: &mut ObjectWriter<'_>, say: &Say) -> Result<(), Box<dyn Error>> {
    match say {
        Say::CallArguments { index, piece } => {
            object.member("call_arguments", &format!("[{index},{}]", piece.get()));
        }
        Say::CallHead { index, id, name } => {
            object.member("call_head", &json(&(index, id, name))?);
        }
        Say::Fields(fields) => object.member("fields", &json(fields)?),
        Say::Opened { with_text } => {
            object.string("opened", if *with_text { "with text" } else { "bare" });
        }
        Say::Text { text, logprobs } => {
            object.member("text", text.get());
            if let Some(logprobs) = logprobs {
                object.member("logprobs", logprobs.get());
            }
        }
    }
    Ok(())
}

fn json(value: &(impl Serialize + ?Sized)) -> Result<String, Box<dyn Error>> {
    Ok(serde_json::to_string(value)?)
}
