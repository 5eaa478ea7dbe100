//! Tools behind HTTP (contract V1).
//!
//! A call becomes one request: the arguments that the URL names go into it (`fill`), the
//! others into a JSON body, or into the query where the method has none (`request`). What comes
//! back becomes a text for the model (`answer`).
//!
//! Invariant: a call reads a bounded part of an answer within the time of its tool, talks to the
//! origin that the operator wrote and to no other, and tells the model no URL, header or key
//! (`private`).

mod answer;
mod fill;
mod private;
mod request;
pub(super) mod template;
mod value;

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::{Attempt, Policy};

use super::settings::{HttpServiceSettings, HttpTool};
use super::{Called, Invocation, Offered, Reply, Service, definition, reply};
use crate::secret::{self, NotAHeader};

/// How long an unused connection is kept. Shorter than the keep-alive of most servers, so that
/// they seldom close one at the moment it is used again.
const IDLE_CONNECTION: std::time::Duration = std::time::Duration::from_secs(15);

/// Redirects that one call follows.
const REDIRECTS: usize = 5;

/// What an endpoint is asked for where the operator asks for nothing.
const ACCEPTED: &str = "application/json, text/*;q=0.9, */*;q=0.5";

/// Why a service cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// A header holds characters that HTTP forbids.
    #[error(transparent)]
    Header(#[from] NotAHeader),
    /// A tool cannot be offered to a model.
    #[error("the tool {name:?} cannot be offered: {reason}")]
    Tool {
        /// Which one.
        name: String,
        /// Why.
        reason: String,
    },
}

/// Some tools and the connections to them.
pub struct HttpService {
    endpoints: Arc<Endpoints>,
    offered: Arc<[Offered]>,
}

struct Endpoints {
    client: reqwest::Client,
    /// Of bodies that are sent.
    content_type: HeaderValue,
    tools: HashMap<String, HttpTool>,
    private: crate::private::Private,
}

impl HttpService {
    /// Sets up a client; connects to nothing yet.
    pub fn new(settings: &HttpServiceSettings) -> Result<HttpService, OpenError> {
        let mut headers = secret::headers(&settings.headers)?;
        let accepted = HeaderValue::from_static(ACCEPTED);
        headers.entry(ACCEPT).or_insert(accepted);
        let content_type = headers.remove(CONTENT_TYPE);
        let client = reqwest::Client::builder()
            .user_agent(concat!("handback/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .pool_idle_timeout(IDLE_CONNECTION)
            .redirect(Policy::custom(follow))
            .referer(false)
            .tcp_nodelay(true)
            .build()?;
        let offered: Result<Vec<Offered>, OpenError> = settings
            .tools
            .iter()
            .map(|tool| offer(tool, &settings.prefix))
            .collect();
        let tools = settings.tools.iter();
        let tools = tools.map(|tool| (tool.name.clone(), tool.clone()));
        Ok(HttpService {
            endpoints: Arc::new(Endpoints {
                client,
                content_type: content_type.unwrap_or(HeaderValue::from_static("application/json")),
                tools: tools.collect(),
                private: private::of(settings),
            }),
            offered: offered?.into(),
        })
    }
}

impl Service for HttpService {
    fn tools(&self) -> Arc<[Offered]> {
        Arc::clone(&self.offered)
    }

    fn call(&self, invocation: Invocation) -> Called {
        let endpoints = Arc::clone(&self.endpoints);
        Box::pin(async move { endpoints.call(&invocation).await })
    }
}

impl Endpoints {
    async fn call(&self, invocation: &Invocation) -> Reply {
        let limit = invocation.reply_limit;
        let Some(tool) = self.tools.get(&invocation.tool) else {
            return reply::failed("the service has no such tool", limit);
        };
        let limit = tool.result_limit.map_or(limit, |own| own.min(limit));
        let asked = self.ask(tool, invocation, limit);
        let replied = tokio::time::timeout(tool.timeout, asked).await;
        replied.unwrap_or_else(|_| {
            let reason = format!("the service gave no answer within {:?}", tool.timeout);
            reply::timed_out(&reason, limit)
        })
    }

    /// One call, for as long as it takes.
    async fn ask(&self, tool: &HttpTool, invocation: &Invocation, limit: usize) -> Reply {
        let request = match request::build(&self.client, &self.content_type, tool, invocation) {
            Ok(request) => request,
            Err(error) => return reply::failed(&error.to_string(), limit),
        };
        match self.client.execute(request).await {
            Ok(response) => answer::tell(response, &self.private, limit).await,
            Err(error) => reply::failed(unsent(&error), limit),
        }
    }
}

fn offer(tool: &HttpTool, prefix: &str) -> Result<Offered, OpenError> {
    let seen = format!("{prefix}{}", tool.name);
    let description = tool.description.as_deref();
    let defined = definition::define(&seen, description, &tool.parameters, tool.side_effect);
    let tool_error = |reason: String| OpenError::Tool {
        name: tool.name.clone(),
        reason,
    };
    Ok(Offered {
        tool: defined.map_err(|refusal| tool_error(refusal.message))?,
        own_name: tool.name.clone(),
    })
}

/// Follows a redirect within the origin that was asked; any other becomes the answer.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let asked = attempt.previous();
    let same = asked.first().map(reqwest::Url::origin) == Some(attempt.url().origin());
    if same && asked.len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// What the model is told when no answer came. The libraries' own words may name the address.
fn unsent(error: &reqwest::Error) -> &'static str {
    if error.is_connect() {
        "the service cannot be reached"
    } else if error.is_builder() {
        "the request cannot be sent"
    } else {
        "the service closed the connection without an answer"
    }
}
