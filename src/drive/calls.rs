//! The internal calls of a round.
//!
//! Calls without side effects run beside each other; every other call runs alone, since what it
//! writes the next may need (contract V3). The order is the model's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytestring::ByteString;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::JoinHandle;

use super::agent::Bound;
use super::clock;
use super::once::Replies;
use super::roster::Common;
use crate::services::{Invocation, Outcome, Reply};
use crate::tools::SideEffect;
use crate::turn::ServiceCall;

/// Calls that wait and calls that run.
#[derive(Default)]
pub(super) struct Calls {
    waiting: VecDeque<Job>,
    running: FuturesUnordered<JoinHandle<Done>>,
    /// A call that runs alone is running.
    alone: bool,
    /// A tool with side effects has been run.
    pub(super) wrote: bool,
}

/// A call and where it runs.
pub(super) struct Job {
    pub(super) call: ServiceCall,
    pub(super) bound: Option<Bound>,
    pub(super) idempotency_key: String,
    /// Where its reply is kept for the same request again.
    pub(super) replies: Option<Arc<Replies>>,
}

/// What came of a call.
pub(super) struct Done {
    pub(super) id: ByteString,
    pub(super) text: String,
    /// The service, the outcome and the duration, for whoever watches.
    pub(super) seen: Option<(String, Outcome, Duration)>,
}

impl Calls {
    pub(super) fn push(&mut self, job: Job) {
        self.waiting.push_back(job);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Starts what may run now.
    pub(super) fn start(&mut self, common: &Arc<Common>) {
        let most = usize::try_from(common.limits.parallel_service_calls).unwrap_or(1);
        while let Some(next) = self.waiting.front() {
            let reads = next.call.side_effect == SideEffect::None;
            let free = if reads {
                !self.alone && self.running.len() < most
            } else {
                self.running.is_empty()
            };
            if !free {
                return;
            }
            let Some(job) = self.waiting.pop_front() else {
                return;
            };
            self.alone = !reads;
            self.wrote = self.wrote || !reads;
            self.running.push(spawn(job, Arc::clone(common)));
        }
    }

    /// The next call that is done. Waits without end while none is running.
    pub(super) async fn next(&mut self) -> Done {
        loop {
            match self.running.next().await {
                Some(Ok(done)) => {
                    self.alone = false;
                    return done;
                }
                // Its task was broken off: the process is ending.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

/// Runs a call in a task of its own: it is left to finish when its caller goes (contract S4).
fn spawn(job: Job, common: Arc<Common>) -> JoinHandle<Done> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a call that has begun ends in its own time, whoever still waits for it"
    )]
    tokio::task::spawn_local(run(job, common))
}

async fn run(job: Job, common: Arc<Common>) -> Done {
    let id = job.call.call.id.clone();
    let Some(bound) = job.bound else {
        let text =
            "{\"status\":\"failed\",\"reason\":\"this tool is not available any more\"}".to_owned();
        return Done {
            id,
            text,
            seen: None,
        };
    };
    let begun = clock::now_millis();
    let call = bound.service.call(Invocation {
        tool: bound.own_name.clone(),
        arguments: job.call.call.arguments.to_string(),
        idempotency_key: job.idempotency_key.clone(),
        reply_limit: common.limits.service_result,
    });
    // A parked call runs once for all requests that bring it back.
    let once = async {
        if job.call.parked {
            common.once.run(&job.idempotency_key, begun, call).await
        } else {
            call.await
        }
    };
    let reply: Reply = match &job.replies {
        Some(replies) => replies.run(&id, once).await,
        None => once.await,
    };
    let duration = Duration::from_millis(clock::now_millis().0.saturating_sub(begun.0));
    Done {
        id,
        text: reply.text,
        seen: Some((bound.service_name, reply.outcome, duration)),
    }
}
