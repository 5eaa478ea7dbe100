//! Whole requests: mostly a broken body behind a good head, sometimes an odd head.

use fastrand::Rng;
use serde_json::Value;

use super::bodies;
use super::nasty::pick;

pub(super) const LENIENT: &str = "Bearer lenient-key";
const STRICT: &str = "Bearer strict-key";

const METHODS: [&str; 9] = [
    "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW", "M-SEARCH", "post",
];

const PATHS: [&str; 23] = [
    "/v1/chat/completions",
    "/chat/completions/",
    "/v1/chat/completions?a=b&%00=%zz",
    "//v1/chat/completions",
    "/v1/chat/completions/7",
    "/v1/../v1/chat/completions",
    "/V1/Chat/Completions",
    "/v1/chat%2Fcompletions",
    "/",
    "/v1",
    "/v1/models",
    "/models/?limit=-1",
    "/v1/models/support.scripted",
    "/v1/models/support%2Escripted/",
    "/v1/models/a/b/c",
    "/v1/models/%FF%FE%00",
    "/v1/models/%",
    "/v1/models//",
    "/v1/embeddings",
    "/v1/responses",
    "/healthz",
    "/metrics",
    "http://gateway/v1/chat/completions",
];

const CONTENT_TYPES: [&str; 14] = [
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application/json;;;=",
    "application/json; charset=\"",
    " application/json ",
    "application/jsonx",
    "application/vnd.api+json",
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "*/*",
    ";",
    "\u{5317}",
    "",
];

const AUTHORIZATIONS: [&str; 7] = [
    "Bearer wrong",
    "Bearer ",
    "bearer lenient-key",
    "Basic bGVuaWVudC1rZXk6",
    "lenient-key",
    "Bearer \u{5317}",
    "",
];

const FURTHER: [&str; 8] = [
    "x-request-id: \u{5317}",
    "x-request-id: a b",
    "accept: text/event-stream",
    "accept-encoding: gzip, br, zstd",
    "expect: 100-continue",
    "content-encoding: gzip",
    "idempotency-key: 7",
    "origin: null",
];

/// One request, ready to be sent.
pub(super) struct Request {
    method: &'static str,
    head: String,
    body: Vec<u8>,
    /// The sizes of the chunks that the body is sent in; none for a body of known length.
    chunk: Option<usize>,
}

impl Request {
    pub(super) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    pub(super) fn is_get(&self) -> bool {
        self.method == "GET"
    }

    /// The request as it goes over the wire.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.head.clone().into_bytes();
        let Some(size) = self.chunk else {
            out.extend(format!("content-length: {}\r\n\r\n", self.body.len()).bytes());
            out.extend(&self.body);
            return out;
        };
        out.extend(b"transfer-encoding: chunked\r\n\r\n");
        for chunk in self.body.chunks(size) {
            out.extend(format!("{:x}\r\n", chunk.len()).bytes());
            out.extend(chunk);
            out.extend(b"\r\n");
        }
        out.extend(b"0\r\n\r\n");
        out
    }

    /// For a failure's message.
    pub(super) fn shown(&self) -> String {
        let bytes = self.bytes();
        let shown = &bytes[..bytes.len().min(3000)];
        format!("{} ({} bytes)", shown.escape_ascii(), bytes.len())
    }
}

/// A request that follows from the state of `rng`.
pub(super) fn any(originals: &[Value], rng: &mut Rng) -> Request {
    let odd = |rng: &mut Rng| rng.u8(..16) == 0;
    let method = if odd(rng) {
        pick(&METHODS, rng)
    } else {
        "POST"
    };
    let path = if odd(rng) {
        pick(&PATHS, rng)
    } else {
        PATHS[0]
    };
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: gateway\r\n");
    let content_type = if odd(rng) {
        pick(&CONTENT_TYPES, rng)
    } else {
        "application/json"
    };
    let key = if rng.bool() { LENIENT } else { STRICT };
    let authorization = if odd(rng) {
        pick(&AUTHORIZATIONS, rng)
    } else {
        key
    };
    for (name, value) in [
        ("content-type", content_type),
        ("authorization", authorization),
    ] {
        if !value.is_empty() {
            head.extend([name, ": ", value, "\r\n"]);
        }
    }
    if odd(rng) {
        head.extend([pick(&FURTHER, rng), "\r\n"]);
    }
    Request {
        method,
        head,
        body: bodies::broken(originals, rng),
        chunk: odd(rng).then(|| rng.usize(1..5000)),
    }
}
