//! Rounds that the caller sees nothing of (contract A4, A7, V3, V4).

use serde_json::json;

use super::{call, calling, closes, kb, messages, offered, refused, result, says, setup, weather};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, Gate};
use crate::harness::service::{self, Service, cut, held, huge};
use crate::harness::upstream::Upstream;

#[tokio::test]
async fn an_internal_round_is_invisible() {
    for streamed in [false, true] {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let found = json!({"found": "hidden-result"});
        service.tool("look").play([service::result(&found)]);
        let said = calling(
            Some("One moment. "),
            &[call("call_hid", "look", r#"{"q":"hidden-argument"}"#)],
        );
        upstream.play([says(&said), closes("It is dry.")]);
        let gateway = setup(&upstream, &service).start().await;
        let mut body = request(streamed);
        if streamed {
            body["stream_options"] = json!({"include_usage": true});
        }
        let reply = Caller::of(&gateway).ask(&body).await;

        let folded = reply.folded();
        assert_eq!(folded["message"]["content"], "One moment. It is dry.");
        assert_eq!(folded["finish_reason"], "stop");
        assert_eq!(folded["usage"]["total_tokens"], 30, "{folded}");
        for hidden in ["look", "hidden", "call_hid", "tool_call"] {
            assert!(!reply.text().contains(hidden), "{hidden}: {}", reply.text());
        }
        let run = service.tool("look").only_request();
        assert_eq!(run.json(), json!({"q": "hidden-argument"}));
        let asked = upstream.requests();
        assert_eq!(asked.len(), 2);
        assert_eq!(
            offered(&asked[0]),
            ["get_weather", "look", "find", "save", "file"]
        );
        assert_eq!(
            messages(&asked[1]),
            [
                user("Is it raining in Lisbon?"),
                said,
                result("call_hid", &found.to_string()),
            ]
        );
    }
}

#[tokio::test]
async fn text_of_all_rounds_comes_in_order_as_it_is_said() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gate = Gate::closed();
    service.tool("look").play([held(&gate, &json!({}))]);
    upstream.play([
        says(&calling(Some("First. "), &[call("call_1", "look", "{}")])),
        says(&calling(Some("Second. "), &[call("call_2", "find", "{}")])),
        closes("Third."),
    ]);
    let gateway = setup(&upstream, &service).start().await;
    let mut live = Caller::of(&gateway).open(&request(true)).await;
    assert_eq!(live.next_text().await, "First. ");
    service.tool("look").asked(1).await;
    gate.open();
    assert_eq!(live.next_text().await, "Second. ");
    assert_eq!(live.next_text().await, "Third.");
}

/// A gateway whose model calls these tools in one round, the ids being their names.
async fn calls_of_one_round(service: &Service, tools: &[&str]) -> (Upstream, Setup) {
    let calls: Vec<_> = tools.iter().map(|tool| call(tool, tool, "{}")).collect();
    let upstream = Upstream::playing([says(&calling(None, &calls)), closes("done")]).await;
    let setup = setup(&upstream, service);
    (upstream, setup)
}

fn expected_results(tools: &[&str]) -> Vec<serde_json::Value> {
    let of = |tool: &&str| result(tool, &json!({"tool": tool}).to_string());
    tools.iter().map(of).collect()
}

#[tokio::test]
async fn reads_run_side_by_side_and_results_keep_the_order_of_the_calls() {
    let service = kb().await;
    let (looked, found) = (Gate::closed(), Gate::closed());
    service
        .tool("look")
        .play([held(&looked, &json!({"tool": "look"}))]);
    service
        .tool("find")
        .play([held(&found, &json!({"tool": "find"}))]);
    let (upstream, setup) = calls_of_one_round(&service, &["look", "find"]).await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let body = request(false);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        service.tool("look").asked(1).await;
        service.tool("find").asked(1).await;
        found.open();
        looked.open();
    });
    assert_eq!(reply.folded()["message"]["content"], "done");
    let asked = messages(&upstream.requests()[1]);
    assert_eq!(asked[2..], expected_results(&["look", "find"]));
}

