//! Histories with several handbacks: what was hidden is in its place, and the bytes are the same
//! in every later request (contract K3, K4, U3).

use serde_json::{Value, json};

use super::{
    Handback, OTHER_KEY, call, calling, closes, follow_up, ids, kb, messages, prefix, result, says,
    sealed_with, setup, weather, with,
};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::Gateway;
use crate::harness::http::Request;
use crate::harness::upstream::Upstream;

/// A turn with two handbacks: the second comes after a hidden round, and parks a call as well.
/// Gives the request that the second answered, its message, and what the model was asked before.
async fn second(handback: &Handback, gateway: &Gateway) -> (Value, Value, Vec<Request>) {
    let body = handback.follow_up();
    handback.upstream.play([
        says(&calling(Some("Dry. "), &[call("call_d", "find", "{}")])),
        says(&calling(
            None,
            &[call("call_e", "file", "{}"), weather("call_f")],
        )),
    ]);
    let folded = Caller::of(gateway).ask(&body).await.folded();
    assert_eq!(folded["finish_reason"], "tool_calls", "{folded}");
    (
        body,
        folded["message"].clone(),
        handback.upstream.requests(),
    )
}

/// What the model has to be asked after both.
fn whole_history() -> Vec<Value> {
    let mut history = Handback::history();
    history.extend([
        calling(Some("Dry. "), &[call("call_d", "find", "{}")]),
        result("call_d", r#"{"tool":"find"}"#),
        calling(None, &[call("call_e", "file", "{}"), weather("call_f")]),
        result("call_e", r#"{"tool":"file"}"#),
        result("call_f", "windy"),
    ]);
    history
}

#[tokio::test]
async fn a_second_handback_of_a_turn_carries_what_the_first_had_parked() {
    let (handback, gateway) = Handback::sealed().await;
    let (body, message, asked) = second(&handback, &gateway).await;
    assert_eq!(messages(&asked[0]), Handback::history());
    // Nothing of the first process is needed.
    drop(gateway);
    let extra = sealed_with(&[super::KEY]);
    let gateway = handback.setup.clone().tables(&extra).start().await;
    let body = follow_up(&body, &message, &["windy"]);
    let last = handback.goes_on(&gateway, &body).await;
    assert_eq!(messages(&last), whole_history());
    for earlier in [&handback.asked, &asked[0], &asked[1]] {
        assert!(last.text().starts_with(prefix(earlier)));
    }
    for tool in ["look", "save", "find", "file"] {
        assert_eq!(handback.service.calls(tool), 1, "{tool}");
    }
}

#[tokio::test]
async fn later_turns_keep_the_hidden_rounds_byte_for_byte() {
    let (handback, gateway) = Handback::sealed().await;
    let (body, message, _) = second(&handback, &gateway).await;
    let body = follow_up(&body, &message, &["windy"]);
    handback.goes_on(&gateway, &body).await;
    let body = with(
        &body,
        [
            json!({"role": "assistant", "content": "done"}),
            user("And tomorrow?"),
        ],
    );
    let first = handback.goes_on(&gateway, &body).await;
    let again = handback.goes_on(&gateway, &body).await;
    assert_eq!(first.text(), again.text());
    let body = with(
        &body,
        [
            json!({"role": "assistant", "content": "done"}),
            user("And next week?"),
        ],
    );
    let later = handback.goes_on(&gateway, &body).await;
    assert!(later.text().starts_with(prefix(&first)));

    // All but the result of the last parked call, which no handback has carried.
    let mut expected = whole_history();
    let shown = messages(&first);
    let lost = &shown[9];
    assert_eq!(lost["tool_call_id"], "call_e");
    let told = lost["content"].as_str().expect("a note");
    assert!(told.contains("not available any more"), "{told}");
    expected[9] = lost.clone();
    expected.extend([
        json!({"role": "assistant", "content": "done"}),
        user("And tomorrow?"),
    ]);
    assert_eq!(shown, expected);
    for tool in ["look", "save", "find", "file"] {
        assert_eq!(handback.service.calls(tool), 1, "{tool} ran again");
    }
}

#[tokio::test]
async fn older_history_that_does_not_open_is_its_visible_part() {
    let (handback, _first) = Handback::sealed().await;
    let extra = sealed_with(&[OTHER_KEY]);
    let gateway = handback.setup.clone().tables(&extra).start().await;
    let body = with(
        &handback.follow_up(),
        [
            json!({"role": "assistant", "content": "done"}),
            user("And tomorrow?"),
        ],
    );
    let asked = handback.goes_on(&gateway, &body).await;
    let again = handback.goes_on(&gateway, &body).await;
    assert_eq!(asked.text(), again.text());
    let shown = messages(&asked);
    assert_eq!(shown.len(), 5, "{shown:?}");
    assert_eq!(shown[1]["content"], "One moment.  Asking. ");
    assert_eq!(
        shown[1]["tool_calls"][0]["function"],
        weather("")["function"]
    );
    let id = ids(&shown[1]).remove(0);
    assert!(id.len() <= 40, "{id}");
    assert_eq!(shown[2], result(&id, "dry"));
}

#[tokio::test]
async fn an_unanswered_handback_of_an_older_turn_was_not_run() {
    let (handback, gateway) = Handback::sealed().await;
    let body = with(
        &handback.request,
        [handback.message.clone(), user("Never mind.")],
    );
    let first = handback.goes_on(&gateway, &body).await;
    let body = with(
        &body,
        [
            json!({"role": "assistant", "content": "done"}),
            user("And tomorrow?"),
        ],
    );
    let later = handback.goes_on(&gateway, &body).await;
    assert!(later.text().starts_with(prefix(&first)));
    let shown = messages(&later);
    assert_eq!(shown[..4], Handback::history()[..4]);
    for (at, id) in [(4, "call_b"), (5, "call_c")] {
        assert_eq!(shown[at]["tool_call_id"], id);
        let content = shown[at]["content"].as_str().expect("a note");
        assert!(content.contains("not_run"), "{content}");
    }
    assert_eq!(handback.service.calls("save"), 0);
}

#[tokio::test]
async fn ids_that_the_upstream_gives_in_every_round_are_told_apart() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let hidden = calling(None, &[call("call_0", "look", "{}")]);
    let mixed = calling(None, &[weather("call_0"), call("call_1", "save", "{}")]);
    upstream.play([says(&hidden), says(&mixed)]);
    let body = request(false);
    let first = caller.ask(&body).await.folded()["message"].clone();
    let body = follow_up(&body, &first, &["dry"]);
    upstream.play([says(&hidden), says(&mixed)]);
    let second = caller.ask(&body).await.folded()["message"].clone();
    assert_ne!(ids(&first), ids(&second));
    let body = follow_up(&body, &second, &["wet"]);
    upstream.play([closes("done")]);
    caller.ask(&body).await.folded();
    let asked = messages(&upstream.only_request());
    let mut expected = vec![user("Is it raining in Lisbon?")];
    for weather in ["dry", "wet"] {
        expected.extend([
            hidden.clone(),
            result("call_0", r#"{"tool":"look"}"#),
            mixed.clone(),
            result("call_0", weather),
            result("call_1", r#"{"tool":"save"}"#),
        ]);
    }
    assert_eq!(asked, expected);
    assert_eq!(service.calls("save"), 2);
}

#[tokio::test]
async fn plain_ids_that_repeat_are_replaced() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    upstream.play([says(&calling(None, &[weather("call_0")]))]);
    let body = request(false);
    let first = caller.ask(&body).await.folded()["message"].clone();
    assert_eq!(ids(&first), ["call_0"]);
    let body = follow_up(&body, &first, &["dry"]);
    let second = caller.ask(&body).await.folded()["message"].clone();
    let id = ids(&second).remove(0);
    assert!(id != "call_0" && id.len() <= 40, "{id}");
}

#[tokio::test]
async fn what_was_parked_outlives_handbacks_with_plain_ids() {
    let (handback, gateway) = Handback::sealed().await;
    let caller = Caller::of(&gateway);
    let mut body = handback.follow_up();
    handback
        .upstream
        .play([says(&calling(None, &[weather("call_x")]))]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    body = follow_up(&body, &message, &["wet"]);
    handback
        .upstream
        .play([says(&calling(None, &[weather("call_y")]))]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    body = follow_up(&body, &message, &["fog"]);
    let asked = messages(&handback.goes_on(&gateway, &body).await);
    assert_eq!(asked[..6], Handback::history());
    assert_eq!(
        asked[6..],
        [
            calling(None, &[weather("call_x")]),
            result("call_x", "wet"),
            calling(None, &[weather("call_y")]),
            result("call_y", "fog")
        ]
    );
}
