//! What can go wrong with a model request.

use crate::wire::answer::{Failure, Malformed};

/// A model request that gave no complete answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The answer broke off, or its bytes could not be read.
    #[error("the answer broke off: {detail}")]
    Broken {
        /// What was seen.
        detail: String,
    },
    /// The answer is not one of chat completions.
    #[error("the upstream answered with status {status} and {what}")]
    NotAnAnswer {
        /// The HTTP status.
        status: u16,
        /// What stood there instead.
        what: String,
    },
    /// The upstream reports an error, by its status or in the body of a 200.
    #[error("the upstream {}: {}", if *in_body { "reported an error".to_owned() } else { format!("answered {status}") }, failure.message)]
    Refused {
        /// It did so in the body of a success.
        in_body: bool,
        /// The HTTP status, or the one that the body of a 200 names, or 502.
        status: u16,
        /// What it says.
        failure: Box<Failure>,
        /// Its `retry-after`, as it was sent.
        retry_after: Option<String>,
        /// It was asked with the caller's own authorization.
        with_callers_authorization: bool,
    },
    /// It took too long.
    #[error("the upstream did not {phase} in time")]
    TimedOut {
        /// What it did not do.
        phase: Phase,
    },
    /// An event or the whole answer is larger than Handback takes.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// No connection could be made.
    #[error("the upstream cannot be reached")]
    Unreachable,
}

/// A part of a model request that has a time limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// `timeouts.connect`
    Connect,
    /// `timeouts.first_byte`
    FirstByte,
    /// `timeouts.idle`
    Idle,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Phase::Connect => "accept a connection",
            Phase::FirstByte => "begin its answer",
            Phase::Idle => "go on with its answer",
        })
    }
}

impl Error {
    /// The word for logs and metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Broken { .. } => "broken",
            Error::NotAnAnswer { .. } => "not_an_answer",
            Error::Refused { .. } => "refused",
            Error::TimedOut { .. } => "timed_out",
            Error::TooLarge { .. } => "too_large",
            Error::Unreachable => "unreachable",
        }
    }

    /// The HTTP status that the upstream answered with or named, 0 if there was none.
    pub fn status(&self) -> u16 {
        match self {
            Error::NotAnAnswer { status, .. } | Error::Refused { status, .. } => *status,
            _ => 0,
        }
    }

    /// What a body turned out to be that could not be read as an answer.
    pub(super) fn malformed(status: u16, malformed: &Malformed) -> Error {
        Error::NotAnAnswer {
            status,
            what: malformed.to_string(),
        }
    }
}
