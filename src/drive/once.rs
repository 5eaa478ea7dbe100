//! Calls that run once however often they are asked for (contract K7).
//!
//! [`Once`] remembers the parked calls of continuations for a while: every follow-up of one
//! handback asks for the same. [`Replies`] are the calls of one round of one attempt, for as long
//! as that is remembered. In both, whoever asks while a call still runs waits for it.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytestring::ByteString;
use tokio::sync::OnceCell;

use super::journal::{Entry, Journal};
use crate::services::Reply;
use crate::turn::{Millis, ServiceCall};

/// Parked calls that are remembered; when there are more, the oldest are forgotten first.
const CALLS: usize = 10_000;
/// Bytes of their replies; when there are more, the oldest are forgotten first.
const BYTES: usize = 64 * 1024 * 1024;

/// The parked calls of this process.
pub struct Once {
    calls: Mutex<Calls>,
    window: Duration,
    /// Where they are kept beyond the process, if they are.
    journal: Option<Arc<Journal>>,
}

#[derive(Default)]
struct Calls {
    by_key: HashMap<Arc<str>, Call>,
    /// Their keys in the order in which they were asked for: the oldest goes first.
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

struct Call {
    asked: Millis,
    /// Of the reply; 0 while there is none.
    bytes: usize,
    reply: Arc<OnceCell<Reply>>,
}

impl Once {
    /// Remembers each call for `window`, in the journal too if there is one.
    pub fn new(window: Duration, journal: Option<Arc<Journal>>) -> Once {
        Once {
            calls: Mutex::default(),
            window,
            journal,
        }
    }

    /// The reply of the call `key`: what is remembered, or what `run` gives.
    pub async fn run(&self, key: &str, now: Millis, run: impl Future<Output = Reply>) -> Reply {
        let cell = self.cell(key, now);
        let run = async {
            let Some(journal) = &self.journal else {
                return run.await;
            };
            if let Some(reply) = journal.parked(key).await {
                return reply;
            }
            let reply = run.await;
            journal.keep_parked(key, &reply).await;
            reply
        };
        let reply = cell.get_or_init(|| run).await.clone();
        self.weigh(key, &cell, reply.text.len());
        reply
    }

    fn cell(&self, key: &str, now: Millis) -> Arc<OnceCell<Reply>> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.forget_older(now, self.window);
        if let Some(call) = calls.by_key.get(key) {
            return Arc::clone(&call.reply);
        }
        let reply = Arc::new(OnceCell::new());
        if !self.window.is_zero() {
            if calls.by_key.len() >= CALLS {
                calls.forget_oldest();
            }
            let call = Call {
                asked: now,
                bytes: 0,
                reply: Arc::clone(&reply),
            };
            let key: Arc<str> = Arc::from(key);
            calls.order.push_back(Arc::clone(&key));
            calls.by_key.insert(key, call);
        }
        reply
    }

    /// Counts a reply, once it is there.
    fn weigh(&self, key: &str, slot: &Arc<OnceCell<Reply>>, bytes: usize) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(call) = calls
            .by_key
            .get_mut(key)
            .filter(|call| Arc::ptr_eq(&call.reply, slot) && call.bytes == 0)
        else {
            return;
        };
        call.bytes = bytes;
        calls.bytes += bytes;
        while calls.bytes > BYTES {
            calls.forget_oldest();
        }
    }
}

impl Calls {
    /// Forgets what was asked for longer ago than `window`.
    fn forget_older(&mut self, now: Millis, window: Duration) {
        let is_kept = |call: &Call| now.is_within(call.asked, window);
        while let Some(oldest) = self.order.front().and_then(|key| self.by_key.get(key))
            && !is_kept(oldest)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let oldest = self.order.pop_front();
        if let Some(call) = oldest.and_then(|key| self.by_key.remove(&key)) {
            self.bytes -= call.bytes;
        }
    }
}

