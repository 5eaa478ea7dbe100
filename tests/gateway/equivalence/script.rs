//! Random scripts: what the model says, who owns which tool, and how the caller writes.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::harness::script::{Answer, chunk, completion, delta, done, event, finish};

/// All tools, whoever owns them. The first two have no side effects.
pub(super) const TOOLS: [&str; 4] = ["find_a", "find_b", "save_a", "save_b"];

/// What a model says beside its calls. Nothing of it looks like what is hidden.
const TEXTS: [&str; 5] = [
    "One moment. ",
    "\n  So \"then\": \\",
    "Gr\u{fc}\u{df}e \u{1f600}",
    "</tool>{\"",
    " ",
];

/// A model that calls, round by round, and in the end only talks.
#[derive(Clone)]
pub(super) struct Script {
    /// Which of [`TOOLS`] are the agent's; the others are the caller's.
    pub(super) internal: [bool; TOOLS.len()],
    pub(super) streamed: bool,
    pub(super) rounds: Vec<Round>,
    pub(super) habits: Habits,
}

/// One answer of the model.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) text: Option<&'static str>,
    /// It comes with a provider's field.
    thinks: bool,
    pub(super) calls: Vec<Call>,
    /// The first call does not fit its tool: none is run, and the model mends it.
    pub(super) misfit: bool,
    /// In one piece, or as a stream whose texts and arguments come in pieces of so many characters.
    pieces: Option<usize>,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Its place in [`TOOLS`].
    pub(super) tool: usize,
    /// It bears a provider's field.
    signed: bool,
    /// Its arguments are of the wrong type.
    misfit: bool,
    /// Its place in the turn.
    pub(super) number: usize,
}

/// What correct callers do to what they send back.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// With a content that is null.
    pub(super) drops_unknown_fields: bool,
    pub(super) writes_arguments_anew: bool,
    pub(super) reverses_results: bool,
}

/// Rounds of a turn that a model may get wrong: as many as the gateway has mended.
const MISFITS: usize = 2;

/// Any script.
pub(super) fn scripts() -> impl Strategy<Value = Script> {
    let call = (0..TOOLS.len(), any::<bool>());
    let form = || proptest::option::of(1..7_usize);
    let text = || proptest::option::of(select(&TEXTS[..]));
    let misfit = proptest::bool::weighted(0.2);
    let calling = (text(), any::<bool>(), vec(call, 1..5), misfit, form());
    let closing = (select(&TEXTS[..]), any::<bool>(), form());
    let flags = any::<([bool; TOOLS.len()], bool, [bool; 3])>();
    (flags, vec(calling, 0..6), closing).prop_map(
        |((internal, streamed, habits), rounds, closing)| {
            let (mut number, mut misfits) = (0, 0);
            let mut numbered = |(tool, signed)| {
                number += 1;
                Call {
                    tool,
                    signed,
                    misfit: false,
                    number,
                }
            };
            let mut rounds: Vec<Round> = rounds
                .into_iter()
                .map(|(text, thinks, calls, misfit, pieces)| {
                    misfits += usize::from(misfit);
                    let mut round = Round {
                        text,
                        thinks,
                        calls: calls.into_iter().map(&mut numbered).collect(),
                        misfit: misfit && misfits <= MISFITS,
                        pieces,
                    };
                    round.calls[0].misfit = round.misfit;
                    round
                })
                .collect();
            let (text, thinks, pieces) = closing;
            rounds.push(Round {
                text: Some(text),
                thinks,
                calls: Vec::new(),
                misfit: false,
                pieces,
            });
            let [
                drops_unknown_fields,
                writes_arguments_anew,
                reverses_results,
            ] = habits;
            let habits = Habits {
                drops_unknown_fields,
                writes_arguments_anew,
                reverses_results,
            };
            Script {
                internal,
                streamed,
                rounds,
                habits,
            }
        },
    )
}

/// What a tool makes of its arguments.
pub(super) fn run(tool: &str, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let given = arguments["q"].as_str().unwrap_or_default();
    json!({"tool": tool, "found": given.replace("arg", "res")}).to_string()
}

