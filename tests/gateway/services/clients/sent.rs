//! What a client sends, and what can be done to it.

use handback::continuation::settings::{ContinuationSettings, SealingKey};
use handback::continuation::{Binding, Sealer};
use handback::turn::Millis;
use serde_json::{Value, json};

use crate::harness::case::request;
use crate::harness::gateway::AGENT;
use crate::services::{calling, result};

/// What a client sends.
pub(super) struct Sent {
    /// The conversation before the handback.
    pub(super) before: Vec<Value>,
    /// The handback: one message, unless the client makes several of it.
    pub(super) messages: Vec<Value>,
    pub(super) results: Vec<Value>,
    pub(super) model: &'static str,
    pub(super) key: &'static str,
}

impl Sent {
    pub(super) fn handback(&mut self) -> &mut Value {
        &mut self.messages[0]
    }

    pub(super) fn content(&mut self, content: Value) {
        self.handback()["content"] = content;
    }

    /// Other arguments for the first call.
    pub(super) fn arguments(&mut self, arguments: &Value) {
        self.handback()["tool_calls"][0]["function"]["arguments"] = arguments.clone();
    }

    /// The text in messages of its own, before the calls.
    pub(super) fn says_first(&mut self, texts: &[&str]) {
        self.content(Value::Null);
        let say = |text: &&str| json!({"role": "assistant", "content": text});
        self.messages.splice(0..0, texts.iter().map(say));
    }

    /// The text and the two calls as three messages.
    pub(super) fn split(&mut self) -> [Value; 3] {
        let calls = self.handback()["tool_calls"].clone();
        [
            json!({"role": "assistant", "content": self.handback()["content"]}),
            calling(None, &[calls[0].clone()]),
            calling(None, &[calls[1].clone()]),
        ]
    }

    /// A further call with its result.
    pub(super) fn adds(&mut self, call: Value, content: &str) {
        let id = call["id"].as_str().unwrap_or_default();
        self.results.push(result(id, content));
        let calls = self.handback()["tool_calls"].as_array_mut();
        calls.expect("calls").push(call);
    }

    /// Other ids, in calls and results.
    pub(super) fn ids(&mut self, change: impl Fn(&str) -> String) {
        let change = |id: &mut Value| *id = json!(change(id.as_str().expect("an id")));
        let calls = self.handback()["tool_calls"].as_array_mut();
        calls
            .expect("calls")
            .iter_mut()
            .for_each(|call| change(&mut call["id"]));
        let results = self.results.iter_mut();
        results.for_each(|result| change(&mut result["tool_call_id"]));
    }

    pub(super) fn body(&self, streamed: bool) -> Value {
        let mut body = request(streamed);
        body["model"] = json!(self.model);
        let parts = [&self.before[..], &self.messages, &self.results];
        body["messages"] = json!(parts.concat());
        body
    }
}

/// The id as if it had been sealed a day and a minute ago.
pub(super) fn aged(id: &str) -> String {
    const KEY_BYTES: &[u8; 32] = b"01234567890123456789012345678901";
    let settings = ContinuationSettings {
        keys: vec![SealingKey::new(*KEY_BYTES)],
        ..ContinuationSettings::default()
    };
    let sealer = Sealer::new(&settings, [0; 32]);
    let binding = Binding {
        key: "one",
        model: AGENT,
    };
    let Ok(mut carry) = sealer.open(id, binding, Millis(0)) else {
        return id.to_owned();
    };
    carry.sealed_at.0 -= 24 * 60 * 60 * 1000 + 60 * 1000;
    let aged = sealer.seal(&carry, binding, [7; 24]);
    aged.expect("it was sealed before")
}
