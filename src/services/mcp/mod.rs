//! Tools behind a server of the Model Context Protocol (contract V2), with the official SDK.
//!
//! | part | does |
//! |---|---|
//! | `runtime` | the one thread on which all connections live |
//! | `owner` | keeps one connection: opens it, listens, lists, opens it again |
//! | `connection`, `http`, `child` | opening and closing one |
//! | `listing`, `names` | from the server's list to what the model is offered |
//! | `call`, `request` | from a call to its result |
//! | `result`, `failure` | what the model is told |
//!
//! A service connects in the background, and the start of the gateway does not wait for it. In the
//! first seconds a request to an agent that uses it waits for the connection; from then on one
//! that comes while there is none is served without its tools. A call of a tool that was offered
//! waits a moment for a connection that has just been lost, since servers restart.
//!
//! A list is read again when the server says that it changed, when its session or its connection
//! was lost, and in any case once a minute, since not every server has a way to tell.
//!
//! Invariant: what a server does or leaves out delays nothing but the calls of its own tools; all
//! it sends is bounded in bytes, pages and time. Only the owner of a connection opens, lists and
//! closes it. A call is sent twice only if the first was certainly not taken: the connection was
//! refused, or the session was unknown.
//!
//! Deliberately absent: sampling, elicitation, roots, tasks. A call that needs one of them fails.

mod call;
mod child;
mod connection;
mod failure;
mod http;
mod listing;
mod names;
mod owner;
mod request;
mod result;
mod runtime;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};

pub use runtime::Runtime;

use super::settings::{McpSettings, McpTransport};
use super::{Called, Invocation, Offered, Service};
use crate::private::Private;
use owner::Owner;

/// The tools of one MCP server. Its connection ends when this is dropped.
pub struct McpService {
    shared: Arc<Shared>,
    /// Its end is what the owner of the connection waits for.
    _stop: oneshot::Sender<()>,
}

impl McpService {
    /// Begins to connect in the background of `runtime`. `name` stands in the log.
    pub fn start(name: &str, settings: &McpSettings, runtime: &Runtime) -> Arc<McpService> {
        let (link, linked) = watch::channel(None);
        let (now_known, known) = watch::channel(false);
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            private: private(settings),
            timeout: settings.timeout,
            tasks: runtime.tasks(),
            offered: RwLock::new(Arc::from([])),
            withheld: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            linked,
            known,
            look: Arc::new(Notify::new()),
            hurry: Notify::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let owner = Owner::new(Arc::clone(&shared), settings.clone(), link, now_known);
        runtime.keep(owner.keep(stopped));
        Arc::new(McpService {
            shared,
            _stop: stop,
        })
    }

    /// Whether the server is connected and has said what it offers.
    pub fn is_connected(&self) -> bool {
        self.shared.linked.borrow().is_some()
    }

    /// Tools of the present list that are not offered, because their definition cannot be used
    /// or another one has the same name for the model.
    pub fn withheld(&self) -> usize {
        self.shared.withheld.load(Ordering::Relaxed)
    }
}

impl Service for McpService {
    fn known(&self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        if *self.shared.known.borrow() {
            return None;
        }
        let mut known = self.shared.known.clone();
        Some(Box::pin(async move {
            // Its end, without the owner, is an end of the waiting too.
            let _ = known.wait_for(|known| *known).await;
        }))
    }

    fn tools(&self) -> Arc<[Offered]> {
        self.shared.offered()
    }

    fn names_are_configured(&self) -> bool {
        false
    }

    fn call(&self, invocation: Invocation) -> Called {
        Box::pin(call::call(Arc::clone(&self.shared), invocation))
    }
}

/// An open connection, as calls use it.
#[derive(Clone)]
struct Link {
    peer: Peer<RoleClient>,
    /// Counts the connections of a service.
    number: u64,
}

/// What the owner of a connection and the calls share.
struct Shared {
    name: String,
    private: Private,
    /// How long a request may take.
    timeout: Duration,
    /// Where the connections live.
    tasks: Handle,
    offered: RwLock<Arc<[Offered]>>,
    withheld: AtomicUsize,
    /// Calls that are under way.
    in_flight: AtomicUsize,
    /// The connection, while there is one.
    linked: watch::Receiver<Option<Link>>,
    /// Whether it is known what the server offers, or time to go on without that.
    known: watch::Receiver<bool>,
    /// Tells the owner that the list, the session or the connection may have changed.
    look: Arc<Notify>,
    /// Tells the owner that a call waits for a connection.
    hurry: Notify,
}

impl Shared {
    fn offered(&self) -> Arc<[Offered]> {
        let offered = self.offered.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&offered)
    }

    /// Whether the list changed.
    fn offer(&self, new: Vec<Offered>) -> bool {
        let mut offered = self.offered.write().unwrap_or_else(PoisonError::into_inner);
        let changed = **offered != *new;
        if changed {
            *offered = Arc::from(new);
        }
        changed
    }
}

/// What is private about a server: headers, keys and its address. (Not the environment of a
/// process: a result may well name a folder that was given to it there.)
fn private(settings: &McpSettings) -> Private {
    let private = Private::of_headers(&settings.headers);
    let McpTransport::Http(url) = &settings.transport else {
        return private;
    };
    let parts = [Some(url.as_str()), url.host_str(), url.query()];
    private.addresses(parts.into_iter().flatten().map(str::to_owned))
}
