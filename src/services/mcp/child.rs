//! A server that is a process of its own.
//!
//! It gets the few variables that programs need to run at all and those of the configuration: the
//! gateway's environment holds the keys of its upstreams. What it says on its standard error is
//! logged at `debug`, a bounded piece at a time.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;

use crate::secret::Secret;

/// Variables that a process inherits.
const INHERITED: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// How long a process may take to end once its input is closed.
const FAREWELL: Duration = Duration::from_millis(300);

/// Bytes of standard error in one line of the log.
const LOGGED: usize = 512;

/// A process, with all that it starts. They end when this is dropped.
pub(super) struct Process(Box<dyn ChildWrapper>);

impl Process {
    /// Starts `command`, and gives its output and its input.
    pub(super) fn start(
        service: &str,
        command: &[String],
        env: &[(String, Secret)],
        tasks: &Handle,
    ) -> io::Result<(Process, ChildStdout, ChildStdin)> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
        let mut wrap = CommandWrap::with_new(program, |process| {
            process.args(arguments).env_clear();
            process.envs(inherited());
            process.envs(env.iter().map(|(name, value)| (name, value.expose())));
            process
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        let mut process = Process(wrap.wrap(KillOnDrop).wrap(ProcessGroup::leader()).spawn()?);
        let broken = || io::Error::other("the process has no pipes");
        let output = process.0.stdout().take().ok_or_else(broken)?;
        let input = process.0.stdin().take().ok_or_else(broken)?;
        if let Some(errors) = process.0.stderr().take() {
            // It ends with the process, and nobody needs its end.
            tasks.spawn(log(service.to_owned(), errors));
        }
        Ok((process, output, input))
    }

    /// Waits a moment for the process, whose input is closed, and ends it.
    pub(super) async fn close(mut self) {
        let _ = tokio::time::timeout(FAREWELL, self.0.wait()).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that there is no process left.
        let _ = self.0.start_kill();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process needs the path and the home of the machine it runs on; none of it is a setting"
)]
fn inherited() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    INHERITED
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
}

/// Reads what a process says, so that it never waits for a reader.
async fn log(service: String, mut errors: impl AsyncRead + Unpin) {
    let mut piece = [0; LOGGED];
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        let said = String::from_utf8_lossy(&piece[..read]);
        tracing::debug!(
            service,
            said = said.trim_end(),
            "an MCP server wrote to standard error"
        );
    }
}
