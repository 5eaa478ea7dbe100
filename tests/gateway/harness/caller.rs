//! The caller's side of the wire: sends a request and keeps what came back, whole or streamed.

use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::conformance;
use super::fold::{self, Calls};
use super::gateway::Gateway;
use super::sse::{self, Event, Reader};
use super::within;

/// A caller of one gateway.
pub(crate) struct Caller {
    client: reqwest::Client,
    url: String,
    idempotency_key: Option<String>,
}

/// What a caller got back.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the connection broke before the body was complete.
    pub(crate) broken: bool,
}

impl Caller {
    pub(crate) fn of(gateway: &Gateway) -> Self {
        Self::at(gateway.url())
    }

    /// A caller of any address, the admin listener's for instance.
    pub(crate) fn at(url: String) -> Self {
        // Bytes as they are on the wire: the client neither asks for compression nor undoes it.
        let client = reqwest::Client::builder()
            .no_proxy()
            .no_gzip()
            .no_brotli()
            .build()
            .expect("a plain HTTP client");
        Self {
            client,
            url,
            idempotency_key: None,
        }
    }

    /// The same, with a key for each chat request.
    pub(crate) fn with_idempotency_key(self, key: &str) -> Self {
        Self {
            idempotency_key: Some(key.to_owned()),
            ..self
        }
    }

    /// Begins a request that the test completes itself.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.parse().expect("an HTTP method");
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Sends a chat request and waits for all of the answer.
    pub(crate) async fn ask(&self, body: &Value) -> Reply {
        self.send(self.chat(body)).await
    }

    /// Sends a chat request to a gateway that may end meanwhile.
    pub(crate) async fn try_ask(&self, body: &Value) -> Result<Reply, reqwest::Error> {
        self.try_send(self.chat(body)).await
    }

    /// Fetches a resource.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(self.request("GET", path)).await
    }

    /// Sends a chat request and gives the stream as soon as its headers are there.
    pub(crate) async fn open(&self, body: &Value) -> Live {
        let response = within("the head of the answer", self.chat(body).send())
            .await
            .expect("the gateway answers");
        Live {
            response,
            reader: Reader::default(),
            ready: Vec::new(),
        }
    }

    /// Sends a request and waits for all of the answer.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        self.try_send(request).await.expect("the gateway answers")
    }

    /// The same, where the gateway may drop the connection.
    pub(crate) async fn try_send(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<Reply, reqwest::Error> {
        let mut response = within("the head of the answer", request.send()).await?;
        let mut body = Vec::new();
        let broken = loop {
            match within("the rest of the answer", response.chunk()).await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let reply = Reply::received(status, headers, body, broken);
        Ok(reply.unwrap_or_else(|broken| panic!("{broken}")))
    }

    fn chat(&self, body: &Value) -> reqwest::RequestBuilder {
        let request = self.request("POST", "/v1/chat/completions").json(body);
        match &self.idempotency_key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        }
    }
}

impl Reply {
    /// What came back, held against the reference: the one place where every answer to a test
    /// passes.
    pub(crate) fn received(
        status: u16,
        headers: HeaderMap,
        body: Vec<u8>,
        broken: bool,
    ) -> Result<Self, String> {
        let reply = Self {
            status,
            headers,
            body,
            broken,
        };
        // HEAD has the headers of a body that is not there.
        if broken || reply.body.is_empty() {
            return Ok(reply);
        }
        let content_type = reply.header("content-type");
        let judged = if content_type.starts_with("text/event-stream") {
            sse::events(&reply.body).map(drop)
        } else if content_type.starts_with("application/json") {
            serde_json::from_slice(&reply.body)
                .map_err(|error| format!("the body is not JSON ({error})"))
                .and_then(|body| conformance::body(status, &body))
        } else {
            Ok(())
        };
        judged.map_err(|broken| format!("{broken}; got {status}: {}", reply.text()))?;
        Ok(reply)
    }

    /// A header's value, empty if it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body as text, for a failure message or a search.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    /// The answer in the one shape that whole answers, streams and errors share; see [`fold`].
    /// Fails if the answer breaks a rule of the contract.
    pub(crate) fn folded(&self) -> Value {
        fold::fold(self, Calls::Checked)
            .unwrap_or_else(|broken| panic!("{broken}; in: {}", self.text()))
    }
}

/// Sends bytes over a connection of their own, which the test reads, or drops to hang up.
pub(crate) async fn connect_and_send(gateway: &Gateway, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(gateway.address())
        .await
        .expect("the gateway accepts connections");
    socket.write_all(bytes).await.expect("the gateway reads");
    socket
}

/// A chat request as bytes, for [`connect_and_send`].
pub(crate) fn chat_bytes(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A stream that is still being received. Dropping it closes the connection.
pub(crate) struct Live {
    response: reqwest::Response,
    reader: Reader,
    ready: Vec<Event>,
}

impl Live {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next event, as soon as it is there; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        while self.ready.is_empty() {
            let bytes = within("the next event", self.response.chunk())
                .await
                .expect("the stream does not break");
            let Some(bytes) = bytes else {
                self.reader.at_end().expect("whole events only");
                return None;
            };
            self.ready = self.reader.feed(&bytes).expect("a strict event stream");
        }
        Some(self.ready.remove(0))
    }

    /// All events that are left of a stream that breaks before its end.
    pub(crate) async fn until_broken(mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.ready);
        while let Ok(bytes) = within("the stream to break", self.response.chunk()).await {
            let bytes = bytes.expect("the stream breaks, it does not end");
            events.extend(self.reader.feed(&bytes).expect("a strict event stream"));
        }
        events
    }

    /// The next piece of text, passing over events without any.
    pub(crate) async fn next_text(&mut self) -> String {
        loop {
            match self.next().await {
                Some(Event::Json(chunk)) => {
                    let text = chunk["choices"][0]["delta"]["content"].as_str();
                    if let Some(text) = text.filter(|text| !text.is_empty()) {
                        return text.to_owned();
                    }
                }
                Some(Event::Done) | None => panic!("the stream ended without more text"),
            }
        }
    }
}
