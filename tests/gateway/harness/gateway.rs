//! Handback as a child process: writes its configuration, waits for the ready line, keeps what it
//! says on standard error, and ends it when the test is over.

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;

use tokio::sync::{oneshot, watch};

use super::within;

/// The key with which Handback signs in at the scripted upstream.
pub(crate) const UPSTREAM_KEY: &str = "upstream-secret";
/// The agent's name, which callers send as `model`.
pub(crate) const AGENT: &str = "support";
/// The name under which the upstream knows the agent's model.
pub(crate) const UPSTREAM_MODEL: &str = "gpt-mock";

/// The configuration of a gateway that is about to start: one upstream, one agent, and what a
/// test adds to them as lines of TOML.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    base_url: String,
    timeouts: Option<String>,
    keyless: bool,
    moved: Option<String>,
    retries: u32,
    server: String,
    upstream: String,
    agent: String,
    tables: String,
    log: Option<String>,
}

impl Setup {
    /// An agent whose upstream is at `base_url`.
    pub(crate) fn with_upstream(base_url: &str) -> Self {
        Self {
            base_url: base_url.to_owned(),
            ..Self::default()
        }
    }

    /// Adds lines to `[server]`.
    pub(crate) fn server(mut self, lines: &str) -> Self {
        self.server.push_str(lines);
        self
    }

    /// Adds lines to the upstream's table.
    pub(crate) fn upstream(mut self, lines: &str) -> Self {
        self.upstream.push_str(lines);
        self
    }

    /// Replaces the upstream's time-outs, which are generous otherwise.
    pub(crate) fn timeouts(mut self, table: &str) -> Self {
        self.timeouts = Some(table.to_owned());
        self
    }

    /// Leaves the gateway's own key for the upstream out.
    pub(crate) fn keyless(mut self) -> Self {
        self.keyless = true;
        self
    }

    /// How often a model request is repeated; never otherwise.
    pub(crate) fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Serves the agent's model elsewhere, by an upstream of the further tables.
    pub(crate) fn moved(mut self, upstream: &str) -> Self {
        self.moved = Some(upstream.to_owned());
        self
    }

    /// Adds lines to the agent's table.
    pub(crate) fn agent(mut self, lines: &str) -> Self {
        self.agent.push_str(lines);
        self
    }

    /// Puts the upstream `spare` behind the agent's own, with these lines in its table.
    pub(crate) fn fallback(self, base_url: &str, lines: &str) -> Self {
        self.agent("fallbacks = [{ upstream = \"spare\", model = \"spare-model\" }]\n")
            .tables(&format!(
                "[[upstreams]]\nname = \"spare\"\nbase_url = \"{base_url}\"\nretries = 0\n{lines}"
            ))
    }

    /// What is logged, where that is not the usual.
    pub(crate) fn log(mut self, filter: &str) -> Self {
        self.log = Some(filter.to_owned());
        self
    }

    /// Adds whole tables at the end of the file.
    pub(crate) fn tables(mut self, lines: &str) -> Self {
        self.tables.push_str(lines);
        self
    }

    /// Starts the gateway and waits until it is ready.
    pub(crate) async fn start(&self) -> Gateway {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("gateway.toml");
        std::fs::write(&file, self.toml()).expect("the configuration is written");
        Gateway::spawn(&file, &[], self.log.as_deref(), folder).await
    }

