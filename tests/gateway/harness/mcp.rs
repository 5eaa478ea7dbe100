//! An MCP server of the official SDK, behind the service `crm`.

#[path = "../../mcp/host.rs"]
mod host;
#[path = "../../mcp/sdk.rs"]
mod sdk;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::within;

pub(crate) use sdk::Sdk as McpServer;

impl McpServer {
    /// Calls wait from now on.
    pub(crate) fn hold(&self) {
        self.desk.permits.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Lets one pass.
    pub(crate) fn let_pass(&self) {
        self.desk.permits.add_permits(1);
    }

    /// Waits until so many calls have come in.
    pub(crate) async fn called(&self, count: usize) {
        let mut calls = self.calls();
        let called = calls.wait_for(|calls| calls.len() >= count);
        let called = within("a call of the MCP server", called).await;
        called.expect("the server is there");
    }

    /// The names of the tools that were called.
    pub(crate) fn names(&self) -> Vec<Value> {
        let calls = self.calls();
        let calls = calls.borrow();
        calls.iter().map(|call| call["name"].clone()).collect()
    }
}

/// The service `crm` behind an MCP server at `url`.
pub(crate) fn toml(url: &str) -> String {
    format!("[[services]]\nname = \"crm\"\nkind = \"mcp\"\nurl = \"{url}\"\n")
}
