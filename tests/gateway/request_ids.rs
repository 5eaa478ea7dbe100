//! `x-request-id`: every answer has one; a sane one of the caller's is kept.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::caller::{Caller, Reply};
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::upstream::Upstream;

async fn ask_with_id(gateway: &Gateway, id: &str) -> Reply {
    let caller = Caller::of(gateway);
    let chat = caller.request("POST", "/v1/chat/completions");
    let chat = chat.header("x-request-id", id).json(&request(false));
    caller.send(chat).await
}

#[tokio::test]
async fn every_answer_has_an_id_of_its_own() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let caller = Caller::of(&gateway);
    let mut ids = BTreeSet::new();
    let replies = [
        caller.ask(&request(false)).await,
        caller.ask(&request(false)).await,
        caller.ask(&request(true)).await,
        caller
            .ask(&json!({"model": "nobody", "messages": []}))
            .await,
        caller.ask(&json!([])).await,
        caller.get("/v1/nothing").await,
        caller.get("/v1/models").await,
    ];
    for reply in &replies {
        let id = reply.header("x-request-id");
        assert!(!id.is_empty(), "{}", reply.text());
        ids.insert(id);
    }
    assert_eq!(ids.len(), replies.len());
}

#[tokio::test]
async fn a_sane_id_of_the_caller_is_kept() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for id in ["ticket-4711", "0af7651916cd43dd8448eb211c80319c", "a.b_c-D"] {
        assert_eq!(ask_with_id(&gateway, id).await.header("x-request-id"), id);
    }
}

#[tokio::test]
async fn a_strange_id_of_the_caller_is_replaced() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let long = "x".repeat(2_000);
    for id in [long.as_str(), "two words", "<script>", "\"quoted\"", ""] {
        let reply = ask_with_id(&gateway, id).await;
        assert_eq!(reply.status, 200);
        let given = reply.header("x-request-id");
        assert!(!given.is_empty() && given != id, "{id:?} became {given:?}");
    }
}
