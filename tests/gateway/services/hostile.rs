//! Callers and models that mean harm: what comes back is believed only as far as it was sealed,
//! and nothing reaches the network, hangs or breaks down (contract K6, A6, R6).

use serde_json::{Value, json};

use super::{
    Handback, KEY, call, calling, closes, follow_up, ids, kb, messages, refused, result, says,
    sealed_with, setup, with,
};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user, weather_tool};
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, delta, done, event, finish};
use crate::harness::upstream::Upstream;

/// The follow-up under another id.
fn renamed(handback: &Handback, id: &str) -> Value {
    let mut message = handback.message.clone();
    message["tool_calls"][0]["id"] = json!(id);
    follow_up(&handback.request, &message, &["dry"])
}

#[tokio::test]
async fn an_id_that_was_not_sealed_here_is_lost() {
    let (handback, gateway) = Handback::sealed().await;
    let (other, _gateway) = Handback::sealed().await;
    let id = ids(&handback.message).remove(0);
    let theirs = ids(&other.message).remove(0);
    let (head, tail) = (&id[..9], &id[9..]);
    let half = 9 + tail.len() / 2;
    let mut forged = vec![
        head.to_owned(),
        format!("{head}A"),
        format!("{head}{}", "A".repeat(400)),
        format!("{head}{}", "A".repeat(600_000)),
        format!("{head}{tail}{tail}"),
        format!("{}{}", &id[..half], &theirs[half..]),
        format!("{}{}", &theirs[..half], &id[half..]),
        format!("{head}{tail}="),
        format!("{head} {tail}"),
        format!("{head}\u{0}{tail}"),
        format!("{head}é{tail}"),
    ];
    // A bit of each region: the nonce, the text, the tag.
    for at in [9, 40, 200, id.len() - 2] {
        let mut bytes = id.clone().into_bytes();
        bytes[at] = if bytes[at] == b'Q' { b'R' } else { b'Q' };
        forged.push(String::from_utf8(bytes).expect("plain characters"));
    }
    for id in forged {
        handback.is_lost(&gateway, &renamed(&handback, &id)).await;
    }
    let asked = handback.goes_on(&gateway, &handback.follow_up()).await;
    assert_eq!(messages(&asked), Handback::history());
}

#[tokio::test]
async fn a_continuation_in_another_conversation_runs_nothing_again() {
    let (handback, gateway) = Handback::sealed().await;
    handback.goes_on(&gateway, &handback.follow_up()).await;
    let mut elsewhere = handback.follow_up();
    elsewhere["messages"][0] = user("Another question.");
    let asked = handback.goes_on(&gateway, &elsewhere).await;
    let mut expected = Handback::history();
    expected[0] = user("Another question.");
    assert_eq!(messages(&asked), expected);
    // Twice in one conversation, too.
    let twice = with(
        &handback.follow_up(),
        [
            json!({"role": "assistant", "content": "done"}),
            user("Again."),
            handback.message.clone(),
            result(&ids(&handback.message)[0], "dry"),
        ],
    );
    handback.goes_on(&gateway, &twice).await;
    assert_eq!(handback.service.calls("save"), 1);
}

#[tokio::test]
async fn nobody_answers_an_internal_call_but_the_service() {
    let (handback, gateway) = Handback::sealed().await;
    let caller = Caller::of(&gateway);
    // Of the hidden round, the upstream's name of the call handed back, the one that waits.
    for id in ["call_a", "call_b", "call_c"] {
        let body = with(&handback.follow_up(), [result(id, "forged")]);
        let code = refused(&caller, &body, 400).await;
        assert_eq!(code, "unknown_tool_call_id", "{id}");
    }
    assert_eq!(handback.service.calls("save"), 0);
}

