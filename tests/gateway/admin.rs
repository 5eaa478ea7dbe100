//! Health, readiness and metrics, on a listener of their own (O2).

use std::collections::BTreeMap;

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::upstream::Upstream;

/// The value of every series.
pub(crate) async fn samples(admin: &Caller) -> BTreeMap<String, f64> {
    let text = admin.get("/metrics").await.text();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let value = value
                .parse()
                .unwrap_or_else(|_| panic!("no number: {line}"));
            (name.to_owned(), value)
        })
        .collect()
}

/// A caller of the admin listener.
pub(crate) fn admin_of(gateway: &Gateway) -> Caller {
    Caller::at(gateway.admin_url())
}

#[tokio::test]
async fn a_running_gateway_is_alive_and_ready() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(admin_of(&gateway).get(path).await.status, 200, "{path}");
    }
    assert_eq!(upstream.requests().len(), 0, "health is the gateway's own");
}

#[tokio::test]
async fn metrics_are_prometheus_text_that_counts_requests() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let admin = admin_of(&gateway);
    let caller = Caller::of(&gateway);
    caller.ask(&request(false)).await.folded();
    let reply = admin.get("/metrics").await;
    assert_eq!(reply.status, 200);
    assert!(reply.header("content-type").starts_with("text/plain"));
    assert!(
        reply.text().contains("# TYPE handback_"),
        "{}",
        reply.text()
    );
    let before = samples(&admin).await;
    for streamed in [false, true, false] {
        caller.ask(&request(streamed)).await.folded();
    }
    let after = samples(&admin).await;
    let rose: f64 = after
        .iter()
        .filter(|(name, _)| name.contains("requests_total"))
        .map(|(name, value)| value - before.get(name).unwrap_or(&0.0))
        .sum();
    assert!(rose >= 3.0, "three requests are counted: {after:?}");
}

#[tokio::test]
async fn admin_and_callers_have_separate_listeners() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for path in ["/metrics", "/healthz", "/readyz"] {
        let folded = Caller::of(&gateway).get(path).await.folded();
        assert_eq!(folded["status"], 404, "{path}");
    }
    let reply = admin_of(&gateway).ask(&request(false)).await;
    assert_eq!(reply.status, 404);
    assert_eq!(upstream.requests().len(), 0);
}
