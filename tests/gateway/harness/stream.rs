//! The contract's rules for streams (S1, S3), checked event by event while the stream is folded
//! into the shape of a whole answer.

use serde_json::{Map, Value, json};

use super::fold::{Calls, checked_calls, checked_finish};
use super::sse::Event;

/// A stream while it is folded. The fields are what the rules have to remember.
pub(crate) struct Stream {
    mode: Calls,
    envelope: Option<[Value; 3]>,
    extra: Map<String, Value>,
    message: Map<String, Value>,
    calls: Vec<Value>,
    finish_reason: Option<Value>,
    usage: Option<Value>,
    error: Option<Value>,
    done: bool,
    chunks: usize,
}

impl Stream {
    pub(crate) fn new(mode: Calls) -> Self {
        Self {
            mode,
            envelope: None,
            extra: Map::new(),
            message: Map::new(),
            calls: Vec::new(),
            finish_reason: None,
            usage: None,
            error: None,
            done: false,
            chunks: 0,
        }
    }

    /// Takes the next event, or says which rule it breaks.
    pub(crate) fn take(&mut self, event: &Event) -> Result<(), String> {
        if self.done || self.error.is_some() {
            return Err("something after the end".to_owned());
        }
        let chunk = match event {
            Event::Done if self.finish_reason.is_none() => {
                return Err("[DONE] without a finish reason".to_owned());
            }
            Event::Done => {
                self.done = true;
                return Ok(());
            }
            Event::Json(chunk) => chunk,
        };
        if chunk.get("error").is_some() {
            self.error = Some(chunk["error"].clone());
            return Ok(());
        }
        self.chunks += 1;
        self.take_envelope(chunk)?;
        match chunk["choices"].as_array().map(Vec::as_slice) {
            Some([]) => self.take_usage(chunk),
            Some([choice]) => self.take_choice(choice),
            _ => Err(format!("the choices are {}", chunk["choices"])),
        }
    }

    fn take_envelope(&mut self, chunk: &Value) -> Result<(), String> {
        let envelope = ["id", "created", "model"].map(|key| chunk[key].clone());
        let first = self.envelope.get_or_insert(envelope.clone());
        if *first != envelope {
            return Err(format!("{envelope:?} after {first:?}"));
        }
        for (key, value) in chunk.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "choices" | "usage") {
                self.extra.insert(key.clone(), value.clone());
            }
        }
        Ok(())
    }

    fn take_usage(&mut self, chunk: &Value) -> Result<(), String> {
        if self.finish_reason.is_none() || self.usage.is_some() {
            return Err("a misplaced chunk without choices".to_owned());
        }
        self.usage = Some(chunk["usage"].clone());
        Ok(())
    }

    fn take_choice(&mut self, choice: &Value) -> Result<(), String> {
        if self.finish_reason.is_some() {
            return Err("a choice after the finish reason".to_owned());
        }
        let delta = choice["delta"]
            .as_object()
            .ok_or("a choice without delta")?;
        match &choice["finish_reason"] {
            Value::Null => self.take_delta(delta),
            reason => {
                self.finish_reason = Some(reason.clone());
                Ok(())
            }
        }
    }

    fn take_delta(&mut self, delta: &Map<String, Value>) -> Result<(), String> {
        if (self.chunks == 1) != delta.contains_key("role") {
            return Err("the role is in the first delta, and only there".to_owned());
        }
        for (key, value) in delta {
            match key.as_str() {
                "tool_calls" => self.take_calls(value)?,
                _ => merge(
                    self.message.entry(key.clone()).or_insert(Value::Null),
                    value,
                ),
            }
        }
        Ok(())
    }

    fn take_calls(&mut self, calls: &Value) -> Result<(), String> {
        let Some([call]) = calls.as_array().map(Vec::as_slice) else {
            return Err(format!("not one call in a chunk: {calls}"));
        };
        let mut call = call.as_object().ok_or("a call that is no object")?.clone();
        let index = call.remove("index").unwrap_or_default();
        if index == json!(self.calls.len()) {
            self.calls.push(Value::Object(call));
            return Ok(());
        }
        let open = usize::try_from(index.as_u64().unwrap_or(u64::MAX))
            .ok()
            .and_then(|index| self.calls.get_mut(index));
        match open {
            Some(open) if self.mode == Calls::Forwarded => continue_call(open, &call),
            _ => Err(format!("index {index} after {} calls", self.calls.len())),
        }
    }

    /// Ends the stream and gives what it amounts to.
    pub(crate) fn end(mut self, status: u16) -> Result<Value, String> {
        let mut folded = self.extra;
        folded.insert("status".to_owned(), json!(status));
        folded.insert("streamed".to_owned(), json!(true));
        folded.insert("chunks".to_owned(), json!(self.chunks));
        if !self.calls.is_empty() {
            let calls = Value::Array(self.calls);
            self.message.insert("tool_calls".to_owned(), calls);
        }
        // A whole answer says null where a stream says nothing, or nothing but an empty text.
        let content = self.message.entry("content").or_insert(Value::Null);
        if content == "" {
            *content = Value::Null;
        }
        match (self.error, self.finish_reason) {
            (Some(error), None) => {
                folded.insert("error".to_owned(), error);
            }
            (Some(_), Some(_)) => return Err("an error after a finish reason".to_owned()),
            (None, Some(reason)) if self.done => {
                checked_finish(&reason, &self.message)?;
                checked_calls(&self.message, self.mode)?;
                folded.insert("finish_reason".to_owned(), reason);
            }
            (None, _) => return Err("a stream without [DONE] and without error".to_owned()),
        }
        if let Some(usage) = self.usage {
            folded.insert("usage".to_owned(), usage);
        }
        folded.insert("message".to_owned(), Value::Object(self.message));
        Ok(Value::Object(folded))
    }
}

/// A later piece of a forwarded call holds arguments only.
fn continue_call(open: &mut Value, piece: &Map<String, Value>) -> Result<(), String> {
    let function = piece.get("function").and_then(Value::as_object);
    let arguments = function.and_then(|function| function.get("arguments"));
    let only_arguments = piece.len() == 1 && function.is_some_and(|function| function.len() == 1);
    let (true, Some(arguments)) = (only_arguments, arguments) else {
        return Err(format!("a later piece with more than arguments: {piece:?}"));
    };
    merge(&mut open["function"]["arguments"], arguments);
    Ok(())
}

/// Adds a delta's value to what came before, the way the SDKs do.
fn merge(known: &mut Value, more: &Value) {
    match (known, more) {
        (Value::String(known), Value::String(more)) => known.push_str(more),
        (Value::Array(known), Value::Array(more)) => known.extend(more.iter().cloned()),
        (known, more) => *known = more.clone(),
    }
}
