//! Listens, routes, and ends in good order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use actix_cors::Cors;
use actix_web::dev::Server;
use actix_web::middleware::Condition;
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::admin::{self, Operations};
use super::exchange::{Exchange, Shared};
use super::problem::{Problem, Public};
use super::settings::{AdminSettings, CorsSettings, ServerSettings};
use super::{chat, models, tls};

/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;

/// Why the process does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address} ({key}): {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The key of the configuration that names it.
        key: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The signals that end the process cannot be had.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
}

/// The listener for callers and where it listens.
pub struct Listening {
    /// The server, to be awaited.
    pub server: Server,
    /// Its address, with the port that was picked.
    pub address: SocketAddr,
}

/// Listens for callers. Each worker takes one of `workers`.
pub fn listen(
    settings: &ServerSettings,
    workers: Vec<Arc<Shared>>,
) -> Result<Listening, ListenError> {
    let count = workers.len();
    let next = Arc::new(AtomicUsize::new(0));
    let cors = settings.cors.clone();
    let server = HttpServer::new(move || {
        // A worker that is started anew takes the place of an earlier one.
        let at = next.fetch_add(1, Ordering::Relaxed) % workers.len();
        App::new()
            .wrap(Condition::new(
                cors.is_some(),
                allowed_origins(cors.as_ref()),
            ))
            .app_data(Data::new(Arc::clone(&workers[at])))
            .configure(routes)
    })
    .workers(count)
    .backlog(BACKLOG)
    // Nagle's algorithm holds a stream's chunks back for up to 40 ms.
    .tcp_nodelay(true)
    // A caller who closes is gone: its request ends, streamed or not (contract S4).
    .h1_allow_half_closed(false)
    .shutdown_timeout(settings.drain.as_secs())
    .disable_signals();
    let failed = |source| ListenError::Bind {
        address: settings.listen,
        key: "server.listen",
        source,
    };
    let server = match &settings.tls {
        Some(files) => server
            .bind_rustls_0_23(settings.listen, tls::load(files)?)
            .map_err(failed)?,
        None => server.bind(settings.listen).map_err(failed)?,
    };
    let address = server.addrs().first().copied().unwrap_or(settings.listen);
    Ok(Listening {
        server: server.run(),
        address,
    })
}

/// Serves until the process is told to end: once, and what is under way may finish; twice, and it
/// may not.
pub async fn serve(
    server: Server,
    mut signals: Signals,
    draining: Arc<AtomicBool>,
) -> std::io::Result<()> {
    let handle = server.handle();
    let stopped = async {
        signals.received().await;
        draining.store(true, Ordering::Relaxed);
        tracing::info!("draining: no further requests are taken");
        tokio::select! {
            () = handle.stop(true) => {}
            () = signals.received() => handle.stop(false).await,
        }
    };
    tokio::select! {
        ended = server => ended,
        () = stopped => Ok(()),
    }
}

/// Listens for the operator.
pub fn listen_admin(
    settings: &AdminSettings,
    operations: Operations,
) -> Result<Listening, ListenError> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(Data::new(operations.clone()))
            .configure(admin::routes)
    })
    .workers(1)
    .worker_max_blocking_threads(1)
    .disable_signals()
    .bind(settings.listen)
    .map_err(|source| ListenError::Bind {
        address: settings.listen,
        key: "admin.listen",
        source,
    })?;
    let address = server.addrs().first().copied().unwrap_or(settings.listen);
    Ok(Listening {
        server: server.run(),
        address,
    })
}

/// Every route with and without `/v1`, with and without a trailing slash (contract R1).
fn routes(config: &mut ServiceConfig) {
    let refused = || web::to(method_not_allowed);
    // One resource for each path: a path without a parameter is compared as text, several in one
    // resource by a regular expression.
    for path in ["/v1/chat/completions", "/chat/completions"] {
        for path in [path.to_owned(), format!("{path}/")] {
            let complete = web::post().to(chat::complete);
            config.service(
                web::resource(path)
                    .route(complete)
                    .default_service(refused()),
            );
        }
    }
    for path in ["/v1/models", "/models"] {
        for path in [path.to_owned(), format!("{path}/")] {
            config.service(
                web::resource(path)
                    .route(web::get().to(models::list))
                    .default_service(refused()),
            );
        }
        let show = web::get().to(models::show);
        config.service(
            web::resource(format!("{path}/{{name:.+}}"))
                .route(show)
                .default_service(refused()),
        );
    }
    config.default_service(web::to(not_found));
}

async fn not_found(request: HttpRequest, shared: Data<Arc<Shared>>) -> HttpResponse {
    let path = crate::wire::refusal::excerpt(request.path());
    let message = format!(
        "there is no {} {path}; the routes are POST /v1/chat/completions, GET /v1/models and GET /v1/models/{{name}}",
        request.method()
    );
    Exchange::begin(&request, &shared).refuse(&Problem::new(Public::NotFound, message))
}

async fn method_not_allowed(request: HttpRequest, shared: Data<Arc<Shared>>) -> HttpResponse {
    let allowed = if request.path().contains("/chat/") {
        "POST"
    } else {
        "GET"
    };
    let message = format!(
        "{} does not take {}; send {allowed}",
        request.path(),
        request.method()
    );
    let mut response =
        Exchange::begin(&request, &shared).refuse(&Problem::new(Public::MethodNotAllowed, message));
    let allow = actix_web::http::header::HeaderValue::from_static(allowed);
    response
        .headers_mut()
        .insert(actix_web::http::header::ALLOW, allow);
    response
}

fn allowed_origins(settings: Option<&CorsSettings>) -> Cors {
    let cors = Cors::default()
        .allow_any_header()
        .allowed_methods(["GET", "POST"])
        .expose_any_header();
    let origins = settings.map_or(&[][..], |settings| &settings.origins);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin().send_wildcard();
    }
    origins
        .iter()
        .fold(cors, |cors, origin| cors.allowed_origin(origin))
}

/// The signals that end the process.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From here on a signal waits to be received instead of killing the process.
    pub fn listen() -> Result<Signals, ListenError> {
        let signals = Signals::subscribe();
        signals.map_err(ListenError::Signals)
    }

    fn subscribe() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
