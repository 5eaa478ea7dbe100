//! A process that is killed at any step of a turn, another one in its place, and a caller that
//! sends its request again as every SDK does (contract K1, K7, S3). With a configured sealing key:
//!
//! | killed | the retry | internal calls |
//! |---|---|---|
//! | before the model answers | begins the turn | none had run |
//! | in a hidden round of the first request | begins the turn anew | made again, as calls of another turn: nothing of the first attempt was given out, so nobody can know that it is the same. With an `Idempotency-Key` of the caller's, as the same calls |
//! | after the handback | is the follow-up, which goes on | none is made again |
//! | in a follow-up, whatever it was doing | goes on from the handback | those of the follow-up are made again with the same `Idempotency-Key`, those before the handback are not |
//!
//! With a journal none that was answered is made again ([`super::journal`]).
//!
//! The caller never takes a broken answer for a whole one. Without a configured key the follow-up
//! is refused as `continuation_lost`, and nothing runs.

use serde_json::{Value, json};

use super::{
    Handback, KEY, call, calling, closes, follow_up, held_back, kb, keys, messages, refused, says,
    sealed_with, setup, weather,
};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::script::{Answer, Gate, Step};
use crate::harness::service::{Service, held};
use crate::harness::sse::Event;
use crate::harness::upstream::Upstream;

/// A model, a service, and processes between them.
struct Walk {
    upstream: Upstream,
    service: Service,
    setup: Setup,
}

impl Walk {
    async fn new() -> Self {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let setup = setup(&upstream, &service).tables(&sealed_with(&[KEY]));
        Self {
            upstream,
            service,
            setup,
        }
    }

    /// Sends a request to a process and kills it as soon as `reached` has come about.
    async fn kill_at(gateway: Gateway, body: &Value, reached: impl Future<Output = ()>) {
        let caller = Caller::of(&gateway);
        Self::kill_as(gateway, &caller, body, reached).await;
    }

    async fn kill_as(
        gateway: Gateway,
        caller: &Caller,
        body: &Value,
        reached: impl Future<Output = ()>,
    ) {
        let (reply, ()) = tokio::join!(caller.try_ask(body), async {
            reached.await;
            gateway.kill();
        });
        if let Ok(reply) = reply {
            assert!(reply.broken, "a whole answer: {}", reply.text());
        }
    }

    /// A hidden round with `tool`, then a mixed one.
    fn plays_to_the_handback(&self, tool: &str) {
        self.upstream.play([
            says(&calling(None, &[call("call_a", tool, "{}")])),
            says(&calling(
                None,
                &[weather("call_b"), call("call_c", "save", "{}")],
            )),
        ]);
    }

    /// Sends the first request to a fresh process, its answer to another, and expects the end.
    async fn goes_all_the_way(&self, body: &Value) {
        let gateway = self.setup.start().await;
        let handed = Caller::of(&gateway).ask(body).await.folded();
        assert_eq!(handed["finish_reason"], "tool_calls", "{handed}");
        gateway.kill();
        let gateway = self.setup.start().await;
        self.upstream.play([closes("done")]);
        let body = follow_up(body, &handed["message"], &["dry"]);
        let folded = Caller::of(&gateway).ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        assert_eq!(self.service.calls("save"), 1);
    }
}

/// The tool was called twice, as the same call.
fn ran_as_one(service: &Service, tool: &str) {
    let keys = keys(service, tool);
    let [first, second] = &keys[..] else {
        panic!("{tool} was called {} times", keys.len())
    };
    assert_eq!(first, second, "{tool}");
}

/// The follow-up goes on in another process, where the parked call is made again.
async fn goes_on_in_another_process(handback: &Handback, body: &Value) {
    let setup = handback.setup.clone().tables(&sealed_with(&[KEY]));
    let asked = handback.goes_on(&setup.start().await, body).await;
    assert_eq!(messages(&asked), Handback::history());
    ran_as_one(&handback.service, "save");
    assert_eq!(handback.service.calls("look"), 1);
}

