//! Sessions that a server forgets.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join_all;
use handback::services::Outcome;
use serde_json::{Value, json};

use super::scripted::{Asked, Scripted, Told, text, tool, unknown_session};
use super::sdk::Sdk;
use super::service::{Tools, failure, http, until};

/// A server that says `told` of a session that it does not know.
fn refusing(told: impl Fn(&Asked) -> Told + Send + Sync + 'static) -> Scripted {
    let known = AtomicUsize::new(0);
    Scripted::start(move |asked| {
        if asked.method == "initialize" {
            known.fetch_add(1, Ordering::SeqCst);
        }
        if asked.body["params"]["arguments"]["forget"] == true && known.load(Ordering::SeqCst) == 1
        {
            return Some(told(asked));
        }
        None
    })
}

#[tokio::test]
async fn a_session_lost_with_404_is_begun_again_once_for_all_calls() {
    let server = Scripted::start(|_| None);
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(tools.call("look", "{}").await.outcome, Outcome::Completed);
    server.forget();
    let calls = (0..8).map(|_| tools.call("look", r#"{"n":1}"#));
    for reply in join_all(calls).await {
        assert_eq!(reply.text, r#"{"n":1}"#);
    }
    let handshakes = server.asked("initialize");
    assert_eq!(handshakes.len(), 2);
    assert_eq!(handshakes[1].session, None);
    assert_eq!(server.asked("notifications/initialized").len(), 2);
}

#[tokio::test]
async fn a_session_lost_with_400_is_begun_again() {
    let error = |id: Value, code: i32, message: &str| {
        let error = json!({"code": code, "message": message});
        json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
    };
    let no_session = "Bad Request: No valid session ID provided";
    let bodies = [
        ("application/json", error(Value::Null, -32000, no_session)),
        (
            "application/json",
            error("server-error".into(), -32600, no_session),
        ),
        (
            "application/json",
            error(Value::Null, -32600, "Bad Request"),
        ),
        ("text/plain", "unknown session".to_owned()),
        ("text/plain", String::new()),
        ("application/json", r#"{"error":"unknown"}"#.to_owned()),
    ];
    for (kind, body) in bodies {
        let said = body.clone();
        let server = refusing(move |_| Told::Http(400, kind, body.clone()));
        let tools = Tools::connected(&http(&server.url())).await;
        let reply = tools.call("look", r#"{"forget":true}"#).await;
        assert_eq!(reply.text, r#"{"forget":true}"#, "{said}");
        assert_eq!(server.asked("initialize").len(), 2, "{said}");
    }
    let server = refusing(|asked| unknown_session(400, &asked.body["id"]));
    let tools = Tools::connected(&http(&server.url())).await;
    let reply = tools.call("look", r#"{"forget":true}"#).await;
    assert_eq!(reply.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_session_that_is_lost_again_fails_the_call() {
    let server = Scripted::start(|asked| {
        let call = asked.method == "tools/call";
        call.then(|| unknown_session(404, &asked.body["id"]))
    });
    let tools = Tools::connected(&http(&server.url())).await;
    let reason = failure(&tools.call("look", "{}").await);
    assert_eq!(reason, "the session with the tool's server was lost");
    assert_eq!(server.asked("tools/call").len(), 2);
    assert_eq!(server.asked("initialize").len(), 2);
}

#[tokio::test]
async fn the_list_is_read_again_in_a_new_session() {
    let other = std::sync::Arc::new(AtomicBool::new(false));
    let server = Scripted::start({
        let other = std::sync::Arc::clone(&other);
        move |asked| {
            let list = json!({"tools": [tool("look"), tool("new")]});
            let due = asked.method == "tools/list"
                && other.load(Ordering::SeqCst)
                && asked.session.as_deref() == Some("session-2");
            due.then_some(Told::Result(list))
        }
    });
    let tools = Tools::connected(&http(&server.url())).await;
    other.store(true, Ordering::SeqCst);
    server.forget();
    assert_eq!(tools.call("look", "{}").await.outcome, Outcome::Completed);
    tools.until_offered(&["look", "new"]).await;
}

#[tokio::test]
async fn a_server_that_is_started_again_is_found_again() {
    let mut server =
        Scripted::start(|asked| (asked.method == "tools/call").then(|| Told::Result(text("here"))));
    let tools = Tools::connected(&http(&server.url())).await;
    for _ in 0..3 {
        assert_eq!(tools.call("look", "{}").await.text, "here");
        server.stop();
        server.start_again();
        assert_eq!(tools.call("look", "{}").await.text, "here");
    }
    server.stop();
    let reason = failure(&tools.call("look", "{}").await);
    assert_eq!(reason, "the tool's server cannot be reached");
    until("the tools are withdrawn", || tools.names().is_empty()).await;
    server.start_again();
    tools.until_offered(&["look"]).await;
    assert_eq!(tools.call("look", "{}").await.text, "here");
}

#[tokio::test]
async fn a_restart_is_noticed_without_a_call() {
    let mut server = Sdk::start(&["look"]);
    let tools = Tools::connected(&http(&server.url())).await;
    server.stop();
    server.change(&["act"]).await;
    server.start_again();
    tools.until_offered(&["act"]).await;
    assert_eq!(tools.call("act", "{}").await.text, "act done");
}
