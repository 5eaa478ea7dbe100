//! Handback: an OpenAI-compatible chat-completions gateway that runs an agent's own tools and
//! hands the caller's tools back.
//!
//! # The words
//!
//! | word | meaning |
//! |---|---|
//! | caller | the application that sends the request and runs external tools |
//! | model, upstream | the LLM, and the OpenAI-compatible endpoint that serves it |
//! | agent | a named configuration: an upstream model, instructions, services. Callers name it in `model` |
//! | service | where Handback's own tools live |
//! | service tool, internal call | a tool that Handback runs, and a model's call of it. Callers see neither |
//! | external tool, external call | a tool that the caller sent in `tools`, and a model's call of it |
//! | round | one model request and its answer |
//! | turn | from a message of the caller to the final answer; spans rounds and, with external calls, requests |
//! | handback | an answer with `finish_reason` `tool_calls` that hands external calls to the caller |
//! | mixed round | a model answer that calls service tools and external tools at once |
//! | parked call | an internal call of a mixed round: it waits until the caller's results are in |
//! | frontier | the external calls of the last handback, whose results are due |
//! | continuation | what must survive between two requests of one turn |
//! | door | an HTTP face of the engine |
//!
//! # The house, in reading order
//!
//! [`wire`] (bytes and values), [`tools`] (who owns which name), [`turn`] (the engine),
//! [`continuation`], [`upstream`] (the model), [`drive`] (the loop that performs what the engine
//! asks for), [`doors`] (HTTP), [`access`], [`config`], [`telemetry`], [`keys`], [`cli`]. This file puts
//! them together and is the only one that knows them all.

pub mod access;
pub mod cli;
pub mod config;
pub mod continuation;
pub mod doors;
pub mod drive;
mod glob;
pub mod keys;
mod private;
pub mod secret;
pub mod services;
pub mod telemetry;
pub mod tools;
pub mod turn;
pub mod upstream;
pub mod wire;

/// The page's Rust is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/compatibility.md")]
struct Compatibility;

use std::collections::HashMap;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::future::Either;

use access::Access;
use config::Config;
use continuation::Sealer;
use doors::admin::Operations;
use doors::exchange::Shared;
use doors::server::{self, ListenError, Signals};
use drive::{Agent, Attempts, Common, Journal, Once, Roster, Source, Use};
use services::clock::Clock;
use services::http::HttpService;
use services::settings::Kind;
use services::{Service, mcp};
use telemetry::Metrics;
use telemetry::traces::{ExportError, Exporter};
use upstream::{Health, OpenError};

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Attempts cannot be kept beyond the process.
    #[error("the folder of continuation.journal cannot be used: {0}")]
    Journal(std::io::Error),
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The metrics cannot be registered.
    #[error("the metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The server broke down.
    #[error("the server broke down: {0}")]
    Server(#[from] std::io::Error),
    /// A service cannot be used.
    #[error("service {name:?} cannot be used: {source}")]
    Service {
        /// Which one.
        name: String,
        /// Why.
        source: services::http::OpenError,
    },
    /// Spans cannot be sent.
    #[error("the traces of [telemetry] cannot be sent: {0}")]
    Traces(#[from] ExportError),
    /// An upstream cannot be used.
    #[error("upstream {name:?} cannot be used: {source}")]
    Upstream {
        /// Which one.
        name: String,
        /// Why.
        source: OpenError,
    },
}

/// Runs the gateway until it is told to end. Says on standard error where it listens.
pub async fn run(config: Config) -> Result<(), RunError> {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let metrics = Metrics::new()?;
    let draining = Arc::new(AtomicBool::new(false));
    let process = Process::start(&config, metrics.clone(), true)?;
    let workers = workers(&config, &process, &draining)?;
    let signals = Signals::listen()?;
    let admin = admin(
        &config,
        Operations {
            metrics,
            draining: Arc::clone(&draining),
        },
    )?;
    let scheme = if config.server.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let doors = server::listen(&config.server, workers)?;
    say(&format!("listening on {scheme}://{}", doors.address));
    let serving = server::serve(doors.server, signals, draining);
    let serving = tended(process.common.journal.clone(), serving);
    let Some(admin) = admin else {
        return Ok(serving.await?);
    };
    let handle = admin.server.handle();
    let serving = async {
        let served = serving.await;
        handle.stop(false).await;
        served
    };
    let (served, observed) = futures_util::future::join(serving, admin.server).await;
    served?;
    Ok(observed?)
}

/// Serves, and keeps the journal in order meanwhile, if there is one.
async fn tended<T>(journal: Option<Arc<Journal>>, serving: impl Future<Output = T>) -> T {
    let Some(journal) = journal else {
        return serving.await;
    };
    let (tending, serving) = (pin!(journal.tend()), pin!(serving));
    match futures_util::future::select(serving, tending).await {
        Either::Left((served, _)) => served,
        Either::Right((never, _)) => match never {},
    }
}

/// Opens what a configuration names without serving it: what `check` does beyond reading.
pub fn check(config: &Config) -> Result<(), RunError> {
    roster(config, &Process::start(config, Metrics::new()?, false)?).map(drop)
}

/// The admin listener. Nobody asked for the default address, so it gives way.
fn admin(
    config: &Config,
    operations: Operations,
) -> Result<Option<server::Listening>, ListenError> {
    match server::listen_admin(&config.admin, operations) {
        Ok(listening) => {
            say(&format!("admin on http://{}", listening.address));
            Ok(Some(listening))
        }
        Err(error) if config.admin.explicit => Err(error),
        Err(error) => {
            tracing::warn!("{error}; going on without health and metrics");
            Ok(None)
        }
    }
}

/// What all workers share of a configuration.
struct Process {
    common: Arc<Common>,
    metrics: Metrics,
    /// How each upstream does, by name.
    health: HashMap<String, Arc<Health>>,
    /// Sends spans, if any are asked for. Those that are left go when it does.
    exporter: Option<Exporter>,
    /// The services that have one connection for the whole process, by name.
    services: HashMap<String, Arc<dyn Service>>,
    /// Their thread, if there is one; their connections end with it.
    _mcp: Option<mcp::Runtime>,
}

impl Process {
    /// `connect`: with connections to MCP servers, which only serving needs.
    fn start(config: &Config, metrics: Metrics, connect: bool) -> Result<Process, RunError> {
        if connect && config.continuation.keys.is_empty() {
            tracing::warn!(
                "continuation.keys is empty: a random key is used, and turns that wait for their caller end with this process"
            );
        }
        let wants_mcp = config
            .services
            .iter()
            .any(|service| matches!(service.kind, Kind::Mcp(_)));
        let runtime = if wants_mcp {
            Some(mcp::Runtime::start()?)
        } else {
            None
        };
        let mut services: HashMap<String, Arc<dyn Service>> = HashMap::new();
        for settings in &config.services {
            match (&settings.kind, &runtime) {
                (Kind::Mcp(mcp), Some(runtime)) => {
                    services.insert(
                        settings.name.clone(),
                        mcp::McpService::start(&settings.name, mcp, runtime),
                    );
                }
                (Kind::Clock, _) => {
                    services.insert(settings.name.clone(), Arc::new(Clock::new()));
                }
                _ => {}
            }
        }
        let journal = config.continuation.journal.as_ref().filter(|_| connect);
        let journal = journal
            .map(|folder| Journal::open(folder, &config.continuation).map(Arc::new))
            .transpose()
            .map_err(RunError::Journal)?;
        let common = Arc::new(Common {
            limits: config.limits.clone(),
            sealer: Sealer::new(&config.continuation, rand::random()),
            on_lost: config.continuation.on_lost,
            once: Once::new(config.continuation.retry_window, journal.clone()),
            attempts: Attempts::new(config.continuation.retry_window),
            journal,
        });
        let traced = config.telemetry.traces.as_ref().filter(|_| connect);
        let exporter = traced
            .map(|settings| Exporter::start(settings, &metrics))
            .transpose()?;
        let upstreams = config.upstreams.iter();
        let health = upstreams.map(|upstream| (upstream.name.clone(), Arc::default()));
        Ok(Process {
            common,
            metrics,
            health: health.collect(),
            exporter,
            services,
            _mcp: runtime,
        })
    }
}

/// One set of agents and connections for each worker thread.
fn workers(
    config: &Config,
    process: &Process,
    draining: &Arc<AtomicBool>,
) -> Result<Vec<Arc<Shared>>, RunError> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let access = Arc::new(Access::new(config.keys.clone()));
    let started = drive::now_seconds();
    (0..config.server.workers.unwrap_or(cores))
        .map(|_| {
            Ok(Arc::new(Shared {
                access: Arc::clone(&access),
                roster: Arc::new(roster(config, process)?),
                metrics: process.metrics.clone(),
                traces: process.exporter.as_ref().map(Exporter::traces),
                max_body: config.server.max_body,
                started,
                draining: Arc::clone(draining),
            }))
        })
        .collect()
}

