//! A web application in this process, on a port of its own, which a test can end with all its
//! connections and start again.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use tokio::runtime::Runtime;

/// How long connections may take to end.
const ENDING: Duration = Duration::from_secs(30);

/// A running application. Dropping it ends it with all its connections.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    app: Box<dyn Fn() -> Router + Send + Sync>,
    runtime: Option<Runtime>,
}

impl Host {
    /// Serves an application on a free port. `app` makes it, anew for each start.
    pub(crate) fn start(app: impl Fn() -> Router + Send + Sync + 'static) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        Host {
            address: listener.local_addr().expect("it has an address"),
            runtime: Some(serve(app(), listener)),
            app: Box::new(app),
        }
    }

    /// Ends it.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // On another thread, since a runtime is not waited for within one.
            let end = || runtime.shutdown_timeout(ENDING);
            std::thread::scope(|threads| threads.spawn(end).join()).expect("it ends");
        }
    }

    /// Ends it and starts it again on the same port.
    pub(crate) fn start_again(&mut self) {
        self.stop();
        let listener = TcpListener::bind(self.address).expect("the port is free again");
        self.runtime = Some(serve((self.app)(), listener));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(app: Router, listener: TcpListener) -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime can be built");
    listener.set_nonblocking(true).expect("a socket can be so");
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("it is a listener");
        axum::serve(listener, app).await
    });
    runtime
}