#[tokio::test]
async fn killed_before_the_model_answers() {
    for streamed in [false, true] {
        let walk = Walk::new().await;
        let body = request(streamed);
        walk.upstream.play([held_back(closes("never"))]);
        let gateway = walk.setup.start().await;
        Walk::kill_at(gateway, &body, walk.upstream.asked(1)).await;
        walk.plays_to_the_handback("look");
        walk.goes_all_the_way(&body).await;
        assert_eq!(walk.service.calls("look"), 1);
    }
}

#[tokio::test]
async fn killed_during_a_hidden_call() {
    for streamed in [false, true] {
        let walk = Walk::new().await;
        let body = request(streamed);
        walk.plays_to_the_handback("file");
        let file = walk.service.tool("file");
        file.play([
            held(&Gate::closed(), &json!({})),
            Answer::json(200, &json!({})),
        ]);
        let gateway = walk.setup.start().await;
        Walk::kill_at(gateway, &body, file.asked(1)).await;
        walk.plays_to_the_handback("file");
        walk.goes_all_the_way(&body).await;
        assert_eq!(walk.service.calls("file"), 2);
    }
}

#[tokio::test]
async fn killed_while_the_model_is_asked_after_a_hidden_call() {
    for streamed in [false, true] {
        let walk = Walk::new().await;
        let body = request(streamed);
        walk.upstream.play([
            says(&calling(
                Some("One moment. "),
                &[call("call_a", "file", "{}")],
            )),
            held_back(closes("never")),
        ]);
        let gateway = walk.setup.start().await;
        Walk::kill_at(gateway, &body, walk.upstream.asked(2)).await;
        walk.plays_to_the_handback("file");
        walk.goes_all_the_way(&body).await;
        assert_eq!(walk.service.calls("file"), 2);
    }
}

#[tokio::test]
async fn killed_after_the_handback() {
    for streamed in [false, true] {
        let (handback, first) = Handback::reach(&sealed_with(&[KEY]), streamed).await;
        first.kill();
        // Killed again before it has begun: the first thing that it does is the parked call.
        let setup = handback.setup.clone().tables(&sealed_with(&[KEY]));
        setup.start().await.kill();
        let asked = handback
            .goes_on(&setup.start().await, &handback.follow_up())
            .await;
        assert_eq!(messages(&asked), Handback::history());
        for tool in ["look", "save"] {
            assert_eq!(handback.service.calls(tool), 1, "{tool}");
        }
    }
}

#[tokio::test]
async fn killed_during_the_parked_call() {
    for streamed in [false, true] {
        let (handback, gateway) = Handback::reach(&sealed_with(&[KEY]), streamed).await;
        let save = handback.service.tool("save");
        save.play([
            held(&Gate::closed(), &json!({})),
            Answer::json(200, &json!({"tool": "save"})),
        ]);
        let body = handback.follow_up();
        Walk::kill_at(gateway, &body, save.asked(1)).await;
        goes_on_in_another_process(&handback, &body).await;
    }
}

#[tokio::test]
async fn killed_during_the_last_model_request() {
    for streamed in [false, true] {
        let (handback, gateway) = Handback::reach(&sealed_with(&[KEY]), streamed).await;
        handback.upstream.play([held_back(closes("never"))]);
        let body = handback.follow_up();
        Walk::kill_at(gateway, &body, handback.upstream.asked(1)).await;
        goes_on_in_another_process(&handback, &body).await;
    }
}

