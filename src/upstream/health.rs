//! Whether an upstream is worth another request.
//!
//! Two things keep a sick upstream from being asked to death. A **budget** lets only a share of
//! the requests be repeats, so that a failure for everybody does not multiply the load. A
//! **breaker** gives an upstream a rest after a run of failures; when the rest is over one request
//! tries it, and its end decides for all.

use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tower::retry::budget::{Budget, TpsBudget};

/// How many failures in a row put an upstream to rest.
const FAILURES: u32 = 10;
/// The first rest; each failed try after one doubles it.
const REST: Duration = Duration::from_secs(1);
/// The longest rest.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// How long a request counts for the budget.
const BUDGET_WINDOW: Duration = Duration::from_secs(10);
/// Repeats that are always allowed, in each second.
const BUDGET_FLOOR: u32 = 2;
/// Further repeats, as a share of the requests.
const BUDGET_SHARE: f32 = 0.2;

/// What is known of an upstream; shared by all workers.
pub struct Health {
    budget: TpsBudget,
    /// Failures since the last success.
    failures: AtomicU32,
    /// The end of its rest, in milliseconds since `begun`; 0 while it has none.
    rests_until: AtomicU64,
    begun: Instant,
}

/// What a failure led to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// Nothing: the upstream goes on being asked.
    Up,
    /// The upstream is given a rest of that length.
    Rests(Duration),
}

impl Default for Health {
    fn default() -> Health {
        Health {
            budget: TpsBudget::new(BUDGET_WINDOW, BUDGET_FLOOR, BUDGET_SHARE),
            failures: AtomicU32::new(0),
            rests_until: AtomicU64::new(0),
            begun: now(),
        }
    }
}

impl Health {
    /// Whether a request may be sent; otherwise how long the upstream still rests. After a rest
    /// one request is let through, and the rest of them wait for what comes of it.
    pub fn admit(&self) -> Result<(), Duration> {
        let until = self.rests_until.load(Ordering::Acquire);
        if until == 0 {
            self.budget.deposit();
            return Ok(());
        }
        let now = self.now();
        if now < until {
            return Err(Duration::from_millis(until - now));
        }
        let next = now + millis(rest(self.failures.load(Ordering::Acquire)));
        let tries = self.rests_until.compare_exchange(
            until,
            next.max(1),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match tries {
            Ok(_) => Ok(()),
            Err(other) => Err(Duration::from_millis(other.saturating_sub(now))),
        }
    }

    /// Whether a request may be repeated: the budget has something left.
    pub fn may_repeat(&self) -> bool {
        self.budget.withdraw()
    }

    /// An answer has begun. Whether this ended a rest.
    pub fn succeeded(&self) -> bool {
        if self.failures.load(Ordering::Acquire) == 0 {
            return false;
        }
        self.failures.store(0, Ordering::Release);
        self.rests_until.swap(0, Ordering::AcqRel) != 0
    }

    /// A request failed in a way that says something of the upstream.
    pub fn failed(&self) -> Verdict {
        let failures = self
            .failures
            .fetch_add(1, Ordering::AcqRel)
            .saturating_add(1);
        if failures < FAILURES {
            return Verdict::Up;
        }
        let rest = rest(failures);
        let until = self.now() + millis(rest);
        self.rests_until.store(until.max(1), Ordering::Release);
        Verdict::Rests(rest)
    }

    fn now(&self) -> u64 {
        millis(now() - self.begun)
    }
}

fn rest(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(FAILURES).min(16);
    REST.saturating_mul(1 << doublings).min(LONGEST_REST)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}

fn now() -> Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long an upstream rests is a matter of this place"
    )]
    Instant::now()
}

impl Debug for Health {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_of_failures_is_followed_by_a_rest_and_one_try() {
        let health = Health::default();
        for _ in 1..FAILURES {
            assert_eq!(health.failed(), Verdict::Up);
            assert_eq!(health.admit(), Ok(()));
        }
        assert_eq!(health.failed(), Verdict::Rests(REST));
        assert_eq!(health.admit(), Err(REST));
        tokio::time::advance(REST).await;
        assert_eq!(health.admit(), Ok(()), "one request tries");
        assert!(health.admit().is_err(), "the others wait for it");
        assert_eq!(health.failed(), Verdict::Rests(REST * 2));
        tokio::time::advance(REST * 2).await;
        assert_eq!(health.admit(), Ok(()));
        assert!(health.succeeded());
        assert!(!health.succeeded());
        assert_eq!(health.admit(), Ok(()));
        assert_eq!(health.failed(), Verdict::Up);
    }

    #[tokio::test(start_paused = true)]
    async fn a_try_that_nobody_waits_for_is_followed_by_another() {
        let health = Health::default();
        for _ in 0..FAILURES {
            health.failed();
        }
        tokio::time::advance(REST).await;
        assert_eq!(health.admit(), Ok(()));
        let rest = health.admit().unwrap_err();
        tokio::time::advance(rest).await;
        assert_eq!(health.admit(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn rests_grow_to_a_limit() {
        assert_eq!(rest(u32::MAX), LONGEST_REST);
    }

    #[tokio::test(start_paused = true)]
    async fn repeats_are_a_share_of_the_requests() {
        let health = Health::default();
        let count = || (0..1000).filter(|_| health.may_repeat()).count();
        let floor = count();
        assert!((1..100).contains(&floor), "{floor}");
        for _ in 0..500 {
            assert_eq!(health.admit(), Ok(()));
        }
        // What was deposited counts once its moment is over.
        tokio::time::advance(BUDGET_WINDOW / 5).await;
        let more = count();
        assert!((50..=150).contains(&more), "{more}");
    }
}
