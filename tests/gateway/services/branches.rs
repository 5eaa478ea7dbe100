//! Which calls count as the same: those parked with one handback, for all of its follow-ups, and no
//! others, however alike they look (contract V3, K7).

use serde_json::{Value, json};

use super::{Handback, call, calling, closes, follow_up, keys, says, weather, with};
use crate::harness::caller::Caller;
use crate::harness::case::user;
use crate::harness::gateway::Gateway;

/// Whether no two are the same.
fn all_differ(keys: &[String]) -> bool {
    let mut sorted = keys.to_vec();
    sorted.sort();
    sorted.dedup();
    sorted.len() == keys.len() && !keys.iter().any(String::is_empty)
}

/// Two follow-ups of a handback: with another result, and with more to say.
fn branches(handback: &Handback) -> [Value; 3] {
    let dry = handback.follow_up();
    [
        follow_up(&handback.request, &handback.message, &["wet"]),
        with(&dry, [user("Really?")]),
        dry,
    ]
}

/// Sends a follow-up to which the model gives this answer.
async fn ask(handback: &Handback, gateway: &Gateway, body: &Value, answer: &Value) -> Value {
    handback.upstream.play([says(answer), closes("done")]);
    Caller::of(gateway).ask(body).await.folded()
}

#[tokio::test]
async fn a_parked_call_runs_once_for_all_follow_ups_of_its_handback() {
    let (handback, gateway) = Handback::sealed().await;
    for body in branches(&handback) {
        handback.goes_on(&gateway, &body).await;
    }
    assert_eq!(handback.service.calls("save"), 1);
}

#[tokio::test]
async fn calls_behind_different_follow_ups_are_different() {
    let (handback, gateway) = Handback::sealed().await;
    let more = calling(None, &[call("call_d", "file", "{}")]);
    for body in branches(&handback) {
        let folded = ask(&handback, &gateway, &body, &more).await;
        assert_eq!(folded["message"]["content"], "done", "{folded}");
    }
    let keys = keys(&handback.service, "file");
    assert_eq!(keys.len(), 3);
    assert!(all_differ(&keys), "{keys:?}");
}

#[tokio::test]
async fn handbacks_that_look_alike_share_nothing() {
    let (handback, gateway) = Handback::sealed().await;
    let mixed = calling(None, &[weather("call_d"), call("call_e", "file", "{}")]);
    for body in branches(&handback) {
        let message = ask(&handback, &gateway, &body, &mixed).await["message"].clone();
        let body = follow_up(&body, &message, &["sunny"]);
        handback.goes_on(&gateway, &body).await;
    }
    let keys = keys(&handback.service, "file");
    assert_eq!(keys.len(), 3);
    assert!(all_differ(&keys), "{keys:?}");
}

#[tokio::test]
async fn the_same_request_twice_makes_two_handbacks() {
    let (handback, gateway) = Handback::sealed().await;
    let mixed = calling(None, &[weather("call_b"), call("call_c", "file", "{}")]);
    let mut request = handback.request.clone();
    request["seed"] = json!(7);
    for _ in 0..2 {
        let message = ask(&handback, &gateway, &request, &mixed).await["message"].clone();
        let body = follow_up(&request, &message, &["dry"]);
        handback.goes_on(&gateway, &body).await;
    }
    let keys = keys(&handback.service, "file");
    assert_eq!(keys.len(), 2);
    assert!(all_differ(&keys), "{keys:?}");
}
