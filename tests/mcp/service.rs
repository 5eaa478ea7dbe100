//! The side of the gateway: services and calls of their tools.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use handback::secret::Secret;
use handback::services::mcp::{McpService, Runtime};
use handback::services::settings::{Glob, McpSettings, McpTransport};
use handback::services::{Invocation, Outcome, Reply, Service};

/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where the calls stand in a trace.
pub(crate) const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A service and the thread that it lives on.
pub(crate) struct Tools {
    pub(crate) service: Arc<McpService>,
    _runtime: Runtime,
}

impl Tools {
    /// A service that has just been started.
    pub(crate) fn start(settings: &McpSettings) -> Tools {
        let runtime = Runtime::start().expect("a thread can be started");
        Tools {
            service: McpService::start("desk", settings, &runtime),
            _runtime: runtime,
        }
    }

    /// A service whose server has told its tools.
    pub(crate) async fn connected(settings: &McpSettings) -> Tools {
        let tools = Tools::start(settings);
        until("the server is connected", || tools.service.is_connected()).await;
        tools
    }

    /// The names that the model sees.
    pub(crate) fn names(&self) -> Vec<String> {
        let offered = self.service.tools();
        let name = |tool: &handback::services::Offered| tool.tool.tool.name.to_string();
        offered.iter().map(name).collect()
    }

    /// The definition of a tool as the model sees it, by the server's name.
    pub(crate) fn definition(&self, own_name: &str) -> serde_json::Value {
        let offered = self.service.tools();
        let tool = offered.iter().find(|tool| tool.own_name == own_name);
        let raw = tool.expect("the tool is offered").tool.tool.raw.clone();
        serde_json::from_str(raw.get()).expect("a definition is JSON")
    }

    /// Waits until exactly these tools are offered.
    pub(crate) async fn until_offered(&self, names: &[&str]) {
        until(&format!("{names:?} are offered"), || self.names() == names).await;
    }

    /// Calls a tool by the server's name.
    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> Reply {
        self.call_within(tool, arguments, 100_000).await
    }

    /// The same with another limit.
    pub(crate) async fn call_within(&self, tool: &str, arguments: &str, limit: usize) -> Reply {
        let invocation = Invocation {
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            idempotency_key: "key-1".to_owned(),
            traceparent: Some(TRACEPARENT.to_owned()),
            reply_limit: limit,
        };
        in_time(tool, self.service.call(invocation)).await
    }
}

/// A server behind HTTP, with everything else as it is by default.
pub(crate) fn http(url: &str) -> McpSettings {
    let url = url::Url::parse(url).expect("it is a URL");
    settings(McpTransport::Http(url))
}

/// A server that is a process.
pub(crate) fn command(command: &[&str], env: &[(&str, &str)]) -> McpSettings {
    settings(McpTransport::Command {
        command: command.iter().copied().map(str::to_owned).collect(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
            .collect(),
    })
}

fn settings(transport: McpTransport) -> McpSettings {
    McpSettings {
        transport,
        headers: Vec::new(),
        tools: vec![Glob::new("*")],
        deny: Vec::new(),
        prefix: String::new(),
        timeout: Duration::from_secs(20),
        description_limit: None,
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(5));
    in_time(what, async {
        while !is_so() {
            looks.tick().await;
        }
    })
    .await;
}

/// Waits for something.
pub(crate) async fn in_time<T>(what: &str, event: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, event).await;
    waited.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// The reason that the model is told, from a call that failed.
pub(crate) fn failure(reply: &Reply) -> String {
    assert_eq!(reply.outcome, Outcome::Failed, "{}", reply.text);
    reason(reply)
}

/// The reason that the model is told, from a call without a result.
pub(crate) fn reason(reply: &Reply) -> String {
    let told: serde_json::Value = serde_json::from_str(&reply.text).expect("a failure is JSON");
    assert_eq!(told["status"], "failed");
    told["reason"]
        .as_str()
        .expect("there is a reason")
        .to_owned()
}
