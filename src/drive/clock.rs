//! The wall clock, as the engine takes it, and how long things take.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::turn::Millis;

/// Now, in milliseconds since the Unix epoch.
pub fn now_millis() -> Millis {
    Millis(u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
}

/// Now, in seconds since the Unix epoch.
pub fn now_seconds() -> u64 {
    since_epoch().as_secs()
}

/// Now, for what bears the time of day.
pub fn now() -> SystemTime {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock for the engine"
    )]
    SystemTime::now()
}

/// How long something takes, whatever happens to the wall clock meanwhile.
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    pub(super) fn start() -> Stopwatch {
        #[expect(
            clippy::disallowed_methods,
            reason = "the drive measures its rounds and calls"
        )]
        let now = Instant::now();
        Stopwatch(now)
    }

    /// When it was started.
    pub(super) fn begun(&self) -> Instant {
        self.0
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

fn since_epoch() -> Duration {
    now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
