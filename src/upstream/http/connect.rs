//! Connections to an upstream: TCP or a proxy's, TLS where the address asks for it.
//!
//! A proxy is taken from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`),
//! as command-line tools do.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::upstream::OpenError;
use crate::wire::Body;

/// How long an unused connection is kept. Shorter than the keep-alive of most servers, so that
/// they seldom close one at the moment it is used again.
const IDLE_CONNECTION: Duration = Duration::from_secs(15);
/// How many unused connections are kept for each worker.
const IDLE_CONNECTIONS: usize = 1024;
/// How long a connection is silent before the kernel asks whether the other side still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Connections to one upstream, and the requests on them.
pub(super) type Pool = Client<Connector, Body>;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// A pool for `uri`, and the header that a proxy wants to see on each request.
pub(super) fn pool(
    uri: &Uri,
    patience: Duration,
) -> Result<(Pool, Option<HeaderValue>), OpenError> {
    let encrypted = uri.scheme_str() == Some("https");
    let (dial, header) = match Matcher::from_env().intercept(uri) {
        None => (Dial::Direct(tcp(patience)), None),
        Some(proxy) => through(&proxy, encrypted, patience)?,
    };
    // The certificates of the machine are read only where they are needed.
    let tls = if encrypted {
        ClientConfig::with_platform_verifier()?
    } else {
        ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()
    };
    let inner = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(dial);
    let pool = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_CONNECTION)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .build(Connector { inner, patience });
    Ok((pool, header))
}

fn tcp(patience: Duration) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    // Shared among the addresses of a name, so that a dead one does not use up all the time.
    tcp.set_connect_timeout(Some(patience));
    tcp
}

fn through(
    proxy: &Intercept,
    encrypted: bool,
    patience: Duration,
) -> Result<(Dial, Option<HeaderValue>), OpenError> {
    if proxy.uri().scheme_str() != Some("http") {
        return Err(OpenError::Proxy);
    }
    let auth = proxy.basic_auth().cloned();
    if !encrypted {
        return Ok((Dial::Proxy(tcp(patience), proxy.uri().clone()), auth));
    }
    let tunnel = Tunnel::new(proxy.uri().clone(), tcp(patience));
    let tunnel = match auth {
        Some(auth) => tunnel.with_auth(auth),
        None => tunnel,
    };
    Ok((Dial::Tunnel(tunnel), None))
}

/// Connects within a time that TLS and a proxy's answer are part of.
#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<Dial>,
    patience: Duration,
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<Stream>;
    type Error = BoxError;
    type Future = Pending<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connected = tokio::time::timeout(self.patience, self.inner.call(uri));
        Box::pin(async move {
            connected
                .await
                .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
        })
    }
}

/// Opens the TCP connection.
#[derive(Clone)]
enum Dial {
    /// To the upstream.
    Direct(HttpConnector),
    /// To a proxy, which is told the whole address with each request.
    Proxy(HttpConnector, Uri),
    /// Through a proxy to the upstream.
    Tunnel(Tunnel<HttpConnector>),
}

impl Service<Uri> for Dial {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pending<Stream>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Dial::Direct(tcp) | Dial::Proxy(tcp, _) => tcp.poll_ready(context).map_err(Into::into),
            Dial::Tunnel(tunnel) => tunnel.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        fn stream(io: TokioIo<TcpStream>, proxied: bool) -> Stream {
            Stream { io, proxied }
        }
        match self {
            Dial::Direct(tcp) => {
                let connecting = tcp.call(uri);
                Box::pin(async move { Ok(stream(connecting.await?, false)) })
            }
            Dial::Proxy(tcp, proxy) => {
                let connecting = tcp.call(proxy.clone());
                Box::pin(async move { Ok(stream(connecting.await?, true)) })
            }
            Dial::Tunnel(tunnel) => {
                let connecting = tunnel.call(uri);
                Box::pin(async move { Ok(stream(connecting.await?, false)) })
            }
        }
    }
}

/// A TCP connection that knows whether a proxy reads the requests on it.
pub(super) struct Stream {
    io: TokioIo<TcpStream>,
    proxied: bool,
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.inner().connected().proxy(self.proxied)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }
}
