//! What travels between two requests opens in every process with the key, for the same caller and
//! the same model, and nowhere else (contract K1 to K3, K8).

use serde_json::{Value, json};

use super::{
    Handback, KEY, OTHER_KEY, call, calling, closes, follow_up, ids, kb, messages, prefix, result,
    says, sealed_with, setup, weather,
};
use crate::harness::caller::{Caller, Reply};
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::upstream::Upstream;

#[tokio::test]
async fn a_restart_changes_nothing() {
    for streamed in [false, true] {
        let extra = sealed_with(&[KEY]);
        let (handback, gateway) = Handback::reach(&extra, streamed).await;
        drop(gateway);
        let gateway = handback.setup.clone().tables(&extra).start().await;
        let asked = handback.goes_on(&gateway, &handback.follow_up()).await;
        assert_eq!(messages(&asked), Handback::history());
        assert!(asked.text().starts_with(prefix(&handback.asked)));
        assert_eq!(handback.service.calls("save"), 1);
        assert_eq!(handback.service.calls("look"), 1);
    }
}

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
async fn every_process_with_the_key_opens_it() {
    let (handback, first) = Handback::sealed().await;
    for keys in [&[KEY][..], &[OTHER_KEY, KEY]] {
        let extra = sealed_with(keys);
        let second = handback.setup.clone().tables(&extra).start().await;
        let asked = handback.goes_on(&second, &handback.follow_up()).await;
        assert_eq!(messages(&asked), Handback::history(), "{keys:?}");
    }
    let asked = handback.goes_on(&first, &handback.follow_up()).await;
    assert_eq!(messages(&asked), Handback::history());
}

#[tokio::test]
async fn without_the_key_it_is_lost() {
    let (handback, _first) = Handback::sealed().await;
    for extra in [sealed_with(&[OTHER_KEY]), String::new()] {
        let gateway = handback.setup.clone().tables(&extra).start().await;
        let mut body = handback.follow_up();
        for streamed in [false, true] {
            body["stream"] = json!(streamed);
            handback.is_lost(&gateway, &body).await;
        }
    }
}

#[tokio::test]
async fn a_key_of_the_process_serves_where_none_is_configured() {
    let (handback, gateway) = Handback::reach("", false).await;
    let asked = handback.goes_on(&gateway, &handback.follow_up()).await;
    assert_eq!(messages(&asked), Handback::history());
}

/// Two callers, and another agent with the same tools.
const OTHERS: &str = r#"
[[keys]]
name = "one"
key = "key-one"
[[keys]]
name = "two"
key = "key-two"
[[agents]]
name = "desk"
upstream = "model"
model = "gpt-mock"
services = ["kb"]
"#;

async fn ask_as(gateway: &Gateway, key: &str, body: &Value) -> Reply {
    let caller = Caller::of(gateway);
    let request = caller.request("POST", "/v1/chat/completions");
    caller.send(request.bearer_auth(key).json(body)).await
}

#[tokio::test]
async fn it_belongs_to_one_caller_and_one_model() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let setup = setup(&upstream, &service).tables(OTHERS);
    let gateway = setup.start().await;
    upstream.play([says(&calling(
        None,
        &[call("call_in", "save", "{}"), weather("call_ex")],
    ))]);
    let body = request(false);
    let folded = ask_as(&gateway, "key-one", &body).await.folded();
    let body = follow_up(&body, &folded["message"], &["dry"]);
    let mut other_model = body.clone();
    other_model["model"] = json!("desk");
    upstream.play([closes("done")]);
    for (key, body) in [("key-two", &body), ("key-one", &other_model)] {
        let folded = ask_as(&gateway, key, body).await.folded();
        assert_eq!(folded["status"], 400, "{folded}");
        assert_eq!(folded["error"]["code"], "continuation_lost");
    }
    assert_eq!(service.calls("save"), 0);
    assert!(upstream.requests().is_empty());
    let folded = ask_as(&gateway, "key-one", &body).await.folded();
    assert_eq!(folded["message"]["content"], "done", "{folded}");
    assert_eq!(service.calls("save"), 1);
}

/// What clients and databases do to ids.
fn mangled(id: &str) -> Vec<(&'static str, String)> {
    let end = id.len() - 1;
    let last = if id.ends_with('A') { "B" } else { "A" };
    vec![
        ("cut to 40", id[..40].to_owned()),
        ("cut to 64", id[..64].to_owned()),
        ("cut by one", id[..end].to_owned()),
        ("stripped", id.replace(['_', '-'], "")),
        ("dashes for underscores", id.replace('_', "-")),
        ("suffixed", format!("{id}_0")),
        ("lower case", id.to_ascii_lowercase()),
        ("upper case", id.to_ascii_uppercase()),
        ("altered", format!("{}{last}{}", &id[..100], &id[101..])),
    ]
}

/// The follow-up under another id.
fn renamed(handback: &Handback, id: &str) -> Value {
    let mut message = handback.message.clone();
    message["tool_calls"][0]["id"] = json!(id);
    follow_up(&handback.request, &message, &["dry"])
}

#[tokio::test]
async fn a_mangled_id_is_noticed() {
    let (handback, gateway) = Handback::sealed().await;
    for (how, id) in mangled(&ids(&handback.message)[0]) {
        if id == ids(&handback.message)[0] {
            continue;
        }
        let folded = Caller::of(&gateway)
            .ask(&renamed(&handback, &id))
            .await
            .folded();
        assert_eq!(folded["error"]["code"], "continuation_lost", "{how}");
        assert_eq!(folded["error"]["param"], "messages[1]", "{how}");
        handback.is_lost(&gateway, &renamed(&handback, &id)).await;
    }
    let asked = handback.goes_on(&gateway, &handback.follow_up()).await;
    assert_eq!(messages(&asked), Handback::history());
}

#[tokio::test]
async fn a_loss_can_be_borne() {
    let (handback, _first) = Handback::sealed().await;
    let extra = "[continuation]\non_lost = \"degrade\"\n";
    let gateway = handback.setup.clone().tables(extra).start().await;
    let body = handback.follow_up();
    let reply = Caller::of(&gateway).ask(&body).await;
    assert_eq!(reply.folded()["message"]["content"], "done");
    assert_eq!(reply.header("x-handback-continuation"), "lost");
    assert_eq!(handback.service.calls("save"), 0);

    let asked = messages(&handback.upstream.only_request());
    assert_eq!(asked.len(), 3, "{asked:?}");
    let id = asked[1]["tool_calls"][0]["id"].as_str().expect("an id");
    assert!(id.len() <= 40, "{id}");
    assert_eq!(asked[2]["tool_call_id"], id);
    let told = asked[2]["content"].as_str().expect("a text");
    assert!(
        told.starts_with("dry") && told.contains("not available"),
        "{told}"
    );

    for (how, id) in mangled(&ids(&handback.message)[0]) {
        let reply = Caller::of(&gateway).ask(&renamed(&handback, &id)).await;
        assert_eq!(reply.header("x-handback-continuation"), "lost", "{how}");
    }
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let reply = Caller::of(&gateway).ask(&streamed).await;
    assert_eq!(reply.folded()["message"]["content"], "done");
    assert_eq!(reply.header("x-handback-continuation"), "lost");
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!(reply.header("x-handback-continuation"), "");
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
