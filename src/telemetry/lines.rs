//! Log lines on their way to standard error.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a line may wait for others.
const GATHER: Duration = Duration::from_millis(50);
/// Bytes that may wait; further lines are dropped and counted, since a request must not wait for
/// a reader of its log.
const WAITING_BYTES: usize = 4 * 1024 * 1024;

/// Log lines on their way to standard error.
#[derive(Clone, Debug, Default)]
pub struct LogLines(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    text: Vec<u8>,
    dropped: u64,
}

impl LogLines {
    /// Writes what is waiting. Called when the process ends.
    pub fn flush(&self) {
        let waiting = std::mem::take(&mut *self.lock());
        write_out(&waiting);
    }

    /// Starts the thread that writes.
    pub(super) fn start(&self) {
        let lines = self.clone();
        let thread = std::thread::Builder::new().name("log".to_owned());
        // Without the thread, lines wait until the end of the process.
        let _ = thread.spawn(move || lines.write_forever());
    }

    fn write_forever(&self) {
        loop {
            let mut waiting = self.lock();
            while waiting.text.is_empty() {
                waiting = self
                    .0
                    .wake
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            // Nobody notifies while there is text: this is a pause in which more of it gathers.
            let (mut waiting, _) = self
                .0
                .wake
                .wait_timeout(waiting, GATHER)
                .unwrap_or_else(PoisonError::into_inner);
            let out = std::mem::take(&mut *waiting);
            drop(waiting);
            write_out(&out);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_out(waiting: &Waiting) {
    let mut out = std::io::stderr().lock();
    // There is nowhere to report it to that standard error cannot be written.
    let _ = out.write_all(&waiting.text);
    if waiting.dropped > 0 {
        let _ = writeln!(
            out,
            "{{\"level\":\"WARN\",\"message\":\"log lines dropped\",\"lines\":{}}}",
            waiting.dropped
        );
    }
}

impl Write for LogLines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let mut waiting = self.lock();
        let first = waiting.text.is_empty();
        if waiting.text.len() + line.len() > WAITING_BYTES {
            waiting.dropped += 1;
        } else {
            waiting.text.extend_from_slice(line);
        }
        drop(waiting);
        if first {
            self.0.wake.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
