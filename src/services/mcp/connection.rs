//! Opening and closing one connection to a server.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, RunningService,
    RunningServiceCancellationToken, Subscription, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

use super::Shared;
use super::child::Process;
use super::failure::{handshake_reason, is_refusal};
use super::http::Watched;
use crate::services::settings::{McpSettings, McpTransport};

/// How long the SDK may take to end a session when a connection is closed.
const FAREWELL: Duration = Duration::from_millis(400);
/// How long a server may take to confirm that it tells of changes.
const LISTEN: Duration = Duration::from_secs(2);
/// Longest wait before the stream of notifications is asked for again.
const STREAM_DELAY: Duration = Duration::from_secs(30);
/// Requests that may wait for the head of their answer at once.
const REQUESTS: usize = 64;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[source] reqwest::Error),
    /// The server does not want this handshake.
    #[error("the server refused the handshake: {0}")]
    Refused(String),
    /// The process cannot be started.
    #[error("the command cannot be started: {}", .0.kind())]
    Start(#[source] io::Error),
    /// The handshake took too long.
    #[error("no handshake within {0:?}")]
    TimedOut(Duration),
    /// The connection broke, or was never there.
    #[error("{0}")]
    Unreachable(String),
}

/// Which handshake a server wants. All but the newest servers know `initialize`, and most of
/// those do as well.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Handshake {
    /// `server/discover` (protocol revision 2026-07-28), without sessions.
    Discover,
    /// `initialize`.
    Initialize,
}

impl Handshake {
    /// The one to try after this was refused.
    pub(super) fn other(self) -> Handshake {
        match self {
            Handshake::Discover => Handshake::Initialize,
            Handshake::Initialize => Handshake::Discover,
        }
    }

    fn mode(self) -> ClientLifecycleMode {
        match self {
            Handshake::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::LATEST],
            },
            Handshake::Initialize => ClientLifecycleMode::Initialize,
        }
    }
}

/// An open connection.
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) end: End,
    /// Where the server tells that its list changed, in the newest protocol revision; in others
    /// it tells [`Client`].
    pub(super) changes: Option<Subscription>,
    process: Option<Process>,
}

/// How a connection ends.
pub(super) struct End {
    token: RunningServiceCancellationToken,
    /// Ends when the connection has, and is then gone.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl End {
    /// Waits for the end.
    pub(super) async fn come(&mut self) {
        if let Some(ended) = &mut self.ended {
            ended.await;
        }
        self.ended = None;
    }
}

impl Connection {
    /// Opens a connection, within the time of the service.
    pub(super) async fn open(
        shared: &Shared,
        settings: &McpSettings,
        handshake: Handshake,
    ) -> Result<Connection, OpenError> {
        let opened = tokio::time::timeout(shared.timeout, async {
            match &settings.transport {
                McpTransport::Http(url) => {
                    let client = Watched::new(&settings.headers, Arc::clone(&shared.look))
                        .map_err(OpenError::Client)?;
                    let transport = StreamableHttpClientTransport::with_client(client, http(url));
                    Connection::begin(shared, transport, handshake, None).await
                }
                McpTransport::Command { command, env } => {
                    let (process, output, input) =
                        Process::start(&shared.name, command, env, &shared.tasks)
                            .map_err(OpenError::Start)?;
                    let transport = AsyncRwTransport::new_client(output, input);
                    Connection::begin(shared, transport, handshake, Some(process)).await
                }
            }
        });
        opened
            .await
            .map_err(|_| OpenError::TimedOut(shared.timeout))?
    }

    async fn begin<T, E, A>(
        shared: &Shared,
        transport: T,
        handshake: Handshake,
        process: Option<Process>,
    ) -> Result<Connection, OpenError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let client = Client(Arc::clone(&shared.look));
        let running = serve_client_with_lifecycle(client, transport, handshake.mode())
            .await
            .map_err(|error| judge(&error))?;
        let mut connection = Connection::of(running, process);
        if handshake == Handshake::Discover {
            let changed = SubscriptionFilter::builder().tools_list_changed().build();
            let listening = connection.peer.listen(changed);
            let told = tokio::time::timeout(LISTEN, listening).await;
            // A server need not have it; the list is read again once a minute anyway.
            connection.changes = told.ok().and_then(Result::ok);
        }
        Ok(connection)
    }

    fn of(running: RunningService<RoleClient, Client>, process: Option<Process>) -> Connection {
        Connection {
            peer: running.peer().clone(),
            changes: None,
            end: End {
                token: running.cancellation_token(),
                ended: Some(Box::pin(async move {
                    let _ = running.waiting().await;
                })),
            },
            process,
        }
    }

    /// Ends the connection and, with it, the process.
    pub(super) async fn close(self) {
        self.end.token.cancel();
        if let Some(ended) = self.end.ended {
            let _ = tokio::time::timeout(FAREWELL, ended).await;
        }
        if let Some(process) = self.process {
            process.close().await;
        }
    }
}

fn http(url: &url::Url) -> StreamableHttpClientTransportConfig {
    let mut again = ExponentialBackoff::default();
    again.max_delay = Some(STREAM_DELAY);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_concurrent_requests(REQUESTS)
        .reinit_on_expired_session(true);
    config.retry_config = Arc::new(again);
    config
}

fn judge(error: &ClientInitializeError) -> OpenError {
    let reason = handshake_reason(error);
    if is_refusal(error) {
        OpenError::Refused(reason)
    } else {
        OpenError::Unreachable(reason)
    }
}

/// The gateway as a server sees it: a client that can do nothing but call tools.
pub(super) struct Client(Arc<Notify>);

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let gateway = Implementation::new("handback", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), gateway)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}
