//! What providers bind to their messages: it comes back to them, whatever the client kept of it
//! (contract U3, K5).

use serde_json::{Value, json};

use super::{
    KEY, call, calling, closes, follow_up, kb, messages, result, says, sealed_with, setup, weather,
    with,
};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::pattern;
use crate::harness::script::Answer;
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

/// What some providers bind to a message, by names that no other text of these tests has.
const BOUND: [&str; 3] = ["The user asks for the weather.", "c2ln", "extra_content"];

/// A second upstream with an agent of its own.
fn second(upstream: &Upstream, dialect: &str) -> String {
    format!(
        "[[upstreams]]\nname = \"second\"\nbase_url = \"{}\"\ndialect = \"{dialect}\"\n\
         [[agents]]\nname = \"other\"\nupstream = \"second\"\nmodel = \"m\"\n",
        upstream.base_url()
    )
}

#[tokio::test]
async fn provider_fields_are_kept_from_another_agents_upstream_even_if_the_client_sends_them() {
    let (one, two) = (Upstream::start().await, Upstream::start().await);
    let setup = Setup::with_upstream(&one.base_url()).tables(&second(&two, "openai"));
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    one.play([says(&thinking(calling(Some("Hm."), &[weather("call_1")])))]);
    let message = caller.ask(&request(false)).await.folded()["message"].clone();
    assert_eq!(
        message["reasoning_content"],
        "The user asks for the weather."
    );
    let body = follow_up(&request(false), &message, &["dry"]);
    let answer = json!({"role": "assistant", "content": "It is dry."});
    let mut body = with(&body, [answer, user("And now?")]);
    for (model, upstream, sees) in [("other", &two, false), ("support", &one, true)] {
        upstream.play([closes("done")]);
        body["model"] = json!(model);
        caller.ask(&body).await.folded();
        let asked = upstream.only_request();
        assert_eq!(messages(&asked).len(), 5, "{}", asked.text());
        for bound in BOUND {
            assert_eq!(asked.text().contains(bound), sees, "{}", asked.text());
        }
    }
}

#[tokio::test]
async fn an_agent_that_moves_to_another_upstream_leaves_provider_fields_behind() {
    let (one, two) = (Upstream::start().await, Upstream::start().await);
    let seal = sealed_with(&[KEY]);
    let before = Setup::with_upstream(&one.base_url()).tables(&seal);
    one.play([says(&thinking(calling(None, &[weather("call_1")])))]);
    let message = Caller::of(&before.start().await)
        .ask(&request(false))
        .await
        .folded()["message"]
        .clone();
    let body = follow_up(&request(false), &message, &["dry"]);
    for (dialect, stand_in) in [
        ("openai", json!({})),
        ("deepseek", json!({"reasoning_content": " "})),
        (
            "gemini",
            json!({"tool_calls": [{"extra_content": {"google": {
                "thought_signature": "skip_thought_signature_validator"
            }}}]}),
        ),
    ] {
        two.play([closes("done")]);
        // The agent is the same, and served elsewhere.
        let after = Setup::with_upstream(&one.base_url())
            .tables(&second(&two, dialect).replace("\"other\"", "\"another\""))
            .tables(&seal);
        let after = after.moved("second").start().await;
        let folded = Caller::of(&after).ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        let asked = two.only_request();
        for bound in &BOUND[..2] {
            assert!(!asked.text().contains(bound), "{}", asked.text());
        }
        pattern::matches(&stand_in, Some(&messages(&asked)[1])).expect(dialect);
    }
}

/// A message with reasoning of its own.
fn reasoning(message: Value, text: &str) -> Value {
    let mut message = message;
    message["reasoning_content"] = json!(text);
    message
}

#[tokio::test]
async fn each_of_the_upstreams_that_serve_a_turn_finds_its_own_fields() {
    let (one, two, service) = (Upstream::start().await, Upstream::start().await, kb().await);
    let gateway = setup(&one, &service)
        .fallback(&two.base_url(), "")
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let busy = || Answer::json(503, &json!({"error": {"message": "busy"}}));
    for streamed in [false, true] {
        // One hidden round at each, and the handback at the fallback.
        let of_one = reasoning(calling(None, &[call("h1", "look", "{}")]), "mind of one");
        let of_two = reasoning(calling(None, &[call("h2", "look", "{}")]), "mind of two");
        let handed = thinking(reasoning(calling(None, &[weather("w1")]), "mind of two"));
        one.play([says(&of_one), busy()]);
        two.play([says(&of_two), says(&handed)]);
        let body = request(streamed);
        let message = plain(&caller.ask(&body).await.folded()["message"]);
        let body = follow_up(&body, &message, &["dry"]);
        let found = result("h2", r#"{"tool":"look"}"#);

        one.play([busy()]);
        two.play([closes("done")]);
        caller.ask(&body).await.folded();
        let asked = two.only_request();
        assert!(!asked.text().contains("mind of one"), "{}", asked.text());
        let dry = result("w1", "dry");
        assert_eq!(messages(&asked)[3..], [of_two, found, handed, dry]);

        // The agent's own upstream is asked first the next time.
        one.play([closes("done")]);
        caller.ask(&body).await.folded();
        let asked = one.only_request();
        for foreign in ["mind of two", "c2ln"] {
            assert!(!asked.text().contains(foreign), "{}", asked.text());
        }
        assert_eq!(messages(&asked)[1], of_one);
        assert_eq!(messages(&asked).len(), 7);
    }
}

#[tokio::test]
async fn an_edited_text_takes_along_what_was_bound_to_it_in_hidden_rounds() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let said = thinking(calling(Some("Hm. "), &[call("h1", "look", "{}")]));
    let unsaid = thinking(calling(None, &[call("h2", "look", "{}")]));
    let handed = thinking(calling(Some("Asking."), &[weather("w1")]));
    upstream.play([says(&said), says(&unsaid), says(&handed)]);
    let body = request(false);
    let mut message = plain(&caller.ask(&body).await.folded()["message"]);
    assert_eq!(message["content"], "Hm. Asking.");
    message["content"] = json!("Something else.");
    upstream.play([closes("done")]);
    caller.ask(&follow_up(&body, &message, &["dry"])).await;
    let asked = messages(&upstream.only_request());
    // What is bound to a call that was not edited stays.
    let without = |mut message: Value, text: Option<&str>| {
        message["content"] = json!(text);
        message
            .as_object_mut()
            .map(|message| message.remove("reasoning_content"));
        message
    };
    let found = |id| result(id, r#"{"tool":"look"}"#);
    assert_eq!(
        asked[1..6],
        [
            without(said, None),
            found("h1"),
            unsaid,
            found("h2"),
            without(handed, Some("Something else.")),
        ]
    );
}
