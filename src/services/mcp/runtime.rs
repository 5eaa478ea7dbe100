//! The thread on which all connections to MCP servers live.
//!
//! The workers of the gateway come and go with their own runtimes, and none of them may be held up
//! by a connection; a connection outlives the requests that use it. So all of them are kept by one
//! thread, and workers only hold the handles.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

/// How long connections get to say goodbye when the gateway ends.
const FAREWELL: Duration = Duration::from_millis(900);

/// Runs the connections of all MCP services. They end, and with them the processes that were
/// started for them, within a second after this is dropped.
pub struct Runtime {
    tasks: Handle,
    stop: watch::Sender<bool>,
    /// A copy is in each task; the thread sees when the last is gone. Nothing is ever sent.
    alive: Option<mpsc::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// Starts the thread.
    pub fn start() -> Result<Runtime, io::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let tasks = runtime.handle().clone();
        let (stop, mut stopped) = watch::channel(false);
        let (alive, mut ended) = mpsc::channel(1);
        let thread = std::thread::Builder::new()
            .name("mcp".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    // An error means that the sender is gone, which is the same.
                    let _ = stopped.wait_for(|stop| *stop).await;
                    let _ = tokio::time::timeout(FAREWELL, ended.recv()).await;
                });
                runtime.shutdown_background();
            })?;
        Ok(Runtime {
            tasks,
            stop,
            alive: Some(alive),
            thread: Some(thread),
        })
    }

    pub(super) fn tasks(&self) -> Handle {
        self.tasks.clone()
    }

    /// Runs a task on the thread until it ends. It is told when it has to.
    pub(super) fn keep<F>(&self, task: impl FnOnce(watch::Receiver<bool>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(self.stop.subscribe());
        let alive = self.alive.clone();
        // The thread waits for it through `alive`.
        self.tasks.spawn(async move {
            task.await;
            drop(alive);
        });
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to report, and its end is bounded by `FAREWELL`.
            let _ = thread.join();
        }
    }
}