/// Opens the upstreams and services of a configuration and puts its agents and teams before them.
fn roster(config: &Config, process: &Process) -> Result<Roster, RunError> {
    let mut upstreams: HashMap<&str, Source> = HashMap::new();
    for settings in &config.upstreams {
        let opened = upstream::open(settings).map_err(|source| RunError::Upstream {
            name: settings.name.as_str().into(),
            source,
        })?;
        let retries = match &settings.source {
            upstream::settings::Source::Http(http) => http.retries,
            upstream::settings::Source::Script(_) => 0,
        };
        let health = process.health.get(&settings.name).cloned();
        let source = Source {
            upstream: opened,
            name: settings.name.as_str().into(),
            model: None,
            retries,
            health: health.unwrap_or_default(),
        };
        upstreams.insert(&settings.name, source);
    }
    let mut services = process.services.clone();
    for settings in &config.services {
        if let Kind::Http(http) = &settings.kind {
            let opened = HttpService::new(http).map_err(|source| RunError::Service {
                name: settings.name.as_str().into(),
                source,
            })?;
            services.insert(settings.name.clone(), Arc::new(opened));
        }
    }
    // The configuration has made sure that every name is there.
    let served = |name: &str, model: &str| Some(upstreams.get(name)?.with_model(model));
    let mut roster = Roster::builder(Arc::clone(&process.common));
    for agent in &config.agents {
        let used = agent.services.iter().filter_map(|pattern| {
            let service = services.get(&pattern.service)?.clone();
            Some(Use {
                pattern: pattern.clone(),
                service,
            })
        });
        if let Some(source) = served(&agent.upstream, &agent.model) {
            let fallbacks = agent.fallbacks.iter();
            let fallbacks = fallbacks.filter_map(|next| served(&next.upstream, &next.model));
            roster.agent(Agent::new(
                agent,
                source,
                fallbacks.collect(),
                used.collect(),
                &process.metrics,
            ));
        }
    }
    for team in &config.teams {
        roster.team(&team.name, &team.lead, &team.members);
    }
    if let Some((settings, source)) = config
        .passthrough
        .as_ref()
        .and_then(|settings| Some((settings, upstreams.get(&*settings.upstream)?)))
    {
        roster.passthrough(Agent::passthrough(
            settings,
            source.clone(),
            &process.metrics,
        ));
    }
    Ok(roster.build())
}

/// Says one line to whoever started the process. It comes at once, unlike the log.
fn say(line: &str) {
    // There is nobody to tell if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}
