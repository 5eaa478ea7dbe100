//! Reads HTTP/1.1 requests off a socket byte by byte as they were sent, so that a test sees
//! exactly what reached the upstream.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// No test sends more than this.
const MOST_BODY_BYTES: usize = 64 * 1024 * 1024;

/// A request as it came off the wire.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case, in the order sent.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The value of a header, if it was sent.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the gateway sends UTF-8")
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("the gateway sent broken JSON: {error}"))
    }
}

/// Reads one request; `None` when the peer has closed the connection instead.
pub(crate) async fn read_request(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<Request>> {
    let Some(first) = read_line(reader).await? else {
        return Ok(None);
    };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(garbled("a request line"));
    };
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader).await?.ok_or(garbled("headers"))?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(garbled("a header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: Vec::new(),
    };
    request.body = read_body(reader, &request).await?;
    Ok(Some(request))
}

async fn read_body(
    reader: &mut (impl AsyncBufRead + Unpin),
    request: &Request,
) -> io::Result<Vec<u8>> {
    if request.header("transfer-encoding") == Some("chunked") {
        return read_chunks(reader).await;
    }
    let length = match request.header("content-length") {
        Some(length) => length.parse().map_err(|_| garbled("a content length"))?,
        None => 0,
    };
    read_exactly(reader, length).await
}

async fn read_chunks(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader).await?.ok_or(garbled("a chunk size"))?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(|_| garbled("a chunk size"))?;
        body.extend(read_exactly(reader, size).await?);
        read_line(reader).await?;
        if size == 0 {
            return Ok(body);
        }
        if body.len() > MOST_BODY_BYTES {
            return Err(garbled("a body of sane size"));
        }
    }
}

async fn read_exactly(
    reader: &mut (impl AsyncBufRead + Unpin),
    length: usize,
) -> io::Result<Vec<u8>> {
    if length > MOST_BODY_BYTES {
        return Err(garbled("a body of sane size"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn garbled(expected: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no {expected}"))
}
