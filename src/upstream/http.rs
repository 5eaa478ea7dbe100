//! An upstream behind HTTP (contract U1, U4, U6).

use std::sync::Arc;

use futures_util::StreamExt;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};

use super::answer::{Answer, Head, Patience, Reads};
use super::error::{Error, Phase};
use super::settings::{Auth, HttpSettings, Timeouts};
use super::{Asked, OpenError, Request, Upstream};
use crate::wire::Body;

/// How long an unused connection is kept. Shorter than the keep-alive of most servers, so that
/// they seldom close one at the moment it is used again.
const IDLE_CONNECTION: std::time::Duration = std::time::Duration::from_secs(15);

/// One endpoint and the connections to it.
pub struct HttpUpstream(Arc<Endpoint>);

struct Endpoint {
    client: reqwest::Client,
    url: reqwest::Url,
    auth: Auth,
    timeouts: Timeouts,
    /// What must not show in an error: the key and the address.
    private: Vec<String>,
}

impl HttpUpstream {
    /// Sets up a client; connects to nothing yet.
    pub fn new(settings: &HttpSettings) -> Result<HttpUpstream, OpenError> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("handback/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(settings)?)
            .connect_timeout(settings.timeouts.connect)
            .pool_idle_timeout(IDLE_CONNECTION)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()?;
        let mut url = settings.base_url.clone();
        url.set_path(&format!(
            "{}/chat/completions",
            url.path().trim_end_matches('/')
        ));
        // The longest first, so that no part of an address is left behind.
        let address = settings.base_url.as_str().trim_end_matches('/').to_owned();
        let mut private = vec![url.to_string(), address];
        private.push(settings.base_url.authority().to_owned());
        private.extend(settings.base_url.host_str().map(str::to_owned));
        private.extend(settings.api_key.iter().map(|key| key.expose().to_owned()));
        private.extend(
            settings
                .headers
                .iter()
                .map(|(_, value)| value.expose().to_owned()),
        );
        private.retain(|text| text.len() > 3);
        Ok(HttpUpstream(Arc::new(Endpoint {
            client,
            url,
            auth: settings.auth,
            timeouts: settings.timeouts.clone(),
            private,
        })))
    }
}

impl Endpoint {
    async fn send(&self, request: Request) -> Result<Answer, Error> {
        let mut post = self.client.post(self.url.clone()).body(body(request.body));
        let authorization = request.authorization.filter(|_| self.auth == Auth::Caller);
        let with_callers_authorization = authorization.is_some();
        if let Some(value) = authorization.and_then(|value| HeaderValue::from_bytes(&value).ok()) {
            post = post.header(AUTHORIZATION, value);
        }
        let sent = tokio::time::timeout(self.timeouts.first_byte, post.send()).await;
        let response = match sent {
            Ok(response) => response.map_err(|error| unsent(&error))?,
            Err(_) => {
                return Err(Error::TimedOut {
                    phase: Phase::FirstByte,
                });
            }
        };
        let header =
            |name: HeaderName| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let head = Head {
            status: response.status().as_u16(),
            content_type: header(CONTENT_TYPE),
            retry_after: header(RETRY_AFTER),
            with_callers_authorization,
        };
        let reads: Reads = Box::pin(
            response
                .bytes_stream()
                .map(|read| read.map_err(|error| broken(&error))),
        );
        let first = self.timeouts.first_byte.max(self.timeouts.idle);
        Answer::begin(
            head,
            reads,
            Patience {
                first,
                idle: self.timeouts.idle,
            },
        )
        .await
    }

    /// Takes what is private out of an upstream's own words.
    fn redacted(&self, mut error: Error) -> Error {
        if let Error::Refused { failure, .. } = &mut error {
            for private in &self.private {
                let texts = [
                    Some(&mut failure.message),
                    failure.param.as_mut(),
                    failure.code.as_mut(),
                    failure.kind.as_mut(),
                ];
                for text in texts
                    .into_iter()
                    .flatten()
                    .filter(|text| text.contains(private.as_str()))
                {
                    *text = text.replace(private.as_str(), "[redacted]");
                }
            }
        }
        error
    }
}

impl Upstream for HttpUpstream {
    fn ask(&self, request: Request) -> Asked {
        let endpoint = Arc::clone(&self.0);
        Box::pin(async move {
            endpoint
                .send(request)
                .await
                .map_err(|error| endpoint.redacted(error))
        })
    }
}

fn headers(settings: &HttpSettings) -> Result<HeaderMap, OpenError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut secret = |name: HeaderName, value: &str| {
        let mut value =
            HeaderValue::from_str(value).map_err(|_| OpenError::Header(name.to_string()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<(), OpenError>(())
    };
    if let Some(key) = &settings.api_key {
        secret(AUTHORIZATION, &format!("Bearer {}", key.expose()))?;
    }
    for (name, value) in &settings.headers {
        let parsed =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| OpenError::Header(name.clone()))?;
        secret(parsed, value.expose())?;
    }
    Ok(headers)
}

fn body(body: Body) -> reqwest::Body {
    reqwest::Body::wrap(body)
}

/// An error before the answer began.
fn unsent(error: &reqwest::Error) -> Error {
    if error.is_connect() && error.is_timeout() {
        Error::TimedOut {
            phase: Phase::Connect,
        }
    } else if error.is_connect() {
        Error::Unreachable
    } else if error.is_timeout() {
        Error::TimedOut {
            phase: Phase::FirstByte,
        }
    } else {
        broken(error)
    }
}

/// An error on a connection that stood. What the libraries say of it may name the address.
fn broken(error: &reqwest::Error) -> Error {
    let detail = if error.is_timeout() {
        "the connection timed out"
    } else if error.is_decode() {
        "its bytes could not be decoded"
    } else {
        "the connection was closed before the answer was complete"
    };
    Error::Broken {
        detail: detail.to_owned(),
    }
}
