//! The model: any OpenAI-compatible endpoint, or the embedded scripted model.
//!
//! A request is rendered from the turn's messages ([`prompt`]) as the upstream's family wants it
//! written ([`dialect`]), sent by an [`Upstream`], and its answer is read as deltas ([`Answer`]), whatever the wire looked like: streamed or whole, SSE
//! under another content type, compressed or not. [`Error`] says what went wrong, whose fault it
//! is and whether asking again is safe.
//!
//! Invariant: an answer is complete or an error. A stream that ends without a finish reason and
//! without `[DONE]` is an error, and so is a body that is no answer.
//!
//! Invariant: no URL, key or header of an upstream is part of an [`Error`].
//!
//! Deliberately absent: tools and turns. What a call means is decided elsewhere.

pub mod address;
pub mod answer;
pub mod dialect;
pub mod error;
pub mod health;
pub mod http;
pub mod prompt;
pub mod script;
pub mod scripted;
pub mod settings;
pub mod silence;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytestring::ByteString;

pub use answer::Answer;
pub use dialect::Dialect;
pub use error::{Again, Error};
pub use health::Health;
pub use prompt::Prompt;
pub use settings::UpstreamSettings;

use crate::secret::NotAHeader;
use crate::wire::Body;

/// A model request, ready to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model as the upstream knows it, for addresses that name it.
    pub model: ByteString,
    /// The JSON body.
    pub body: Body,
    /// The caller's `authorization`, for upstreams that are told to use it (contract U6).
    pub authorization: Option<Vec<u8>>,
    /// The request's place in a trace, if it is traced (W3C Trace Context, "traceparent").
    pub traceparent: Option<String>,
    /// Randomness for an upstream that makes up ids.
    pub seed: u64,
    /// Now, in seconds since the Unix epoch.
    pub created: u64,
}

/// The future of an answer. It owns what it needs: whoever waits for it may do other things
/// between two looks at it.
pub type Asked = Pin<Box<dyn Future<Output = Result<Answer, Error>>>>;

/// Something that serves models. There is one for each worker, so that a connection stays on
/// one thread.
pub trait Upstream: Send + Sync {
    /// How a request to it is written.
    fn dialect(&self) -> &Dialect;

    /// Sends a request; resolves once the answer has begun.
    fn ask(&self, request: Request) -> Asked;
}

/// Makes an upstream of its settings.
pub fn open(settings: &UpstreamSettings) -> Result<Arc<dyn Upstream>, OpenError> {
    Ok(match &settings.source {
        settings::Source::Http(http) => Arc::new(http::HttpUpstream::new(http)?),
        settings::Source::Script(path) => Arc::new(scripted::ScriptedUpstream::load(path)?),
    })
}

/// Why an upstream cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The certificates of this machine cannot be read.
    #[error("the certificates of this machine cannot be read: {0}")]
    Certificates(#[from] rustls::Error),
    /// The environment names a proxy of another kind than `http`.
    #[error("the environment names a proxy that is not reached by http://")]
    Proxy,
    /// The base URL is none that a request can be sent to.
    #[error("the base URL is none that a request can be sent to")]
    Url(#[from] ::http::uri::InvalidUri),
    /// A key or header holds characters that HTTP forbids.
    #[error(transparent)]
    Header(#[from] NotAHeader),
    /// The script cannot be read.
    #[error(transparent)]
    Script(#[from] script::ScriptError),
}
