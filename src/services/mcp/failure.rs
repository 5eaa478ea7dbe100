//! Why a call failed, in words for the model: without URL, header or session id.

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::services::reply::start;

/// Bytes of a server's own words in a reason.
const EXCERPT: usize = 2000;
/// Bytes of a reason in the log.
const LOGGED: usize = 120;

/// What goes wrong with HTTP.
pub(super) type HttpError = StreamableHttpError<reqwest::Error>;

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The arguments cannot be sent.
    #[error("the arguments are not a JSON object")]
    Arguments,
    /// The server wants something in return that nobody can give.
    #[error("the tool asks for {0}, which is not possible here")]
    Demanding(&'static str),
    /// There is no connection, and none came in time.
    #[error("the tool's server cannot be reached")]
    NotConnected,
    /// The server does not offer the tool, or not any more.
    #[error("there is no tool named {0:?} any more")]
    Removed(String),
    /// The request failed.
    #[error("{}", reason(.0))]
    Request(#[from] ServiceError),
}

impl CallError {
    /// Whether the server has certainly not begun the call.
    pub(super) fn is_unsent(&self) -> bool {
        match self {
            CallError::NotConnected => true,
            CallError::Request(ServiceError::TransportSend(error)) => {
                matches!(http(error), Some(StreamableHttpError::Client(error)) if error.is_connect())
            }
            _ => false,
        }
    }
}

/// Whether an error says something of the connection rather than of the request.
pub(super) fn is_of_connection(error: &ServiceError) -> bool {
    matches!(
        error,
        ServiceError::TransportSend(_) | ServiceError::TransportClosed
    )
}

/// Whether a server is there and does not want the handshake that it was offered.
pub(super) fn is_refusal(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => matches!(
            http(error),
            Some(StreamableHttpError::UnexpectedServerResponse(_))
        ),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => false,
        _ => true,
    }
}

/// Why there was no handshake, for the log.
pub(super) fn handshake_reason(error: &ClientInitializeError) -> String {
    let reason = match error {
        ClientInitializeError::TransportError { error, .. } => transport_reason(error),
        ClientInitializeError::JsonRpcError(error) => {
            format!("error {}: {}", error.code.0, error.message)
        }
        ClientInitializeError::ConnectionClosed(_) => BROKEN.to_owned(),
        _ => "the answer is no handshake of a known protocol version".to_owned(),
    };
    start(&reason, LOGGED).to_owned()
}

fn http(error: &DynamicTransportError) -> Option<&HttpError> {
    error.error.downcast_ref()
}

fn transport_reason(error: &DynamicTransportError) -> String {
    http(error).map_or_else(|| BROKEN.to_owned(), http_reason)
}

const BROKEN: &str = "the connection to the tool's server broke";

/// Why a request failed.
pub(super) fn reason(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!(
            "the tool's server answered with error {}: {}",
            error.code.0,
            start(&error.message, EXCERPT)
        ),
        ServiceError::TransportSend(error) => transport_reason(error),
        ServiceError::TransportClosed => BROKEN.to_owned(),
        ServiceError::Cancelled { .. } => "the tool's server cancelled the call".to_owned(),
        _ => "the tool's server answered with something else than a result".to_owned(),
    }
}

fn http_reason(error: &HttpError) -> String {
    match error {
        StreamableHttpError::Client(error) if error.is_connect() => {
            "the tool's server cannot be reached".to_owned()
        }
        StreamableHttpError::HttpStatus(error) => {
            format!(
                "the tool's server answered with HTTP status {}",
                error.status
            )
        }
        StreamableHttpError::UnexpectedServerResponse(said) => format!(
            "the tool's server answered unexpectedly: {}",
            start(said, EXCERPT)
        ),
        StreamableHttpError::UnexpectedContentType(kind) => format!(
            "the tool's server answered with content type {:?} instead of JSON",
            start(kind.as_deref().unwrap_or(""), 80)
        ),
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            format!("the tool's server answered with more than {max_size} bytes")
        }
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
            "the tool's server refused the gateway's credentials".to_owned()
        }
        StreamableHttpError::SessionExpired
        | StreamableHttpError::SessionRecoveryTimeout
        | StreamableHttpError::ReinitializationFailed(_) => {
            "the session with the tool's server was lost".to_owned()
        }
        _ => BROKEN.to_owned(),
    }
}
