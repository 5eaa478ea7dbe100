//! Agents whose tools are behind an MCP server, through the whole gateway: hidden and parked
//! calls, and a server that dies, forgets, changes and hangs (contract V2, V4).

use serde_json::{Value, json};

use super::{call, calling, closes, follow_up, kb, messages, offered, result, says, weather};
use crate::admin::{admin_of, samples};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::mcp::{McpServer, toml};
use crate::harness::script::{Answer, Gate};
use crate::harness::service::Service;
use crate::harness::upstream::Upstream;
use crate::harness::within;

/// A gateway before an MCP server and a service over HTTP.
struct Desk {
    upstream: Upstream,
    service: Service,
    gateway: Gateway,
    caller: Caller,
}

impl Desk {
    /// `crm`: the section of the MCP service.
    async fn before(crm: &str) -> Self {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let gateway = Setup::with_upstream(&upstream.base_url())
            .agent("services = [\"crm\", \"kb.save\"]\n")
            .tables(crm)
            .tables(&service.toml())
            .tables("[[agents]]\nname = \"other\"\nupstream = \"model\"\nmodel = \"m\"\nservices = [\"kb.file\"]\n")
            .start()
            .await;
        let caller = Caller::of(&gateway);
        Self {
            upstream,
            service,
            gateway,
            caller,
        }
    }

    /// The same, once the model is offered these tools of the server.
    async fn connected(server: &McpServer, extra: &str, tools: &[&str]) -> Self {
        let desk = Self::before(&(toml(&server.url()) + extra)).await;
        desk.until_offered(tools).await;
        desk
    }

    /// Asks again and again until the model is offered these tools of the server.
    async fn until_offered(&self, tools: &[&str]) {
        let expected: Vec<&str> = ["get_weather"]
            .into_iter()
            .chain(tools.iter().copied())
            .chain(["save"])
            .collect();
        let seen = async { while self.offers().await != expected {} };
        within("the server's tools", seen).await;
    }

    async fn offers(&self) -> Vec<String> {
        self.upstream.play([closes("done")]);
        self.caller.ask(&request(false)).await.folded();
        offered(&self.upstream.only_request())
    }

    /// Plays a turn whose first round calls a tool, and gives what the model is told of it.
    async fn told(&self, tool: &str) -> String {
        self.upstream.play(turn(&[call("call_1", tool, "{}")]));
        self.ends(&request(false)).await
    }

