//! Why a turn failed.

use serde::{Deserialize, Serialize};

/// The end of a turn that has no answer.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// The caller went away.
    #[error("the caller is gone")]
    Cancelled,
    /// The model's calls can neither be run nor handed back (contract A6).
    #[error("the model gave calls that cannot be used: {detail}")]
    InvalidModelOutput {
        /// What is wrong with them, for the caller.
        detail: String,
    },
    /// The pieces of the answer do not fit together.
    #[error("the upstream's answer is garbled: {detail}")]
    Garbled {
        /// What does not fit.
        detail: String,
    },
    /// The model request failed; whoever made it knows why.
    #[error("the model did not answer")]
    ModelFailed,
    /// The turn's time is up (contract A7).
    #[error("the turn took longer than it may")]
    TurnTimeout,
}

impl Stopped {
    /// Calls that cannot be used.
    pub(super) fn invalid(detail: impl Into<String>) -> Stopped {
        Stopped::InvalidModelOutput {
            detail: detail.into(),
        }
    }
}
