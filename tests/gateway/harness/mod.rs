//! The harness of the socket tests: Handback as a process of its own, a scripted upstream behind
//! it, a strict caller in front of it, and cases that are data.

pub(crate) mod collector;
pub(crate) mod gateway;

pub(crate) mod http;
pub(crate) mod mcp;
pub(crate) mod script;
pub(crate) mod service;
pub(crate) mod upstream;

pub(crate) mod caller;
pub(crate) mod conformance;
pub(crate) mod fold;
pub(crate) mod sse;
pub(crate) mod stream;

pub(crate) mod case;
pub(crate) mod delivery;
pub(crate) mod pattern;
pub(crate) mod play;
pub(crate) mod referee;
pub(crate) mod run;
pub(crate) mod walk;
pub(crate) mod world;

use std::time::Duration;

/// How long anything may take before a test fails instead of hanging. It is never what a test
/// measures.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Awaits `future`, and fails with `what` if it has not come about within [`PATIENCE`].
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(value) = tokio::time::timeout(PATIENCE, future).await else {
        panic!("gave up after {PATIENCE:?} waiting for: {what}");
    };
    value
}
