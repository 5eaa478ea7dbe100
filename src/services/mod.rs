//! Where Handback's own tools live: HTTP endpoints, MCP servers, the clock.
//!
//! A [`Service`] says which tools it offers now and runs a call of one of them. Whatever goes
//! wrong with a call is a [`Reply`] for the model, which decides what to do about it (contract
//! V4); a call never fails its turn.
//!
//! Invariant: a call ends within the time of its service, and its reply within the bytes of its
//! invocation, whatever the other side does. No URL, header or key is part of a reply.
//!
//! Deliberately absent: turns and models. A service is not told who asks, or why.

pub mod clock;
mod definition;
pub mod http;
pub mod mcp;
mod reply;
pub mod settings;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::tools::ServiceTool;

/// A tool as a service offers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The tool as the model sees it, under a name that chat completions takes.
    pub tool: ServiceTool,
    /// The service's own name for it, which it wants in a call and operators write in
    /// `services = ["crm.find_customer"]`.
    pub own_name: String,
}

/// One call of a tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Invocation {
    /// [`Offered::own_name`].
    pub tool: String,
    /// The arguments: the text of a JSON object, checked against the tool's parameters.
    pub arguments: String,
    /// The same for every attempt at the same call (contract V3).
    pub idempotency_key: String,
    /// The call's place in a trace, if it is traced (W3C Trace Context, "traceparent").
    pub traceparent: Option<String>,
    /// Bytes of the reply that the model may see; the rest is cut off, on a character.
    pub reply_limit: usize,
}

/// How a call ended, for logs and metrics.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With a result.
    Completed,
    /// With an error of the tool or its server.
    Failed,
    /// It took longer than it may.
    TimedOut,
}

impl Outcome {
    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timed_out",
        }
    }
}

/// What came of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply {
    /// What the model is told.
    pub text: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// A reply on its way. It owns what it needs, since a call goes on when its caller is gone
/// (contract S4).
pub type Called = Pin<Box<dyn Future<Output = Reply>>>;

/// A place where tools live.
pub trait Service: Send + Sync {
    /// The tools that it offers at this moment; none while it cannot be reached.
    fn tools(&self) -> Arc<[Offered]>;

    /// Waits until it is known for the first time what it offers, or that this takes long. None if
    /// there is nothing to wait for.
    fn known(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        None
    }

    /// Whether the operator has written the names of its tools. A server that lists them itself may
    /// list any number of them in its life.
    fn names_are_configured(&self) -> bool {
        true
    }

    /// Runs a call.
    fn call(&self, invocation: Invocation) -> Called;
}
