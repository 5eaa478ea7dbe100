//! Whether a turn is traced, and in whose trace.

use serde_json::json;

use super::{CLIENT, below, ends, named, names, plain};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::collector::{Collector, taken};
use crate::harness::gateway::Gateway;
use crate::harness::http::Request;
use crate::harness::upstream::Upstream;
use crate::services::{call, calling, closes, kb, says, setup};

const CALLERS_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLERS_SPAN: &str = "b7ad6b7169203331";

fn traceparents(requests: &[Request]) -> Vec<Option<&str>> {
    let headers = requests.iter();
    headers.map(|asked| asked.header("traceparent")).collect()
}

/// Sends a request with a `traceparent`.
async fn asks_under(gateway: &Gateway, traceparent: &str) {
    let caller = Caller::of(gateway);
    let asked = caller.request("POST", "/v1/chat/completions");
    let asked = asked.header("traceparent", traceparent);
    let reply = caller.send(asked.json(&request(false))).await;
    assert_eq!(reply.folded()["message"]["content"], "done");
}

#[tokio::test]
async fn a_callers_trace_is_gone_on_with_and_decides() {
    let upstream = Upstream::start().await;
    let collector = Collector::start().await;
    let gateway = plain(&upstream, &collector, "sample = 0.0").await;
    asks_under(&gateway, &format!("00-{CALLERS_TRACE}-{CALLERS_SPAN}-01")).await;
    let asked = upstream.only_request();
    ends(gateway).await;
    let spans = collector.spans();
    let [chat, round] = &spans[..] else {
        panic!("{:?}", names(&spans));
    };
    assert_eq!(chat.name, "chat support");
    assert_eq!((&*chat.trace, &*chat.parent), (CALLERS_TRACE, CALLERS_SPAN));
    below(round, chat, CLIENT);
    assert_eq!(asked.header("traceparent"), Some(&*round.traceparent()));

    // A caller that keeps none, the other way round.
    collector.play([taken()]);
    upstream.play([closes("done")]);
    let gateway = plain(&upstream, &collector, "").await;
    asks_under(&gateway, &format!("00-{CALLERS_TRACE}-{CALLERS_SPAN}-00")).await;
    assert_eq!(traceparents(&upstream.requests()), [None]);
    ends(gateway).await;
    assert!(collector.spans().is_empty());
}

#[tokio::test]
async fn what_is_no_trace_of_a_callers_is_as_if_there_were_none() {
    let upstream = Upstream::start().await;
    let collector = Collector::start().await;
    let gateway = plain(&upstream, &collector, "").await;
    let wrong = [
        "",
        "00",
        &format!("00-{CALLERS_TRACE}-{CALLERS_SPAN}"),
        &format!("ff-{CALLERS_TRACE}-{CALLERS_SPAN}-01"),
        &format!("00-{}-{CALLERS_SPAN}-01", "0".repeat(32)),
        &format!("00-{CALLERS_TRACE}-{}-01", "0".repeat(16)),
        &format!("00-{}-{CALLERS_SPAN}-01", CALLERS_TRACE.to_uppercase()),
    ];
    for traceparent in wrong {
        asks_under(&gateway, traceparent).await;
    }
    ends(gateway).await;
    let spans = collector.spans();
    let chats = named(&spans, "chat support");
    assert_eq!(chats.len(), wrong.len());
    for chat in chats {
        assert_ne!(chat.trace, CALLERS_TRACE);
        assert_eq!(chat.parent, "");
    }
}

#[tokio::test]
async fn where_no_turn_is_sampled_nothing_is_sent_to_anybody() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let collector = Collector::start().await;
    for tables in [collector.toml("sample = 0"), String::new()] {
        upstream.play([
            says(&calling(None, &[call("call_1", "look", "{}")])),
            closes("done"),
        ]);
        let gateway = setup(&upstream, &service).tables(&tables).start().await;
        let caller = Caller::of(&gateway);
        caller.ask(&request(true)).await.folded();
        assert_eq!(caller.ask(&json!({"model": "nobody"})).await.status, 400);
        ends(gateway).await;
        assert_eq!(traceparents(&upstream.requests()), [None, None]);
    }
    let calls = service.tool("look").requests();
    assert_eq!(traceparents(&calls), [None, None]);
    assert!(collector.bytes().is_empty());
}
