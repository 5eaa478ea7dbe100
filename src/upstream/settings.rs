//! What one `[[upstreams]]` section says.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::dialect::{Dialect, KeyHeader};
use crate::secret::Secret;

/// How often a model request is repeated where nothing else is said.
pub const DEFAULT_RETRIES: u32 = 2;

/// One endpoint that serves models.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// The name that agents and the pass-through refer to. Not empty, unique among
    /// the upstreams.
    pub name: String,
    /// Where the answers come from.
    pub source: Source,
}

/// Where an upstream's answers come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An OpenAI-compatible endpoint.
    Http(HttpSettings),
    /// The embedded scripted model, playing this file: no network, no key. A
    /// relative path has been joined to the folder of the configuration.
    Script(PathBuf),
}

/// An OpenAI-compatible endpoint and how to talk to it.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The URL that `/chat/completions` is appended to: http or https, without user
    /// information, query, fragment or closing slash (a bare host keeps its `/`).
    pub base_url: Url,
    /// The version of an API that has dated ones and a path for each deployed model, as Azure
    /// has ([`super::address`]). Absent by default.
    pub api_version: Option<String>,
    /// The key, sent in the header that the dialect says. Absent by default, for
    /// endpoints that need none; never set where `auth` is [`Auth::Caller`].
    pub api_key: Option<Secret>,
    /// Whose authorization goes upstream. Default [`Auth::Key`].
    pub auth: Auth,
    /// How requests are written: the row of the upstream's family, with the operator's
    /// overrides. By default the row [`super::dialect::DEFAULT`].
    pub dialect: Arc<Dialect>,
    /// How long each part of a request may take.
    pub timeouts: Timeouts,
    /// How often a model request is repeated while nothing of its answer has
    /// reached the caller. Default [`DEFAULT_RETRIES`].
    pub retries: u32,
    /// Further headers of every request, in the order of the file: valid names in
    /// lower case, each once, none that the request sets itself. Empty by default.
    pub headers: Vec<(String, Secret)>,
}

impl HttpSettings {
    /// The header that carries the configured key, and its value.
    pub fn credential(&self) -> Option<(&'static str, String)> {
        let key = self.api_key.as_ref()?.expose();
        let header = self.dialect.key_header;
        Some(match header {
            KeyHeader::Authorization => (header.word(), format!("Bearer {key}")),
            KeyHeader::ApiKey => (header.word(), key.to_owned()),
        })
    }
}

/// Whose authorization goes upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// The caller's `authorization` header, as it came.
    Caller,
    /// The configured key, if there is one. The default.
    #[default]
    Key,
}

/// How long each part of a model request may take. All above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands, TLS included. Default 5 seconds.
    pub connect: Duration,
    /// From the request to the first byte of the answer. Default 2 minutes.
    pub first_byte: Duration,
    /// Between two pieces of the answer. Default 60 seconds.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_mins(2),
            idle: Duration::from_mins(1),
        }
    }
}
