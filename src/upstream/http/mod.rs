//! An upstream behind HTTP (contract U1, U4, U6).
//!
//! It stands on hyper's own client: for each request a client made for general use parses the
//! address anew and walks through layers for redirects and retries, which was a fifth of what a
//! small request cost.
//!
//! Invariant: the key, the headers and the address of an upstream are in no [`Error`].

mod connect;
mod decode;

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, PROXY_AUTHORIZATION,
    RETRY_AFTER, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use hyper_util::client::legacy;

use super::address::Address;
use super::answer::{Answer, Head};
use super::error::{Error, Phase};
use super::settings::{Auth, HttpSettings, Timeouts};
use super::silence::{Patience, Silence};
use super::{Asked, Dialect, OpenError, Request, Upstream};
use crate::private::Private;
use crate::secret;

/// The header of a request's place in a trace.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// One endpoint and the connections to it.
pub struct HttpUpstream(Arc<Endpoint>);

struct Endpoint {
    pool: connect::Pool,
    address: Address,
    dialect: Arc<Dialect>,
    /// What every request bears.
    headers: HeaderMap,
    auth: Auth,
    timeouts: Timeouts,
    /// What must not show in an error: the key and the address.
    private: Arc<Private>,
}

impl HttpUpstream {
    /// Sets up a client; connects to nothing yet.
    pub fn new(settings: &HttpSettings) -> Result<HttpUpstream, OpenError> {
        let address = Address::new(&settings.base_url, settings.api_version.as_deref())?;
        let uri = address.of("")?;
        let (pool, of_proxy) = connect::pool(&uri, settings.timeouts.connect)?;
        let mut headers = headers(settings)?;
        headers.extend(of_proxy.map(|value| (PROXY_AUTHORIZATION, value)));
        Ok(HttpUpstream(Arc::new(Endpoint {
            pool,
            address,
            dialect: Arc::clone(&settings.dialect),
            headers,
            auth: settings.auth,
            timeouts: settings.timeouts.clone(),
            private: Arc::new(private(settings, &uri)),
        })))
    }
}

impl Endpoint {
    async fn send(&self, request: Request) -> Result<Answer, Error> {
        let mut post = http::Request::new(request.body);
        *post.method_mut() = Method::POST;
        // The name of a model can be anything; one that fits no address is served nowhere.
        let uri = self.address.of(&request.model);
        *post.uri_mut() = uri.map_err(|_| Error::Unreachable)?;
        *post.headers_mut() = self.headers.clone();
        let authorization = request.authorization.filter(|_| self.auth == Auth::Caller);
        let with_callers_authorization = authorization.is_some();
        if let Some(value) = authorization.and_then(|value| HeaderValue::from_bytes(&value).ok()) {
            post.headers_mut().insert(AUTHORIZATION, value);
        }
        let traceparent = request.traceparent.map(HeaderValue::try_from);
        if let Some(Ok(value)) = traceparent {
            post.headers_mut().insert(TRACEPARENT, value);
        }
        let mut silence = Silence::begin(Patience {
            first: self.timeouts.first_byte,
            idle: self.timeouts.idle,
        });
        let (head, body) = tokio::select! {
            biased;
            sent = self.pool.request(post) => sent.map_err(|error| unsent(&error))?.into_parts(),
            () = silence.over() => return Err(Error::TimedOut { phase: Phase::FirstByte }),
        };
        let header = |name: HeaderName| Some(head.headers.get(name)?.to_str().ok()?.to_owned());
        let reads = decode::reads(head.headers.get(CONTENT_ENCODING), body)?;
        let head = Head {
            status: head.status.as_u16(),
            content_type: header(CONTENT_TYPE),
            retry_after: header(RETRY_AFTER),
            with_callers_authorization,
            private: Arc::clone(&self.private),
        };
        Answer::begin(head, reads, silence).await
    }
}

impl Upstream for HttpUpstream {
    fn dialect(&self) -> &Dialect {
        &self.0.dialect
    }

    fn ask(&self, request: Request) -> Asked {
        let endpoint = Arc::clone(&self.0);
        Box::pin(async move { endpoint.send(request).await })
    }
}

fn headers(settings: &HttpSettings) -> Result<HeaderMap, OpenError> {
    const AGENT: &str = concat!("handback/", env!("CARGO_PKG_VERSION"));
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(decode::ACCEPTED));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    if let Some((name, value)) = settings.credential() {
        let value = secret::header_value(name, &value)?;
        headers.insert(HeaderName::from_static(name), value);
    }
    headers.extend(secret::headers(&settings.headers)?);
    Ok(headers)
}

/// What an upstream's own words must not repeat to a caller.
fn private(settings: &HttpSettings, uri: &Uri) -> Private {
    let url = &settings.base_url;
    let addresses = [
        Some(uri.to_string()),
        Some(url.as_str().trim_end_matches('/').to_owned()),
        Some(url.authority().to_owned()),
        url.host_str().map(str::to_owned),
        // Tenants and keys stand in paths, too. The usual `/v1` is too short to be taken out.
        Some(url.path().trim_end_matches('/').to_owned()),
    ];
    let private = Private::of_headers(&settings.headers);
    let private = private.addresses(addresses.into_iter().flatten());
    match &settings.api_key {
        Some(key) => private.secret(key),
        None => private,
    }
}

/// An error before the answer began.
fn unsent(error: &legacy::Error) -> Error {
    if !error.is_connect() {
        return Error::Closed;
    }
    let mut cause = error.source();
    while let Some(error) = cause {
        let timed_out = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
        if timed_out {
            return Error::TimedOut {
                phase: Phase::Connect,
            };
        }
        cause = error.source();
    }
    Error::Unreachable
}
