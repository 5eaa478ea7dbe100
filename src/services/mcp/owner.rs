//! Keeps one connection, for as long as its service lives.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::service::Subscription;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Handshake, OpenError};
use super::failure::is_of_connection;
use super::listing::{self, ListError};
use super::{Link, Shared};
use crate::services::settings::McpSettings;

/// How old a list may become.
const LIST_AGE: Duration = Duration::from_mins(1);
/// Shortest time between two lists, for servers that announce a change with every list.
const LIST_GAP: Duration = Duration::from_millis(250);
/// Lists that may fail in a row before the connection is given up.
const MISSES: u32 = 2;
/// Shortest and longest wait before a connection is tried again.
const DELAY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// How long a connection has to hold for the next wait to be the shortest again.
const STABLE: Duration = Duration::from_secs(10);

/// How long behind its start requests wait for a service that is not connected yet.
const FIRST_CONNECTION: Duration = Duration::from_secs(5);

/// The one who opens, lists and closes the connection of a service.
pub(super) struct Owner {
    shared: Arc<Shared>,
    settings: McpSettings,
    link: watch::Sender<Option<Link>>,
    /// It is known what the server offers, or time to go on without that.
    known: watch::Sender<bool>,
    connection: Option<Connection>,
    handshake: Handshake,
    delay: Duration,
    /// Connections so far.
    number: u64,
    /// Whether the log says that there is no connection.
    said_lost: bool,
}

/// Why a connection is given up.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("the connection was closed")]
    Closed,
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Owner {
    pub(super) fn new(
        shared: Arc<Shared>,
        settings: McpSettings,
        link: watch::Sender<Option<Link>>,
        known: watch::Sender<bool>,
    ) -> Owner {
        Owner {
            shared,
            settings,
            link,
            known,
            connection: None,
            handshake: Handshake::Initialize,
            delay: DELAY.0,
            number: 0,
            said_lost: false,
        }
    }

    /// The task that keeps the connection until its service is `dropped` or the runtime stops.
    pub(super) fn keep(
        mut self,
        dropped: oneshot::Receiver<()>,
    ) -> impl FnOnce(watch::Receiver<bool>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>
    {
        move |mut stopped| {
            Box::pin(async move {
                let known = self.known.clone();
                let waited_for = async {
                    sleep(FIRST_CONNECTION).await;
                    known.send_replace(true);
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = waited_for => {}
                    _ = dropped => {}
                    _ = stopped.wait_for(|stop| *stop) => {}
                    () = self.stay() => {}
                }
                self.let_go().await;
            })
        }
    }

    /// Connects again and again.
    async fn stay(&mut self) {
        loop {
            let Err(lost) = self.connect().await;
            self.say_lost(&lost);
            self.let_go().await;
            self.pause().await;
        }
    }

    /// Opens a connection and stays with it until it is lost.
    async fn connect(&mut self) -> Result<std::convert::Infallible, Lost> {
        let opened = Connection::open(&self.shared, &self.settings, self.handshake).await;
        if let Err(OpenError::Refused(_)) = opened {
            self.handshake = self.handshake.other();
        }
        let peer = self.connection.insert(opened?).peer.clone();
        self.list(true).await?;
        self.number += 1;
        self.link.send_replace(Some(Link {
            peer,
            number: self.number,
        }));
        self.known.send_replace(true);
        self.said_lost = false;
        Err(self.hold().await)
    }

    /// Waits for changes of the list until the connection is lost.
    async fn hold(&mut self) -> Lost {
        let mut misses = 0;
        let mut stable = std::pin::pin!(sleep(STABLE));
        let mut is_stable = false;
        loop {
            let shared = Arc::clone(&self.shared);
            let Some(connection) = &mut self.connection else {
                return Lost::Closed;
            };
            tokio::select! {
                () = connection.end.come() => return Lost::Closed,
                () = shared.look.notified() => {}
                () = changed(&mut connection.changes) => {}
                () = sleep(LIST_AGE) => {
                    // A server that does one thing at a time answers when it is done.
                    if shared.in_flight.load(Ordering::Relaxed) > 0 {
                        continue;
                    }
                }
                () = &mut stable, if !is_stable => {
                    is_stable = true;
                    self.delay = DELAY.0;
                    continue;
                }
            }
            match self.list(false).await {
                Ok(()) => misses = 0,
                Err(error) if misses + 1 == MISSES => return error.into(),
                Err(error) => {
                    misses += 1;
                    // A request that was on its way when the server was restarted fails, and the
                    // next one finds the server again: calls that are under way are not given up.
                    if matches!(&error, ListError::Request(error) if is_of_connection(error)) {
                        shared.look.notify_one();
                    }
                }
            }
            sleep(LIST_GAP).await;
        }
    }

    /// Asks for the tools and offers them. The log is told if they changed or if it `is_first`.
    async fn list(&mut self, is_first: bool) -> Result<(), ListError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let shared = &self.shared;
        let listed = listing::fetch(&connection.peer, &shared.tasks, shared.timeout).await?;
        let listing = listing::offer(&self.settings, listed);
        let tools = listing.offered.len();
        let withheld = listing.withheld.len();
        let before = shared.withheld.swap(withheld, Ordering::Relaxed);
        if shared.offer(listing.offered) || before != withheld || is_first {
            let service = &shared.name;
            tracing::info!(service, tools, withheld, "an MCP server offers tools");
            for (tool, why) in listing.withheld {
                tracing::warn!(service, tool, why, "a tool of an MCP server is withheld");
            }
        }
        Ok(())
    }

    /// Withdraws the tools and closes the connection.
    async fn let_go(&mut self) {
        self.link.send_replace(None);
        self.shared.offer(Vec::new());
        self.shared.withheld.store(0, Ordering::Relaxed);
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
    }

    /// Says once that there is no connection.
    fn say_lost(&mut self, lost: &Lost) {
        let service = &self.shared.name;
        if self.said_lost {
            tracing::debug!(service, "an MCP server is still not connected: {lost}");
        } else {
            tracing::warn!(service, "an MCP server is not connected: {lost}");
        }
        self.said_lost = true;
    }

    /// Waits before the next try; a call that needs the connection shortens the wait.
    async fn pause(&mut self) {
        sleep(DELAY.0).await;
        let rest = self.delay.saturating_sub(DELAY.0);
        // Replicas that lost the same server do not all come back at once.
        let rest = rest.mul_f64(rand::random_range(0.5..1.0));
        let _ = timeout(rest, self.shared.hurry.notified()).await;
        self.delay = (self.delay * 2).min(DELAY.1);
    }
}

/// Waits for the next change that a subscription tells of.
async fn changed(changes: &mut Option<Subscription>) {
    let told = match changes {
        Some(subscription) => subscription.next().await,
        None => std::future::pending().await,
    };
    if !matches!(told, Ok(Some(_))) {
        *changes = None;
    }
}
