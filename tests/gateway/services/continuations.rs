//! What travels between two requests opens in every process with the key, for the same caller and
//! the same model, and nowhere else (contract K1 to K3, K8).

use serde_json::{Value, json};

use super::{
    Handback, KEY, call, calling, closes, follow_up, ids, kb, messages, result, says, sealed_with,
    setup, weather, with,
};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::Setup;
use crate::harness::upstream::Upstream;

#[tokio::test]
async fn a_parked_call_whose_tool_is_gone_is_told_to_the_model() {
    let (handback, first) = Handback::sealed().await;
    drop(first);
    let bare = Setup::with_upstream(&handback.upstream.base_url());
    let gateway = bare.tables(&sealed_with(&[KEY])).start().await;
    let asked = handback.goes_on(&gateway, &handback.follow_up()).await;
    let asked = messages(&asked);
    assert_eq!(asked[..5], Handback::history()[..5]);
    let told = asked[5]["content"].as_str().expect("a text");
    assert!(told.contains("not available"), "{told}");
    assert_eq!(handback.service.calls("save"), 0);
}

#[tokio::test]
async fn a_key_of_the_process_serves_where_none_is_configured() {
    let (handback, gateway) = Handback::reach("", false).await;
    let asked = handback.goes_on(&gateway, &handback.follow_up()).await;
    assert_eq!(messages(&asked), Handback::history());
}

#[tokio::test]
async fn too_much_to_seal_is_an_error_before_anything_is_handed_out() {
    for streamed in [false, true] {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let tiny = "[continuation]\nmax_size = 200\n";
        let gateway = setup(&upstream, &service).tables(tiny).start().await;
        upstream.play([says(&calling(
            None,
            &[weather("call_ex"), call("call_in", "save", "{}")],
        ))]);
        let reply = Caller::of(&gateway).ask(&request(streamed)).await;
        let folded = reply.folded();
        assert_eq!(folded["error"]["code"], "continuation_too_large");
        if folded["streamed"] == false {
            assert_eq!(folded["status"], 502, "{folded}");
        }
        assert!(!reply.text().contains("call_ex"), "{}", reply.text());
        assert_eq!(service.calls("save"), 0);
    }
}

#[tokio::test]
async fn ids_are_plain_where_nothing_is_hidden() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    for streamed in [false, true] {
        let body = request(streamed);
        upstream.play([says(&calling(
            Some("Hm."),
            &[weather("w-1"), weather("w_2")],
        ))]);
        let folded = caller.ask(&body).await.folded();
        assert_eq!(ids(&folded["message"]), ["w-1", "w_2"]);
        upstream.play([closes("done")]);
        let body = follow_up(&body, &folded["message"], &["dry", "wet"]);
        caller.ask(&body).await.folded();
        let asked = messages(&upstream.only_request());
        assert_eq!(asked[2..], [result("w-1", "dry"), result("w_2", "wet")]);

        let long = "x".repeat(41);
        for strange in ["call 1", "call:1", long.as_str()] {
            upstream.play([says(&calling(None, &[weather(strange)]))]);
            let folded = caller.ask(&request(streamed)).await.folded();
            let id = ids(&folded["message"]).remove(0);
            assert!(id.starts_with("call_") && id.len() <= 40, "{id}");
        }
    }
}

#[tokio::test]
async fn sealed_ids_hold_plain_characters_and_say_nothing() {
    let (handback, _gateway) = Handback::sealed().await;
    let id = ids(&handback.message).remove(0);
    assert!(id.starts_with("call_"), "{id}");
    assert!(id.len() > 40, "{id}");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    assert!(id.bytes().all(plain), "{id}");
    assert_eq!(handback.message["content"], "One moment.  Asking. ");
}

#[tokio::test]
async fn two_handbacks_made_one_are_refused_and_no_long_id_goes_upstream() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .tables(&sealed_with(&[KEY]))
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let mut handbacks = Vec::new();
    for id in ["call_1", "call_2"] {
        let parked = format!("{id}_parked");
        upstream.play([says(&calling(
            None,
            &[weather(id), call(&parked, "save", "{}")],
        ))]);
        handbacks.push(caller.ask(&request(false)).await.folded()["message"].clone());
    }
    let results = handbacks.iter().map(|message| {
        let id = message["tool_calls"][0]["id"].as_str().unwrap_or_default();
        result(id, "dry")
    });
    let history: Vec<Value> = handbacks.iter().cloned().chain(results).collect();
    let body = with(&request(false), history.clone());
    upstream.play([closes("done")]);
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["error"]["code"], "continuation_lost", "{folded}");
    assert_eq!((upstream.requests().len(), service.calls("save")), (0, 0));
    // In older history it never stands in the way (contract K3, P7).
    let more = [
        json!({"role": "assistant", "content": "Dry."}),
        user("And now?"),
    ];
    let body = with(&request(false), history.into_iter().chain(more));
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    for message in messages(&upstream.only_request()) {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            assert!(id.len() <= 40, "{} characters", id.len());
        }
    }
}
