//! The configuration: one file of TOML, checked as a whole.
//!
//! [`Config`] is the sum of the settings that the other modules own; this one reads
//! them, with their units and defaults as `gateway.toml` documents them. The file is
//! parsed into a tree of values that know their lines (`tree`), placeholders for the
//! environment are replaced in it (`placeholder`), and the sections are read from it
//! key by key (`section`, `item`, then a file per section). Whatever is wrong is recorded and
//! the reading goes on, so that the operator sees all of it at once (`report`).
//!
//! There is no serde here: it stops at the first mistake and forgets the lines.
//! Network, clock and environment are absent too: what the environment says comes in
//! as a function, and `load` alone reads files.
//!
//! Invariant: a configuration that loads can be run as it is: every reference meets
//! something, every bound is in its range, and no public address is open by
//! omission.
//!
//! Invariant: no report and no `Debug` shows a secret. Keys are never shown; what else
//! came from the environment is shown as its placeholder, but for names and addresses.

mod agent;
mod check;
mod dialect;
mod headers;
mod item;
mod json;
mod key;
mod load;
mod mcp;
mod names;
mod offer;
mod outside;
mod placeholder;
mod report;
mod section;
mod server;
mod service;
mod team;
mod telemetry;
mod tool;
mod tree;
mod turns;
mod units;
mod upstream;

use crate::access::KeySettings;
use crate::continuation::settings::ContinuationSettings;
use crate::doors::settings::{AdminSettings, ServerSettings};
use crate::drive::settings::{AgentSettings, PassthroughSettings, TeamSettings};
use crate::services::settings::ServiceSettings;
use crate::telemetry::settings::TelemetrySettings;
use crate::turn::limits::Limits;
use crate::upstream::settings::UpstreamSettings;

pub use report::Report;

/// All that an operator can set. [`Config::load`] makes it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The listener for callers, `[server]`.
    pub server: ServerSettings,
    /// The listener for the operator, `[admin]`.
    pub admin: AdminSettings,
    /// How the hidden part of a turn is sealed, `[continuation]`.
    pub continuation: ContinuationSettings,
    /// What bounds a turn, `[limits]`.
    pub limits: Limits,
    /// What the operator sees beside metrics and log, `[telemetry]`.
    pub telemetry: TelemetrySettings,
    /// The endpoints that serve models, `[[upstreams]]`, in the order of the file.
    pub upstreams: Vec<UpstreamSettings>,
    /// Where service tools live, `[[services]]`, in the order of the file.
    pub services: Vec<ServiceSettings>,
    /// What callers can name in `model`, `[[agents]]`, in the order of the file.
    pub agents: Vec<AgentSettings>,
    /// What else they can name there, `[[teams]]`, in the order of the file.
    pub teams: Vec<TeamSettings>,
    /// Who may call, `[[keys]]`, in the order of the file. Empty: everybody.
    pub keys: Vec<KeySettings>,
    /// Where all other model names go, `[passthrough]`. Absent: nowhere.
    pub passthrough: Option<PassthroughSettings>,
    /// What the operator should know although the file is valid: one line each,
    /// with file, line and key, sorted by line.
    pub warnings: Vec<String>,
}
