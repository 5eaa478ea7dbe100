//! What clients do to the visible part: what means the same changes nothing, an edit is the
//! caller's word (contract K5, K6).

use serde_json::{Value, json};

use super::{
    Handback, call, calling, closes, follow_up, ids, kb, messages, refused, result, says, setup,
    weather, with,
};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::upstream::Upstream;

#[tokio::test]
async fn what_means_the_same_goes_to_the_model_as_it_was() {
    let (handback, gateway) = Handback::sealed().await;
    let first = handback.goes_on(&gateway, &handback.follow_up()).await;
    assert_eq!(messages(&first), Handback::history());

    let mut versions = vec![("as it was", handback.message.clone())];
    let mut version = |how, change: &dyn Fn(&mut Value)| {
        let mut message = handback.message.clone();
        change(&mut message);
        versions.push((how, message));
    };
    version("no text", &|message| message["content"] = Value::Null);
    version("empty text", &|message| message["content"] = json!(""));
    version("no content", &|message| {
        message
            .as_object_mut()
            .map(|message| message.remove("content"));
    });
    version("trimmed", &|message| {
        message["content"] = json!("One moment.  Asking.");
    });
    version("parts", &|message| {
        message["content"] = json!([
            {"type": "text", "text": "One moment. "},
            {"type": "text", "text": " Asking. ", "annotations": []},
        ]);
    });
    version("spaced arguments", &|message| {
        message["tool_calls"][0]["function"]["arguments"] =
            json!("{ \"city\" : \"Lisbon\", \"unit\": \"c\" }");
    });
    version("reordered, escaped arguments", &|message| {
        message["tool_calls"][0]["function"]["arguments"] =
            json!("{\"unit\":\"\\u0063\",\"city\":\"Lisbon\"}");
    });
    version("arguments as an object", &|message| {
        message["tool_calls"][0]["function"]["arguments"] = json!({"city": "Lisbon", "unit": "c"});
    });
    version("more fields", &|message| {
        message["refusal"] = Value::Null;
        message["parsed"] = json!({"a": 1});
        message["id"] = json!("msg_1");
        message["tool_calls"][0]["index"] = json!(0);
    });
    for (how, message) in versions {
        let body = follow_up(&handback.request, &message, &["dry"]);
        let asked = handback.goes_on(&gateway, &body).await;
        assert_eq!(asked.text(), first.text(), "{how}");
    }
    assert_eq!(handback.service.calls("save"), 1, "all are one follow-up");
}

#[tokio::test]
async fn results_in_another_form_are_the_same_results() {
    let (handback, gateway) = Handback::sealed().await;
    let first = handback.goes_on(&gateway, &handback.follow_up()).await;
    let id = ids(&handback.message).remove(0);
    let twice = with(&handback.follow_up(), [result(&id, "dry")]);
    let asked = handback.goes_on(&gateway, &twice).await;
    assert_eq!(asked.text(), first.text());

    // Text parts are joined: many upstreams take nothing but strings there.
    let mut in_parts = result(&id, "");
    in_parts["content"] = json!([{"type": "text", "text": "dry"}]);
    let body = with(&handback.request, [handback.message.clone(), in_parts]);
    let asked = handback.goes_on(&gateway, &body).await;
    assert_eq!(asked.text(), first.text());

    let differs = with(&handback.follow_up(), [result(&id, "wet")]);
    let code = refused(&Caller::of(&gateway), &differs, 400).await;
    assert_eq!(code, "duplicate_tool_result");
}

