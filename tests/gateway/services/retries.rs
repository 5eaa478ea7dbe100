//! A caller's retry repeats no side effect (contract V3, K7).

use serde_json::json;

use super::{Handback, KEY, call, calling, closes, kb, keys, messages, says, setup};
use crate::harness::caller::{Caller, chat_bytes, connect_and_send};
use crate::harness::case::request;
use crate::harness::script::{Answer, Gate};
use crate::harness::service::held;
use crate::harness::upstream::Upstream;

const SHOULD_RETRY: &str = "x-should-retry";

#[tokio::test]
async fn the_same_follow_up_again_runs_nothing_again() {
    let (handback, gateway) = Handback::sealed().await;
    let body = handback.follow_up();
    let first = handback.goes_on(&gateway, &body).await;
    let second = handback.goes_on(&gateway, &body).await;
    assert_eq!(first.text(), second.text());
    assert_eq!(handback.service.calls("save"), 1);
}

#[tokio::test]
async fn the_same_follow_up_meanwhile_waits_for_the_first() {
    let (handback, gateway) = Handback::sealed().await;
    let gate = Gate::closed();
    let save = handback.service.tool("save");
    save.play([held(&gate, &json!({"tool": "save"}))]);
    let body = handback.follow_up();
    let caller = Caller::of(&gateway);
    let mut other = body.clone();
    other["seed"] = json!(1);
    // The gate opens once: a second call of the tool would wait without end. A follow-up that
    // differs waits for the call alone, one that does not for the answer.
    let (one, two, three, ()) = tokio::join!(
        caller.ask(&body),
        caller.ask(&body),
        caller.ask(&other),
        async {
            save.asked(1).await;
            gateway
                .said("another attempt at the same request is waited for")
                .await;
            gate.open();
        }
    );
    for reply in [one, two, three] {
        assert_eq!(reply.folded()["message"]["content"], "done");
    }
    assert_eq!(handback.service.calls("save"), 1);
    let asked = handback.upstream.requests();
    assert_eq!(asked.len(), 2);
    for asked in asked {
        assert_eq!(messages(&asked), Handback::history());
    }
}

#[tokio::test]
async fn a_follow_up_that_failed_goes_on_where_it_stood() {
    let (handback, gateway) = Handback::sealed().await;
    let body = handback.follow_up();
    handback
        .upstream
        .play([Answer::body(500, "text/plain", "no")]);
    let reply = Caller::of(&gateway).ask(&body).await;
    assert_eq!(reply.status, 502, "{}", reply.text());
    assert_eq!(reply.header(SHOULD_RETRY), "false");
    let asked = handback.goes_on(&gateway, &body).await;
    assert_eq!(messages(&asked), Handback::history());
    assert_eq!(handback.service.calls("save"), 1);
}

#[tokio::test]
async fn every_attempt_has_the_same_idempotency_key() {
    let forgetful = format!("[continuation]\nkeys = [{KEY:?}]\nretry_window = \"0s\"\n");
    let (handback, first) = Handback::reach(&forgetful, false).await;
    let second = handback.setup.clone().tables(&forgetful).start().await;
    let body = handback.follow_up();
    for gateway in [&first, &first, &second] {
        handback.goes_on(gateway, &body).await;
    }
    let keys = keys(&handback.service, "save");
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0] && !key.is_empty()));
}

#[tokio::test]
async fn different_calls_have_different_idempotency_keys() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let calls = [call("call_1", "save", "{}"), call("call_2", "save", "{}")];
    upstream.play([
        says(&calling(None, &calls)),
        says(&calling(None, &calls)),
        closes("done"),
    ]);
    let gateway = setup(&upstream, &service).start().await;
    Caller::of(&gateway).ask(&request(false)).await.folded();
    let mut keys = keys(&service, "save");
    assert_eq!(keys.len(), 4);
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4, "{keys:?}");
}

#[tokio::test]
async fn an_error_after_a_write_asks_not_to_be_retried() {
    for (tool, header) in [("save", "false"), ("look", "")] {
        let upstream = Upstream::start().await;
        let service = kb().await;
        upstream.play([
            says(&calling(None, &[call("call_1", tool, "{}")])),
            Answer::body(500, "text/plain", "no"),
        ]);
        let gateway = setup(&upstream, &service).start().await;
        let reply = Caller::of(&gateway).ask(&request(false)).await;
        assert_eq!(reply.status, 502, "{}", reply.text());
        assert_eq!(reply.header(SHOULD_RETRY), header, "{tool}");
        assert_eq!(service.calls(tool), 1);
    }
}

#[tokio::test]
async fn a_follow_up_whose_caller_went_away_is_taken_up() {
    let (handback, gateway) = Handback::sealed().await;
    let gate = Gate::closed();
    let save = handback.service.tool("save");
    save.play([held(&gate, &json!({"tool": "save"}))]);
    let body = handback.follow_up();
    let socket = connect_and_send(&gateway, &chat_bytes(&body)).await;
    save.asked(1).await;
    drop(socket);
    let caller = Caller::of(&gateway);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        caller.get("/v1/models").await;
        gate.open();
    });
    assert_eq!(reply.folded()["message"]["content"], "done");
    assert_eq!(handback.service.calls("save"), 1);
    let last = handback.upstream.requests().pop().expect("it was asked");
    assert_eq!(messages(&last), Handback::history());
}

#[tokio::test]
async fn time_that_is_up_during_a_write_asks_not_to_be_retried() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    service
        .tool("save")
        .play([held(&Gate::closed(), &json!({}))]);
    upstream.play([says(&calling(None, &[call("call_1", "save", "{}")]))]);
    let limits = "[limits]\nturn_time = \"500ms\"\n";
    let gateway = setup(&upstream, &service).tables(limits).start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!(reply.status, 504, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "turn_timeout");
    assert_eq!(reply.header(SHOULD_RETRY), "false");
}
