//! What a hidden round adds to the time that a caller waits, beyond the time of the model and of
//! the tool: `cargo bench --bench hidden_round`.
//!
//! A model and a tool that answer at once, a gateway in a process of its own and a caller, all over
//! loopback and one request at a time. A plain request asks the model once; one with a hidden round
//! asks it twice and the tool once. The same is measured with a journal. The difference of the two, less one round trip to the model and
//! one to the tool as they are without the gateway, is the gateway's. All are measured in
//! turn, so that whatever else the machine does falls on each of them alike.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark reads the clock, prints what it measures, and stops if it measures the wrong thing"
)]

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// Requests of each kind that are measured.
const REQUESTS: usize = 2_000;
/// Requests of each kind before that.
const WARM_UP: usize = 200;

/// What the caller says where the model is to call the tool first.
const HIDDEN: &str = "look it up";
const CALLS: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"q\":\"rain\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
const DONE: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"It is dry."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const FOUND: &str = r#"{"found":"it is dry"}"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    runtime.block_on(measure());
}

async fn measure() {
    let mut peers = JoinSet::new();
    let model = serve(&mut peers, model).await;
    let tool = serve(&mut peers, |_| FOUND).await;
    let place = tempfile::tempdir().expect("a temporary folder");
    let journal = format!(
        "[continuation]\nkeys = [\"{KEY}\"]\njournal = \"{}\"\n",
        place.path().display()
    );
    let (_gateway, address) = start(&mut peers, model, tool, "").await;
    let (_other, kept) = start(&mut peers, model, tool, &journal).await;
    let mut kinds = [
        Kind::new("a plain request", address, &chat("hello"), "dry.").await,
        Kind::new("one with a hidden round", address, &chat(HIDDEN), "dry.").await,
        Kind::new("the same with a journal", kept, &chat(HIDDEN), "dry.").await,
        Kind::new("the model alone", model, &chat("hello"), "dry.").await,
        Kind::new("the tool alone", tool, r#"{"q":"rain"}"#, "found").await,
    ];
    for round in 0..WARM_UP + REQUESTS {
        for kind in &mut kinds {
            let time = kind.ask().await;
            if round >= WARM_UP {
                kind.took.push(time);
            }
        }
    }
    let [plain, hidden, kept, model, tool] = kinds.map(Kind::median);
    let added = hidden.saturating_sub(plain + model + tool);
    println!(
        "a hidden round adds {added:?} beyond the model's and the tool's own time (wanted: less than 1ms)"
    );
    let added = kept.saturating_sub(plain + model + tool);
    println!("with a journal it adds {added:?}");
}

/// One of the things that are measured: the same request again and again on one connection.
struct Kind {
    name: &'static str,
    socket: BufReader<TcpStream>,
    request: Vec<u8>,
    /// What its answer holds.
    expected: &'static str,
    took: Vec<Duration>,
}

impl Kind {
    async fn new(
        name: &'static str,
        address: SocketAddr,
        body: &str,
        expected: &'static str,
    ) -> Kind {
        let socket = TcpStream::connect(address).await.expect("the peer listens");
        socket.set_nodelay(true).expect("a socket can be so");
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: peer\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        Kind {
            name,
            socket: BufReader::new(socket),
            request: (head + body).into_bytes(),
            expected,
            took: Vec::with_capacity(REQUESTS),
        }
    }

    async fn ask(&mut self) -> Duration {
        let begun = Instant::now();
        let sent = self.socket.write_all(&self.request).await;
        sent.expect("the peer reads");
        let body = read(&mut self.socket).await.expect("the peer answers");
        let took = begun.elapsed();
        assert!(body.contains(self.expected), "{}: {body}", self.name);
        took
    }

    fn median(mut self) -> Duration {
        self.took.sort_unstable();
        let median = self.took[self.took.len() / 2];
        println!("{:<26} {median:?}", self.name);
        median
    }
}

/// What the model answers to a request.
fn model(body: &str) -> &'static str {
    if body.contains(HIDDEN) && !body.contains(r#""role":"tool""#) {
        CALLS
    } else {
        DONE
    }
}

fn chat(text: &str) -> String {
    format!(
        r#"{{"model":"support","stream":false,"messages":[{{"role":"user","content":"{text}"}}]}}"#
    )
}

/// Serves answers that are there at once.
async fn serve(peers: &mut JoinSet<()>, answer: fn(&str) -> &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    peers.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let _ = socket.set_nodelay(true);
            connections.spawn(async move {
                let mut socket = BufReader::new(socket);
                while let Some(body) = read(&mut socket).await {
                    let body = answer(&body);
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    if socket.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The body of the next message on a connection; `None` at its end.
async fn read(socket: &mut BufReader<TcpStream>) -> Option<String> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if socket.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length is a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    String::from_utf8(body).ok()
}

/// Starts a gateway before the two. It ends when the child is dropped.
async fn start(
    peers: &mut JoinSet<()>,
    model: SocketAddr,
    tool: SocketAddr,
    further: &str,
) -> (Child, SocketAddr) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("gateway.toml");
    let settings = format!(
        r#"[server]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[[upstreams]]
name = "model"
base_url = "http://{model}/v1"
[[services]]
name = "kb"
kind = "http"
[[services.tools]]
name = "look"
method = "POST"
url = "http://{tool}/look"
parameters = {{ properties = {{ q = {{ type = "string" }} }} }}
[[agents]]
name = "support"
upstream = "model"
model = "m"
services = ["kb"]
{further}"#
    );
    std::fs::write(&file, settings).expect("the configuration is written");
    let mut gateway = Command::new(env!("CARGO_BIN_EXE_handback"))
        .arg("serve")
        .arg("--config")
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the handback binary starts");
    let stderr = gateway.stderr.take().expect("standard error is piped");
    let mut lines = BufReader::new(stderr).lines();
    let address = loop {
        let line = lines.next_line().await.expect("the log is text");
        let line = line.expect("the gateway becomes ready");
        if let Some(address) = line.strip_prefix("listening on http://") {
            break address.parse().expect("an address");
        }
    };
    // It logs each request, as in production; somebody has to read it.
    peers.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (gateway, address)
}
