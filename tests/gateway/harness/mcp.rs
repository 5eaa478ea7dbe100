//! An MCP server of the official SDK, over streamable HTTP: it holds calls, changes its list, and
//! ends or begins anew when a test says so.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Peer, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::script::Gate;
use super::{PATIENCE, within};

/// A running server. Dropping it ends it with all its connections.
pub(crate) struct McpServer {
    address: SocketAddr,
    desk: Arc<Desk>,
    runtime: Option<Runtime>,
}

#[derive(Default)]
struct Desk {
    tools: Mutex<Vec<String>>,
    /// The parameters of each call.
    calls: watch::Sender<Vec<Value>>,
    /// What calls wait for.
    gate: Mutex<Option<Gate>>,
    clients: Mutex<Vec<Peer<RoleServer>>>,
}

impl McpServer {
    /// A server with these tools; `look` says that it only reads.
    pub(crate) fn start(tools: &[&str]) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut server = Self {
            address: listener.local_addr().expect("a bound socket"),
            desk: Arc::default(),
            runtime: None,
        };
        server.desk.offer(tools);
        server.serve(listener);
        server
    }

    /// The service `crm` as a section of the configuration.
    pub(crate) fn toml(&self) -> String {
        toml(&self.address.to_string())
    }

    /// Calls wait for the gate from now on.
    pub(crate) fn hold(&self, gate: &Gate) {
        *self.desk.gate.lock().expect("no panic while held") = Some(gate.clone());
    }

    /// Offers other tools from now on, and says so.
    pub(crate) async fn change(&self, tools: &[&str]) {
        self.desk.offer(tools);
        let clients = self
            .desk
            .clients
            .lock()
            .expect("no panic while held")
            .clone();
        for client in clients {
            // One may be gone.
            let _ = client.notify_tool_list_changed().await;
        }
    }

    /// The parameters of all calls so far.
    pub(crate) fn calls(&self) -> Vec<Value> {
        self.desk.calls.borrow().clone()
    }

    /// Waits until so many calls have come in.
    pub(crate) async fn called(&self, count: usize) {
        let mut calls = self.desk.calls.subscribe();
        let called = calls.wait_for(|calls| calls.len() >= count);
        within("a call of the MCP server", called)
            .await
            .expect("the server's desk is there");
    }

    /// Ends the server with all its connections and sessions.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // On another thread, since a runtime is not waited for within one.
            let end = || runtime.shutdown_timeout(PATIENCE);
            std::thread::scope(|threads| threads.spawn(end).join()).expect("it ends");
        }
    }

    /// Starts it again on the same port. It knows no session of before.
    pub(crate) fn start_again(&mut self) {
        let listener = std::net::TcpListener::bind(self.address);
        self.serve(listener.expect("the port is free again"));
    }

    fn serve(&mut self, listener: std::net::TcpListener) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime can be built");
        let desk = Arc::clone(&self.desk);
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
        self.runtime = Some(runtime);
    }
}

/// The service `crm` behind an MCP server at `authority`.
pub(crate) fn toml(authority: &str) -> String {
    format!("[[services]]\nname = \"crm\"\nkind = \"mcp\"\nurl = \"http://{authority}/mcp\"\n")
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Desk {
    fn offer(&self, tools: &[&str]) {
        let tools = tools.iter().copied().map(str::to_owned).collect();
        *self.tools.lock().expect("no panic while held") = tools;
    }
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
        let clients = self.0.clients.lock();
        clients.expect("no panic while held").push(context.peer);
        let names = self.0.tools.lock().expect("no panic while held").clone();
        let schema = json!({"type": "object", "properties": {"q": {}}});
        let tool = |name: String| {
            let hints = ToolAnnotations::new().read_only(name == "look");
            let schema = schema.as_object().cloned().unwrap_or_default();
            Tool::new(name, "A tool.", schema).with_annotations(hints)
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
        self.0.calls.send_modify(|calls| calls.push(call));
        let gate = self.0.gate.lock().expect("no panic while held").clone();
        if let Some(gate) = gate {
            gate.pass().await;
        }
        if !self
            .0
            .tools
            .lock()
            .expect("no panic while held")
            .contains(&params.name.to_string())
        {
            return Err(ErrorData::invalid_params("no such tool", None));
        }
        let done = ContentBlock::text(format!("{} done", params.name));
        Ok(CallToolResult::success(vec![done]).into())
    }
}
