//! Every public error: its code, OpenAI's type, its HTTP status.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};

use crate::drive::Failure;
use crate::turn::Stopped;
use crate::upstream::Error;
use crate::wire::answer;
use crate::wire::refusal::{Refusal, excerpt};
use crate::wire::write::ObjectWriter;

/// The code of an upstream that refuses the gateway's own credentials.
const UPSTREAM_AUTH: &str = "upstream_auth";

/// An error as the caller gets it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    status: u16,
    kind: String,
    code: Option<String>,
    param: Option<Box<str>>,
    message: String,
    retry_after: Option<Box<str>>,
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

/// The errors that are not about a field of the request. (Those are
/// [`crate::wire::Code`], all of them 400.)
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Public {
    /// More is hidden than may travel (contract K8).
    ContinuationTooLarge,
    /// The key is missing or wrong.
    InvalidApiKey,
    /// The model's calls cannot be used (contract A6).
    InvalidModelOutput,
    /// The route does not take this method.
    MethodNotAllowed,
    /// The name is neither an agent's nor passed on (contract R3).
    ModelNotFound,
    /// No such route.
    NotFound,
    /// The caller's body broke off.
    RequestInterrupted,
    /// The caller stopped sending its body.
    RequestTimeout,
    /// The body is over the limit (contract R2).
    RequestTooLarge,
    /// The turn's time is up (contract A7).
    TurnTimeout,
    /// The body is no JSON by its content type (contract R2).
    UnsupportedMediaType,
    /// The upstream refused the gateway's key (contract U4).
    UpstreamAuth,
    /// The upstream failed (contract U4).
    UpstreamError,
    /// The upstream is too slow (contract U4).
    UpstreamTimeout,
}

impl Public {
    /// The table.
    fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Public::ContinuationTooLarge => (502, SERVER, "continuation_too_large"),
            Public::InvalidApiKey => (401, INVALID, "invalid_api_key"),
            Public::InvalidModelOutput => (502, SERVER, "invalid_model_output"),
            Public::MethodNotAllowed => (405, INVALID, "method_not_allowed"),
            Public::ModelNotFound => (404, INVALID, "model_not_found"),
            Public::NotFound => (404, INVALID, "not_found"),
            Public::RequestInterrupted => (400, INVALID, "request_interrupted"),
            Public::RequestTimeout => (408, INVALID, "request_timeout"),
            Public::RequestTooLarge => (413, INVALID, "request_too_large"),
            Public::TurnTimeout => (504, SERVER, "turn_timeout"),
            Public::UnsupportedMediaType => (415, INVALID, "unsupported_media_type"),
            Public::UpstreamAuth => (502, SERVER, UPSTREAM_AUTH),
            Public::UpstreamError => (502, SERVER, "upstream_error"),
            Public::UpstreamTimeout => (504, SERVER, "upstream_timeout"),
        }
    }
}

impl Problem {
    /// One of the table, in words that say what to do.
    pub fn new(public: Public, message: impl Into<String>) -> Problem {
        let (status, kind, code) = public.row();
        Problem {
            status,
            kind: kind.to_owned(),
            code: Some(code.to_owned()),
            param: None,
            message: message.into(),
            retry_after: None,
        }
    }

    /// The name is nobody's, or not this key's: the answer is the same.
    pub fn model_not_found(name: &str) -> Problem {
        let message = format!(
            "there is no model {:?} for this key; GET /v1/models lists those that there are",
            excerpt(name)
        );
        Problem::new(Public::ModelNotFound, message).with_param("model")
    }

