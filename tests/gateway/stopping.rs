//! A gateway that is told to stop: no longer ready, it finishes what it has begun (O2).

use serde_json::json;

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, Gate, Step, delta, done, event, finish, says};
use crate::harness::sse::Event;
use crate::harness::upstream::Upstream;
use crate::harness::within;

#[tokio::test]
async fn a_stream_that_is_under_way_is_finished() {
    let gate = Gate::closed();
    let steps = vec![
        event(&delta(&json!({"role": "assistant", "content": "It is "}))),
        Step::Wait(gate.clone()),
        event(&says("dry.")),
        event(&finish("stop")),
        done(),
    ];
    let upstream = Upstream::playing([Answer::stream(steps)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let admin = Caller::at(gateway.admin_url());
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    assert_eq!(live.next_text().await, "It is ");
    gateway.terminate();
    within("readiness to end", async {
        while admin.get("/readyz").await.status == 200 {}
    })
    .await;
    assert_eq!(admin.get("/healthz").await.status, 200, "it still lives");
    gate.open();
    assert_eq!(live.next_text().await, "dry.");
    let mut last = None;
    while let Some(event) = live.next().await {
        last = Some(event);
    }
    assert_eq!(last, Some(Event::Done));
    assert_eq!(gateway.ended().await, Some(0));
}

#[tokio::test]
async fn an_idle_gateway_stops_at_once() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    gateway.terminate();
    assert_eq!(gateway.ended().await, Some(0));
}
