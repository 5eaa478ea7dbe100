//! The time that an upstream may be silent, and how much of it has passed.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// How long an upstream may be silent.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until its head arrives, and from there (or for as long as `idle`) until the first piece.
    pub first: Duration,
    /// Between two pieces that say something. Comments do not count, nor do pings: some servers
    /// keep a stalled stream alive with them.
    pub idle: Duration,
}

/// The time that has passed since an upstream said something.
pub struct Silence {
    patience: Patience,
    sleep: Pin<Box<Sleep>>,
}

impl Silence {
    /// Begins to wait for the head of an answer.
    pub fn begin(patience: Patience) -> Silence {
        let sleep = Box::pin(tokio::time::sleep(patience.first));
        Silence { patience, sleep }
    }

    /// Resolves when it has lasted too long.
    pub async fn over(&mut self) {
        self.sleep.as_mut().await;
    }

    /// The head has arrived: waits for the first piece.
    pub(super) fn head_came(&mut self) {
        self.last(self.patience.first.max(self.patience.idle));
    }

    /// A piece has arrived: waits for the next.
    pub(super) fn piece_came(&mut self) {
        self.last(self.patience.idle);
    }

    fn last(&mut self, time: Duration) {
        #[expect(
            clippy::disallowed_methods,
            reason = "the idle time-out of a connection is a matter of this place"
        )]
        let now = Instant::now();
        self.sleep.as_mut().reset(now + time);
    }
}
