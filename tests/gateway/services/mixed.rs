//! Rounds with calls of both sides (contract A5, P1 to P4).

use serde_json::Value;

use super::{
    call, calling, closes, follow_up, ids, kb, messages, refused, result, says, setup, weather,
    with,
};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::Gateway;
use crate::harness::service::Service;
use crate::harness::upstream::Upstream;

/// A gateway that has handed the caller's part of these calls back.
struct Mixed {
    upstream: Upstream,
    service: Service,
    gateway: Gateway,
    request: Value,
    /// The model's message.
    original: Value,
    /// The caller's.
    message: Value,
}

impl Mixed {
    async fn of(calls: &[Value], streamed: bool) -> Self {
        let original = calling(Some("Both. "), calls);
        let upstream = Upstream::playing([says(&original)]).await;
        let service = kb().await;
        let gateway = setup(&upstream, &service).start().await;
        let request = request(streamed);
        let reply = Caller::of(&gateway).ask(&request).await;
        let folded = reply.folded();
        assert_eq!(folded["finish_reason"], "tool_calls", "{folded}");
        assert_eq!(folded["message"]["content"], "Both. ");
        // In quotes: a sealed id may happen to hold a short word.
        for hidden in ["\"save\"", "\"look\"", "call_in", "hidden"] {
            assert!(!reply.text().contains(hidden), "{hidden}: {}", reply.text());
        }
        let mixed = Self {
            upstream,
            service,
            gateway,
            request,
            original,
            message: folded["message"].clone(),
        };
        mixed.nothing_ran();
        mixed.upstream.play([closes("done")]);
        mixed
    }

    fn nothing_ran(&self) {
        for tool in ["save", "look"] {
            assert_eq!(self.service.calls(tool), 0, "{tool} ran");
        }
    }

    /// Sends a follow-up and gives the messages that the model was asked with.
    async fn asked(&self, body: &Value) -> Vec<Value> {
        let folded = Caller::of(&self.gateway).ask(body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        messages(&self.upstream.only_request())
    }
}

fn saves(id: &str) -> Value {
    call(id, "save", r#"{"q":"hidden"}"#)
}

#[tokio::test]
async fn the_internal_call_waits_for_the_callers_results_in_either_order() {
    for calls in [
        [saves("call_in"), weather("call_ex")],
        [weather("call_ex"), saves("call_in")],
    ] {
        for streamed in [false, true] {
            let mixed = Mixed::of(&calls, streamed).await;
            let handed = &mixed.message["tool_calls"];
            assert_eq!(handed.as_array().map(Vec::len), Some(1), "{handed}");
            assert_eq!(handed[0]["function"], weather("")["function"]);
            let body = follow_up(&mixed.request, &mixed.message, &["dry"]);
            let asked = mixed.asked(&body).await;
            let mut expected = vec![user("Is it raining in Lisbon?"), mixed.original.clone()];
            expected.extend(ids(&mixed.original).iter().map(|id| match id.as_str() {
                "call_in" => result(id, r#"{"tool":"save"}"#),
                _ => result(id, "dry"),
            }));
            assert_eq!(asked, expected);
            assert_eq!(mixed.service.calls("save"), 1);
        }
    }
}

#[tokio::test]
async fn results_stand_in_the_order_of_the_models_calls() {
    let calls = [
        weather("call_1"),
        saves("call_in2"),
        weather("call_3"),
        call("call_in4", "look", "{}"),
    ];
    let mixed = Mixed::of(&calls, false).await;
    let [first, second] = &ids(&mixed.message)[..] else {
        panic!("two calls are handed back: {}", mixed.message)
    };
    let body = with(
        &mixed.request,
        [
            mixed.message.clone(),
            result(second, "windy"),
            result(first, "dry"),
            user("And tomorrow?"),
        ],
    );
    let asked = mixed.asked(&body).await;
    assert_eq!(
        asked[1..],
        [
            mixed.original.clone(),
            result("call_1", "dry"),
            result("call_in2", r#"{"tool":"save"}"#),
            result("call_3", "windy"),
            result("call_in4", r#"{"tool":"look"}"#),
            user("And tomorrow?"),
        ]
    );
}

#[tokio::test]
async fn without_results_nothing_is_run() {
    let mixed = Mixed::of(&[saves("call_in"), weather("call_ex")], false).await;
    let body = with(&mixed.request, [mixed.message.clone(), user("Never mind.")]);
    let asked = mixed.asked(&body).await;
    assert_eq!(asked[1], mixed.original);
    for (at, id) in [(2, "call_in"), (3, "call_ex")] {
        assert_eq!(asked[at]["tool_call_id"], id);
        let content = asked[at]["content"].as_str().expect("a note");
        assert!(content.contains("not_run"), "{content}");
    }
    assert_eq!(asked[4], user("Never mind."));
    mixed.nothing_ran();
}

#[tokio::test]
async fn a_part_of_the_results_is_refused_and_nothing_is_run() {
    let calls = [weather("call_1"), saves("call_in"), weather("call_3")];
    let mixed = Mixed::of(&calls, false).await;
    let caller = Caller::of(&mixed.gateway);
    for id in ids(&mixed.message) {
        let body = with(&mixed.request, [mixed.message.clone(), result(&id, "dry")]);
        let code = refused(&caller, &body, 400).await;
        assert_eq!(code, "partial_tool_results");
    }
    mixed.nothing_ran();
    assert!(mixed.upstream.requests().is_empty());
    // The refusal has spent nothing.
    let body = follow_up(&mixed.request, &mixed.message, &["dry", "windy"]);
    assert_eq!(mixed.asked(&body).await.len(), 5);
    assert_eq!(mixed.service.calls("save"), 1);
}

#[tokio::test]
async fn a_parked_call_that_fails_is_told_to_the_model() {
    let mixed = Mixed::of(&[saves("call_in"), weather("call_ex")], false).await;
    let broken = crate::harness::script::Answer::body(500, "text/plain", "out of order");
    mixed.service.tool("save").play([broken]);
    let body = follow_up(&mixed.request, &mixed.message, &["dry"]);
    let asked = mixed.asked(&body).await;
    let content = asked[2]["content"].as_str().expect("a result");
    assert!(content.contains("HTTP 500"), "{content}");
}

#[tokio::test]
async fn two_parked_calls_of_the_same_kind_both_run() {
    let calls = [saves("call_in1"), weather("call_ex"), saves("call_in2")];
    let mixed = Mixed::of(&calls, false).await;
    let body = follow_up(&mixed.request, &mixed.message, &["dry"]);
    mixed.asked(&body).await;
    assert_eq!(mixed.service.calls("save"), 2);
}

#[tokio::test]
async fn only_the_first_of_several_ids_is_sealed() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let original = calling(
        None,
        &[
            call("call_in", "save", "{}"),
            weather("call_1"),
            weather("call_2"),
        ],
    );
    upstream.play([says(&original)]);
    let body = request(false);
    let folded = caller.ask(&body).await.folded();
    let handed = ids(&folded["message"]);
    assert!(handed[0].len() > 40, "{handed:?}");
    assert_eq!(handed[1], "call_2");
    // The caller may keep its calls in another order.
    let mut message = folded["message"].clone();
    let calls = message["tool_calls"].as_array_mut().expect("calls");
    calls.reverse();
    upstream.play([closes("done")]);
    let body = follow_up(&body, &message, &["wet", "dry"]);
    caller.ask(&body).await.folded();
    let asked = messages(&upstream.only_request());
    assert_eq!(asked[1], original);
    assert_eq!(
        asked[3..],
        [result("call_1", "dry"), result("call_2", "wet")]
    );
}
