//! What an operator sees of a turn with hidden rounds: each round and each call of a service tool,
//! in the metrics and in the log, and no content of either.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Handback, KEY, call, calling, closes, kb, says, sealed_with, setup};
use crate::admin::{admin_of, samples};
use crate::harness::caller::{Caller, chat_bytes, connect_and_send};
use crate::harness::case::request;
use crate::harness::gateway::Gateway;
use crate::harness::script::{Answer, Gate, Step};
use crate::harness::service::held;
use crate::harness::upstream::Upstream;
use crate::harness::within;

/// The value of a series of counts, which is 0 before it begins.
fn count(seen: &BTreeMap<String, f64>, series: &str) -> String {
    seen.get(series).copied().unwrap_or_default().to_string()
}

/// The calls of a tool that ended so.
fn calls(seen: &BTreeMap<String, f64>, tool: &str, outcome: &str) -> String {
    let series = format!(
        "handback_service_calls_total{{agent=\"support\",outcome=\"{outcome}\",service=\"kb\",tool=\"{tool}\"}}"
    );
    count(seen, &series)
}

/// The rounds that ended so.
fn rounds(seen: &BTreeMap<String, f64>, outcome: &str) -> String {
    let series =
        format!("handback_round_duration_seconds_count{{agent=\"support\",outcome=\"{outcome}\"}}");
    count(seen, &series)
}

/// Waits until the metrics are as they have to be in the end: what nobody waits for is counted
/// behind the caller's back.
async fn until(gateway: &Gateway, what: &str, met: impl Fn(&BTreeMap<String, f64>) -> bool) {
    let admin = admin_of(gateway);
    let seen = async { while !met(&samples(&admin).await) {} };
    within(what, seen).await;
}

#[tokio::test]
async fn a_mixed_turn_is_counted_round_by_round_and_call_by_call() {
    let (handback, gateway) = Handback::reach(&sealed_with(&[KEY]), false).await;
    handback.goes_on(&gateway, &handback.follow_up()).await;
    let seen = samples(&admin_of(&gateway)).await;
    for tool in ["look", "save"] {
        assert_eq!(calls(&seen, tool, "completed"), "1", "{tool}: {seen:#?}");
        let series = format!(
            "handback_service_call_duration_seconds_count{{service=\"kb\",tool=\"{tool}\"}}"
        );
        assert_eq!(count(&seen, &series), "1", "{tool}: {seen:#?}");
    }
    assert_eq!(rounds(&seen, "answered"), "3", "{seen:#?}");
    for outcome in ["failed", "abandoned"] {
        assert_eq!(rounds(&seen, outcome), "0", "{outcome}");
    }
}

#[tokio::test]
async fn calls_and_rounds_are_counted_by_how_they_ended() {
    let upstream = Upstream::start().await;
    let service = kb().await.lines("find", "timeout = \"100ms\"");
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    service
        .tool("look")
        .play([Answer::body(500, "text/plain", "no")]);
    service.tool("find").play([Answer::silence()]);
    upstream.play([
        says(&calling(
            None,
            &[call("call_1", "look", "{}"), call("call_2", "find", "{}")],
        )),
        Answer::body(500, "text/plain", "no"),
    ]);
    assert_eq!(caller.ask(&request(false)).await.status, 502);
    let seen = samples(&admin_of(&gateway)).await;
    assert_eq!(calls(&seen, "look", "failed"), "1", "{seen:#?}");
    assert_eq!(calls(&seen, "find", "timed_out"), "1", "{seen:#?}");
    assert_eq!(rounds(&seen, "answered"), "1");
    assert_eq!(rounds(&seen, "failed"), "1");

    let mut endless = closes("never");
    endless.steps.insert(0, Step::Wait(Gate::closed()));
    upstream.play([endless]);
    let socket = connect_and_send(&gateway, &chat_bytes(&request(true))).await;
    upstream.asked(1).await;
    drop(socket);
    until(&gateway, "the abandoned round", |seen| {
        rounds(seen, "abandoned") == "1"
    })
    .await;
}

#[tokio::test]
async fn a_call_whose_caller_has_gone_is_counted_when_it_ends() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let gate = Gate::closed();
    service.tool("save").play([held(&gate, &json!({}))]);
    upstream.play([says(&calling(None, &[call("call_1", "save", "{}")]))]);
    let socket = connect_and_send(&gateway, &chat_bytes(&request(false))).await;
    service.tool("save").asked(1).await;
    drop(socket);
    until(&gateway, "the caller's end", |seen| {
        count(seen, "handback_requests_in_flight") == "0"
    })
    .await;
    gate.open();
    until(&gateway, "the call's end", |seen| {
        calls(seen, "save", "completed") == "1"
    })
    .await;
}

#[tokio::test]
async fn the_log_tells_a_turn_by_its_name_and_without_content() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let said = "hidden-text";
    let hidden = call("hidden-id", "look", r#"{"q":"hidden-argument"}"#);
    let mixed = [
        super::weather("call_b"),
        call("call_c", "save", r#"{"q":"hidden-argument"}"#),
    ];
    upstream.play([
        says(&calling(Some(said), &[hidden])),
        says(&calling(None, &mixed)),
        closes("hidden-text"),
    ]);
    let found = json!({"found": "hidden-result"});
    service.tool("look").play([Answer::json(200, &found)]);
    let gateway = setup(&upstream, &service)
        .log("handback=debug")
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let body = request(false);
    let folded = caller.ask(&body).await.folded();
    let body = super::follow_up(&body, &folded["message"], &["hidden-result"]);
    caller.ask(&body).await.folded();
    let log = gateway.log_of_its_life().await;
    assert!(!log.contains("hidden-"), "{log}");
    let lines: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of = |message: &str| {
        let lines = lines.iter().filter(|line| line["message"] == message);
        lines.cloned().collect::<Vec<Value>>()
    };
    let (requests, rounds, calls) = (of("request"), of("round"), of("service call"));
    assert_eq!(
        (requests.len(), rounds.len(), calls.len()),
        (2, 3, 2),
        "{log}"
    );
    let name = &requests[0]["turn"];
    assert_eq!(name.as_str().map(str::len), Some(16), "{log}");
    for line in requests.iter().chain(&rounds).chain(&calls) {
        assert_eq!(
            (&line["turn"], &line["agent"]),
            (name, &json!("support")),
            "{log}"
        );
        assert!(line["duration_us"].is_u64(), "{log}");
    }
    for (line, tool) in calls.iter().zip(["look", "save"]) {
        assert_eq!(
            (&line["service"], &line["tool"]),
            (&json!("kb"), &json!(tool)),
            "{log}"
        );
        assert_eq!(line["outcome"], "completed");
    }
    let numbers: Vec<_> = rounds.iter().map(|line| &line["round"]).collect();
    assert_eq!(numbers, [1, 2, 3], "{log}");
}
