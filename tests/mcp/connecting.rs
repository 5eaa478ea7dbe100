//! Connecting: in the background, to servers of either handshake, and what goes with requests.

use std::sync::Arc;
use std::time::Duration;

use handback::secret::Secret;
use handback::services::mcp::{McpService, Runtime};
use handback::services::{Outcome, Service};
use handback::tools::SideEffect;
use serde_json::json;

use super::scripted::{Scripted, Told, tool};
use super::sdk::Sdk;
use super::service::{TRACEPARENT, Tools, failure, http, in_time, until};

#[tokio::test]
async fn tools_of_a_server_of_the_sdk_are_offered_and_called() {
    let server = Sdk::start(&["look", "act", "progress"]);
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.names(), ["look", "act", "progress"]);
    let effects: Vec<SideEffect> = tools
        .service
        .tools()
        .iter()
        .map(|tool| tool.tool.side_effect)
        .collect();
    let write = SideEffect::ExternalWrite;
    assert_eq!(effects, [SideEffect::None, write, write]);
    let reply = tools
        .call(
            "act",
            "{\"z\":1e-7,\"\u{57ce}\":\"\\u5929\",\"a\":18446744073709551615}",
        )
        .await;
    assert_eq!(
        (reply.text.as_str(), reply.outcome),
        ("act done", Outcome::Completed)
    );
    let call = server.calls().borrow()[0].clone();
    assert_eq!(call["name"], "act");
    assert_eq!(call["_meta"]["idempotencyKey"], "key-1");
    assert_eq!(call["_meta"]["traceparent"], TRACEPARENT);
    assert_eq!(
        call["arguments"].to_string(),
        "{\"z\":1e-7,\"\u{57ce}\":\"\u{5929}\",\"a\":18446744073709551615}"
    );
    let reply = tools.call("progress", "{}").await;
    assert_eq!(reply.text, "progress done");
}

#[tokio::test]
async fn one_hanging_and_one_dead_server_delay_nothing() {
    let hanging = Scripted::start(|asked| (asked.method == "initialize").then_some(Told::Hang));
    let fine = Scripted::start(|_| None);
    let runtime = Runtime::start().expect("a thread can be started");
    let start = |url: &str| McpService::start("desk", &http(url), &runtime);
    let hung = start(&hanging.url());
    let dead = start("http://127.0.0.1:1/mcp");
    let works = start(&fine.url());
    until("the other is connected", || works.is_connected()).await;
    assert_eq!(works.tools().len(), 1);
    until("it was asked", || !hanging.asked("initialize").is_empty()).await;
    for service in [hung, dead] {
        assert!(!service.is_connected() && service.tools().is_empty());
    }
}

#[tokio::test]
async fn a_server_that_hangs_at_first_is_tried_again() {
    let server = Scripted::start({
        let first = std::sync::atomic::AtomicBool::new(true);
        move |asked| {
            let hang = asked.method == "initialize"
                && first.swap(false, std::sync::atomic::Ordering::SeqCst);
            hang.then_some(Told::Hang)
        }
    });
    let mut settings = http(&server.url());
    settings.timeout = Duration::from_millis(300);
    let tools = Tools::connected(&settings).await;
    assert_eq!(tools.names(), ["look"]);
}

#[tokio::test]
async fn headers_go_with_every_request_and_never_to_the_model() {
    let server = Scripted::start(|asked| {
        let key = asked.headers.get("authorization").cloned();
        let echo = format!("{key:?} at {}", asked.path);
        let answer = json!({"content": [{"type": "text", "text": echo}], "isError": true});
        (asked.method == "tools/call").then_some(Told::Result(answer))
    });
    let mut settings = http(&server.url());
    let key = Secret::new("Bearer 0123456789abcdef");
    settings.headers = vec![("authorization".to_owned(), key)];
    let tools = Tools::connected(&settings).await;
    let reason = failure(&tools.call("look", "{}").await);
    assert_eq!(reason, "Some(\"[redacted]\") at /mcp");
    until("the stream was asked for", || {
        !server.asked("GET").is_empty()
    })
    .await;
    for method in [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "GET",
    ] {
        for asked in server.asked(method) {
            assert_eq!(
                asked.headers["authorization"], "Bearer 0123456789abcdef",
                "{method}"
            );
        }
    }
    drop(tools);
    assert_eq!(server.asked("DELETE").len(), 1);
}

#[tokio::test]
async fn a_server_that_knows_no_sessions_any_more_is_asked_by_the_newest_revision() {
    let server = Scripted::start(|asked| {
        let error = json!({"code": -32601, "message": "Method not found"});
        let told = match asked.method.as_str() {
            "initialize" => {
                let id = &asked.body["id"];
                return Some(Told::Message(
                    json!({"jsonrpc": "2.0", "id": id, "error": error}),
                ));
            }
            "server/discover" => json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "modern", "version": "1"},
                "ttlMs": 0,
                "cacheScope": "private",
            }),
            "tools/list" => {
                json!({"resultType": "complete", "tools": [tool("look")], "ttlMs": 0, "cacheScope": "private"})
            }
            "tools/call" => {
                json!({"resultType": "complete", "content": [{"type": "text", "text": "seen"}]})
            }
            _ => return Some(Told::Http(405, "text/plain", String::new())),
        };
        Some(Told::Result(told))
    });
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.call("look", "{}").await.text, "seen");
    let version = &server.asked("tools/call")[0].headers["mcp-protocol-version"];
    assert_eq!(version, "2026-07-28");
}

#[tokio::test]
async fn redirects_are_followed_at_home_only() {
    let server = Scripted::start(|asked| {
        (asked.path == "/mcp").then(|| Told::Http(307, "/mcp/", String::new()))
    });
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.call("look", "{}").await.outcome, Outcome::Completed);
    let elsewhere = Scripted::start(|_| None);
    let target: &'static str = Box::leak(elsewhere.url().into_boxed_str());
    let away = Scripted::start(move |_| Some(Told::Http(307, target, String::new())));
    let lost = Tools::start(&http(&away.url()));
    until("it was asked twice", || away.asked("initialize").len() > 1).await;
    assert!(elsewhere.asked("initialize").is_empty() && !lost.service.is_connected());
}

#[tokio::test]
async fn everything_ends_with_the_runtime() {
    let server = Scripted::start(|_| None);
    let runtime = Runtime::start().expect("a thread can be started");
    let service: Arc<McpService> = McpService::start("desk", &http(&server.url()), &runtime);
    until("the server is connected", || service.is_connected()).await;
    drop(runtime);
    assert!(!service.is_connected() && service.tools().is_empty());
    assert_eq!(server.asked("DELETE").len(), 1);
    let call = service.call(handback::services::Invocation {
        tool: "look".to_owned(),
        arguments: "{}".to_owned(),
        idempotency_key: String::new(),
        traceparent: None,
        reply_limit: 1000,
    });
    let reply = in_time("the call fails", call).await;
    assert_eq!(failure(&reply), "the tool's server cannot be reached");
}