    fn toml(&self) -> String {
        let timeouts = self
            .timeouts
            .as_deref()
            .unwrap_or(r#"{ connect = "5s", first_byte = "20s", idle = "20s" }"#);
        let api_key = if self.keyless {
            String::new()
        } else {
            format!("api_key = \"{UPSTREAM_KEY}\"")
        };
        format!(
            r#"[server]
listen = "127.0.0.1:0"
{server}
[admin]
listen = "127.0.0.1:0"

[[upstreams]]
name = "model"
base_url = "{base_url}"
{api_key}
retries = {retries}
timeouts = {timeouts}
{upstream}
[[agents]]
name = "{AGENT}"
upstream = "{served}"
model = "{UPSTREAM_MODEL}"
{agent}
{tables}
"#,
            server = self.server,
            retries = self.retries,
            served = self.moved.as_deref().unwrap_or("model"),
            base_url = self.base_url,
            upstream = self.upstream,
            agent = self.agent,
            tables = self.tables,
        )
    }
}

/// A running gateway. Dropping it ends the process.
pub(crate) struct Gateway {
    child: Child,
    lines: watch::Sender<Vec<String>>,
    /// Resolves when standard error is closed, which is when the process ends.
    silence: oneshot::Receiver<Infallible>,
    reader: Option<JoinHandle<()>>,
    address: SocketAddr,
    admin: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Gateway {
    /// Starts the gateway with a copy of the project's own sample file, on free ports.
    pub(crate) async fn from_sample_file() -> Self {
        let project = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let sample = std::fs::read_to_string(project.join("gateway.toml"))
            .expect("the project has a gateway.toml");
        // The sample's fixed admin port may be taken on the machine that runs the tests, and the
        // copy lies elsewhere.
        let copy = sample
            .replace("127.0.0.1:9090", "127.0.0.1:0")
            .replace("\"fixtures/", &format!("\"{}/fixtures/", project.display()));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("gateway.toml");
        std::fs::write(&file, copy).expect("the copy is written");
        Self::spawn(&file, &["--listen", "127.0.0.1:0"], None, folder).await
    }

    async fn spawn(
        file: &Path,
        arguments: &[&str],
        log: Option<&str>,
        folder: tempfile::TempDir,
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_handback"))
            .arg("serve")
            .arg("--config")
            .arg(file)
            .args(arguments)
            .envs(log.map(|filter| ("HANDBACK_LOG", filter)))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the handback binary starts");
        let lines = watch::Sender::new(Vec::new());
        let (announce, announced) = oneshot::channel();
        let (speaking, silence) = oneshot::channel();
        let stderr = child.stderr.take().expect("standard error is piped");
        let reader = keep_lines(stderr, lines.clone(), announce, speaking);
        let ready = within("the ready line", announced).await;
        let Ok((address, admin)) = ready else {
            let _ = child.kill();
            let _ = child.wait();
            panic!(
                "the gateway ended before it was ready; it said:\n{}",
                lines.borrow().join("\n")
            );
        };
        Self {
            child,
            lines,
            silence,
            reader: Some(reader),
            address,
            admin,
            _folder: folder,
        }
    }

    /// Where callers send their requests, without `/v1`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The socket callers connect to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where health and metrics are.
    pub(crate) fn admin_url(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// Asks the process to stop, as a service manager does.
    pub(crate) fn terminate(&self) {
        let status = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .expect("the kill command runs");
        assert!(status.success(), "the process can be signalled");
    }

    /// Ends the process as a machine that fails does: with SIGKILL, at this very moment.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Waits until the process has ended, and gives its exit code.
    pub(crate) async fn ended(mut self) -> Option<i32> {
        let _ = within("the gateway to end", &mut self.silence).await;
        let status = self.child.wait();
        status.expect("a child can be waited for").code()
    }

    /// Everything the process says on standard error until it is asked to stop.
    pub(crate) async fn log_of_its_life(mut self) -> String {
        self.terminate();
        let _ = within("the gateway to end", &mut self.silence).await;
        self.log()
    }

    /// Everything the process has said on standard error so far.
    pub(crate) fn log(&self) -> String {
        self.lines.borrow().join("\n")
    }

    /// Waits until the process has said a line with these words.
    pub(crate) async fn said(&self, words: &str) {
        self.said_often(words, 1).await;
    }

    /// Waits until the process has said `count` lines with these words.
    pub(crate) async fn said_often(&self, words: &str, count: usize) {
        let mut lines = self.lines.subscribe();
        let often = |lines: &Vec<String>| {
            let said = lines.iter().filter(|line| line.contains(words));
            said.count() >= count
        };
        let _ = within("a line of the log", lines.wait_for(often)).await;
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Reads standard error on a thread of its own, so that the child never blocks on a full pipe,
/// and announces both addresses once the ready line is there.
#[expect(
    clippy::disallowed_methods,
    reason = "the pipe is read while the test waits for other things; the gateway joins the thread"
)]
fn keep_lines(
    stderr: ChildStderr,
    lines: watch::Sender<Vec<String>>,
    announce: oneshot::Sender<(SocketAddr, SocketAddr)>,
    speaking: oneshot::Sender<Infallible>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut announce = Some(announce);
        let mut admin = None;
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            admin = admin.or_else(|| address_after("admin on http://", &line));
            let ready = address_after("listening on http://", &line);
            lines.send_modify(|lines| lines.push(line));
            if let (Some(address), Some(admin)) = (ready, admin)
                && let Some(announce) = announce.take()
            {
                let _ = announce.send((address, admin));
            }
        }
        drop(speaking);
    })
}

fn address_after(words: &str, line: &str) -> Option<SocketAddr> {
    line.strip_prefix(words)?.trim().parse().ok()
}