#[tokio::test]
async fn a_write_runs_alone_and_in_its_place() {
    let tools = ["look", "save", "find", "file"];
    let service = kb().await;
    let gates = tools.map(|_| Gate::closed());
    for (tool, gate) in tools.iter().zip(&gates) {
        service
            .tool(tool)
            .play([held(gate, &json!({"tool": tool}))]);
    }
    let (upstream, setup) = calls_of_one_round(&service, &tools).await;
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    let body = request(false);
    let (reply, ()) = tokio::join!(caller.ask(&body), async {
        for (at, gate) in gates.iter().enumerate() {
            service.tool(tools[at]).asked(1).await;
            caller.get("/v1/models").await;
            for later in &tools[at + 1..] {
                assert_eq!(service.calls(later), 0, "{later} beside {}", tools[at]);
            }
            gate.open();
        }
    });
    assert_eq!(reply.folded()["message"]["content"], "done");
    let asked = messages(&upstream.requests()[1]);
    assert_eq!(asked[2..], expected_results(&tools));
}

#[tokio::test]
async fn a_failing_service_never_fails_the_turn() {
    for (answer, told) in [
        (Answer::body(500, "text/plain", "out of order"), "HTTP 500"),
        (Answer::silence(), "300ms"),
        (cut(200), "broke off"),
        (Answer::raw("no HTTP"), "failed"),
        (huge(200, 1_000_000), "[cut off"),
    ] {
        let service = kb().await.lines("save", "timeout = \"300ms\"");
        service.tool("save").play([answer]);
        let (upstream, setup) = calls_of_one_round(&service, &["save"]).await;
        let gateway = setup.start().await;
        let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        let asked = messages(&upstream.requests()[1]);
        let content = asked[2]["content"].as_str().expect("a result is text");
        assert!(content.contains(told), "{content:.200}");
        assert!(content.len() <= 128 * 1024, "{}", content.len());
        assert_eq!(service.calls("save"), 1, "a call is not repeated");
    }
}

#[tokio::test]
async fn the_round_limit_ends_in_a_closing_round_without_service_tools() {
    for streamed in [false, true] {
        let upstream = Upstream::start().await;
        let service = kb().await;
        upstream.play([
            says(&calling(None, &[call("call_1", "look", "{}")])),
            says(&calling(None, &[call("call_2", "look", "{}")])),
            closes("That is all."),
        ]);
        let setup = setup(&upstream, &service).tables("[limits]\nrounds = 1\n");
        let gateway = setup.start().await;
        let reply = Caller::of(&gateway).ask(&request(streamed)).await;
        assert_eq!(reply.folded()["message"]["content"], "That is all.");
        assert_eq!(service.calls("look"), 1);
        let asked = upstream.requests();
        assert_eq!(asked.len(), 3);
        assert_eq!(offered(&asked[1]).len(), 5);
        assert_eq!(offered(&asked[2]), ["get_weather"]);
        let last = messages(&asked[2]);
        let note = last[4]["content"].as_str().expect("a note");
        assert!(note.contains("not_run"), "{note}");
        assert!(note.contains("limit"), "{note}");
    }
}

#[tokio::test]
async fn the_caller_may_still_be_asked_in_the_closing_round() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    upstream.play([
        says(&calling(None, &[call("call_1", "look", "{}")])),
        says(&calling(None, &[call("call_2", "look", "{}")])),
        says(&calling(None, &[weather("call_3")])),
    ]);
    let setup = setup(&upstream, &service).tables("[limits]\nrounds = 1\n");
    let gateway = setup.start().await;
    let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
    assert_eq!(folded["finish_reason"], "tool_calls");
    assert_eq!(super::ids(&folded["message"]).len(), 1);
}

#[tokio::test]
async fn a_service_tools_name_is_taken() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let mut body = request(false);
    body["tools"][0]["function"]["name"] = json!("save");
    assert_eq!(refused(&caller, &body, 400).await, "tool_name_conflict");
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn calls_over_the_limit_are_not_run() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let limits = "[limits]\nservice_calls = 1\n";
    let gateway = setup(&upstream, &service).tables(limits).start().await;
    upstream.play([
        says(&calling(
            None,
            &[call("call_1", "look", "{}"), call("call_2", "save", "{}")],
        )),
        closes("done"),
    ]);
    let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
    assert_eq!(folded["message"]["content"], "done");
    assert_eq!((service.calls("look"), service.calls("save")), (1, 0));
    let asked = messages(&upstream.requests()[1]);
    assert!(
        asked[3]["content"]
            .as_str()
            .is_some_and(|note| note.contains("limit"))
    );
}
