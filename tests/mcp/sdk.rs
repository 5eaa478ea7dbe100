//! A server of the official SDK over streamable HTTP: it holds calls, changes its list, and ends
//! or begins anew when a test says so.

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
use tokio::sync::{Semaphore, watch};

use super::host::Host;

/// The server, as long as this lives.
pub(crate) struct Sdk {
    host: Host,
    pub(crate) desk: Arc<Desk>,
}

/// What it offers, and what came in.
pub(crate) struct Desk {
    tools: Mutex<Vec<String>>,
    /// The parameters of each call.
    calls: watch::Sender<Vec<Value>>,
    clients: Mutex<Vec<Peer<RoleServer>>>,
    /// What calls need one of: as many as there can be, until a test takes them away.
    pub(crate) permits: Semaphore,
}

impl Sdk {
    /// A server with these tools: `grow` adds one, `progress` tells of its progress, others
    /// answer. `look` says that it only reads.
    pub(crate) fn start(tools: &[&str]) -> Sdk {
        let desk = Arc::new(Desk {
            tools: Mutex::default(),
            calls: watch::Sender::default(),
            clients: Mutex::default(),
            permits: Semaphore::new(Semaphore::MAX_PERMITS),
        });
        desk.offer(tools);
        let served = Arc::clone(&desk);
        let host = Host::start(move || {
            let desk = Arc::clone(&served);
            let service = StreamableHttpService::new(
                move || Ok(Served(Arc::clone(&desk))),
                Arc::new(LocalSessionManager::default()),
                StreamableHttpServerConfig::default(),
            );
            Router::new().nest_service("/mcp", service)
        });
        Sdk { host, desk }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.host.address)
    }

    /// Offers other tools from now on, and tells the clients.
    pub(crate) async fn change(&self, tools: &[&str]) {
        self.desk.offer(tools);
        let clients = self.desk.clients.lock().expect("nothing panicked").clone();
        for client in clients {
            // One may be gone.
            let _ = client.notify_tool_list_changed().await;
        }
    }

    /// The parameters of all calls so far.
    pub(crate) fn calls(&self) -> watch::Receiver<Vec<Value>> {
        self.desk.calls.subscribe()
    }

    /// Ends it with all its connections.
    pub(crate) fn stop(&mut self) {
        self.host.stop();
    }

    /// Starts it again on the same port. It knows no session of before.
    pub(crate) fn start_again(&mut self) {
        self.host.start_again();
    }
}

impl Desk {
    fn offer(&self, tools: &[&str]) {
        let tools = tools.iter().copied().map(str::to_owned).collect();
        *self.tools.lock().expect("nothing panicked") = tools;
    }

    fn offered(&self) -> Vec<String> {
        self.tools.lock().expect("nothing panicked").clone()
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
        clients.expect("nothing panicked").push(context.peer);
        let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
        let schema = schema.as_object().cloned().unwrap_or_default();
        let tool = |name: String| {
            let hints = ToolAnnotations::new().read_only(name == "look");
            Tool::new(name, "A tool.", schema.clone()).with_annotations(hints)
        };
        let tools = self.0.offered().into_iter().map(tool).collect();
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
        let permit = self.0.permits.acquire().await;
        drop(permit.expect("it is never closed"));
        if !self.0.offered().contains(&params.name.to_string()) {
            return Err(ErrorData::invalid_params("no such tool", None));
        }
        if params.name == "grow" {
            self.0.offer(&["grow", "grown"]);
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
