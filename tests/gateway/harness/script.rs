//! What the scripted upstream answers: a head, a framing, and steps that write, wait or break.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Holds an answer back until the test opens it, so that order is proved without a clock.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets one waiting step pass.
    pub(crate) fn open(&self) {
        self.0.add_permits(1);
    }

    /// Waits for one [`Gate::open`].
    pub(crate) async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

/// One thing the upstream does while it answers.
#[derive(Clone)]
pub(crate) enum Step {
    /// Writes these bytes of the body and flushes them.
    Write(Vec<u8>),
    /// Writes nothing until the test opens the gate.
    Wait(Gate),
    /// Writes nothing more, and keeps the connection until the peer closes it.
    Stall,
    /// Writes these bytes again and again until the peer closes the connection.
    Babble(Vec<u8>),
    /// Closes the connection in order, the answer being unfinished.
    Cut,
    /// Resets the connection.
    Reset,
}

/// How the end of the body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    /// The end of the connection is the end of the body.
    Close,
}

/// One scripted answer.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) steps: Vec<Step>,
    /// What is sent in place of head and body, if the answer is not HTTP at all.
    pub(crate) raw: Option<Vec<u8>>,
}

impl Answer {
    /// A body of any kind.
    pub(crate) fn body(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            framing: Framing::Length,
            steps: vec![Step::Write(body.into())],
            raw: None,
        }
    }

    /// The beginning of a whole answer, and then this.
    pub(crate) fn begun(then: Step) -> Self {
        let begun = r#"{"id":"c","choices":[{"index":0,"#;
        let mut answer = Self::body(200, "application/json", begun);
        answer.framing = Framing::Chunked;
        answer.steps.push(then);
        answer
    }

    /// A JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::body(status, "application/json", body.to_string())
    }

    /// A whole answer that says `text` and stops.
    pub(crate) fn text(text: &str) -> Self {
        Self::json(
            200,
            &completion(&json!({"role": "assistant", "content": text}), "stop"),
        )
    }

    /// An event stream made of these steps.
    pub(crate) fn stream(steps: Vec<Step>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            framing: Framing::Chunked,
            steps,
            raw: None,
        }
    }

    /// An event stream that says `text` and stops.
    pub(crate) fn streamed_text(text: &str) -> Self {
        Self::stream(vec![
            event(&delta(&json!({"role": "assistant", "content": text}))),
            event(&finish("stop")),
            done(),
        ])
    }

    /// Bytes in place of an HTTP answer; afterwards the connection is closed.
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            raw: Some(bytes.into()),
            ..Self::stream(vec![Step::Cut])
        }
    }

    /// No answer at all, for as long as the peer has patience.
    pub(crate) fn silence() -> Self {
        Self {
            raw: Some(Vec::new()),
            ..Self::stream(vec![Step::Stall])
        }
    }

    /// The same answer with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A step that writes one event.
pub(crate) fn event(data: &Value) -> Step {
    Step::Write(format!("data: {data}\n\n").into_bytes())
}

/// The step that writes the closing `[DONE]`.
pub(crate) fn done() -> Step {
    Step::Write(b"data: [DONE]\n\n".to_vec())
}

/// A chunk that holds one delta.
pub(crate) fn delta(delta: &Value) -> Value {
    chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]))
}

/// A chunk that says some text.
pub(crate) fn says(text: &str) -> Value {
    delta(&json!({"content": text}))
}

/// A chunk that holds the finish reason only.
pub(crate) fn finish(reason: &str) -> Value {
    chunk(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]))
}

/// A chunk with these choices.
pub(crate) fn chunk(choices: &Value) -> Value {
    json!({
        "id": "chatcmpl-up7", "object": "chat.completion.chunk", "created": 1_750_000_000,
        "model": "gpt-mock-2026", "choices": choices,
    })
}

/// A whole answer that holds one message.
pub(crate) fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-up7", "object": "chat.completion", "created": 1_750_000_000,
        "model": "gpt-mock-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15},
    })
}
