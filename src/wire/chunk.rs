//! What the caller gets: a whole answer, or the chunks of a stream (contract A1, S1).

use bytes::{BufMut, Bytes, BytesMut};
use bytestring::ByteString;

use super::message::{Call, write_calls};
use super::raw::Raw;
use super::usage::Usage;
use super::write::{ObjectWriter, on_one_line, quote_into};

/// Why an answer ended, in OpenAI's terms.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// Withheld by a filter.
    ContentFilter,
    /// Cut at the token limit.
    Length,
    /// At its natural end.
    Stop,
    /// External calls are handed back.
    ToolCalls,
}

impl FinishReason {
    /// The word of the reference.
    pub fn as_str(self) -> &'static str {
        match self {
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Length => "length",
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls => "tool_calls",
        }
    }
}

/// What every chunk of one answer repeats, and a whole answer has once.
#[derive(Clone, Debug)]
pub struct Heading<'a> {
    /// `id` of the answer.
    pub id: &'a str,
    /// Unix time in seconds.
    pub created: u64,
    /// The model as the caller named it.
    pub model: &'a str,
}

/// The last words of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// Why it ended.
    pub finish: FinishReason,
    /// `usage` over all rounds.
    pub usage: Option<&'a Usage>,
    /// `system_fingerprint` of the last round.
    pub system_fingerprint: Option<&'a Raw>,
    /// `service_tier` of the last round.
    pub service_tier: Option<&'a Raw>,
}

/// Writes the events of one streamed answer. Each leaves as its own buffer, cut from a block
/// that is allocated for several.
#[derive(Debug)]
pub struct ChunkWriter {
    /// `data: {"id":...` up to the value of `delta`.
    opening: String,
    heading_end: usize,
    block: BytesMut,
}

/// The last event of every stream that ended well.
pub const DONE: Bytes = Bytes::from_static(b"data: [DONE]\n\n");

/// A comment that keeps a silent connection open (contract S2).
pub const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

const BLOCK_BYTES: usize = 1024;
const DELTA_END: &[u8] = b",\"finish_reason\":null}]}\n\n";

impl ChunkWriter {
    /// A writer of one answer's chunks.
    pub fn new(heading: &Heading<'_>) -> ChunkWriter {
        let mut opening = String::with_capacity(160);
        opening.push_str("data: ");
        write_heading(&mut opening, heading, "chat.completion.chunk");
        let heading_end = opening.len();
        opening.push_str(",\"choices\":[{\"index\":0,\"delta\":");
        ChunkWriter {
            opening,
            heading_end,
            block: BytesMut::new(),
        }
    }

    /// The first chunk: who speaks.
    pub fn role(&mut self) -> Bytes {
        self.delta(&[b"{\"role\":\"assistant\"}"], None)
    }

    /// The first chunk where text is to follow, as the reference has it.
    pub fn role_with_text(&mut self) -> Bytes {
        self.delta(&[b"{\"role\":\"assistant\",\"content\":\"\"}"], None)
    }

    /// A piece of text, still escaped.
    pub fn text(&mut self, body: &str, logprobs: Option<&Raw>) -> Bytes {
        self.delta(&[b"{\"content\":\"", body.as_bytes(), b"\"}"], logprobs)
    }

    /// Pieces of other members of the message.
    pub fn fields(&mut self, fields: &[(ByteString, Raw)]) -> Bytes {
        let mut delta = String::new();
        let mut object = ObjectWriter::begin(&mut delta);
        for (key, value) in fields {
            object.member(key, &on_one_line(value.get()));
        }
        object.end();
        self.delta(&[delta.as_bytes()], None)
    }

    /// A whole call.
    pub fn call(&mut self, index: usize, call: &Call) -> Bytes {
        let mut text = String::new();
        call.write(&mut text, Some(index));
        self.delta(&[b"{\"tool_calls\":[", text.as_bytes(), b"]}"], None)
    }

    /// The beginning of a call that arrives in pieces (contract S5).
    pub fn call_head(&mut self, index: usize, id: &str, name: &str) -> Bytes {
        let mut text = format!("{{\"tool_calls\":[{{\"index\":{index},\"id\":");
        quote_into(&mut text, id);
        text.push_str(",\"type\":\"function\",\"function\":{\"name\":");
        quote_into(&mut text, name);
        text.push_str(",\"arguments\":\"\"}}]}");
        self.delta(&[text.as_bytes()], None)
    }

