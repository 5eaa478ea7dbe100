//! The scripted upstream: a bare TCP server that records what it is asked and plays one answer
//! after the other, faults included. No HTTP framework, so that nothing tidies the wire up.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::http::{Request, read_request};
use super::script::{Answer, Framing, Step};
use super::within;

/// What the upstream has seen so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    requests: usize,
    hangups: usize,
}

/// Makes an answer of a request.
type Echo = dyn Fn(&Request) -> Answer + Send;

struct State {
    requests: Vec<Request>,
    script: Vec<Answer>,
    /// What answers in place of the script.
    echo: Option<Box<Echo>>,
    played: usize,
}

struct Shared {
    state: Mutex<State>,
    seen: watch::Sender<Seen>,
}

/// A running upstream. Dropping it stops it.
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// The accepting task, and through it the connections: they end with this value.
    _server: JoinSet<()>,
}

impl Upstream {
    /// An upstream that says `done` until it is given a script.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                requests: Vec::new(),
                script: Vec::new(),
                echo: None,
                played: 0,
            }),
            seen: watch::Sender::new(Seen::default()),
        });
        let mut server = JoinSet::new();
        server.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            _server: server,
        }
    }

    /// The same, with a script.
    pub(crate) async fn playing(answers: impl IntoIterator<Item = Answer>) -> Self {
        let upstream = Self::start().await;
        upstream.play(answers);
        upstream
    }

    /// The same, with an answer for each request, whatever the order in which they come.
    pub(crate) async fn answering(echo: impl Fn(&Request) -> Answer + Send + 'static) -> Self {
        let upstream = Self::start().await;
        let mut state = upstream.shared.state.lock().expect("no panic while held");
        state.echo = Some(Box::new(echo));
        drop(state);
        upstream
    }

    /// Forgets what was asked so far and plays these answers from now on; the last one repeats.
    pub(crate) fn play(&self, answers: impl IntoIterator<Item = Answer>) {
        let mut state = self.shared.state.lock().expect("no panic while held");
        state.script = answers.into_iter().collect();
        state.played = 0;
        state.requests.clear();
        self.shared.seen.send_replace(Seen::default());
    }

    /// The `base_url` to configure.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Host and port, which no caller may ever see.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    /// What was asked since the script began.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let state = self.shared.state.lock().expect("no panic while held");
        state.requests.clone()
    }

    /// The only request since the script began.
    pub(crate) fn only_request(&self) -> Request {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "the upstream was asked once");
        requests.remove(0)
    }

    /// Waits until `count` requests have come in.
    pub(crate) async fn asked(&self, count: usize) {
        let mut seen = self.shared.seen.subscribe();
        within(
            "a request to the upstream",
            seen.wait_for(|seen| seen.requests >= count),
        )
        .await
        .expect("the upstream runs");
    }

    /// Waits until the gateway has closed a connection in the middle of an answer.
    pub(crate) async fn hung_up(&self) {
        let mut seen = self.shared.seen.subscribe();
        within(
            "the gateway to hang up",
            seen.wait_for(|seen| seen.hangups > 0),
        )
        .await
        .expect("the upstream runs");
    }
}

/// A `base_url` at which nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    format!("http://{address}/v1")
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        let shared = Arc::clone(&shared);
        connections.spawn(async move { serve(socket, &shared).await });
    }
}

/// Answers the requests of one connection until either side closes it.
async fn serve(socket: TcpStream, shared: &Shared) {
    let (reader, mut writer) = socket.into_split();
    let mut reader = BufReader::new(reader);
    while let Ok(Some(request)) = read_request(&mut reader).await {
        let answer = shared.record(request);
        let end = tokio::select! {
            biased;
            played = play(&answer, &mut writer) => played.unwrap_or(End::Close),
            () = peer_closed(&mut reader) => {
                shared.seen.send_modify(|seen| seen.hangups += 1);
                End::Close
            }
        };
        match end {
            End::KeepAlive => {}
            End::Close => return,
            End::Reset => {
                // An orderly half-close must not go out first.
                let _ = writer.as_ref().set_zero_linger();
                writer.forget();
                return;
            }
        }
    }
}

/// What becomes of the connection after an answer.
enum End {
    KeepAlive,
    Close,
    Reset,
}

impl Shared {
    fn record(&self, request: Request) -> Answer {
        let mut state = self.state.lock().expect("no panic while held");
        let streamed = serde_json::from_slice::<serde_json::Value>(&request.body)
            .is_ok_and(|body| body["stream"] == true);
        let echoed = state.echo.as_ref().map(|echo| echo(&request));
        state.requests.push(request);
        let answer = match (echoed, state.script.len()) {
            (Some(answer), _) => answer,
            (None, 0) if streamed => Answer::streamed_text("done"),
            (None, 0) => Answer::text("done"),
            (None, count) => state.script[state.played.min(count - 1)].clone(),
        };
        state.played += 1;
        self.seen.send_modify(|seen| seen.requests += 1);
        answer
    }
}

/// Resolves once the peer has closed its side. Bytes that come in meanwhile are left alone.
async fn peer_closed(reader: &mut BufReader<OwnedReadHalf>) {
    match reader.fill_buf().await {
        Ok([]) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

/// Plays an answer to its end.
async fn play(answer: &Answer, writer: &mut OwnedWriteHalf) -> io::Result<End> {
    match &answer.raw {
        Some(bytes) => writer.write_all(bytes).await?,
        None => writer.write_all(head(answer).as_bytes()).await?,
    }
    for step in &answer.steps {
        match step {
            Step::Write(bytes) => write_part(answer.framing, bytes, writer).await?,
            Step::Wait(gate) => gate.pass().await,
            Step::Stall => std::future::pending().await,
            Step::Babble(bytes) => babble(answer.framing, bytes, writer).await?,
            Step::Cut => return Ok(End::Close),
            Step::Reset => return Ok(End::Reset),
        }
    }
    if answer.framing == Framing::Chunked {
        writer.write_all(b"0\r\n\r\n").await?;
    }
    writer.flush().await?;
    Ok(match answer.framing {
        Framing::Length | Framing::Chunked => End::KeepAlive,
        Framing::Close => End::Close,
    })
}

/// Says the same thing over and over, as a proxy does that keeps a dead stream open.
async fn babble(framing: Framing, bytes: &[u8], writer: &mut OwnedWriteHalf) -> io::Result<()> {
    let mut rhythm = tokio::time::interval(Duration::from_millis(40));
    loop {
        rhythm.tick().await;
        write_part(framing, bytes, writer).await?;
    }
}

async fn write_part(framing: Framing, bytes: &[u8], writer: &mut OwnedWriteHalf) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if framing == Framing::Chunked {
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        writer.write_all(&framed).await?;
    } else {
        writer.write_all(bytes).await?;
    }
    writer.flush().await
}

fn head(answer: &Answer) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
    for (name, value) in &answer.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    match answer.framing {
        Framing::Length => {
            let length: usize = answer
                .steps
                .iter()
                .map(|step| match step {
                    Step::Write(bytes) => bytes.len(),
                    _ => 0,
                })
                .sum();
            let _ = write!(head, "content-length: {length}\r\n");
        }
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::Close => head.push_str("connection: close\r\n"),
    }
    head.push_str("\r\n");
    head
}
