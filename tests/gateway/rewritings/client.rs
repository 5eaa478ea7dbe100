//! One conversation, written in every way in which real clients write theirs.

use std::cell::Cell;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::harness::gateway::AGENT;

/// What was said so far, in turns.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    turns: Vec<Turn>,
    tools: bool,
    /// The call that is asked for is that of the tool.
    forced: bool,
}

/// A question, the calls that the model made of it, and what else the caller said.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    question: String,
    /// Arguments and result of each call.
    calls: Vec<(Value, String)>,
    /// What the user said before the calls were answered.
    meanwhile: Option<String>,
    /// How the model closed the turn; in the last one it has yet to.
    closing: String,
}

pub(super) fn conversation() -> impl Strategy<Value = Conversation> {
    let text = "[a-z\"\\\\/\u{e9}\u{5317}\u{1f4a7}\n ]{0,8}";
    let arguments = prop_oneof![
        Just(json!({})),
        (text, any::<i32>(), any::<bool>()).prop_map(
            |(city, days, more)| json!({"city": city, "days": days, "": {"more": [more, null]}})
        ),
    ];
    let calls = proptest::collection::vec((arguments, text), 0..4);
    let turn = (text, calls, proptest::option::of(text), text).prop_map(
        |(question, calls, meanwhile, closing)| Turn {
            question,
            meanwhile: meanwhile.filter(|_| !calls.is_empty()),
            calls,
            closing,
        },
    );
    (proptest::collection::vec(turn, 1..4), any::<(bool, bool)>()).prop_map(
        |(turns, (tools, forced))| Conversation {
            turns,
            tools,
            forced: forced && tools,
        },
    )
}

/// The throws that decide how it is written; 0 is what the reference does.
#[derive(Debug)]
pub(super) struct Habits<'a> {
    throws: &'a [u8],
    next: Cell<usize>,
}

impl<'a> Habits<'a> {
    pub(super) fn new(throws: &'a [u8]) -> Self {
        Self {
            throws,
            next: Cell::new(0),
        }
    }

    fn throw(&self, sides: usize) -> usize {
        let at = self.next.get();
        self.next.set(at + 1);
        usize::from(self.throws[at % self.throws.len()]) % sides
    }

