//! What the section `[continuation]` says.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How the hidden part of a turn is sealed into what the caller returns.
#[derive(Clone, Debug)]
pub struct ContinuationSettings {
    /// The first seals, all open; so a new key is put in front and an old one is
    /// taken out once nothing that it sealed is waiting any more. Empty by default:
    /// then a random key serves for the life of the process.
    pub keys: Vec<SealingKey>,
    /// How long after sealing a continuation still opens. Default 24 hours.
    pub max_age: Duration,
    /// Largest sealed continuation in bytes. At least 1, default 524,288 (512 KiB).
    pub max_size: usize,
    /// What happens when a continuation that is due does not open. Default
    /// [`OnLost::Fail`].
    pub on_lost: OnLost,
    /// How long a request that failed or was abandoned after a service tool had run is
    /// remembered, so that the same request takes it up (contract K7). Zero remembers nothing, and
    /// identical requests at once do not wait for each other. Default 10 minutes.
    pub retry_window: Duration,
    /// The folder in which such requests are kept, so that another process can take them up; it is
    /// made if it is not there. Only with `keys`, which seal what is in it, and with a
    /// `retry_window`. Absent by default: they are kept in memory.
    pub journal: Option<PathBuf>,
}

impl Default for ContinuationSettings {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            max_age: Duration::from_hours(24),
            max_size: 512 * 1024,
            on_lost: OnLost::default(),
            retry_window: Duration::from_mins(10),
            journal: None,
        }
    }
}

/// What happens when a continuation that is due does not open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLost {
    /// The turn goes on without the hidden part; the caller and the model are told.
    Degrade,
    /// The request is refused. The default.
    #[default]
    Fail,
}

/// A key of 32 bytes that seals and opens continuations. `Debug` is redacted.
#[derive(Clone)]
pub struct SealingKey([u8; 32]);

impl SealingKey {
    /// Wraps 32 bytes, which should come from a secure source of randomness.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes themselves. Never pass them to a log, an error or an answer.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(redacted)")
    }
}
