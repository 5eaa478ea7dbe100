//! Traces: what a collector gets of a turn, what upstreams and services get, and what becomes of it
//! all when the collector does not answer.

mod callers;
mod export;

use serde_json::{Value, json};

use super::{
    Handback, KEY, call, calling, closes, follow_up, kb, says, sealed_with, setup, weather, with,
};
use crate::harness::caller::{Caller, chat_bytes, connect_and_send};
use crate::harness::case::{request, user};
use crate::harness::collector::{COLLECTOR_KEY, Collector, Span};
use crate::harness::gateway::{AGENT, Gateway, Setup, UPSTREAM_KEY, UPSTREAM_MODEL};
use crate::harness::script::{Answer, Gate, Step};
use crate::harness::service::SERVICE_KEY;
use crate::harness::upstream::Upstream;

// The kinds of spans in OTLP.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

/// The spans of this name.
fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

/// Ends the gateway in good order, so that the last spans are on their way.
async fn ends(gateway: Gateway) {
    gateway.terminate();
    assert_eq!(gateway.ended().await, Some(0));
}

/// A gateway that sends its spans, and asks one model.
async fn plain(upstream: &Upstream, collector: &Collector, lines: &str) -> Gateway {
    let setup = Setup::with_upstream(&upstream.base_url());
    setup.tables(&collector.toml(lines)).start().await
}

/// Asserts where a span stands.
fn below(span: &Span, parent: &Span, kind: i32) {
    assert_eq!((&span.trace, &span.parent), (&parent.trace, &parent.id));
    assert_eq!((span.kind, span.failed), (kind, false));
    assert_eq!(span.get("gen_ai.agent.name"), AGENT);
    let within = parent.begun <= span.begun && span.ended <= parent.ended;
    assert!(within && span.begun < span.ended, "{span:?} in {parent:?}");
}

#[tokio::test]
async fn a_mixed_turn_is_two_requests_with_their_rounds_and_calls() {
    let collector = Collector::start().await;
    let tables = sealed_with(&[KEY]) + &collector.toml("");
    let (handback, gateway) = Handback::reach(&tables, false).await;
    let last = handback.goes_on(&gateway, &handback.follow_up()).await;
    let log = gateway.log_of_its_life().await;
    let spans = collector.spans();

    let [one, two] = named(&spans, "chat support")[..] else {
        panic!("two requests: {:?}", names(&spans));
    };
    assert_ne!(one.trace, two.trace);
    assert_eq!(one.get("handback.turn"), two.get("handback.turn"));
    let line = |message: &str| {
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut lines = lines.filter(|line: &Value| line["message"] == message);
        lines.next().expect("it is in the log")
    };
    let of_request = line("request");
    assert_eq!(one.get("handback.turn"), &of_request["turn"]);
    assert_eq!(one.get("handback.request_id"), &of_request["request_id"]);
    for (request, outcome, finish, rounds) in [
        (one, "handed_back", "tool_calls", 2),
        (two, "answered", "stop", 3),
    ] {
        assert_eq!((request.kind, request.parent.as_str()), (SERVER, ""));
        assert_eq!(request.get("gen_ai.operation.name"), "invoke_agent");
        assert_eq!(request.get("gen_ai.agent.name"), AGENT);
        let finishes = request.get("gen_ai.response.finish_reasons");
        assert_eq!(finishes, &json!([finish]));
        assert_eq!(request.get("handback.outcome"), outcome);
        assert_eq!(request.get("handback.rounds"), rounds);
        assert_eq!(request.get("http.response.status_code"), 200);
        assert!(!request.failed);
    }

    // What the first round asked the upstream is forgotten by then.
    let (second, third) = (Some(&handback.asked), Some(&last));
    for (number, request, asked) in [(1, one, None), (2, one, second), (3, two, third)] {
        let [round] = named(&spans, &format!("round {number}"))[..] else {
            panic!("one round {number}: {:?}", names(&spans));
        };
        below(round, request, CLIENT);
        assert_eq!(round.get("gen_ai.operation.name"), "chat");
        assert_eq!(round.get("gen_ai.request.model"), UPSTREAM_MODEL);
        assert_eq!(round.get("gen_ai.provider.name"), "model");
        assert_eq!(round.get("gen_ai.usage.input_tokens"), 11);
        assert_eq!(round.get("gen_ai.usage.output_tokens"), 4);
        assert_eq!(round.get("handback.outcome"), "answered");
        assert_eq!(round.get("handback.round"), number);
        let expected = round.traceparent();
        let headers = asked.map(|asked| asked.header("traceparent"));
        assert!(headers.is_none_or(|header| header == Some(&expected)));
    }
    for (tool, request, round) in [("look", one, 1), ("save", two, 2)] {
        let [call] = named(&spans, &format!("call kb.{tool}"))[..] else {
            panic!("one call of {tool}: {:?}", names(&spans));
        };
        below(call, request, INTERNAL);
        assert_eq!(call.get("gen_ai.operation.name"), "execute_tool");
        assert_eq!(call.get("gen_ai.tool.name"), tool);
        assert_eq!(call.get("handback.service"), "kb");
        assert_eq!(call.get("handback.outcome"), "completed");
        assert_eq!(call.get("handback.round"), round);
        let asked = handback.service.tool(tool).only_request();
        let expected = call.traceparent();
        assert_eq!(asked.header("traceparent"), Some(expected.as_str()));
    }
    assert_eq!(spans.len(), 7, "{:?}", names(&spans));
}

