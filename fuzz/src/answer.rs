//! An upstream's answer: cut into events, read as deltas, taken by a turn, written as chunks.

use bytes::Bytes;
use handback::turn::{
    Action, Answered, ArgumentPolicy, Input, Limits, Millis, Origins, Provider, Say, Setup, Turn,
};
use handback::wire::answer::{self, Malformed, Part};
use handback::wire::chunk::{ChunkWriter, Ending, Heading};
use handback::wire::request::ChatRequest;
use handback::wire::sse::Decoder;
use handback::wire::{Delta, chunk};
use serde_json::value::RawValue;

use crate::request::check_snapshot;

const EVENT_BYTES: usize = 1 << 20;

const REQUEST: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}"#;

const HEADING: Heading<'static> = Heading {
    id: "chatcmpl-1",
    created: 1,
    model: "m",
};

/// Reads the bytes as a stream, however they are cut, and as a whole answer. Whatever is said of
/// it to a caller has to be valid JSON, and calls have to hold JSON objects.
pub fn run(data: &[u8]) {
    let (first, rest) = data.split_first().unwrap_or((&7, data));
    let events = decode(rest, usize::MAX);
    assert_eq!(decode(rest, usize::from(*first).max(1)), events);
    for policy in [ArgumentPolicy::Repair, ArgumentPolicy::Pass] {
        let parts = events.iter().cloned().map(answer::event);
        let deltas: Vec<Delta> = parts.map_while(delta).collect();
        play(&deltas, policy);
        let whole = answer::whole(Bytes::copy_from_slice(rest));
        play(delta(whole).as_slice(), policy);
    }
    let _ = answer::failure(&String::from_utf8_lossy(rest));
}

fn delta(part: Result<Part, Malformed>) -> Option<Delta> {
    match part {
        Ok(Part::Delta(delta)) => Some(delta),
        Ok(Part::Message { message, .. }) => Some(Delta {
            restates: true,
            ..*message
        }),
        Ok(Part::Nothing) => Some(Delta::default()),
        Ok(Part::Done | Part::Failed(_)) | Err(_) => None,
    }
}

fn decode(data: &[u8], read: usize) -> Vec<Bytes> {
    let mut decoder = Decoder::new(EVENT_BYTES);
    let mut events = Vec::new();
    for read in data.chunks(read) {
        let fed = decoder.feed(Bytes::copy_from_slice(read), &mut |event| {
            events.push(event.data);
        });
        if fed.is_err() {
            return Vec::new();
        }
    }
    let _ = decoder.finish(&mut |event| {
        events.push(event.data);
    });
    events
}

/// Plays one answer to a turn, over as many rounds as the turn asks for.
fn play(deltas: &[Delta], arguments: ArgumentPolicy) {
    let mut actions = Vec::new();
    let mut turn = open(arguments, &mut actions);
    let mut writer = ChunkWriter::new(&HEADING);
    let mut asked = 0;
    while let Some(action) = actions.first().cloned() {
        actions.remove(0);
        match action {
            Action::AskModel(_) => {
                asked += 1;
                assert!(asked < 100, "the turn has no end");
                for delta in deltas {
                    turn = turn.handle(Input::Delta(delta.clone()), &mut actions);
                }
                check_snapshot(&turn);
                turn = turn.handle(Input::AnswerEnded, &mut actions);
                check_snapshot(&turn);
            }
            Action::Say(say) => check_event(&say_to(&mut writer, &say)),
            Action::Answer(answered) => check_end(&mut writer, &answered, arguments),
            Action::CallService(call) => panic!("there are no services: {call:?}"),
            Action::Stop(_) => {}
        }
    }
}

fn open(arguments: ArgumentPolicy, actions: &mut Vec<Action>) -> Turn {
    let request = ChatRequest::parse(Bytes::from_static(REQUEST.as_bytes()));
    let request = request.expect("a request in order");
    let limits = Limits::default();
    let tools = handback::tools::Catalogue::merge(request.tools, Vec::new(), limits.tools);
    let setup = Setup {
        messages: request.messages,
        catalogue: tools.expect("tools in order"),
        choice: handback::tools::Choice::Free,
        arguments,
        limits,
        now: Millis(0),
        seed: 7,
        resume: None,
        origins: Origins::default(),
        provider: Provider::default(),
        patient: false,
    };
    Turn::open(setup, actions)
}

fn say_to(writer: &mut ChunkWriter, say: &Say) -> Bytes {
    match say {
        Say::CallArguments { index, piece } => writer.call_arguments(*index, piece.body()),
        Say::CallHead { index, id, name } => writer.call_head(*index, id, name),
        Say::Fields(fields) => writer.fields(fields),
        Say::Opened { with_text: true } => writer.role_with_text(),
        Say::Opened { with_text: false } => writer.role(),
        Say::Text { text, logprobs } => writer.text(text.body(), logprobs.as_ref()),
    }
}

fn check_end(writer: &mut ChunkWriter, answered: &Answered, policy: ArgumentPolicy) {
    for (index, call) in answered.calls.iter().enumerate() {
        check_event(&writer.call(index, call));
        let object = handback::wire::raw::is_object(&call.arguments);
        assert!(
            object || policy == ArgumentPolicy::Pass,
            "arguments that are no object: {call:?}"
        );
    }
    let ending = Ending {
        finish: answered.finish,
        usage: answered.usage.as_ref(),
        system_fingerprint: answered.system_fingerprint.as_ref(),
        service_tier: answered.service_tier.as_ref(),
    };
    check_event(&writer.finish(&ending));
    check_event(&writer.usage(&ending));
    let message = chunk::WholeMessage {
        body: Some(""),
        fields: &[],
        calls: &answered.calls,
        logprobs: None,
    };
    let whole = chunk::whole(&HEADING, message, &ending);
    check_json(&whole);
}

/// One event of one line, whose data is JSON.
fn check_event(event: &Bytes) {
    let text = std::str::from_utf8(event).expect("an event is text");
    let data = text.strip_prefix("data: ");
    let data = data.and_then(|data| data.strip_suffix("\n\n"));
    let data = data.unwrap_or_else(|| panic!("not an event: {text:?}"));
    assert!(!data.contains(['\n', '\r']), "a broken line: {text:?}");
    check_json(data);
}

fn check_json(text: &str) {
    let value: Result<&RawValue, _> = serde_json::from_str(text);
    assert!(value.is_ok(), "{value:?}: {text}");
}