    /// The body of the request.
    pub(super) fn write(&self, conversation: &Conversation) -> String {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(AGENT));
        body.insert("temperature".to_owned(), json!(1));
        let last = conversation.turns.len() - 1;
        let turns = conversation.turns.iter().enumerate();
        let messages = turns.flat_map(|(nth, turn)| self.turn(nth, turn, nth == last));
        body.insert("messages".to_owned(), messages.collect());
        if conversation.tools {
            body.insert("tools".to_owned(), json!([self.tool()]));
        } else {
            self.nothing(&mut body, "tools", &[Value::Null, json!([])]);
        }
        if conversation.forced {
            let choice = json!({"type": "function", "function": {"name": "get_weather"}});
            body.insert("tool_choice".to_owned(), choice);
        } else {
            self.nothing(&mut body, "tool_choice", &[Value::Null]);
        }
        self.nothing(&mut body, "stream", &[Value::Null, json!(false)]);
        self.spelled(&Value::Object(body))
    }

    /// A member that says nothing, in one of the spellings of nothing, or absent.
    fn nothing(&self, object: &mut Map<String, Value>, key: &str, spellings: &[Value]) {
        let throw = self.throw(spellings.len() + 1);
        if let Some(spelling) = spellings.get(throw.wrapping_sub(1)) {
            object.insert(key.to_owned(), spelling.clone());
        }
    }

    fn tool(&self) -> Value {
        let mut function = json!({"name": "get_weather"});
        let parameters = [Value::Null, json!({}), json!({"type": "object"})];
        if let Some(function) = function.as_object_mut() {
            self.nothing(function, "parameters", &parameters);
        }
        json!({"type": "function", "function": function})
    }

    fn turn(&self, nth: usize, turn: &Turn, last: bool) -> Vec<Value> {
        let mut out = vec![self.message("user", &json!(turn.question))];
        out.extend(self.calling(nth, turn));
        let mut results = self.results(nth, turn);
        if let Some(text) = &turn.meanwhile {
            // Wherever it stands among the results, it is said behind them.
            let from_end = self.throw(results.len() + 1);
            results.insert(results.len() - from_end, self.message("user", &json!(text)));
        }
        out.extend(results);
        if !last {
            let mut closing = self.message("assistant", &json!(turn.closing));
            if let Some(closing) = closing.as_object_mut() {
                self.nothing(closing, "tool_calls", &[Value::Null, json!([])]);
            }
            out.push(closing);
        }
        out
    }

    /// The calls of a turn: in one message, or in one for each.
    fn calling(&self, nth: usize, turn: &Turn) -> Vec<Value> {
        let calls = turn.calls.iter().enumerate();
        let calls: Vec<Value> = calls
            .map(|(place, (arguments, _))| {
                let function = json!({"name": "get_weather", "arguments": self.arguments(arguments)});
                json!({"id": format!("call_{nth}_{place}"), "type": "function", "function": function})
            })
            .collect();
        let messages: Vec<Value> = match (calls.len(), self.throw(2)) {
            (0, _) => Vec::new(),
            (_, 0) => vec![json!(calls)],
            _ => calls.into_iter().map(|call| json!([call])).collect(),
        };
        let calling = messages.into_iter().map(|calls| {
            let mut message = self.message("assistant", &Value::Null);
            message["tool_calls"] = calls;
            message
        });
        calling.collect()
    }

    fn arguments(&self, arguments: &Value) -> Value {
        let text = arguments.to_string();
        match self.throw(3) {
            1 => arguments.clone(),
            2 if text == "{}" => json!(""),
            _ => json!(text),
        }
    }

    /// The results in any order, one of them perhaps twice.
    fn results(&self, nth: usize, turn: &Turn) -> Vec<Value> {
        let mut results: Vec<Value> = Vec::new();
        for (place, (_, content)) in turn.calls.iter().enumerate() {
            let mut result = self.message("tool", &self.content(content));
            result["tool_call_id"] = json!(format!("call_{nth}_{place}"));
            let from_end = self.throw(results.len() + 1);
            results.insert(results.len() - from_end, result);
        }
        if !results.is_empty() && self.throw(3) == 2 {
            results.push(results[0].clone());
        }
        results
    }

    /// A result as a text, or in parts.
    fn content(&self, content: &str) -> Value {
        match self.throw(3) {
            1 => json!([{"type": "text", "text": content}]),
            2 if content.is_empty() => Value::Null,
            _ => json!(content),
        }
    }

    fn message(&self, role: &str, content: &Value) -> Value {
        let mut message = json!({"role": role, "content": content});
        if self.throw(3) == 1 {
            message["id"] = json!("msg-1");
        }
        message
    }

    /// The JSON text of a value: members in any order, white space anywhere, any escape.
    fn spelled(&self, value: &Value) -> String {
        let space = ["", " ", "\r\n\t"][self.throw(3)];
        let inner = match value {
            Value::Object(members) => {
                let mut parts: Vec<String> = Vec::new();
                for (key, value) in members {
                    let member = format!("{}{space}:{}", self.quoted(key), self.spelled(value));
                    let from_end = self.throw(parts.len() + 1);
                    parts.insert(parts.len() - from_end, member);
                }
                format!("{{{space}{}}}", parts.join(","))
            }
            Value::Array(elements) => {
                let parts: Vec<String> = elements.iter().map(|value| self.spelled(value)).collect();
                format!("[{}{space}]", parts.join(&format!("{space},")))
            }
            Value::String(text) => self.quoted(text),
            other => other.to_string(),
        };
        format!("{space}{inner}{space}")
    }

    fn quoted(&self, text: &str) -> String {
        let escaped = self.throw(4) == 1;
        let mut out = String::from("\"");
        for unit in text.encode_utf16().filter(|_| escaped) {
            let _ = write!(out, "\\u{unit:04X}");
        }
        if !escaped {
            let plain = json!(text).to_string();
            out.push_str(&plain[1..plain.len() - 1]);
        }
        out.push('"');
        out
    }
}
