//! The HTTP client of a connection: the SDK's own, watched for what it does not tell.
//!
//! The SDK begins a new session where a server answers 404. Others answer 400, and some send an
//! error that belongs to no request, for which the SDK would wait until the call's time is up.
//! Both are put into the words that it understands here. And whatever shows that a session or a
//! connection is gone makes the owner of the connection look.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use tokio::sync::Notify;

use super::failure::HttpError;
use crate::secret::{self, Secret};

/// How long a connection may take; its requests have the time of the service.
const CONNECT: Duration = Duration::from_secs(5);
/// Redirects that are followed, all within the server's own origin.
const REDIRECTS: usize = 5;

type Headers = HashMap<HeaderName, HeaderValue>;

/// The client of one connection.
#[derive(Clone)]
pub(super) struct Watched {
    client: reqwest::Client,
    look: Arc<Notify>,
}

impl Watched {
    /// Sends `headers` with each request. Tells `look` when something seems to be gone.
    pub(super) fn new(
        headers: &[(String, Secret)],
        look: Arc<Notify>,
    ) -> Result<Watched, reqwest::Error> {
        // The configuration has checked them.
        let headers = secret::headers(headers).unwrap_or_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("handback/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT)
            // A connection that was used before may be closed by the time a call is written to it,
            // and then nobody knows whether the call was taken. As the SDK's own client does.
            .pool_max_idle_per_host(0)
            .redirect(Policy::custom(redirect))
            .tcp_nodelay(true)
            .build()?;
        Ok(Watched { client, look })
    }

    fn watch<T>(&self, result: Result<T, HttpError>) -> Result<T, HttpError> {
        let error = match result {
            Ok(value) => return Ok(value),
            Err(StreamableHttpError::Client(error)) => {
                StreamableHttpError::Client(error.without_url())
            }
            Err(error) => error,
        };
        if matches!(
            error,
            StreamableHttpError::Client(_) | StreamableHttpError::SessionExpired
        ) {
            self.look.notify_one();
        }
        Err(error)
    }
}

/// Follows what keeps method and body, such as a missing slash at the end, and stays where the
/// credentials belong.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
    let first = attempt.previous().first();
    let same_origin = first.is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_body && same_origin && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

impl StreamableHttpClient for Watched {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let asked = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let in_session = session.is_some();
        let answer = self
            .client
            .post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await;
        self.watch(answer.and_then(|answer| correlated(answer, asked.as_ref(), in_session)))
            .map_err(|error| if in_session { lost(error) } else { error })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        // The connection ends anyway: there is nothing to look at.
        let ended = self.client.delete_session(uri, session, token, headers);
        ended.await.map_err(|error| match error {
            StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
            error => error,
        })
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let stream = self
            .client
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, limit)
            .await;
        self.watch(stream)
    }
}

/// An answer that belongs to what was asked. One that does not came from something before the
/// server's protocol, which in a session means that it is not known.
fn correlated(
    answer: StreamableHttpPostResponse,
    asked: Option<&RequestId>,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let (StreamableHttpPostResponse::Json(message, _), Some(asked)) = (&answer, asked) else {
        return Ok(answer);
    };
    match message {
        ServerJsonRpcMessage::Error(error) if in_session && is_of_session(&error.error) => {
            Err(StreamableHttpError::SessionExpired)
        }
        ServerJsonRpcMessage::Error(error) if !is_same(asked, error.id.as_ref()) => {
            if in_session {
                return Err(StreamableHttpError::SessionExpired);
            }
            let said = error.error.message.clone();
            Err(StreamableHttpError::UnexpectedServerResponse(said))
        }
        ServerJsonRpcMessage::Response(response) if !is_same(asked, Some(&response.id)) => {
            let said = "the answer to another request".into();
            Err(StreamableHttpError::UnexpectedServerResponse(said))
        }
        _ => Ok(answer),
    }
}

/// Whether an answer's id is that of the request; some servers make texts of numbers.
fn is_same(asked: &RequestId, answered: Option<&RequestId>) -> bool {
    answered.is_some_and(|id| id == asked || id.to_string() == asked.to_string())
}

/// Whether an error that bears a request's id says that the session is unknown, in the codes of
/// the SDKs.
fn is_of_session(error: &ErrorData) -> bool {
    let said = error.message.to_ascii_lowercase();
    matches!(error.code.0, -32000 | -32001 | -32600) && said.contains("session")
}

/// 400 is how some servers refuse a session that they do not know.
fn lost(error: HttpError) -> HttpError {
    match error {
        StreamableHttpError::UnexpectedServerResponse(said) if said.starts_with("HTTP 400") => {
            StreamableHttpError::SessionExpired
        }
        error => error,
    }
}