impl Call {
    pub(super) fn name(&self) -> &'static str {
        TOOLS[self.tool]
    }

    pub(super) fn id(&self) -> String {
        format!("call_{:03}", self.number)
    }

    pub(super) fn arguments(&self) -> String {
        let argument = format!("\"arg-{:03}\"", self.number);
        let (open, close) = if self.misfit { ("[", "]") } else { ("", "") };
        format!("{{\"q\":{open}{argument}{close}}}")
    }

    /// Whether the next may not begin before it is done.
    pub(super) fn writes(&self) -> bool {
        self.name().starts_with("save")
    }

    /// What a caller may never see if the call is internal.
    pub(super) fn traces(&self) -> [String; 5] {
        let number = self.number;
        [
            self.id(),
            self.name().to_owned(),
            format!("arg-{number:03}"),
            format!("res-{number:03}"),
            format!("sig-{number:03}"),
        ]
    }

    fn json(&self) -> Value {
        let mut call = json!({
            "id": self.id(), "type": "function",
            "function": {"name": self.name(), "arguments": self.arguments()},
        });
        if self.signed {
            call["extra_content"] =
                json!({"google": {"thought_signature": format!("sig-{:03}", self.number)}});
        }
        call
    }
}

impl Round {
    /// The message as a process keeps it that runs all tools itself.
    pub(super) fn message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if self.thinks {
            message["reasoning_content"] = json!("Hm.");
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().map(Call::json).collect();
        }
        message
    }

    fn reason(&self) -> &'static str {
        if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }
    }

    /// The same on the wire.
    pub(super) fn answer(&self) -> Answer {
        let Some(size) = self.pieces else {
            return Answer::json(200, &completion(&self.message(), self.reason()));
        };
        let mut deltas = vec![json!({"role": "assistant"})];
        if self.thinks {
            deltas.push(json!({"reasoning_content": "Hm."}));
        }
        let text = pieces(self.text.unwrap_or_default(), size);
        deltas.extend(text.into_iter().map(|piece| json!({"content": piece})));
        for (index, call) in self.calls.iter().enumerate() {
            let mut head = call.json();
            head["index"] = json!(index);
            head["function"]["arguments"] = json!("");
            deltas.push(json!({"tool_calls": [head]}));
            deltas.extend(pieces(&call.arguments(), size).into_iter().map(
                |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
            ));
        }
        let mut usage = chunk(&json!([]));
        usage["usage"] = json!({"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15});
        let chunks = deltas.iter().map(|piece| event(&delta(piece)));
        let end = [event(&finish(self.reason())), event(&usage), done()];
        Answer::stream(chunks.chain(end).collect())
    }
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect()
}

impl Script {
    pub(super) fn is_internal(&self, call: &Call) -> bool {
        self.internal[call.tool]
    }

    /// The agent with these tools of its own.
    pub(super) fn agent(&self) -> String {
        agent_name(self.internal)
    }
}

/// The tools that are the agent's.
pub(super) fn owned(internal: [bool; TOOLS.len()]) -> impl Iterator<Item = &'static str> {
    let owners = TOOLS.into_iter().zip(internal);
    owners.filter(|(_, own)| *own).map(|(tool, _)| tool)
}

/// The agent that owns these tools.
pub(super) fn agent_name(internal: [bool; TOOLS.len()]) -> String {
    let digits = internal.map(|own| if own { '1' } else { '0' });
    format!("owner-{}", String::from_iter(digits))
}

impl fmt::Debug for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<&str> = owned(self.internal).collect();
        writeln!(
            out,
            "the agent owns {own:?}; streamed: {}; {:?}",
            self.streamed, self.habits
        )?;
        for (at, round) in self.rounds.iter().enumerate() {
            write!(
                out,
                "  {}. {:?}, thinks: {}, misfit: {}, pieces: {:?}",
                at + 1,
                round.text,
                round.thinks,
                round.misfit,
                round.pieces
            )?;
            for call in &round.calls {
                let owner = if self.is_internal(call) {
                    "internal"
                } else {
                    "external"
                };
                let signed = if call.signed { ", signed" } else { "" };
                write!(out, "; {} {} ({owner}{signed})", call.id(), call.name())?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