    /// Sends a request that has to end, and gives the last result that the model was told.
    async fn ends(&self, body: &Value) -> String {
        let folded = self.caller.ask(body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        let last = self.upstream.requests().pop().expect("the model is asked");
        let result = messages(&last).pop().expect("a conversation");
        result["content"].as_str().unwrap_or_default().to_owned()
    }

    /// Gets to a handback beside which a tool is parked, and gives the follow-up.
    async fn parked(&self, tool: &str) -> Value {
        self.upstream
            .play(turn(&[weather("call_b"), call("call_c", tool, "{}")]));
        let body = request(false);
        let folded = self.caller.ask(&body).await.folded();
        self.upstream.play([closes("done")]);
        follow_up(&body, &folded["message"], &["dry"])
    }

    /// Another agent answers, with a tool of another service, while something hangs.
    async fn serves_others(&self) {
        self.upstream.play(turn(&[call("call_o", "file", "{}")]));
        let mut body = request(false);
        body["model"] = json!("other");
        let folded = self.caller.ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
    }
}

/// A round with these calls, then the end.
fn turn(calls: &[Value]) -> [Answer; 2] {
    [says(&calling(None, calls)), closes("done")]
}

fn is_failure(told: &str) -> bool {
    let told: Value = serde_json::from_str(told).unwrap_or_default();
    told["status"] == "failed"
}

#[tokio::test]
async fn a_first_request_waits_for_the_first_connection() {
    let server = McpServer::start(&["look", "act"]);
    for _ in 0..3 {
        let desk = Desk::before(&toml(&server.url())).await;
        assert_eq!(desk.offers().await, ["get_weather", "look", "act", "save"]);
    }
}

#[tokio::test]
async fn hidden_and_parked_calls_run_once() {
    let server = McpServer::start(&["look", "act"]);
    let desk = Desk::connected(&server, "", &["look", "act"]).await;
    desk.upstream.play([
        says(&calling(None, &[call("call_a", "look", r#"{"q":1}"#)])),
        says(&calling(
            None,
            &[weather("call_b"), call("call_c", "act", "{}")],
        )),
    ]);
    let body = request(true);
    let reply = desk.caller.ask(&body).await;
    // In quotes: a sealed id may happen to hold a short word.
    for hidden in ["\"look\"", "\"act\"", "\"call_a\"", "\"call_c\""] {
        assert!(!reply.text().contains(hidden), "{hidden}: {}", reply.text());
    }
    let body = follow_up(&body, &reply.folded()["message"], &["dry"]);
    for _ in 0..2 {
        desk.upstream.play([closes("done")]);
        desk.caller.ask(&body).await.folded();
    }
    let asked = messages(&desk.upstream.only_request());
    assert_eq!(asked[2], result("call_a", "look done"));
    assert_eq!(
        asked[4..],
        [result("call_b", "dry"), result("call_c", "act done")]
    );
    assert_eq!(server.names(), ["look", "act"]);
    let calls = server.calls().borrow().clone();
    assert_eq!(calls[0]["arguments"], json!({"q": 1}));
    assert!(
        calls[1]["_meta"]["idempotencyKey"].is_string(),
        "{}",
        calls[1]
    );
    // What a server names its tools is no name of a series.
    let seen = samples(&admin_of(&desk.gateway)).await;
    let series = "handback_service_calls_total{agent=\"support\",outcome=\"completed\",service=\"crm\",tool=\"*\"}";
    assert_eq!(
        seen.get(series).map(f64::to_string),
        Some("2".to_owned()),
        "{seen:#?}"
    );
}

#[tokio::test]
async fn a_server_that_is_killed_during_a_call_fails_the_call_alone() {
    let mut server = McpServer::start(&["look"]);
    let desk = Desk::connected(&server, "", &["look"]).await;
    server.hold();
    let body = desk.parked("look").await;
    let (told, ()) = tokio::join!(desk.ends(&body), async {
        server.called(1).await;
        server.stop();
    });
    assert!(is_failure(&told), "{told}");
    // A call that may have been taken is not repeated.
    assert_eq!(server.names(), ["look"]);
    // What it offered is offered no more, and everything else is.
    desk.until_offered(&[]).await;
    assert!(desk.told("save").await.contains("save"));
}

#[tokio::test]
async fn a_server_that_lost_its_sessions_is_found_again() {
    let mut server = McpServer::start(&["look", "act"]);
    let desk = Desk::connected(&server, "", &["look", "act"]).await;
    let body = desk.parked("act").await;
    server.stop();
    server.start_again();
    assert_eq!(desk.ends(&body).await, "act done");
    assert_eq!(server.names(), ["act"]);
}

#[tokio::test]
async fn a_list_that_changes_changes_what_is_offered() {
    let server = McpServer::start(&["look", "act"]);
    let desk = Desk::connected(&server, "", &["look", "act"]).await;
    let body = desk.parked("act").await;
    server.change(&["look", "new"]).await;
    desk.until_offered(&["look", "new"]).await;
    assert_eq!(desk.told("new").await, "new done");
    // The parked call's tool is gone: the model is told.
    desk.upstream.play([closes("done")]);
    let told = desk.ends(&body).await;
    assert!(
        is_failure(&told) && told.contains("not available"),
        "{told}"
    );
    assert_eq!(server.names(), ["new"]);
}

#[tokio::test]
async fn a_tool_that_goes_while_the_model_answers_is_a_failed_call() {
    let server = McpServer::start(&["look", "act"]);
    let desk = Desk::connected(&server, "", &["look", "act"]).await;
    let gate = Gate::closed();
    let [mut calls, end] = turn(&[call("call_1", "act", "{}")]);
    calls
        .steps
        .insert(0, crate::harness::script::Step::Wait(gate.clone()));
    desk.upstream.play([calls, end]);
    let body = request(false);
    let (told, ()) = tokio::join!(desk.ends(&body), async {
        desk.upstream.asked(1).await;
        server.change(&["look"]).await;
        gate.open();
    });
    assert!(is_failure(&told), "{told}");
}

#[tokio::test]
async fn a_call_that_hangs_is_told_as_one_and_delays_nobody() {
    let server = McpServer::start(&["look"]);
    let desk = Desk::connected(&server, "timeout = \"500ms\"\n", &["look"]).await;
    server.hold();
    let told = desk.told("look").await;
    assert!(is_failure(&told) && told.contains("500ms"), "{told}");

    let server = McpServer::start(&["look"]);
    let desk = Desk::connected(&server, "", &["look"]).await;
    server.hold();
    let body = desk.parked("look").await;
    let (folded, ()) = tokio::join!(async { desk.caller.ask(&body).await.folded() }, async {
        server.called(1).await;
        desk.serves_others().await;
        server.let_pass();
    });
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    assert_eq!(desk.service.calls("file"), 1);
}

#[tokio::test]
async fn a_server_that_is_dead_or_hangs_from_the_start_delays_nobody() {
    let hanging = Upstream::playing([Answer::silence()]).await;
    let dead = crate::harness::upstream::nobody().await;
    for url in [hanging.base_url(), dead] {
        let desk = Desk::before(&toml(&url)).await;
        assert_eq!(desk.offers().await, ["get_weather", "save"]);
        assert!(desk.told("save").await.contains("save"));
        desk.serves_others().await;
    }
    hanging.asked(1).await;
}
