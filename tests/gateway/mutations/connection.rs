//! A connection that is kept between requests, read byte by byte, so that a close without an
//! answer is seen as one.

use std::net::SocketAddr;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::requests::Request;
use crate::harness::caller::Reply;
use crate::harness::within;

pub(super) struct Connection {
    address: SocketAddr,
    socket: Option<BufReader<TcpStream>>,
    /// What was last answered on this connection, if anything: a close may be its fault.
    before: String,
}

impl Connection {
    /// A connection that is made when it is first needed.
    pub(super) fn to(address: SocketAddr) -> Self {
        Self {
            address,
            socket: None,
            before: String::new(),
        }
    }

    /// Sends a request and reads the answer to its end. The connection is kept for the next
    /// request unless the answer says that it will be closed.
    pub(super) async fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let mut socket = if let Some(socket) = self.socket.take() {
            socket
        } else {
            self.before.clear();
            self.connect().await?
        };
        let written = within("the gateway to read", socket.write_all(&request.bytes())).await;
        // A gateway may answer before it has read everything.
        let reply = within("an answer", read(&mut socket, request.is_head())).await;
        let reply = reply.map_err(|error| {
            let before = &self.before;
            format!("no answer: {error}; written: {written:?}; answered before: {before:?}")
        })?;
        let closes = reply.header("connection").eq_ignore_ascii_case("close");
        self.before = format!("{} to {}", reply.status, request.shown());
        self.socket = (!closes && written.is_ok()).then_some(socket);
        Ok(reply)
    }

    async fn connect(&self) -> Result<BufReader<TcpStream>, String> {
        let socket = TcpStream::connect(self.address).await;
        let socket = socket.map_err(|error| format!("no connection: {error}"))?;
        let _ = socket.set_nodelay(true);
        Ok(BufReader::new(socket))
    }
}

async fn read(socket: &mut BufReader<TcpStream>, no_body: bool) -> Result<Reply, String> {
    let mut first = line(socket).await?;
    while first.starts_with("HTTP/1.1 100") {
        line(socket).await?;
        first = line(socket).await?;
    }
    let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.ok_or_else(|| format!("no status line: {first:?}"))?;
    let mut headers = HeaderMap::new();
    loop {
        let line = line(socket).await?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        let value = HeaderValue::from_str(value.trim()).map_err(|error| error.to_string())?;
        headers.append(name, value);
    }
    let body = if no_body {
        Vec::new()
    } else {
        body(socket, &headers).await?
    };
    Reply::received(status, headers, body, false)
}

async fn body(socket: &mut BufReader<TcpStream>, headers: &HeaderMap) -> Result<Vec<u8>, String> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if header("transfer-encoding") != Some("chunked") {
        let length = header("content-length").and_then(|length| length.parse().ok());
        return exactly(socket, length.ok_or("a body of unknown length")?).await;
    }
    let mut body = Vec::new();
    loop {
        let size = line(socket).await?;
        let size = usize::from_str_radix(&size, 16).map_err(|_| format!("a chunk of {size:?}"))?;
        body.extend(exactly(socket, size).await?);
        line(socket).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

async fn exactly(socket: &mut BufReader<TcpStream>, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; length];
    let read = socket.read_exact(&mut bytes).await;
    read.map_err(|error| format!("a body cut short: {error}"))?;
    Ok(bytes)
}

async fn line(socket: &mut BufReader<TcpStream>) -> Result<String, String> {
    let mut line = String::new();
    match socket.read_line(&mut line).await {
        Ok(0) => Err("the connection was closed".to_owned()),
        Ok(_) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