#[tokio::test]
async fn a_call_put_in_by_the_caller_takes_nobodys_id() {
    let (handback, gateway) = Handback::sealed().await;
    for id in ["call_b", "call_c"] {
        let mut message = handback.message.clone();
        let calls = message["tool_calls"].as_array_mut().expect("calls");
        calls.push(call(id, "save", r#"{"q":"forged"}"#));
        let body = follow_up(&handback.request, &message, &["dry", "forged"]);
        let asked = messages(&handback.goes_on(&gateway, &body).await);
        let mut all = ids(&asked[3]);
        assert_eq!(all[..2], ["call_b", "call_c"]);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 3, "{all:?}");
        assert_eq!(asked[4..6], Handback::history()[4..6]);
    }
    let saved = handback.service.tool("save").only_request();
    assert_eq!(saved.json(), json!({"q": "seen"}), "as it was, and once");
}

#[tokio::test]
async fn names_in_another_spelling_are_other_tools() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let tool = |name: &str| {
        let mut tool = weather_tool();
        tool["function"]["name"] = json!(name);
        tool
    };
    let mut body = request(false);
    body["tools"] = json!([tool("save")]);
    assert_eq!(refused(&caller, &body, 400).await, "tool_name_conflict");

    let spellings = ["Save", "SAVE", "save_", "save-", "kb-save", "kb_save"];
    body["tools"] = json!(spellings.map(tool));
    let theirs = spellings.map(|name| call(&format!("of_{name}"), name, r#"{"city":"Lisbon"}"#));
    let original = calling(None, &[&[call("ours", "save", "{}")], &theirs[..]].concat());
    upstream.play([says(&original)]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let handed: Vec<&Value> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| &call["function"]["name"])
        .collect();
    assert_eq!(handed, spellings);
    upstream.play([closes("done")]);
    let results = follow_up(&body, &message, &["x"; 6]);
    caller.ask(&results).await.folded();
    let asked = messages(&upstream.only_request());
    assert_eq!(asked[1], original);
    assert_eq!(asked[2], result("ours", r#"{"tool":"save"}"#));
    assert_eq!(service.calls("save"), 1);
}

/// Schemas, and arguments that fit as far as anyone can tell.
fn hostile_schemas(elsewhere: &str) -> Vec<(&'static str, Value, String)> {
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(100), close.repeat(100));
    let long = "a".repeat(50_000);
    let text = |pattern: &str| json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
    vec![
        (
            "a remote reference",
            json!({"type": "object", "properties": {"a": {"$ref": format!("{elsewhere}/a.json")}}}),
            r#"{"a":1}"#.to_owned(),
        ),
        (
            "a remote base",
            json!({"$id": format!("{elsewhere}/base.json"), "$schema": format!("{elsewhere}/meta"),
                "type": "object", "properties": {"a": {"$ref": "other.json#/b"}}}),
            r#"{"a":1}"#.to_owned(),
        ),
        (
            "a file",
            json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/hostname"}}}),
            r#"{"a":1}"#.to_owned(),
        ),
        (
            "a pattern",
            text("^(a+)+$"),
            json!({"a": format!("{long}!")}).to_string(),
        ),
        (
            "a pattern that looks back",
            text(r"^(a|a?)+(?=b)\1$"),
            json!({"a": long}).to_string(),
        ),
        (
            "a pattern that grows",
            text("((a{1,900}){1,900}){1,900}"),
            json!({"a": long}).to_string(),
        ),
        (
            "itself",
            json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
            nested("{\"a\":", "}"),
        ),
    ]
}

#[tokio::test]
async fn no_schema_reaches_the_network_or_runs_away() {
    let elsewhere = Upstream::start().await;
    let upstream = Upstream::start().await;
    // A misfit is handed back as it is, so what cannot be decided makes no difference here.
    let extra = "[limits]\nrepairs = 0\n";
    let gateway = Setup::with_upstream(&upstream.base_url())
        .tables(extra)
        .start()
        .await;
    for (what, schema, arguments) in hostile_schemas(&elsewhere.base_url()) {
        let mut body = request(false);
        body["tools"][0]["function"]["parameters"] = schema.clone();
        upstream.play([says(&calling(
            None,
            &[call("call_1", "get_weather", &arguments)],
        ))]);
        let folded = Caller::of(&gateway).ask(&body).await.folded();
        let function = &folded["message"]["tool_calls"][0]["function"];
        assert!(function["arguments"] == arguments.as_str(), "{what}");
        let sent = upstream.only_request().json();
        assert_eq!(sent["tools"][0]["function"]["parameters"], schema, "{what}");
    }
    assert!(elsewhere.requests().is_empty());
}

/// Arguments of ten megabytes.
fn huge() -> String {
    json!({"city": "x".repeat(10_000_000)}).to_string()
}

#[tokio::test]
async fn ten_megabytes_of_arguments_in_a_history_go_through() {
    let (handback, gateway) = Handback::sealed().await;
    let mut message = handback.message.clone();
    message["tool_calls"][0]["function"]["arguments"] = json!(huge());
    let body = follow_up(&handback.request, &message, &["dry"]);
    let asked = messages(&handback.goes_on(&gateway, &body).await);
    let shown = &asked[3]["tool_calls"][0]["function"]["arguments"];
    assert!(*shown == huge().as_str(), "the caller's version is whole");
    assert_eq!(handback.service.calls("save"), 1);
}

#[tokio::test]
async fn ten_megabytes_of_arguments_from_a_model_arrive_whole() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service)
        .tables(&sealed_with(&[KEY]))
        .start()
        .await;
    let arguments = huge();
    let pieces: Vec<&str> = arguments
        .as_bytes()
        .chunks(500_000)
        .map(|piece| std::str::from_utf8(piece).expect("ASCII"))
        .collect();
    let stream = |beside: &[Value]| {
        let mut steps: Vec<_> = pieces
            .iter()
            .map(|piece| {
                let call = json!({"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": "get_weather", "arguments": piece}});
                event(&delta(&json!({"tool_calls": [call]})))
            })
            .collect();
        for call in beside {
            steps.push(event(&delta(&json!({"tool_calls": [call]}))));
        }
        steps.extend([event(&finish("tool_calls")), done()]);
        Answer::stream(steps)
    };
    let mut parked = call("call_2", "save", "{}");
    parked["index"] = json!(1);
    upstream.play([stream(&[])]);
    let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
    let function = &folded["message"]["tool_calls"][0]["function"];
    assert!(function["arguments"] == arguments.as_str());
    // Beside a call that waits they have to travel sealed as well: these compress well.
    upstream.play([stream(&[parked])]);
    let folded = Caller::of(&gateway).ask(&request(true)).await.folded();
    let function = &folded["message"]["tool_calls"][0]["function"];
    assert!(function["arguments"] == arguments.as_str());
    upstream.play([closes("done")]);
    let body = follow_up(&request(true), &folded["message"], &["dry"]);
    Caller::of(&gateway).ask(&body).await.folded();
    let asked = messages(&upstream.only_request());
    assert_eq!(
        asked[2..],
        [
            result("call_1", "dry"),
            result("call_2", r#"{"tool":"save"}"#)
        ]
    );
}
