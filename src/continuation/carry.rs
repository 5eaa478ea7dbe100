//! What travels.

use serde::{Deserialize, Serialize};

use crate::turn::{Hidden, Millis};

/// The version of the stored form. A later release reads every earlier one.
pub const CARRY_VERSION: u32 = 2;

/// The hidden part of a handback, and what it depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carry {
    /// [`CARRY_VERSION`] of the release that wrote it.
    pub version: u32,
    /// When it was sealed.
    pub sealed_at: Millis,
    /// The agent that was active: in a team it need not be the one that was asked.
    pub agent: String,
    /// Of version 1: the upstream of the handback. Now each message is kept with its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub upstream: String,
    /// The hidden part.
    pub hidden: Hidden,
}