    /// The same, pointing at a field of the request.
    #[must_use]
    pub fn with_param(self, param: &str) -> Problem {
        Problem {
            param: Some(param.into()),
            ..self
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The code, for logs.
    pub fn code(&self) -> &str {
        self.code.as_deref().unwrap_or("-")
    }

    /// Whether nobody but the operator can mend it, so that the same request again cannot help.
    pub fn is_operators(&self) -> bool {
        self.code() == UPSTREAM_AUTH
    }

    /// `{"error":{...}}` with every key (OpenAI reference, "Errors").
    pub fn json(&self) -> String {
        let mut out = String::with_capacity(self.message.len() + 120);
        let mut top = ObjectWriter::begin(&mut out);
        let mut error = ObjectWriter::begin(top.key("error"));
        error.string("message", &self.message);
        error.string("type", &self.kind);
        for (key, value) in [
            ("param", self.param.as_deref()),
            ("code", self.code.as_deref()),
        ] {
            match value {
                Some(value) => error.string(key, value),
                None => error.member(key, "null"),
            }
        }
        error.end();
        top.end();
        out
    }

    /// The HTTP response.
    pub fn response(&self) -> HttpResponse {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = HttpResponse::build(status);
        response.content_type("application/json");
        if let Some(value) = self
            .retry_after
            .as_deref()
            .and_then(|value| HeaderValue::from_str(value).ok())
        {
            response.insert_header((header::RETRY_AFTER, value));
        }
        if self.status == 401 {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        response.body(self.json())
    }

    /// What an upstream says of the caller's input, in its own words (contract U4).
    fn passed_on(
        status: u16,
        failure: &answer::Failure,
        kind: &str,
        code: Option<&str>,
    ) -> Problem {
        Problem {
            status,
            kind: failure.kind.clone().unwrap_or_else(|| kind.to_owned()),
            code: failure.code.clone().or_else(|| code.map(str::to_owned)),
            param: failure.param.as_deref().map(Box::from),
            message: failure.message.clone(),
            retry_after: None,
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        Problem {
            status: 400,
            kind: INVALID.to_owned(),
            code: Some(refusal.code.as_str().to_owned()),
            param: refusal.param.map(String::into_boxed_str),
            message: refusal.message,
            retry_after: None,
        }
    }
}

impl From<&Failure> for Problem {
    fn from(failure: &Failure) -> Problem {
        match failure {
            Failure::Stopped(stopped) => stopped.into(),
            Failure::TooLarge(error) => Problem::new(
                Public::ContinuationTooLarge,
                format!("{error} bytes; the agent did too much unseen before its handback"),
            ),
            Failure::Upstream(error) => error.into(),
        }
    }
}

impl From<&Stopped> for Problem {
    fn from(stopped: &Stopped) -> Problem {
        match stopped {
            Stopped::InvalidModelOutput { .. } => {
                Problem::new(Public::InvalidModelOutput, stopped.to_string())
            }
            Stopped::TurnTimeout => Problem::new(
                Public::TurnTimeout,
                "the answer took longer than a turn may; ask for less, or have the operator raise limits.turn_time",
            ),
            Stopped::Cancelled | Stopped::Garbled { .. } | Stopped::ModelFailed => {
                Problem::new(Public::UpstreamError, stopped.to_string())
            }
        }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Problem {
        match error {
            Error::TimedOut { .. } => Problem::new(Public::UpstreamTimeout, error.to_string()),
            Error::Resting { seconds } => Problem {
                retry_after: Some(seconds.max(&1).to_string().into_boxed_str()),
                ..Problem::new(Public::UpstreamError, error.to_string())
            },
            Error::Refused {
                status,
                failure,
                retry_after,
                with_callers_authorization,
                ..
            } => match status {
                400 | 404 | 413 | 422 => Problem::passed_on(*status, failure, INVALID, None),
                401 | 403 if *with_callers_authorization => {
                    Problem::passed_on(*status, failure, INVALID, None)
                }
                401 | 403 => Problem::new(
                    Public::UpstreamAuth,
                    format!(
                        "the upstream refused the gateway's own credentials (status {status}); the operator has to mend the upstream's api_key"
                    ),
                ),
                429 => Problem {
                    retry_after: retry_after.as_deref().map(Box::from),
                    ..Problem::passed_on(
                        429,
                        failure,
                        "rate_limit_error",
                        Some("rate_limit_exceeded"),
                    )
                },
                _ => Problem {
                    retry_after: retry_after.as_deref().map(Box::from),
                    ..Problem::new(Public::UpstreamError, error.to_string())
                },
            },
            _ => Problem::new(Public::UpstreamError, error.to_string()),
        }
    }
}
