//! Upstreams whose ids of calls carry something that they want back (`call_ids = "as_given"`).

use serde_json::json;

use super::{call, calling, closes, follow_up, ids, kb, messages, result, says, setup, weather};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{AGENT, Gateway, Setup};
use crate::harness::script::Answer;
use crate::harness::upstream::Upstream;

const AS_GIVEN: &str = "overrides = { call_ids = \"as_given\" }\n";

/// A gateway before an upstream that gets its ids back.
async fn as_given(upstream: &Upstream) -> Gateway {
    let setup = Setup::with_upstream(&upstream.base_url());
    setup.upstream(AS_GIVEN).start().await
}

/// An id of which no part can be left out.
fn long(name: &str) -> String {
    format!("{name}__thought__{}", "c2lnbmF0dXJl+/=".repeat(20))
}

#[tokio::test]
async fn an_upstream_gets_the_ids_back_that_it_gave() {
    let upstream = Upstream::start().await;
    let gateway = as_given(&upstream).await;
    let caller = Caller::of(&gateway);
    for (one, two) in [
        (long("one"), "call_2".to_owned()),
        ("call_1".to_owned(), long("two")),
        (long("one"), long("two")),
        (
            "functions.get_weather:0".to_owned(),
            "functions.get_weather:1".to_owned(),
        ),
    ] {
        for streamed in [false, true] {
            let original = calling(None, &[weather(&one), weather(&two)]);
            upstream.play([says(&original), closes("done")]);
            let body = request(streamed);
            let message = caller.ask(&body).await.folded()["message"].clone();
            for id in ids(&message) {
                assert!(!id.contains("thought") && !id.contains('.'), "{id}");
            }
            let body = follow_up(&body, &message, &["dry", "wet"]);
            caller.ask(&body).await.folded();
            let asked = messages(&upstream.requests()[1]);
            assert_eq!(
                asked[1..],
                [original, result(&one, "dry"), result(&two, "wet")]
            );
        }
    }
}

#[tokio::test]
async fn ids_that_callers_may_see_stay_as_they_are() {
    let upstream = Upstream::start().await;
    let gateway = as_given(&upstream).await;
    upstream.play([says(&calling(None, &[weather("call_1")]))]);
    let message = Caller::of(&gateway).ask(&request(false)).await.folded()["message"].clone();
    assert_eq!(ids(&message), ["call_1"]);
}

#[tokio::test]
async fn with_passed_arguments_the_ids_come_back_too() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url())
        .upstream(AS_GIVEN)
        .agent("arguments = \"pass\"\n")
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let original = calling(None, &[weather(&long("one"))]);
    upstream.play([says(&original), closes("done")]);
    let body = request(true);
    let message = caller.ask(&body).await.folded()["message"].clone();
    caller.ask(&follow_up(&body, &message, &["dry"])).await;
    assert_eq!(messages(&upstream.requests()[1])[1], original);
}

#[tokio::test]
async fn ids_that_carry_something_go_to_no_other_upstream() {
    let (upstream, spare, service) = (Upstream::start().await, Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .upstream(AS_GIVEN)
        .fallback(&spare.base_url(), AS_GIVEN)
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let hidden = calling(None, &[call(&long("hid"), "look", "{}")]);
    let fails = Answer::json(503, &json!({"error": {"message": "busy"}}));
    upstream.play([says(&hidden), fails]);
    let handed = calling(None, &[weather(&long("spare"))]);
    spare.play([says(&handed)]);
    let body = request(true);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let asked = spare.only_request();
    assert!(!asked.text().contains("hid__thought__"), "{}", asked.text());
    let asked = messages(&asked);
    assert_eq!(asked[1]["tool_calls"][0]["id"], asked[2]["tool_call_id"]);

    // The follow-up begins with the agent's own upstream again, which finds its own id.
    let body = follow_up(&body, &message, &["dry"]);
    upstream.play([closes("done")]);
    caller.ask(&body).await.folded();
    let asked = upstream.only_request();
    assert!(!asked.text().contains("spare__"), "{}", asked.text());
    let asked = messages(&asked);
    assert_eq!(
        asked[1..3],
        [hidden, result(&long("hid"), r#"{"tool":"look"}"#)]
    );
    assert_eq!(asked.len(), 5, "{asked:?}");
    assert_eq!(asked[3]["tool_calls"][0]["id"], asked[4]["tool_call_id"]);

    // If it is the spare one's turn, that finds its own.
    upstream.play([Answer::json(503, &json!({"error": {"message": "busy"}}))]);
    spare.play([closes("done")]);
    caller.ask(&body).await.folded();
    let asked = spare.only_request();
    assert!(!asked.text().contains("hid__thought__"), "{}", asked.text());
    assert_eq!(
        messages(&asked)[3..],
        [handed, result(&long("spare"), "dry")]
    );
}

#[tokio::test]
async fn a_gateway_behind_a_gateway_keeps_what_it_did_unseen() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let behind = setup(&upstream, &service).start().await;
    let base_url = format!("{}/v1", behind.url());
    let front = Setup::with_upstream(&base_url)
        .upstream(AS_GIVEN)
        .tables(&format!(
            "[[agents]]\nname = \"front\"\nupstream = \"model\"\nmodel = \"{AGENT}\"\n"
        ))
        .start()
        .await;
    let caller = Caller::of(&front);
    for streamed in [false, true] {
        let hidden = calling(None, &[call("h1", "look", "{}")]);
        let mixed = calling(Some("Moment."), &[weather("w1"), call("s1", "save", "{}")]);
        upstream.play([says(&hidden), says(&mixed), closes("done")]);
        let mut body = request(streamed);
        body["model"] = json!("front");
        let message = caller.ask(&body).await.folded()["message"].clone();
        let body = follow_up(&body, &message, &["dry"]);
        assert_eq!(
            caller.ask(&body).await.folded()["message"]["content"],
            "done"
        );
        let asked = messages(&upstream.requests()[2]);
        assert_eq!(
            asked[1..],
            [
                hidden,
                result("h1", r#"{"tool":"look"}"#),
                mixed,
                result("w1", "dry"),
                result("s1", r#"{"tool":"save"}"#)
            ]
        );
    }
}
