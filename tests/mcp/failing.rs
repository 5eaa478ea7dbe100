//! Servers that fail in the middle of something.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use handback::services::Outcome;
use serde_json::json;
use tokio::sync::Notify;

use super::scripted::{Scripted, Told};
use super::service::{Tools, failure, http, reason, until};

#[tokio::test]
async fn a_call_that_hangs_is_given_up_and_cancelled() {
    let server = Scripted::start(|asked| (asked.method == "tools/call").then_some(Told::Hang));
    let mut settings = http(&server.url());
    settings.timeout = Duration::from_millis(300);
    let tools = Tools::connected(&settings).await;
    let reply = tools.call("look", "{}").await;
    assert_eq!(reply.outcome, Outcome::TimedOut);
    assert_eq!(reason(&reply), "no answer within 300ms");
    let cancelled = "notifications/cancelled";
    until("the server is told", || !server.asked(cancelled).is_empty()).await;
    let request = &server.asked("tools/call")[0].body["id"];
    assert_eq!(
        &server.asked(cancelled)[0].body["params"]["requestId"],
        request
    );
    assert!(tools.service.is_connected());
}

#[tokio::test]
async fn a_call_that_hangs_holds_up_no_other() {
    let server = Scripted::start(|asked| {
        let slow = asked.body["params"]["arguments"]["slow"] == true;
        slow.then_some(Told::Hang)
    });
    let mut settings = http(&server.url());
    settings.timeout = Duration::from_secs(3);
    let tools = Tools::connected(&settings).await;
    let slow = tools.call("look", r#"{"slow":true}"#);
    let quick = async {
        until("the slow one is there", || {
            server.asked("tools/call").len() == 1
        })
        .await;
        tools.call("look", "{}").await
    };
    let (slow, quick) = join(slow, quick).await;
    assert_eq!(
        (slow.outcome, quick.outcome),
        (Outcome::TimedOut, Outcome::Completed)
    );
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_fails_it_and_is_not_asked_twice() {
    let called = Arc::new(Notify::new());
    let mut server = Scripted::start({
        let called = Arc::clone(&called);
        move |asked| {
            let call = asked.method == "tools/call";
            call.then(|| {
                called.notify_one();
                Told::Hang
            })
        }
    });
    let tools = Tools::connected(&http(&server.url())).await;
    let kill = async {
        called.notified().await;
        server.stop();
    };
    let (reply, ()) = join(tools.call("look", "{}"), kill).await;
    assert_eq!(failure(&reply), "the connection to the tool's server broke");
    assert_eq!(server.asked("tools/call").len(), 1);
    server.start_again();
    until("it is connected again", || {
        server.asked("initialize").len() == 2 && tools.service.is_connected()
    })
    .await;
}

#[tokio::test]
async fn answers_that_are_no_answers_fail_at_once() {
    let html = || "<html>Welcome</html>".to_owned();
    let foreign = json!({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}).to_string();
    for (status, kind, body, expected) in [
        (
            200,
            "text/html",
            html(),
            "the tool's server answered with content type \"text/html\" instead of JSON",
        ),
        (
            200,
            "application/json",
            html(),
            "the tool's server answered unexpectedly: could not parse JSON",
        ),
        (
            200,
            "application/json",
            String::new(),
            "the tool's server answered unexpectedly: could not parse JSON",
        ),
        (
            200,
            "application/json",
            foreign,
            "the tool's server answered unexpectedly: the answer to another request",
        ),
        (
            200,
            "text/event-stream",
            "data: {\n\n".to_owned(),
            "the connection to the tool's server broke",
        ),
        (
            200,
            "text/event-stream",
            String::new(),
            "the connection to the tool's server broke",
        ),
        (
            403,
            "text/plain",
            "no".to_owned(),
            "the tool's server answered unexpectedly: HTTP 403 Forbidden: no",
        ),
        (
            503,
            "text/html",
            html(),
            "the tool's server answered with HTTP status 503",
        ),
        (
            429,
            "application/json",
            html(),
            "the tool's server answered with HTTP status 429",
        ),
    ] {
        let server = Scripted::start(move |asked| {
            let call = asked.method == "tools/call";
            call.then(|| Told::Http(status, kind, body.clone()))
        });
        let tools = Tools::connected(&http(&server.url())).await;
        let reason = failure(&tools.call("look", "{}").await);
        assert!(reason.starts_with(expected), "{status} {kind}: {reason}");
        assert_eq!(server.asked("tools/call").len(), 1, "{status} {kind}");
        assert!(!reason.contains("127.0.0.1"), "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_answers_html_is_not_connected() {
    let server = Scripted::start(|asked| {
        (asked.method != "GET").then(|| Told::Http(200, "text/html", "<html>".to_owned()))
    });
    let tools = Tools::start(&http(&server.url()));
    until("it was tried twice", || {
        server.asked("initialize").len() + server.asked("server/discover").len() > 1
    })
    .await;
    assert!(!tools.service.is_connected() && tools.names().is_empty());
}
