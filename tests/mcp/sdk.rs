//! A server of the official SDK, in this process.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Peer, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::service::PATIENCE;

/// What the server offers and what was called.
#[derive(Default)]
pub(crate) struct Desk {
    tools: Mutex<Vec<String>>,
    /// The parameters of each call.
    pub(crate) calls: Mutex<Vec<Value>>,
    /// The clients.
    peers: Mutex<Vec<Peer<RoleServer>>>,
}

impl Desk {
    /// A desk with these tools. `grow` adds one, `progress` tells of its progress, others answer.
    pub(crate) fn with(tools: &[&str]) -> Arc<Desk> {
        let desk = Desk::default();
        desk.set(tools);
        Arc::new(desk)
    }

    fn set(&self, tools: &[&str]) {
        let tools = tools.iter().copied().map(str::to_owned).collect();
        *self.tools.lock().expect("no test panics in between") = tools;
    }

    /// Offers others from now on, and tells the clients.
    pub(crate) async fn change(&self, tools: &[&str]) {
        self.set(tools);
        let peers = self
            .peers
            .lock()
            .expect("no test panics in between")
            .clone();
        for peer in peers {
            // A client may be gone.
            let _ = peer.notify_tool_list_changed().await;
        }
    }
}

/// The server, as long as this lives.
pub(crate) struct Sdk {
    pub(crate) url: String,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Sdk {
    /// Serves a desk.
    pub(crate) fn start(desk: &Arc<Desk>) -> Sdk {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        Sdk {
            url: format!("http://{address}/mcp"),
            address,
            runtime: Some(serve(desk, listener)),
        }
    }

    /// Ends the server with all its connections and serves another desk on the same port.
    pub(crate) fn start_again(&mut self, desk: &Arc<Desk>) {
        self.stop();
        let listener = std::net::TcpListener::bind(self.address);
        self.runtime = Some(serve(desk, listener.expect("the port is free again")));
    }

    fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // On another thread, since a runtime is not waited for within one.
            let end = || runtime.shutdown_timeout(PATIENCE);
            std::thread::scope(|threads| threads.spawn(end).join()).expect("it ends");
        }
    }
}

impl Drop for Sdk {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(desk: &Arc<Desk>, listener: std::net::TcpListener) -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime can be built");
    let desk = Arc::clone(desk);
    let service = StreamableHttpService::new(
        move || Ok(Served(Arc::clone(&desk))),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let app = Router::new().nest_service("/mcp", service);
    listener.set_nonblocking(true).expect("a socket can be so");
    runtime.spawn(async move {
        let listener = TcpListener::from_std(listener).expect("it is a listener");
        axum::serve(listener, app).await
    });
    runtime
}

struct Served(Arc<Desk>);

impl ServerHandler for Served {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools();
        ServerConfig::new(tools.enable_tool_list_changed().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let peers = self.0.peers.lock();
        peers.expect("no test panics in between").push(context.peer);
        let names = self
            .0
            .tools
            .lock()
            .expect("no test panics in between")
            .clone();
        let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
        let Value::Object(schema) = schema else {
            return Ok(ListToolsResult::default());
        };
        let tool = |name: String| {
            let hints = ToolAnnotations::new().read_only(name == "look");
            Tool::new(name, "A tool.", schema.clone()).with_annotations(hints)
        };
        let tools = names.into_iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut call = serde_json::to_value(&params).expect("parameters are JSON");
        call["_meta"] = serde_json::to_value(&context.meta).expect("so is what comes with them");
        let calls = self.0.calls.lock();
        calls.expect("no test panics in between").push(call);
        if params.name == "grow" {
            self.0.set(&["grow", "grown"]);
            let told = context.peer.notify_tool_list_changed().await;
            told.expect("the client is there");
        }
        let token = context.meta.get_progress_token();
        for step in token.iter().filter(|_| params.name == "progress") {
            let progress = ProgressNotificationParam::new((*step).clone(), 0.5);
            let told = context.peer.notify_progress(progress).await;
            told.expect("the client is there");
        }
        let done = ContentBlock::text(format!("{} done", params.name));
        Ok(CallToolResult::success(vec![done]).into())
    }
}
