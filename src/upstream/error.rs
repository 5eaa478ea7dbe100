//! What can go wrong with a model request.

use std::time::Duration;

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
    /// The connection was closed in place of an answer: an unused one that the upstream gave up
    /// at the moment it was used again, most likely.
    #[error("the connection was closed before the answer began")]
    Closed,
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
        /// Its `retry-after`, as it was sent, or in seconds what it wrote into the body.
        retry_after: Option<String>,
        /// It was asked with the caller's own authorization.
        with_callers_authorization: bool,
    },
    /// It failed too often lately, and is left alone for a moment.
    #[error("the upstream has failed repeatedly and is not asked for another {} s", seconds.max(&1))]
    Resting {
        /// For how long.
        seconds: u64,
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

/// Where asking again can help (contract U5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Again {
    /// The same upstream may answer in a moment.
    Here,
    /// Only another upstream can help.
    Elsewhere,
    /// The request itself is the matter.
    Nowhere,
}

impl Error {
    /// Where asking again can help, as long as nothing of the answer is with the caller.
    pub fn again(&self) -> Again {
        match self {
            Error::Unreachable
            | Error::Broken { .. }
            | Error::Closed
            | Error::TimedOut {
                phase: Phase::Connect,
            } => Again::Here,
            // Another wait of minutes is no help; neither is a second such answer.
            Error::TimedOut { .. } | Error::TooLarge { .. } | Error::Resting { .. } => {
                Again::Elsewhere
            }
            // A key of the operator's that is refused may be right at the next one; the caller's
            // own is not.
            Error::Refused {
                status: 401 | 403,
                with_callers_authorization,
                ..
            } => {
                if *with_callers_authorization {
                    Again::Nowhere
                } else {
                    Again::Elsewhere
                }
            }
            Error::Refused { status, .. } | Error::NotAnAnswer { status, .. } => match status {
                200..=299 | 408 | 429 | 500.. => Again::Here,
                _ => Again::Nowhere,
            },
        }
    }

    /// Whether it says that the upstream is sick, rather than busy or right.
    pub fn is_sickness(&self) -> bool {
        let busy = matches!(
            self,
            Error::Refused { status: 429, .. } | Error::Resting { .. }
        );
        self.again() == Again::Here && !busy || matches!(self, Error::TimedOut { .. })
    }

    /// How long the upstream wants to be left alone from `now` on, in seconds since the Unix
    /// epoch: it says so in seconds, or as a date (RFC 9110, "Retry-After").
    pub fn retry_after(&self, now: u64) -> Option<Duration> {
        let Error::Refused { retry_after, .. } = self else {
            return None;
        };
        let text = retry_after.as_deref()?.trim();
        if let Ok(seconds) = text.parse() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        let seconds = u64::try_from(date.as_second()).ok()?;
        Some(Duration::from_secs(seconds.saturating_sub(now)))
    }

    /// The word for logs and metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Broken { .. } => "broken",
            Error::Closed => "closed",
            Error::NotAnAnswer { .. } => "not_an_answer",
            Error::Refused { .. } => "refused",
            Error::Resting { .. } => "resting",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_in_seconds_and_as_a_date() {
        let wish = |text: &str| {
            let error = Error::Refused {
                in_body: false,
                status: 503,
                failure: Box::default(),
                retry_after: Some(text.to_owned()),
                with_callers_authorization: false,
            };
            error.retry_after(1_445_412_400)
        };
        assert_eq!(wish("2"), Some(Duration::from_secs(2)));
        assert_eq!(wish(" 0.5 "), Some(Duration::from_millis(500)));
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(wish(date), Some(Duration::from_secs(80)));
        assert_eq!(wish("Fri, 21 Oct 2005 07:28:00 GMT"), Some(Duration::ZERO));
        for text in ["", "soon", "-1", "1e400"] {
            assert_eq!(wish(text), None, "{text}");
        }
    }
}
