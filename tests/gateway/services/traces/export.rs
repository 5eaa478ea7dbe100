//! Spans on their way, and collectors that do not take them.

use std::time::Duration;

use handback::telemetry::Metrics;
use handback::telemetry::settings::{EVERY_TURN, SERVICE, TracesSettings};
use handback::telemetry::traces::{Exporter, Request};

use super::{ends, plain};
use crate::admin::{admin_of, samples};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::collector::{COLLECTOR_KEY, Collector, taken, toml};
use crate::harness::gateway::Setup;
use crate::harness::script::Answer;
use crate::harness::upstream::{Upstream, nobody};

#[tokio::test]
async fn a_collector_that_refuses_is_told_of_until_it_takes_spans_again() {
    let upstream = Upstream::start().await;
    let collector = Collector::start().await;
    let gateway = plain(&upstream, &collector, "").await;
    collector.play([Answer::body(401, "text/plain", "no")]);
    Caller::of(&gateway).ask(&request(true)).await.folded();
    gateway.said("spans could not be sent").await;
    let seen = samples(&admin_of(&gateway)).await;
    assert!(seen[r#"handback_spans_total{outcome="failed"}"#] > 0.0);

    collector.play([taken()]);
    Caller::of(&gateway).ask(&request(true)).await.folded();
    gateway.said("spans can be sent again").await;
    let seen = samples(&admin_of(&gateway)).await;
    assert!(seen[r#"handback_spans_total{outcome="exported"}"#] > 0.0);
    let log = gateway.log_of_its_life().await;
    for private in [COLLECTOR_KEY, &collector.authority()] {
        assert!(!log.contains(private), "{log}");
    }
}

#[tokio::test]
async fn a_collector_that_is_dead_changes_nothing_for_callers() {
    let upstream = Upstream::start().await;
    let hanging = Collector::start().await;
    hanging.play([Answer::silence()]);
    let dead = nobody().await;
    let dead = dead.trim_start_matches("http://").trim_end_matches("/v1");
    for authority in [hanging.authority(), dead.to_owned()] {
        let setup = Setup::with_upstream(&upstream.base_url());
        let gateway = setup.tables(&toml(&authority, "")).start().await;
        for streamed in [false, true, false, true] {
            let folded = Caller::of(&gateway).ask(&request(streamed)).await.folded();
            assert_eq!(folded["message"]["content"], "done", "{folded}");
        }
        ends(gateway).await;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "spans begin at some moment")]
async fn spans_that_are_too_many_are_dropped_and_counted() {
    // More than may wait and be on their way.
    const ENDED: usize = 5000;

    let hanging = Collector::start().await;
    hanging.play([Answer::silence()]);
    let endpoint = format!("http://{}/v1/traces", hanging.authority());
    let settings = TracesSettings {
        endpoint: endpoint.parse().expect("it is a URL"),
        headers: Vec::new(),
        sample: EVERY_TURN,
        service: SERVICE.to_owned(),
    };
    let metrics = Metrics::new().expect("the metrics are in order");
    let exporter = Exporter::start(&settings, &metrics).expect("the settings are in order");
    let traces = exporter.traces();
    for _ in 0..ENDED {
        let begun = std::time::Instant::now();
        let trace = traces.request(None, begun, handback::drive::now());
        trace.end(&Request {
            id: "req_1",
            agent: None,
            key: None,
            turn: None,
            stream: false,
            status: 401,
            outcome: "refused",
            detail: Err("invalid_api_key"),
            failed: false,
            rounds: 0,
            duration: Duration::from_millis(1),
        });
    }
    let text = metrics.text();
    let dropped = text
        .lines()
        .find_map(|line| line.strip_prefix("handback_spans_total{outcome=\"dropped\"} "));
    let dropped: usize = dropped.expect("it is counted").parse().expect("a number");
    assert!((1..ENDED).contains(&dropped), "{text}");
}