/// The internal calls of one round, by their ids.
pub(super) struct Replies {
    calls: Vec<(ByteString, OnceCell<Reply>)>,
    /// Where they are kept beyond the process, if they are.
    entry: Option<Entry>,
}

impl Replies {
    /// None of these calls has run.
    pub(super) fn of(calls: &[ServiceCall], entry: Option<Entry>) -> Replies {
        let ids = calls.iter().map(|call| call.call.id.clone());
        Replies {
            calls: ids.map(|id| (id, OnceCell::new())).collect(),
            entry,
        }
    }

    /// Some of these calls have run, in another process.
    pub(super) fn known(
        calls: &[ServiceCall],
        known: Vec<(ByteString, Reply)>,
        entry: Entry,
    ) -> Replies {
        let mut replies = Replies::of(calls, Some(entry));
        for (id, reply) in known {
            let cell = replies.calls.iter_mut().find(|(call, _)| *call == id);
            if let Some((_, cell)) = cell {
                *cell = OnceCell::new_with(Some(reply));
            }
        }
        replies
    }

    /// The reply of a call: what is remembered, or what `run` gives.
    pub(super) async fn run(&self, id: &ByteString, run: impl Future<Output = Reply>) -> Reply {
        let Some((_, cell)) = self.calls.iter().find(|(known, _)| known == id) else {
            return run.await;
        };
        let run = async {
            let Some(entry) = &self.entry else {
                return run.await;
            };
            entry.stands().await;
            let reply = run.await;
            entry.add(id, &reply).await;
            reply
        };
        cell.get_or_init(|| run).await.clone()
    }

    /// Bytes that are kept, or can be once every call has replied with at most `limit`.
    pub(super) fn bytes(&self, limit: usize) -> usize {
        let bytes = |reply: Option<&Reply>| reply.map_or(limit, |reply| reply.text.len());
        let calls = self.calls.iter();
        calls.map(|(_, cell)| bytes(cell.get())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::Outcome;

    const WINDOW: Duration = Duration::from_secs(10);

    /// Runs a call; whether it ran, or was remembered.
    async fn runs(once: &Once, key: &str, now: u64, bytes: usize) -> bool {
        let mut ran = false;
        once.run(key, Millis(now), async {
            ran = true;
            Reply {
                text: "x".repeat(bytes),
                outcome: Outcome::Completed,
            }
        })
        .await;
        ran
    }

    #[tokio::test]
    async fn a_call_is_remembered_for_the_window() {
        let once = Once::new(WINDOW, None);
        assert!(runs(&once, "a", 0, 1).await);
        assert!(!runs(&once, "a", 10_000, 1).await);
        assert!(runs(&once, "b", 10_000, 1).await);
        assert!(runs(&once, "a", 10_001, 1).await);
    }

    #[tokio::test]
    async fn without_a_window_nothing_is_remembered() {
        let once = Once::new(Duration::ZERO, None);
        assert!(runs(&once, "a", 0, 1).await);
        assert!(runs(&once, "a", 0, 1).await);
    }

    #[tokio::test]
    async fn the_oldest_calls_make_room() {
        let once = Once::new(WINDOW, None);
        for nth in 0..=CALLS {
            assert!(runs(&once, &nth.to_string(), nth as u64 / 2, 0).await);
        }
        assert!(!runs(&once, "2", 1, 0).await);
        assert!(runs(&once, "0", 0, 0).await || runs(&once, "1", 0, 0).await);
    }

    #[tokio::test]
    async fn the_oldest_replies_make_room() {
        let once = Once::new(WINDOW, None);
        for (nth, key) in ["a", "b", "c"].into_iter().enumerate() {
            assert!(runs(&once, key, nth as u64, BYTES / 2).await);
        }
        assert!(!runs(&once, "b", 3, 0).await);
        assert!(!runs(&once, "c", 3, 0).await);
        assert!(runs(&once, "a", 3, 0).await);
    }
}
