//! A caller's body: read, tools merged, history paired, turn opened, model request written.

use bytes::Bytes;
use handback::tools::{Catalogue, Choice, Offer, ServiceTool};
use handback::turn::{
    Action, ArgumentPolicy, History, Limits, Millis, Provider, Setup, Snapshot, Turn,
};
use handback::upstream::dialect::ROWS;
use handback::upstream::{Dialect, Prompt};
use handback::wire::request::{ChatRequest, Field};
use handback::wire::{Message, Raw, Refusal};
use serde_json::value::RawValue;

/// What a body leads to, if it is not refused.
struct Opened {
    turn: Turn,
    choice: Option<Raw>,
    offer: Offer,
    fields: Vec<Field>,
}

/// Runs the whole path. What is accepted has to be written, in every dialect, as a request that is
/// accepted again, and a turn has to be the same when it was stored.
pub fn run(data: &[u8]) {
    let strings = data.len().is_multiple_of(2);
    let Ok(opened) = open(data, strings) else {
        return;
    };
    check_pairs(opened.turn.messages());
    check_snapshot(&opened.turn);
    let dialects = ROWS.iter().map(|(_, dialect)| dialect);
    let instructions = [None, Some("Be \"kind\".\n")].into_iter().cycle();
    for (dialect, instructions) in dialects.zip(instructions) {
        let text = render(&opened, instructions, dialect);
        let valid = serde_json::from_slice::<&RawValue>(&text);
        assert!(valid.is_ok(), "{valid:?}: {}", text.escape_ascii());
        let again = ChatRequest::parse(Bytes::from(text.clone()));
        let again = again.unwrap_or_else(|refusal| {
            panic!("{}: {}", refusal.message, text.escape_ascii());
        });
        let settled = History::settle(again.messages).map(|history| history.placeholders);
        assert_eq!(settled, Ok(0), "{}", text.escape_ascii());
    }
}

fn open(data: &[u8], strings: bool) -> Result<Opened, Refusal> {
    let request = ChatRequest::parse(Bytes::copy_from_slice(data))?;
    let limits = Limits::default();
    let catalogue = Catalogue::merge(request.tools, vec![clock()], limits.tools)?;
    let choice = Choice::parse(request.tool_choice.as_ref(), catalogue.caller(), strings)?;
    let history = History::settle(request.messages)?;
    let setup = Setup {
        messages: history.messages,
        catalogue,
        choice,
        arguments: ArgumentPolicy::Repair,
        limits,
        now: Millis(0),
        seed: 7,
        resume: history.resume,
        origins: history.origins,
        provider: Provider::default(),
        patient: false,
    };
    let mut actions = Vec::new();
    let turn = Turn::open(setup, &mut actions);
    let [Action::AskModel(ask)] = &actions[..] else {
        panic!("a turn opens with {actions:?}");
    };
    Ok(Opened {
        turn,
        choice: ask.choice.clone(),
        offer: ask.offer,
        fields: request.fields,
    })
}

/// A tool of the agent's own.
fn clock() -> ServiceTool {
    let definition = r#"{"tool":{"type":"function","function":{"name":"current_time"}}}"#;
    serde_json::from_str(definition).expect("a tool's definition")
}

fn render(opened: &Opened, instructions: Option<&str>, dialect: &Dialect) -> Vec<u8> {
    let catalogue = opened.turn.catalogue().expect("the turn is under way");
    let tools: Vec<&Raw> = catalogue.offered(opened.offer).collect();
    let prompt = Prompt {
        model: "m",
        instructions,
        messages: opened.turn.messages(),
        tools: &tools,
        tool_choice: opened.choice.as_ref(),
        fields: &opened.fields,
        dialect,
    };
    let body = prompt.render();
    let length = body.len();
    let bytes = body.into_bytes().to_vec();
    assert_eq!(bytes.len(), length);
    bytes
}

/// Every call has exactly one result, right behind it and in order.
fn check_pairs(messages: &[Message]) {
    let mut due = Vec::new();
    for message in messages {
        match &message.answers {
            Some(id) => {
                assert_eq!(due.first(), Some(id), "a result out of place: {messages:?}");
                due.remove(0);
            }
            None => assert!(due.is_empty(), "a call without result: {messages:?}"),
        }
        due.extend(message.calls.iter().map(|call| call.id.clone()));
    }
    assert!(due.is_empty(), "a call without result: {messages:?}");
}

/// A turn that was stored and read again is the same.
pub(crate) fn check_snapshot(turn: &Turn) {
    let stored = serde_json::to_string(&Snapshot::of(turn.clone()));
    let stored = stored.expect("a turn can be stored");
    let read: Result<Snapshot, _> = serde_json::from_str(&stored);
    let read = read.unwrap_or_else(|error| panic!("{error}: {stored}"));
    assert!(read.turn == *turn, "another turn than was stored: {stored}");
}
