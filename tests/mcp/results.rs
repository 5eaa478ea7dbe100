//! What the model is told of results.

use handback::services::Outcome;
use serde_json::{Value, json};

use super::scripted::{Scripted, Told, text};
use super::service::{Tools, failure, http};

/// A server whose calls all have this result.
fn answering(result: Value) -> Scripted {
    Scripted::start(move |asked| {
        let call = asked.method == "tools/call";
        call.then(|| Told::Result(result.clone()))
    })
}

async fn told(result: Value) -> String {
    let server = answering(result);
    let tools = Tools::connected(&http(&server.url())).await;
    let reply = tools.call("look", "{}").await;
    assert_eq!(reply.outcome, Outcome::Completed, "{}", reply.text);
    reply.text
}

#[tokio::test]
async fn every_kind_of_content_is_told() {
    let mixed = json!({"content": [
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "hello"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b"},
    ]});
    let expected = "[image/png omitted]\nhello\n[resource \"b\": file:///b]";
    assert_eq!(told(mixed).await, expected);
    let structured = json!({"content": [], "structuredContent": {"projects": [{"id": 1}]}});
    assert_eq!(told(structured).await, r#"{"projects":[{"id":1}]}"#);
    assert_eq!(told(json!({"content": []})).await, "(no output)");
    assert_eq!(told(json!({})).await, "(no output)");
    let unknown = json!({"content": [{"type": "text", "text": "a"}, {"type": "video"}]});
    assert_eq!(told(unknown).await, "a\n[video omitted]");
}

#[tokio::test]
async fn errors_of_tools_and_of_the_protocol_are_failures() {
    let server = answering(json!({
        "content": [{"type": "text", "text": "rate limited"}], "isError": true
    }));
    let tools = Tools::connected(&http(&server.url())).await;
    assert_eq!(failure(&tools.call("look", "{}").await), "rate limited");
    let reason = failure(&tools.call("look", "[1]").await);
    assert_eq!(reason, "the arguments are not a JSON object");
    for status in [200, 400, 500] {
        let server = Scripted::start(move |asked| {
            let error = json!({"code": -32602, "message": "no such city"});
            let told = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": error});
            let told = Told::Http(status, "application/json", told.to_string());
            (asked.method == "tools/call").then_some(told)
        });
        let tools = Tools::connected(&http(&server.url())).await;
        let reason = failure(&tools.call("look", "{}").await);
        let expected = "the tool's server answered with error -32602: no such city";
        assert_eq!(reason, expected, "{status}");
        assert_eq!(server.asked("tools/call").len(), 1, "{status}");
    }
}

#[tokio::test]
async fn what_would_need_an_answer_is_a_failure() {
    let server = answering(json!({
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}}},
        "requestState": "x",
    }));
    let tools = Tools::connected(&http(&server.url())).await;
    let reason = failure(&tools.call("look", "{}").await);
    assert_eq!(
        reason,
        "the tool asks for more input, which is not possible here"
    );
}

#[tokio::test]
async fn long_results_are_cut_on_a_character_and_huge_ones_fail() {
    let server = answering(text(&"\u{5929}".repeat(100_000)));
    let tools = Tools::connected(&http(&server.url())).await;
    let reply = tools.call_within("look", "{}", 1000).await;
    assert_eq!(reply.outcome, Outcome::Completed);
    assert!(reply.text.len() <= 1000 && reply.text.starts_with("\u{5929}\u{5929}"));
    let server = answering(text(&"x".repeat(17 << 20)));
    let tools = Tools::connected(&http(&server.url())).await;
    let reason = failure(&tools.call("look", "{}").await);
    assert_eq!(
        reason,
        "the tool's server answered with more than 16777216 bytes"
    );
}
