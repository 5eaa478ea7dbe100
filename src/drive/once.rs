//! Calls that run once however often they are asked for (contract K7).
//!
//! A caller's retry of a follow-up opens the same continuation again, and so asks for the same
//! parked calls. Their replies are remembered for a while; a second request that comes while the
//! first still runs them waits for them.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::services::Reply;
use crate::turn::Millis;

/// Calls that are remembered; when there are more, the oldest are forgotten first.
const CALLS: usize = 10_000;

/// What is remembered, in this process.
pub struct Once {
    calls: Mutex<HashMap<String, Call>>,
    window: Duration,
}

struct Call {
    asked: Millis,
    reply: Arc<OnceCell<Reply>>,
}

impl Once {
    /// Remembers each call for `window`.
    pub fn new(window: Duration) -> Once {
        Once {
            calls: Mutex::new(HashMap::new()),
            window,
        }
    }

    /// The reply of the call `key`: what is remembered, or what `run` gives.
    pub async fn run(&self, key: &str, now: Millis, run: impl Future<Output = Reply>) -> Reply {
        let cell = self.cell(key, now);
        cell.get_or_init(|| run).await.clone()
    }

    fn cell(&self, key: &str, now: Millis) -> Arc<OnceCell<Reply>> {
        let window = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get(key)
            && now.0.saturating_sub(call.asked.0) <= window
        {
            return Arc::clone(&call.reply);
        }
        if calls.len() >= CALLS {
            calls.retain(|_, call| now.0.saturating_sub(call.asked.0) <= window);
        }
        if calls.len() >= CALLS
            && let Some(oldest) = calls
                .iter()
                .min_by_key(|(_, call)| call.asked)
                .map(|(key, _)| key.clone())
        {
            calls.remove(&oldest);
        }
        let reply = Arc::new(OnceCell::new());
        if window > 0 {
            calls.insert(
                key.to_owned(),
                Call {
                    asked: now,
                    reply: Arc::clone(&reply),
                },
            );
        }
        reply
    }
}
