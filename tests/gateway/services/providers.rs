//! What providers bind to their messages: it comes back to them, whatever the client kept of it
//! (contract U3, K5).

use serde_json::{Value, json};

use super::{call, calling, closes, follow_up, kb, messages, result, says, setup, weather};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::upstream::Upstream;

/// A message with what some providers bind to it.
fn thinking(mut message: Value) -> Value {
    message["reasoning_content"] = json!("The user asks for the weather.");
    message["tool_calls"][0]["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    message
}

/// A handback with what some providers bind to it.
async fn bound_to_provider() -> (Upstream, Value, Value, Gateway) {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let original = thinking(calling(Some("Hm."), &[weather("call_1")]));
    upstream.play([says(&original)]);
    let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
    let message = folded["message"].clone();
    upstream.play([closes("done")]);
    (upstream, original, message, gateway)
}

/// The message as a client keeps it that knows the reference only.
fn plain(message: &Value) -> Value {
    let call = &message["tool_calls"][0];
    let call = json!({"id": call["id"], "type": "function", "function": call["function"]});
    calling(message["content"].as_str(), &[call])
}

#[tokio::test]
async fn provider_fields_come_back_even_if_the_client_dropped_them() {
    let (upstream, original, message, gateway) = bound_to_provider().await;
    for message in [plain(&message), message] {
        upstream.play([closes("done")]);
        let body = follow_up(&request(false), &message, &["dry"]);
        Caller::of(&gateway).ask(&body).await.folded();
        let asked = messages(&upstream.only_request());
        assert_eq!(asked[1..], [original.clone(), result("call_1", "dry")]);
    }
}

#[tokio::test]
async fn provider_fields_of_an_edited_message_are_left_out() {
    let (upstream, _, message, gateway) = bound_to_provider().await;
    let mut edited = plain(&message);
    edited["tool_calls"][0]["function"]["arguments"] = json!(r#"{"city":"Porto"}"#);
    let body = follow_up(&request(false), &edited, &["dry"]);
    Caller::of(&gateway).ask(&body).await.folded();
    let asked = upstream.only_request();
    assert_eq!(
        messages(&asked)[1]["tool_calls"][0]["function"]["arguments"],
        r#"{"city":"Porto"}"#
    );
    for bound in ["reasoning_content", "extra_content", "thought_signature"] {
        assert!(!asked.text().contains(bound), "{bound}: {}", asked.text());
    }
}

#[tokio::test]
async fn provider_fields_of_hidden_rounds_stay_with_their_rounds() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    for streamed in [false, true] {
        let hidden = thinking(calling(None, &[call("call_hid", "look", "{}")]));
        let handed = thinking(calling(None, &[weather("call_1")]));
        upstream.play([says(&hidden), says(&handed)]);
        let body = request(streamed);
        let reply = caller.ask(&body).await;
        let message = reply.folded()["message"].clone();
        assert_eq!(messages(&upstream.requests()[1])[1], hidden);
        upstream.play([closes("done")]);
        let folded = caller
            .ask(&follow_up(&body, &message, &["dry"]))
            .await
            .folded();
        assert_eq!(folded["message"]["content"], "done");
        let asked = messages(&upstream.only_request());
        assert_eq!(
            asked[1..],
            [
                hidden,
                result("call_hid", r#"{"tool":"look"}"#),
                handed,
                result("call_1", "dry")
            ]
        );
    }
}
