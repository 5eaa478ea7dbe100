//! The internal calls of a round.
//!
//! Calls without side effects run beside each other; every other call runs alone, since what it
//! writes the next may need (contract V3). The order is the model's.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::task::JoinHandle;

use super::agent::Bound;
use super::clock;
use super::once::Replies;
use super::roster::Common;
use super::watch::{Place, Watched};
use crate::services::{Invocation, Reply};
use crate::tools::SideEffect;
use crate::turn::{Input, ServiceCall};

/// Calls that wait and calls that run.
#[derive(Default)]
pub(super) struct Calls {
    waiting: VecDeque<Job>,
    running: FuturesUnordered<JoinHandle<Input>>,
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
    /// The turn, the round and the trace that it is a call of, for the operator.
    pub(super) place: Place,
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

    /// The next reply. Waits without end while no call is running.
    pub(super) async fn next(&mut self) -> Input {
        loop {
            match self.running.next().await {
                Some(Ok(reply)) => {
                    self.alone = false;
                    return reply;
                }
                // Its task was broken off: the process is ending.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

/// Runs a call in a task of its own: it is left to finish when its caller goes (contract S4).
fn spawn(job: Job, common: Arc<Common>) -> JoinHandle<Input> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a call that has begun ends in its own time, whoever still waits for it"
    )]
    tokio::task::spawn_local(run(job, common))
}

async fn run(job: Job, common: Arc<Common>) -> Input {
    let id = job.call.call.id.clone();
    let result = match &job.bound {
        Some(bound) => reply(&job, bound, &common).await.text,
        None => {
            "{\"status\":\"failed\",\"reason\":\"this tool is not available any more\"}".to_owned()
        }
    };
    Input::ServiceReplied { id, result }
}

/// Runs a call, unless its reply is known or on its way.
async fn reply(job: &Job, bound: &Bound, common: &Common) -> Reply {
    let now = clock::now_millis();
    let call = watched(job, bound, common.limits.service_result);
    // A parked call runs once for all requests that bring it back.
    let once = async {
        if job.call.parked {
            common.once.run(&job.idempotency_key, now, call).await
        } else {
            call.await
        }
    };
    match &job.replies {
        Some(replies) => replies.run(&job.call.call.id, once).await,
        None => once.await,
    }
}

/// Runs a call, counts it and says so in the log, whoever still waits for it.
async fn watched(job: &Job, bound: &Bound, reply_limit: usize) -> Reply {
    let watched = Watched::begin(&job.place);
    let call = bound.service.call(Invocation {
        tool: bound.own_name.clone(),
        arguments: job.call.call.arguments.to_string(),
        idempotency_key: job.idempotency_key.clone(),
        traceparent: watched.traceparent(),
        reply_limit,
    });
    let reply = call.await;
    watched.end(bound, reply.outcome);
    reply
}