    /// A piece of the arguments of such a call, still escaped.
    pub fn call_arguments(&mut self, index: usize, body: &str) -> Bytes {
        let head = format!("{{\"tool_calls\":[{{\"index\":{index},\"function\":{{\"arguments\":\"");
        self.delta(&[head.as_bytes(), body.as_bytes(), b"\"}}]}"], None)
    }

    /// The chunk that holds nothing but the finish reason.
    pub fn finish(&mut self, ending: &Ending<'_>) -> Bytes {
        let mut text = self.opening.clone();
        text.push_str("{},\"finish_reason\":\"");
        text.push_str(ending.finish.as_str());
        text.push_str("\"}]");
        write_marks(&mut text, ending);
        text.push_str("}\n\n");
        Bytes::from(text)
    }

    /// The chunk of usage, sent only to callers who asked for it.
    pub fn usage(&mut self, ending: &Ending<'_>) -> Bytes {
        let mut text = self.opening[..self.heading_end].to_owned();
        text.push_str(",\"choices\":[],\"usage\":");
        text.push_str(&on_one_line(&Usage::text(ending.usage)));
        write_marks(&mut text, ending);
        text.push_str("}\n\n");
        Bytes::from(text)
    }

    fn delta(&mut self, parts: &[&[u8]], logprobs: Option<&Raw>) -> Bytes {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let logprobs = on_one_line(logprobs.map_or("", Raw::get));
        let need = self.opening.len() + length + logprobs.len() + DELTA_END.len() + 16;
        if self.block.capacity() < need {
            self.block.reserve(need.max(BLOCK_BYTES));
        }
        self.block.put_slice(self.opening.as_bytes());
        for part in parts {
            self.block.put_slice(part);
        }
        if !logprobs.is_empty() {
            self.block.put_slice(b",\"logprobs\":");
            self.block.put_slice(logprobs.as_bytes());
        }
        self.block.put_slice(DELTA_END);
        self.block.split().freeze()
    }
}

/// The message of a whole answer.
#[derive(Clone, Copy, Debug)]
pub struct WholeMessage<'a> {
    /// Its text, still escaped.
    pub body: Option<&'a str>,
    /// Its other members.
    pub fields: &'a [(ByteString, Raw)],
    /// The external calls.
    pub calls: &'a [Call],
    /// `logprobs` of the choice.
    pub logprobs: Option<&'a str>,
}

/// The body of a whole answer.
pub fn whole(heading: &Heading<'_>, message: WholeMessage<'_>, ending: &Ending<'_>) -> String {
    let mut out = String::with_capacity(512 + message.body.map_or(0, str::len));
    write_heading(&mut out, heading, "chat.completion");
    out.push_str(",\"choices\":[{\"index\":0,\"message\":");
    let mut object = ObjectWriter::begin(&mut out);
    object.member("role", "\"assistant\"");
    let content = object.key("content");
    match message.body {
        Some("") if !message.calls.is_empty() => content.push_str("null"),
        Some(body) => content.extend(["\"", body, "\""]),
        None => content.push_str("null"),
    }
    for (key, value) in message.fields {
        object.member(key, value.get());
    }
    if !message.calls.is_empty() {
        write_calls(object.key("tool_calls"), message.calls);
    }
    object.end();
    if let Some(logprobs) = message.logprobs {
        out.push_str(",\"logprobs\":");
        out.push_str(logprobs);
    }
    out.push_str(",\"finish_reason\":\"");
    out.push_str(ending.finish.as_str());
    out.push_str("\"}],\"usage\":");
    out.push_str(&Usage::text(ending.usage));
    write_marks(&mut out, ending);
    out.push('}');
    out
}

fn write_heading(out: &mut String, heading: &Heading<'_>, object: &str) {
    out.push_str("{\"id\":");
    quote_into(out, heading.id);
    out.push_str(",\"object\":\"");
    out.push_str(object);
    out.push_str("\",\"created\":");
    out.push_str(&heading.created.to_string());
    out.push_str(",\"model\":");
    quote_into(out, heading.model);
}

fn write_marks(out: &mut String, ending: &Ending<'_>) {
    for (key, value) in [
        ("system_fingerprint", ending.system_fingerprint),
        ("service_tier", ending.service_tier),
    ] {
        if let Some(value) = value {
            out.push(',');
            quote_into(out, key);
            out.push(':');
            out.push_str(value.get());
        }
    }
}
