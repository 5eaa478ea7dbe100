//! Identical requests at once: one is worked on, the others wait for it (contract K7).

use serde_json::{Value, json};

use super::{KEY, call, calling, closes, follow_up, kb, says, sealed_with, setup, weather};
use crate::harness::caller::{Caller, chat_bytes, connect_and_send};
use crate::harness::case::request;
use crate::harness::gateway::Gateway;
use crate::harness::script::{Answer, Gate, Step, chunk, event};
use crate::harness::service::{Service, held};
use crate::harness::upstream::Upstream;

/// What the log says when a request waits for another.
const WAITS: &str = "another attempt at the same request is waited for";

/// A gateway whose agent has a tool that waits until the gate is opened, once.
struct Scene {
    upstream: Upstream,
    service: Service,
    gateway: Gateway,
    gate: Gate,
}

impl Scene {
    async fn start() -> Self {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let gateway = setup(&upstream, &service)
            .tables(&sealed_with(&[KEY]))
            .start()
            .await;
        let gate = Gate::closed();
        let save = service.tool("save");
        save.play([held(&gate, &json!({"tool": "save"}))]);
        Self {
            upstream,
            service,
            gateway,
            gate,
        }
    }

    /// Opens the gate once this many requests wait.
    async fn opens_when(&self, waiting: usize) {
        self.service.tool("save").asked(1).await;
        self.gateway.said_often(WAITS, waiting).await;
        self.gate.open();
    }
}

fn saving() -> Value {
    calling(Some("One moment. "), &[call("call_1", "save", "{}")])
}

/// The same answer but for its envelope.
fn message(folded: &Value) -> (&Value, &Value) {
    (&folded["message"], &folded["finish_reason"])
}

#[tokio::test]
async fn all_get_the_same_answer() {
    for streamed in [false, true] {
        let scene = Scene::start().await;
        scene.upstream.play([says(&saving()), closes("done")]);
        let caller = Caller::of(&scene.gateway);
        let body = request(streamed);
        let (one, other, third, ()) = tokio::join!(
            caller.ask(&body),
            caller.ask(&body),
            caller.ask(&body),
            scene.opens_when(2)
        );
        for reply in [&one, &other, &third] {
            let folded = reply.folded();
            assert_eq!(folded["message"]["content"], "One moment. done");
            assert_eq!(message(&folded), message(&one.folded()));
        }
        assert_eq!(scene.service.calls("save"), 1);
        assert_eq!(scene.upstream.requests().len(), 2);
    }
}

#[tokio::test]
async fn requests_with_different_keys_do_not_wait_for_each_other() {
    let scene = Scene::start().await;
    scene.upstream.play([
        says(&saving()),
        says(&saving()),
        closes("done"),
        closes("done"),
    ]);
    let [one, other] =
        ["order-17", "order-18"].map(|key| Caller::of(&scene.gateway).with_idempotency_key(key));
    let body = request(false);
    let (one, other, ()) = tokio::join!(one.ask(&body), other.ask(&body), async {
        // Both get as far as the call, of which the first is held up.
        scene.service.tool("save").asked(2).await;
        scene.gate.open();
    });
    for reply in [one, other] {
        assert_eq!(reply.folded()["message"]["content"], "One moment. done");
    }
    assert_eq!(scene.service.calls("save"), 2);
}

#[tokio::test]
async fn all_are_handed_the_same_calls() {
    for streamed in [false, true] {
        let scene = Scene::start().await;
        let mixed = calling(None, &[weather("call_2"), call("call_3", "file", "{}")]);
        scene
            .upstream
            .play([says(&saving()), says(&mixed), closes("done")]);
        let caller = Caller::of(&scene.gateway);
        let body = request(streamed);
        let (one, other, ()) =
            tokio::join!(caller.ask(&body), caller.ask(&body), scene.opens_when(1));
        let (one, other) = (one.folded(), other.folded());
        assert_eq!(one["finish_reason"], "tool_calls", "{one}");
        assert_eq!(message(&one), message(&other));
        for folded in [&one, &other] {
            let body = follow_up(&body, &folded["message"], &["dry"]);
            let folded = caller.ask(&body).await.folded();
            assert_eq!(folded["message"]["content"], "done", "{folded}");
        }
        assert_eq!(scene.service.calls("file"), 1);
    }
}

