//! What spans are told.

use std::time::Duration;

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its id.
    pub id: &'a str,
    /// The agent or team that it names, if there is one.
    pub agent: Option<&'a str>,
    /// The name of the caller's key, if that is known.
    pub key: Option<&'a str>,
    /// The name of its turn, if that was open.
    pub turn: Option<&'a str>,
    /// Whether the answer was streamed.
    pub stream: bool,
    /// The HTTP status.
    pub status: u16,
    /// How it ended.
    pub outcome: &'static str,
    /// Why the answer ended, or the code of an error.
    pub detail: Result<&'a str, &'a str>,
    /// Whether there is an error that is not the caller's.
    pub failed: bool,
    /// Model requests made.
    pub rounds: u32,
    /// How long it took.
    pub duration: Duration,
}

/// A model that is asked.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The number of the round.
    pub round: u32,
    /// The agent that asks.
    pub agent: &'a str,
    /// The name of the upstream.
    pub upstream: &'a str,
    /// The model as the upstream knows it.
    pub model: &'a str,
}

/// Why there is no answer of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelFailure {
    /// The kind, as in the metrics.
    pub kind: &'static str,
    /// The HTTP status of the upstream, 0 if there was none.
    pub status: u16,
}

/// What an answer took, as far as the upstream says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokens {
    /// Tokens of the prompt.
    pub input: Option<u64>,
    /// Tokens of the answer.
    pub output: Option<u64>,
}
