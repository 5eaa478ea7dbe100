//! The shapes that a server writes, null keys included.
//!
//! They are written here once more than in the crate's own wire module on purpose: a script
//! plays a foreign server, and what reads foreign servers should not be tested with its own
//! mirror image.
//!
//! Invariant: only what the API reference names for a chat completion is written.

use serde::Serialize;

/// An answer in one piece.
#[derive(Serialize)]
pub(super) struct Completion<'a> {
    pub id: &'a str,
    pub object: &'static str,
    pub created: u64,
    pub model: &'a str,
    pub choices: [Choice<'a>; 1],
    pub usage: Usage,
}

/// The one choice of an answer.
#[derive(Serialize)]
pub(super) struct Choice<'a> {
    pub index: u32,
    pub message: Message<'a>,
    pub logprobs: (),
    pub finish_reason: &'a str,
}

/// What the model says.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub role: &'static str,
    pub content: Option<&'a str>,
    pub refusal: (),
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Call<'a>>,
}

/// A call, or the first piece of one: then it has an index.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    pub id: String,
    pub r#type: &'static str,
    pub function: Function<'a>,
}

/// A function and its arguments.
#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub name: &'a str,
    pub arguments: &'a str,
}

/// One event of a stream.
#[derive(Serialize)]
pub(super) struct Chunk<'a> {
    pub id: &'a str,
    pub object: &'static str,
    pub created: u64,
    pub model: &'a str,
    pub choices: Vec<ChunkChoice<'a>>,
    /// With `include_usage` every chunk has the key, null in all but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChunkUsage>,
}

/// The usage in a chunk.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ChunkUsage {
    /// Null.
    Later,
    Total(Usage),
}

/// The one choice of a chunk.
#[derive(Serialize)]
pub(super) struct ChunkChoice<'a> {
    pub index: u32,
    pub delta: Delta<'a>,
    pub logprobs: (),
    pub finish_reason: Option<&'a str>,
}

/// What a chunk adds to the message.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Delta<'a> {
    Arguments {
        tool_calls: [Fragment<'a>; 1],
    },
    Call {
        tool_calls: [Call<'a>; 1],
    },
    Content {
        content: &'a str,
    },
    Finish {},
    Role {
        role: &'static str,
        content: Option<&'a str>,
        refusal: (),
    },
}

/// A further piece of a call.
#[derive(Serialize)]
pub(super) struct Fragment<'a> {
    pub index: usize,
    pub function: ArgumentsOnly<'a>,
}

/// A piece of the arguments.
#[derive(Serialize)]
pub(super) struct ArgumentsOnly<'a> {
    pub arguments: &'a str,
}

/// The estimated tokens.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the API reference")]
pub(super) struct Usage {
    pub prompt_tokens: usize,
    pub completion_tokens: usize,
    pub total_tokens: usize,
}

/// The body of an error answer.
#[derive(Serialize)]
pub(super) struct ErrorBody<'a> {
    pub error: Problem<'a>,
}

/// What went wrong.
#[derive(Serialize)]
pub(super) struct Problem<'a> {
    pub message: &'a str,
    pub r#type: &'a str,
    pub param: Option<&'a str>,
    pub code: Option<&'a str>,
}
