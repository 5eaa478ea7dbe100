//! The wall clock, as the engine takes it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::turn::Millis;

/// Now, in milliseconds since the Unix epoch.
pub fn now_millis() -> Millis {
    Millis(u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
}

/// Now, in seconds since the Unix epoch.
pub fn now_seconds() -> u64 {
    since_epoch().as_secs()
}

fn since_epoch() -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock for the engine"
    )]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}
