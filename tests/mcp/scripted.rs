//! An MCP server over HTTP that keeps to the protocol but where a test tells it otherwise.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::{Value, json};

use super::host::Host;

/// A request to the server.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `initialize`, `tools/call` and so on, or the verb of a request without a message.
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) session: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// What the server says.
pub(crate) enum Told {
    /// A result for the request.
    Result(Value),
    /// A message, whatever it is.
    Message(Value),
    /// Messages in an event stream that then ends.
    Events(Vec<Value>),
    /// A status, a content type and a body.
    Http(u16, &'static str, String),
    /// Nothing, ever.
    Hang,
}

type Script = dyn Fn(&Asked) -> Option<Told> + Send + Sync;

/// A server. It is gone at once, with all its connections, when this is dropped.
pub(crate) struct Scripted {
    host: Host,
    state: Arc<Played>,
}

struct Played {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    /// Sessions so far.
    sessions: AtomicUsize,
    /// The number of the session that is known; none is 0.
    known: AtomicUsize,
}

impl Scripted {
    /// A server with one tool, `look`. What `script` gives comes before the protocol.
    pub(crate) fn start(
        script: impl Fn(&Asked) -> Option<Told> + Send + Sync + 'static,
    ) -> Scripted {
        let state = Arc::new(Played {
            script: Box::new(script),
            asked: Mutex::default(),
            sessions: AtomicUsize::new(0),
            known: AtomicUsize::new(0),
        });
        let played = Arc::clone(&state);
        let app = move || {
            Router::new()
                .fallback(answer)
                .with_state(Arc::clone(&played))
        };
        Scripted {
            host: Host::start(app),
            state,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.host.address)
    }

    /// All requests of a method.
    pub(crate) fn asked(&self, method: &str) -> Vec<Asked> {
        let asked = self.state.asked.lock().expect("no test panics in between");
        let asked = asked.iter().filter(|asked| asked.method == method);
        asked.cloned().collect()
    }

    /// Forgets all sessions, as after a restart.
    pub(crate) fn forget(&self) {
        self.state.known.store(0, Ordering::SeqCst);
    }

    /// Ends the server with all its connections.
    pub(crate) fn stop(&mut self) {
        self.host.stop();
        self.forget();
    }

    /// Starts it again on the same port.
    pub(crate) fn start_again(&mut self) {
        self.host.start_again();
    }
}

async fn answer(
    State(played): State<Arc<Played>>,
    verb: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = Asked {
        method: body["method"].as_str().unwrap_or(verb.as_str()).to_owned(),
        path: uri.path().to_owned(),
        session: headers
            .get("mcp-session-id")
            .and_then(|id| Some(id.to_str().ok()?.to_owned())),
        headers,
        body,
    };
    let told = (played.script)(&asked);
    let log = played.asked.lock();
    log.expect("no test panics in between").push(asked.clone());
    let told = told.unwrap_or_else(|| played.by_protocol(&asked));
    let mut response = Response::builder();
    if asked.method == "initialize" {
        let number = played.known.load(Ordering::SeqCst);
        response = response.header("mcp-session-id", format!("session-{number}"));
    }
    let (status, kind, body) = match told {
        Told::Result(result) => {
            let message = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result});
            (200, "application/json", message.to_string())
        }
        Told::Message(message) => (200, "application/json", message.to_string()),
        Told::Events(messages) => {
            let events = messages
                .iter()
                .map(|message| format!("data: {message}\n\n"));
            (200, "text/event-stream", events.collect())
        }
        Told::Http(status, kind, body) if (300..400).contains(&status) => {
            response = response.header("location", kind);
            (status, "text/plain", body)
        }
        Told::Http(status, kind, body) => (status, kind, body),
        Told::Hang => std::future::pending().await,
    };
    let response = response.status(status).header("content-type", kind);
    response.body(Body::from(body)).expect("it is a response")
}

impl Played {
    fn by_protocol(&self, asked: &Asked) -> Told {
        if asked.method == "initialize" {
            let number = self.sessions.fetch_add(1, Ordering::SeqCst) + 1;
            self.known.store(number, Ordering::SeqCst);
            return Told::Result(json!({
                "protocolVersion": asked.body["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }));
        }
        let known = format!("session-{}", self.known.load(Ordering::SeqCst));
        if asked.session.as_deref() != Some(&known) {
            return unknown_session(404, &asked.body["id"]);
        }
        match asked.method.as_str() {
            "tools/list" => Told::Result(json!({"tools": [tool("look")]})),
            "tools/call" => Told::Result(text(&asked.body["params"]["arguments"].to_string())),
            "GET" => Told::Http(405, "text/plain", String::new()),
            "DELETE" => Told::Http(200, "text/plain", String::new()),
            _ => Told::Http(202, "text/plain", String::new()),
        }
    }
}

/// How servers refuse a session that they do not know.
pub(crate) fn unknown_session(status: u16, id: &Value) -> Told {
    let error = json!({"code": -32001, "message": "Session not found"});
    let message = json!({"jsonrpc": "2.0", "id": id, "error": error});
    Told::Http(status, "application/json", message.to_string())
}

/// A tool that takes nothing.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}})
}

/// The result of a call with a text.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