#[tokio::test]
async fn killed_during_a_hidden_call_of_the_follow_up() {
    for streamed in [false, true] {
        let (handback, gateway) = Handback::reach(&sealed_with(&[KEY]), streamed).await;
        let filing = || says(&calling(None, &[call("call_d", "file", "{}")]));
        handback.upstream.play([filing()]);
        let file = handback.service.tool("file");
        file.play([
            held(&Gate::closed(), &json!({})),
            Answer::json(200, &json!({})),
        ]);
        let body = handback.follow_up();
        Walk::kill_at(gateway, &body, file.asked(1)).await;
        let setup = handback.setup.clone().tables(&sealed_with(&[KEY]));
        let gateway = setup.start().await;
        handback.upstream.play([filing(), closes("done")]);
        let folded = Caller::of(&gateway).ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        for tool in ["save", "file"] {
            ran_as_one(&handback.service, tool);
        }
        assert_eq!(handback.service.calls("look"), 1);
    }
}

#[tokio::test]
async fn killed_after_a_hidden_call_of_a_request_that_bears_a_key() {
    let walk = Walk::new().await;
    let body = request(false);
    let filing = |id| says(&calling(None, &[call(id, "file", "{}")]));
    walk.upstream
        .play([filing("call_a"), held_back(closes("never"))]);
    let gateway = walk.setup.start().await;
    let caller = Caller::of(&gateway).with_idempotency_key("order-17");
    Walk::kill_as(gateway, &caller, &body, walk.upstream.asked(2)).await;
    // A model that is asked again gives its calls other ids.
    for (key, id) in [("order-17", "call_b"), ("order-18", "call_c")] {
        walk.upstream.play([filing(id), closes("done")]);
        let gateway = walk.setup.start().await;
        let caller = Caller::of(&gateway).with_idempotency_key(key);
        let folded = caller.ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
    }
    let [first, again, other] = &keys(&walk.service, "file")[..] else {
        panic!("file was not called three times")
    };
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[tokio::test]
async fn killed_after_a_hidden_call_of_a_follow_up_that_carries_nothing() {
    let walk = Walk::new().await;
    let body = request(false);
    let gateway = walk.setup.start().await;
    walk.upstream.play([says(&calling(None, &[weather("w1")]))]);
    let handed = Caller::of(&gateway).ask(&body).await.folded();
    assert_eq!(handed["message"]["tool_calls"][0]["id"], "w1");
    let body = follow_up(&body, &handed["message"], &["dry"]);
    let filing = |id| says(&calling(None, &[call(id, "file", "{}")]));
    walk.upstream
        .play([filing("call_a"), held_back(closes("never"))]);
    Walk::kill_at(gateway, &body, walk.upstream.asked(2)).await;
    walk.upstream.play([filing("call_b"), closes("done")]);
    let gateway = walk.setup.start().await;
    Caller::of(&gateway).ask(&body).await.folded();
    ran_as_one(&walk.service, "file");
}

#[tokio::test]
async fn killed_in_the_middle_of_a_stream() {
    let (handback, gateway) = Handback::reach(&sealed_with(&[KEY]), true).await;
    let mut answer = closes("do");
    answer.steps.insert(1, Step::Wait(Gate::closed()));
    handback.upstream.play([answer]);
    let body = handback.follow_up();
    let mut live = Caller::of(&gateway).open(&body).await;
    assert_eq!(live.next_text().await, "do");
    gateway.kill();
    for event in live.until_broken().await {
        let Event::Json(chunk) = event else {
            panic!("the stream ended as if it were whole")
        };
        assert!(chunk["choices"][0]["finish_reason"].is_null(), "{chunk}");
    }
    goes_on_in_another_process(&handback, &body).await;
}

#[tokio::test]
async fn killed_without_a_configured_key_the_turn_is_lost_and_nothing_runs() {
    for streamed in [false, true] {
        let (handback, gateway) = Handback::reach("", streamed).await;
        gateway.kill();
        let gateway = handback.setup.start().await;
        let code = refused(&Caller::of(&gateway), &handback.follow_up(), 400).await;
        assert_eq!(code, "continuation_lost");
        assert_eq!(handback.service.calls("save"), 0);
    }
}