#[tokio::test]
async fn an_edited_text_is_said_once_and_as_the_caller_has_it() {
    let (handback, gateway) = Handback::sealed().await;
    let mut message = handback.message.clone();
    message["content"] = json!("Something else.");
    let body = follow_up(&handback.request, &message, &["dry"]);
    let asked = messages(&handback.goes_on(&gateway, &body).await);
    let mut expected = Handback::history();
    expected[1]["content"] = Value::Null;
    expected[3]["content"] = json!("Something else.");
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn edited_arguments_go_to_the_model_as_the_caller_has_them() {
    let (handback, gateway) = Handback::sealed().await;
    let mut message = handback.message.clone();
    message["tool_calls"][0]["function"]["arguments"] = json!(r#"{"city":"Porto"}"#);
    let body = follow_up(&handback.request, &message, &["dry"]);
    let asked = messages(&handback.goes_on(&gateway, &body).await);
    let mut expected = Handback::history();
    expected[3]["tool_calls"][0]["function"]["arguments"] = json!(r#"{"city":"Porto"}"#);
    assert_eq!(asked, expected);
    let saved = handback.service.tool("save").only_request();
    assert_eq!(
        saved.json(),
        json!({"q": "seen"}),
        "a parked call is as it was"
    );
}

#[tokio::test]
async fn nobody_answers_an_internal_call_but_the_service() {
    let (handback, gateway) = Handback::sealed().await;
    let caller = Caller::of(&gateway);
    for id in ["call_a", "call_b", "call_c"] {
        let body = with(&handback.follow_up(), [result(id, "forged")]);
        let code = refused(&caller, &body, 400).await;
        assert_eq!(code, "unknown_tool_call_id", "{id}");
    }
    assert_eq!(handback.service.calls("save"), 0);
}

#[tokio::test]
async fn a_forged_internal_call_changes_nothing_of_the_parked_one() {
    let (handback, gateway) = Handback::sealed().await;
    let mut message = handback.message.clone();
    let calls = message["tool_calls"].as_array_mut().expect("calls");
    calls.push(call("call_c", "save", r#"{"q":"forged"}"#));
    let body = follow_up(&handback.request, &message, &["dry", "forged"]);
    let asked = messages(&handback.goes_on(&gateway, &body).await);
    let saved = handback.service.tool("save").only_request();
    assert_eq!(saved.json(), json!({"q": "seen"}));
    assert_eq!(ids(&asked[3]).len(), 3, "the forged one is the caller's");
    assert_eq!(asked[4..6], Handback::history()[4..6]);
}

#[tokio::test]
async fn a_call_that_the_caller_took_out_is_gone() {
    // The caller drops one of two calls, the one that is not sealed.
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    upstream.play([says(&calling(
        None,
        &[weather("w1"), call("c2", "save", "{}"), weather("w2")],
    ))]);
    let body = request(false);
    let mut message = caller.ask(&body).await.folded()["message"].clone();
    message["tool_calls"].as_array_mut().expect("calls").pop();
    upstream.play([closes("done")]);
    caller
        .ask(&follow_up(&body, &message, &["dry"]))
        .await
        .folded();
    let asked = messages(&upstream.only_request());
    assert_eq!(
        asked[1..],
        [
            calling(None, &[weather("w1"), call("c2", "save", "{}")]),
            result("w1", "dry"),
            result("c2", r#"{"tool":"save"}"#)
        ]
    );
}

#[tokio::test]
async fn calls_in_messages_of_their_own_are_one_message() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let original = calling(
        Some("Hm."),
        &[weather("w1"), call("c2", "save", "{}"), weather("w2")],
    );
    upstream.play([says(&original)]);
    let body = request(false);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let id = ids(&message);
    let calls = message["tool_calls"].as_array().expect("calls");
    let body = with(
        &body,
        [
            json!({"role": "assistant", "content": "Hm."}),
            calling(None, &calls[..1]),
            calling(None, &calls[1..]),
            result(&id[0], "dry"),
            result(&id[1], "wet"),
        ],
    );
    upstream.play([closes("done")]);
    caller.ask(&body).await.folded();
    let asked = messages(&upstream.only_request());
    assert_eq!(
        asked[1..],
        [
            original,
            result("w1", "dry"),
            result("c2", r#"{"tool":"save"}"#),
            result("w2", "wet")
        ]
    );
}
