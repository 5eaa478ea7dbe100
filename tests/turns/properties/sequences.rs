//! Random lives of turns: how they are opened, and what happens to them.

use bytestring::ByteString;
use handback::tools::{Catalogue, Choice, ServiceTool, SideEffect};
use handback::turn::{ArgumentPolicy, Limits, Millis, Origins, Provider, Setup};
use handback::wire::delta::{CallDelta, Claim};
use handback::wire::{Delta, Message, Raw, Tool};
use proptest::prelude::*;
use proptest::sample::{Index, select};

pub(super) const EXTERNAL: [&str; 2] = ["weather", "label"];
pub(super) const INTERNAL: [&str; 2] = ["hidden_search", "hidden_note"];

/// Ids as upstreams give them: plain, odd, too long.
pub(super) const IDS: [&str; 6] = [
    "a",
    "b",
    "call_1",
    "f:0",
    "functions.weather:1",
    "0123456789012345678901234567890123456789x",
];

/// Arguments that fit (`{"a":"x"}`), do not, are no object, or are none at all.
pub(super) const ARGUMENTS: [&str; 8] = [
    r#""{\"a\":\"x\"}""#,
    r#""{\"a\":\"x\"}""#,
    r#""{\"a\":\"x\"}""#,
    r#"{"a":"x"}"#,
    r#""{\"a\":7}""#,
    r#""12""#,
    r#""{\"a\":""#,
    r#"" \n""#,
];

/// Something that happens, told without knowing how the turn stands.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// What the turn waits for: a whole answer of the model, its calls as places of name, id and
    /// arguments; the replies of all services; or all results of the caller.
    Answer {
        text: bool,
        calls: Vec<(usize, Option<usize>, usize)>,
        finish: Option<Claim>,
    },
    /// A piece of one, sensible or not.
    Delta(Box<Delta>),
    Ended,
    Failed,
    AskedAgain,
    Cancelled,
    TimeUp,
    /// A reply to one of the calls that wait, or to none of them.
    Reply {
        which: Index,
        foreign: bool,
    },
    Returned {
        which: Returned,
        says: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Returned {
    Foreign,
    None,
    Some,
}

/// Mostly what brings a turn on, so that long lives are lived.
pub(super) fn event() -> impl Strategy<Value = Event> {
    let names = EXTERNAL.len() + INTERNAL.len();
    let call = (
        prop_oneof![9 => 0..names, 1 => Just(names)],
        proptest::option::of(0..IDS.len()),
        prop_oneof![5 => 0_usize..4, 1 => 4..ARGUMENTS.len()],
    );
    let finish = prop_oneof![
        14 => Just(None),
        1 => select(&[Some(Claim::Stop), Some(Claim::Length)][..]),
    ];
    let which = select(&[Returned::Foreign, Returned::None, Returned::Some][..]);
    let answer = (any::<bool>(), proptest::collection::vec(call, 1..4), finish);
    prop_oneof![
        24 => answer.prop_map(|(text, calls, finish)| Event::Answer { text, calls, finish }),
        2 => delta().prop_map(|delta| Event::Delta(Box::new(delta))),
        1 => Just(Event::Ended),
        3 => (any::<Index>(), any::<bool>())
            .prop_map(|(which, foreign)| Event::Reply { which, foreign }),
        4 => (which, any::<bool>()).prop_map(|(which, says)| Event::Returned { which, says }),
        1 => select(&[Event::Failed, Event::AskedAgain, Event::Cancelled, Event::TimeUp][..]),
    ]
}

fn delta() -> impl Strategy<Value = Delta> {
    let name = select(&["weather", "wea", "ther", "hidden_search", "hidden_", "?"][..]);
    let call = (
        proptest::option::of(0_u64..3),
        proptest::option::of(select(&IDS[..])),
        proptest::option::of(name),
        proptest::option::of(select(&ARGUMENTS[..])),
    )
        .prop_map(|(index, id, name, arguments)| CallDelta {
            index,
            id: id.map(ByteString::from_static),
            name: name.map(ByteString::from_static),
            arguments: arguments.map(raw),
            extra: Vec::new(),
        });
    let text = proptest::option::of(select(&["\"\"", "\"x\""][..]));
    (text, proptest::collection::vec(call, 0..3), any::<bool>()).prop_map(|(text, calls, more)| {
        Delta {
            text: text.map(raw),
            calls,
            fields: if more {
                vec![("reasoning".into(), raw("\"r\""))]
            } else {
                Vec::new()
            },
            ..Delta::default()
        }
    })
}

pub(super) fn raw(text: &'static str) -> Raw {
    Raw::parse(text).expect("JSON")
}

pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let policy = select(
        &[
            ArgumentPolicy::Repair,
            ArgumentPolicy::Strict,
            ArgumentPolicy::Pass,
        ][..],
    );
    let limits = (1_u32..4, 0_u32..4, 0_u32..3);
    (policy, limits, 0_u8..8, any::<bool>(), any::<u64>()).prop_map(
        |(arguments, (rounds, service_calls, repairs), choice, services, seed)| {
            let services = if services {
                INTERNAL.map(service).to_vec()
            } else {
                Vec::new()
            };
            let choice = match choice {
                0 => Choice::NoTools,
                1 => Choice::Forced(raw(r#"{"type":"function","function":{"name":"weather"}}"#)),
                _ => Choice::Free,
            };
            Setup {
                messages: vec![user("Hello")],
                catalogue: Catalogue::merge(EXTERNAL.map(tool).to_vec(), services, 9)
                    .expect("a catalogue"),
                choice,
                arguments,
                limits: Limits {
                    rounds,
                    service_calls,
                    repairs,
                    ..Limits::default()
                },
                now: Millis(0),
                seed,
                resume: None,
                origins: Origins::default(),
                provider: Provider::default(),
                patient: false,
            }
        },
    )
}

fn tool(name: &str) -> Tool {
    let parameters = r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#;
    let text = format!(
        r#"{{"type":"function","function":{{"name":"{name}","parameters":{parameters}}}}}"#
    );
    serde_json::from_str(&text).expect("a tool")
}

fn service(name: &str) -> ServiceTool {
    ServiceTool {
        tool: tool(name),
        side_effect: SideEffect::None,
    }
}

pub(super) fn user(text: &str) -> Message {
    let text = format!(r#"{{"role":"user","content":"{text}"}}"#);
    serde_json::from_str(&text).expect("a message")
}
