//! One answer, written in every way in which real servers write theirs.

use handback::wire::write::quoted;
use proptest::prelude::*;
use proptest::sample::Index;

use super::pieces::{Cuts, Meant, cuts, meant};
use super::values::body;

/// What the model says. Texts are bodies of JSON strings.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) text: Vec<String>,
    pub(super) reasoning: Vec<String>,
    pub(super) calls: Vec<Meant>,
    /// `length` or `content_filter`, if it did not end by itself.
    pub(super) cut_short: Option<&'static str>,
    /// Prompt and completion tokens.
    pub(super) usage: Option<(u8, u8)>,
}

pub(super) fn said() -> impl Strategy<Value = Said> {
    let bodies = || proptest::collection::vec(body(), 0..3);
    let calls = prop_oneof![Just(Vec::new()), meant()];
    let cut_short =
        proptest::sample::select(&[None, None, None, Some("length"), Some("content_filter")][..]);
    (
        bodies(),
        bodies(),
        calls,
        cut_short,
        any::<Option<(u8, u8)>>(),
    )
        .prop_map(|(text, reasoning, calls, cut_short, usage)| Said {
            text,
            reasoning,
            calls,
            cut_short,
            usage,
        })
}

/// The habits of a server: one throw for each decision, 0 for what the reference does.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    throws: Vec<u8>,
    /// How the calls are cut and labelled.
    pub(super) calls: Cuts,
    /// Where the body is cut into writes.
    pub(super) writes: Vec<Index>,
    pub(super) events: bool,
}

pub(super) fn habits() -> impl Strategy<Value = Habits> {
    (
        proptest::collection::vec(0_u8..5, 24),
        cuts(),
        proptest::collection::vec(any::<Index>(), 0..5),
        any::<bool>(),
    )
        .prop_map(|(throws, calls, writes, events)| Habits {
            throws,
            calls,
            writes,
            events,
        })
}

/// Decisions that a server takes once and sticks to.
#[derive(Clone, Copy)]
pub(super) enum Habit {
    Absent,
    Role,
    Finish,
    Reason,
    Usage,
    Heading,
    LineEnd,
    Prefix,
    Noise,
    Lines,
    Mark,
    End,
    Index,
    Order,
}

impl Habits {
    /// One of the ways of doing it.
    pub(super) fn pick<T: Copy>(&self, habit: Habit, ways: &[T]) -> T {
        let throw = usize::from(self.throws[habit as usize]);
        ways[throw % ways.len()]
    }

    /// Calls that all stand at index zero are told apart by their ids.
    pub(super) fn fit(&self, said: &mut Said) {
        if self.calls.all_zero {
            for call in &mut said.calls {
                call.without_id = false;
            }
        }
    }

    /// The answer's body.
    pub(super) fn write(&self, said: &Said) -> Vec<u8> {
        let mark = self.pick(Habit::Mark, &["", "", "\u{feff}"]);
        let body = if self.events {
            self.stream(said)
        } else {
            self.whole(said)
        };
        [mark, &body].concat().into_bytes()
    }

    /// What stands for a member that has nothing to say.
    pub(super) fn absent(&self, key: &str, nothings: &[&str]) -> Option<String> {
        let way = usize::from(self.throws[Habit::Absent as usize]);
        let nothing = nothings.get(way.wrapping_sub(1))?;
        Some(format!("\"{key}\":{nothing}"))
    }

    pub(super) fn reason(&self, said: &Said) -> &'static str {
        const WITH_CALLS: [&str; 4] = ["tool_calls", "stop", "function_call", "tool_use"];
        const WITHOUT: [&str; 4] = ["stop", "end_turn", "eos", "tool_calls"];
        said.cut_short.unwrap_or_else(|| {
            let ways = if said.calls.is_empty() {
                WITHOUT
            } else {
                WITH_CALLS
            };
            self.pick(Habit::Reason, &ways)
        })
    }

    fn whole(&self, said: &Said) -> String {
        let mut message = vec!["\"role\":\"assistant\"".to_owned()];
        if said.text.is_empty() {
            message.extend(self.absent("content", &["null", "\"\""]));
        } else {
            message.push(format!("\"content\":\"{}\"", said.text.concat()));
        }
        if said.reasoning.is_empty() {
            message.extend(self.absent("reasoning_content", &["null"]));
        } else {
            let reasoning = said.reasoning.concat();
            message.push(format!("\"reasoning_content\":\"{reasoning}\""));
        }
        if said.calls.is_empty() {
            message.extend(self.absent("tool_calls", &["null", "[]"]));
        } else {
            let calls = said.calls.iter().enumerate();
            let calls: Vec<String> = calls.map(|(nth, call)| self.call(nth, call)).collect();
            message.push(format!("\"tool_calls\":[{}]", calls.join(",")));
        }
        let usage = said.usage.map(|usage| usage_of(usage, true));
        let usage = usage.or_else(|| self.absent("usage", &["null"]));
        let space = self.pick(Habit::Lines, &["", "\n  "]);
        format!(
            "{space}{{{}\"choices\":[{{\"index\":0,{space}\"message\":{{{}}},\"finish_reason\":\"{}\"}}]{}}}",
            self.heading("chat.completion"),
            message.join(&format!(",{space}")),
            self.reason(said),
            usage.map(|usage| format!(",{usage}")).unwrap_or_default(),
        )
    }

    /// A call of a whole answer.
    fn call(&self, nth: usize, call: &Meant) -> String {
        let index = self.pick(Habit::Index, &["", "\"index\":0,", "\"index\":null,"]);
        let id = match (call.without_id, self.throws[Habit::Absent as usize]) {
            (false, _) => format!("\"id\":\"id{nth}\","),
            (true, 0) => String::new(),
            (true, 1) => "\"id\":null,".to_owned(),
            (true, _) => "\"id\":\"\",".to_owned(),
        };
        let arguments = if self.calls.as_object {
            call.arguments.clone()
        } else {
            quoted(&call.arguments)
        };
        let name = call.name;
        format!(r#"{{{index}{id}"function":{{"name":"{name}","arguments":{arguments}}}}}"#)
    }

    pub(super) fn heading(&self, object: &str) -> String {
        let ways = [
            "\"id\":\"c\",\"object\":\"O\",\"created\":1,\"model\":\"m\",",
            "\"id\":\"\",",
            "",
        ];
        self.pick(Habit::Heading, &ways).replace('O', object)
    }
}

/// The usage of the answer, or what has been used of it so far.
pub(super) fn usage_of((prompt, completion): (u8, u8), last: bool) -> String {
    let completion = if last { completion.into() } else { 0 };
    let total = u32::from(prompt) + completion;
    format!(
        r#""usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}}}"#
    )
}