#[tokio::test]
async fn spans_hold_no_content_no_ids_of_calls_and_no_addresses() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let collector = Collector::start().await;
    let gateway = setup(&upstream, &service)
        .tables(&collector.toml(""))
        .start()
        .await;
    let hidden = |id: &str, tool: &str| call(id, tool, r#"{"q":"hidden-argument"}"#);
    upstream.play([
        says(&calling(
            Some("hidden-text"),
            &[hidden("hidden-id1", "look")],
        )),
        says(&calling(
            None,
            &[weather("hidden-id2"), hidden("hidden-id3", "save")],
        )),
        closes("hidden-text"),
        Answer::json(500, &json!({"error": {"message": "hidden-words"}})),
    ]);
    let found = json!({"found": "hidden-result"});
    service.tool("look").play([Answer::json(200, &found)]);
    service
        .tool("save")
        .play([Answer::body(500, "text/plain", "hidden-failure")]);
    let caller = Caller::of(&gateway);
    let body = with(&request(false), [user("hidden-question")]);
    let folded = caller.ask(&body).await.folded();
    let body = follow_up(&body, &folded["message"], &["hidden-result"]);
    caller.ask(&body).await.folded();
    let failed = caller.ask(&body).await;
    assert_eq!(failed.status, 502);
    ends(gateway).await;

    assert_eq!(named(&collector.spans(), "call kb.save").len(), 1);
    let bytes = collector.bytes();
    let text = String::from_utf8_lossy(&bytes);
    for private in [
        "hidden-",
        UPSTREAM_KEY,
        SERVICE_KEY,
        COLLECTOR_KEY,
        &upstream.authority(),
        &service.tool("look").authority(),
        "/tools/",
    ] {
        assert!(!text.contains(private), "{private} in {text}");
    }
}

#[tokio::test]
async fn what_was_decided_about_a_failure_is_on_its_round() {
    let (upstream, spare) = (Upstream::start().await, Upstream::start().await);
    let collector = Collector::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url())
        .retries(1)
        .fallback(&spare.base_url(), "")
        .tables(&collector.toml(""))
        .start()
        .await;
    upstream.play([Answer::json(503, &json!({"error": {"message": "busy"}}))]);
    Caller::of(&gateway).ask(&request(true)).await.folded();
    spare.play([Answer::body(500, "text/plain", "no")]);
    let failed = Caller::of(&gateway).ask(&request(true)).await;
    assert_eq!(failed.status, 502);
    ends(gateway).await;

    let spans = collector.spans();
    let rounds = named(&spans, "round 1");
    let told = |round: &Span| {
        let event = round.events.first();
        let event =
            event.map(|(name, attributes)| (name.clone(), attributes["error.type"].clone()));
        let provider = round.get("gen_ai.provider.name").clone();
        let error = round.get("error.type").clone();
        let status = round.get("http.response.status_code");
        assert_eq!(
            (round.failed, status.is_u64()),
            (!error.is_null(), !error.is_null())
        );
        (provider, error, event)
    };
    let event = |name: &str| Some((name.to_owned(), json!("refused")));
    let expected = [
        (json!("model"), json!("refused"), event("repeated")),
        (json!("model"), json!("refused"), event("fell_back")),
        (json!("spare"), Value::Null, None),
        (json!("model"), json!("refused"), event("repeated")),
        (json!("model"), json!("refused"), event("fell_back")),
        (json!("spare"), json!("refused"), None),
    ];
    assert_eq!(rounds.into_iter().map(told).collect::<Vec<_>>(), expected);
    let [answered, failed] = named(&spans, "chat support")[..] else {
        panic!("{:?}", names(&spans));
    };
    assert!(!answered.failed && failed.failed);
    assert_eq!(failed.get("error.type"), "upstream_error");
    assert_eq!(failed.get("http.response.status_code"), 502);
    assert_eq!(failed.get("handback.outcome"), "failed");
}

#[tokio::test]
async fn a_refused_request_and_one_whose_caller_has_gone_have_spans() {
    let upstream = Upstream::start().await;
    let collector = Collector::start().await;
    let gateway = plain(&upstream, &collector, "").await;
    let mut body = request(false);
    body["model"] = json!("nobody");
    assert_eq!(Caller::of(&gateway).ask(&body).await.status, 404);
    let mut endless = closes("never");
    endless.steps.insert(0, Step::Wait(Gate::closed()));
    upstream.play([endless]);
    let socket = connect_and_send(&gateway, &chat_bytes(&request(true))).await;
    upstream.asked(1).await;
    drop(socket);
    gateway.said("caller_gone").await;
    ends(gateway).await;

    let spans = collector.spans();
    let [refused, gone, round] = &spans[..] else {
        panic!("{:?}", names(&spans));
    };
    assert_eq!(refused.name, "chat");
    assert_eq!(refused.get("error.type"), "model_not_found");
    assert_eq!(refused.get("http.response.status_code"), 404);
    assert_eq!(refused.get("handback.outcome"), "refused");
    assert!(!refused.failed, "the caller's fault is none of the server");
    assert_eq!(gone.get("handback.outcome"), "cancelled");
    assert_eq!(gone.get("error.type"), "caller_gone");
    assert_eq!(round.get("handback.outcome"), "abandoned");
    assert_eq!(round.parent, gone.id);
}
