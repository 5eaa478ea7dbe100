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
//! asks for), [`doors`] (HTTP), [`access`], [`config`], [`telemetry`], [`cli`]. This file puts
//! them together and is the only one that knows them all.

pub mod access;
pub mod cli;
pub mod config;
pub mod continuation;
pub mod doors;
pub mod drive;
pub mod secret;
pub mod services;
pub mod telemetry;
pub mod tools;
pub mod turn;
pub mod upstream;
pub mod wire;

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use access::Access;
use config::Config;
use doors::admin::Operations;
use doors::exchange::Shared;
use doors::server::{self, ListenError, Signals};
use drive::{Agent, Roster};
use telemetry::Metrics;
use upstream::{OpenError, Upstream};

/// Why the gateway does not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The metrics cannot be registered.
    #[error("the metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The server broke down.
    #[error("the server broke down: {0}")]
    Server(#[from] std::io::Error),
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
    let workers = workers(&config, &metrics, &draining)?;
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

/// Opens what a configuration names without serving it: what `check` does beyond reading.
pub fn check(config: &Config) -> Result<(), RunError> {
    roster(config).map(drop)
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

/// One set of agents and connections for each worker thread.
fn workers(
    config: &Config,
    metrics: &Metrics,
    draining: &Arc<AtomicBool>,
) -> Result<Vec<Arc<Shared>>, RunError> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let access = Arc::new(Access::new(config.keys.clone()));
    let started = drive::now_seconds();
    (0..config.server.workers.unwrap_or(cores))
        .map(|_| {
            Ok(Arc::new(Shared {
                access: Arc::clone(&access),
                roster: Arc::new(roster(config)?),
                metrics: metrics.clone(),
                max_body: config.server.max_body,
                started,
                draining: Arc::clone(draining),
            }))
        })
        .collect()
}

/// Opens the upstreams of a configuration and puts its agents before them.
fn roster(config: &Config) -> Result<Roster, RunError> {
    let mut upstreams: HashMap<&str, Arc<dyn Upstream>> = HashMap::new();
    for settings in &config.upstreams {
        let opened = upstream::open(settings).map_err(|source| RunError::Upstream {
            name: settings.name.clone(),
            source,
        })?;
        upstreams.insert(&settings.name, opened);
    }
    // The configuration has made sure that every name is there.
    let served = |name: &str| upstreams.get(name).cloned();
    let agents = config
        .agents
        .iter()
        .filter_map(|agent| Some(Agent::new(agent, served(&agent.upstream)?)));
    let passthrough = config
        .passthrough
        .as_ref()
        .and_then(|settings| Some(Agent::passthrough(settings, served(&settings.upstream)?)));
    Ok(Roster::new(
        agents.collect(),
        passthrough,
        config.limits.clone(),
    ))
}

/// Says one line to whoever started the process. It comes at once, unlike the log.
fn say(line: &str) {
    // There is nobody to tell if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}
