//! A call of a tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, RequestMetaObject,
    ServerResult,
};

use super::failure::{CallError, is_of_connection};
use super::request::ask;
use super::{Link, Shared, result};
use crate::services::{Invocation, Reply, reply};

/// How long a call waits for a connection that was lost.
const GRACE: Duration = Duration::from_secs(2);

/// The key in `_meta` under which a server finds what stays the same for every attempt at the
/// same call (contract V3).
const IDEMPOTENCY_KEY: &str = "idempotencyKey";

/// Runs a call within the time of its service.
pub(super) async fn call(shared: Arc<Shared>, invocation: Invocation) -> Reply {
    let limit = invocation.reply_limit;
    let _under_way = UnderWay::begin(&shared.in_flight);
    match tokio::time::timeout(shared.timeout, attempts(&shared, &invocation)).await {
        Ok(Ok(answer)) => result::reply(answer, &shared.private, limit),
        Ok(Err(error)) => reply::failed(&shared.private.failure(error.to_string()), limit),
        Err(_) => {
            let reason = format!("no answer within {:?}", shared.timeout);
            reply::timed_out(&reason, limit)
        }
    }
}

/// Sends a call, and once more over a new connection if the first was refused. (A call in a lost
/// session is repeated by the SDK, after one new handshake for all calls of that session.)
async fn attempts(shared: &Shared, invocation: &Invocation) -> Result<ServerResult, CallError> {
    let arguments: JsonObject =
        serde_json::from_str(&invocation.arguments).map_err(|_| CallError::Arguments)?;
    let link = linked(shared, None).await?;
    match attempt(shared, &link, invocation, arguments.clone()).await {
        Err(error) if error.is_unsent() => {
            let link = linked(shared, Some(link.number)).await?;
            attempt(shared, &link, invocation, arguments).await
        }
        ended => ended,
    }
}

async fn attempt(
    shared: &Shared,
    link: &Link,
    invocation: &Invocation,
    arguments: JsonObject,
) -> Result<ServerResult, CallError> {
    if link.peer.is_transport_closed() {
        return Err(CallError::NotConnected);
    }
    let offered = shared.offered();
    if !offered.iter().any(|tool| tool.own_name == invocation.tool) {
        return Err(CallError::Removed(invocation.tool.clone()));
    }
    let params = CallToolRequestParams::new(invocation.tool.clone()).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let mut meta = RequestMetaObject::new();
    let key = invocation.idempotency_key.clone();
    meta.insert(IDEMPOTENCY_KEY.to_owned(), key.into());
    if let Some(traceparent) = &invocation.traceparent {
        meta.set_traceparent(traceparent);
    }
    match ask(&link.peer, &shared.tasks, request, meta).await {
        Ok(ServerResult::InputRequiredResult(_)) => Err(CallError::Demanding("more input")),
        Ok(ServerResult::CreateTaskResult(_)) => {
            Err(CallError::Demanding("a task that is asked for again"))
        }
        Ok(answer) => Ok(answer),
        Err(error) => {
            if is_of_connection(&error) {
                shared.look.notify_one();
            }
            Err(error.into())
        }
    }
}

/// The connection, but for the one that was just found broken.
async fn linked(shared: &Shared, broken: Option<u64>) -> Result<Link, CallError> {
    let mut linked = shared.linked.clone();
    if linked.borrow().is_none() {
        shared.hurry.notify_one();
    }
    let usable = |link: &Option<Link>| {
        let number = link.as_ref().map(|link| link.number);
        number.is_some() && number != broken
    };
    match tokio::time::timeout(GRACE, linked.wait_for(usable)).await {
        Ok(Ok(link)) => link.clone().ok_or(CallError::NotConnected),
        _ => Err(CallError::NotConnected),
    }
}

/// Counts a call as long as it lives.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