#[tokio::test]
async fn one_of_those_who_wait_takes_a_failed_attempt_up() {
    for streamed in [false, true] {
        let scene = Scene::start().await;
        let no = Answer::body(500, "text/plain", "no");
        scene.upstream.play([says(&saving()), no, closes("done")]);
        let caller = Caller::of(&scene.gateway);
        let body = request(streamed);
        let (one, other, third, ()) = tokio::join!(
            caller.ask(&body),
            caller.ask(&body),
            caller.ask(&body),
            scene.opens_when(2)
        );
        let folded = [one, other, third].map(|reply| reply.folded());
        let failed = folded.iter().filter(|folded| folded["error"].is_object());
        assert_eq!(failed.count(), 1, "{folded:?}");
        for folded in folded.iter().filter(|folded| folded["error"].is_null()) {
            assert_eq!(folded["message"]["content"], "One moment. done");
        }
        assert_eq!(scene.service.calls("save"), 1);
        assert_eq!(scene.upstream.requests().len(), 3);
    }
}

#[tokio::test]
async fn one_of_those_who_wait_goes_on_when_the_caller_leaves() {
    let scene = Scene::start().await;
    scene.upstream.play([says(&saving()), closes("done")]);
    let body = request(false);
    let socket = connect_and_send(&scene.gateway, &chat_bytes(&body)).await;
    scene.service.tool("save").asked(1).await;
    let caller = Caller::of(&scene.gateway);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        scene.gateway.said(WAITS).await;
        drop(socket);
        scene.gateway.said("an earlier attempt is taken up").await;
        scene.gate.open();
    });
    assert_eq!(reply.folded()["message"]["content"], "One moment. done");
    assert_eq!(scene.service.calls("save"), 1);
    assert_eq!(scene.upstream.requests().len(), 2);
}

#[tokio::test]
async fn one_who_waits_and_leaves_disturbs_nobody() {
    let scene = Scene::start().await;
    scene.upstream.play([says(&saving()), closes("done")]);
    let body = request(false);
    let caller = Caller::of(&scene.gateway);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        scene.service.tool("save").asked(1).await;
        let socket = connect_and_send(&scene.gateway, &chat_bytes(&body)).await;
        scene.gateway.said(WAITS).await;
        drop(socket);
        scene.gateway.said("caller_gone").await;
        scene.gate.open();
    });
    assert_eq!(reply.folded()["message"]["content"], "One moment. done");
    scene.gate.open();
    scene.upstream.play([says(&saving()), closes("again")]);
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "One moment. again");
    assert_eq!(scene.service.calls("save"), 2);
}

#[tokio::test]
async fn an_attempt_that_ran_nothing_is_begun_anew() {
    let scene = Scene::start().await;
    let gate = Gate::closed();
    let mut no = Answer::body(500, "text/plain", "no");
    no.steps.insert(0, Step::Wait(gate.clone()));
    scene.upstream.play([no, closes("done")]);
    let caller = Caller::of(&scene.gateway);
    let body = request(false);
    let (one, other, ()) = tokio::join!(caller.ask(&body), caller.ask(&body), async {
        scene.gateway.said(WAITS).await;
        gate.open();
    });
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 502]);
    assert_eq!(scene.upstream.requests().len(), 2);
}

#[tokio::test]
async fn one_who_waits_in_vain_is_told_not_to_come_again() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .tables("[limits]\nturn_time = \"3s\"\n")
        .start()
        .await;
    // More than the buffers between the gateway and a caller that reads nothing can take.
    let part = event(&chunk(&json!([
        {"index": 0, "delta": {"content": "x".repeat(1024 * 1024)}, "finish_reason": null}
    ])));
    upstream.play([says(&saving()), Answer::stream(vec![part; 24])]);
    let body = request(true);
    let stalled = connect_and_send(&gateway, &chat_bytes(&body)).await;
    upstream.asked(2).await;
    let reply = Caller::of(&gateway).ask(&body).await;
    assert_eq!(reply.json()["error"]["code"], "turn_timeout");
    assert_eq!(reply.header("x-should-retry"), "false");
    assert_eq!(service.calls("save"), 1);
    drop(stalled);
}

#[tokio::test]
async fn requests_to_an_agent_without_services_do_not_wait() {
    let upstream = Upstream::start().await;
    let gateway = crate::harness::gateway::Setup::with_upstream(&upstream.base_url())
        .start()
        .await;
    let gate = Gate::closed();
    let mut answer = closes("done");
    answer.steps.insert(0, Step::Wait(gate.clone()));
    upstream.play([answer]);
    let caller = Caller::of(&gateway);
    let body = request(false);
    let (one, other, ()) = tokio::join!(caller.ask(&body), caller.ask(&body), async {
        upstream.asked(2).await;
        gate.open();
        gate.open();
    });
    assert_eq!(one.folded()["message"]["content"], "done");
    assert_eq!(other.folded()["message"]["content"], "done");
}
