//! Ten thousand broken requests: whatever a caller sends, it gets an answer in the shape of the
//! reference, and the process goes on (R1, R2, R5 to R8, P1 to P8).
//!
//! Every request follows from [`SEED`] and its number. A failure is told with both and with the
//! request's bytes.

mod bodies;
mod connection;
mod nasty;
mod requests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;
use serde_json::Value;

use crate::harness::caller::{Caller, Reply};
use crate::harness::fold::{self, Calls};
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::upstream::Upstream;
use connection::Connection;
use requests::Request;

/// Another seed is another ten thousand requests.
const SEED: u64 = 0x5eed_2026_1130;
const REQUESTS: usize = 10_000;
/// Connections that send at once.
const CONNECTIONS: usize = 6;
/// Failures that are told; one fault mostly breaks many requests.
const FAILURES_TOLD: usize = 10;

/// The model answers everything: with a call if it is offered the usual tool, else with text. So
/// whatever goes wrong is the gateway's doing, not the model's.
const SCRIPT: &str = r#"
[[answers]]
when.offered = "get_weather"
say = "I look."
[[answers.calls]]
name = "get_weather"
arguments = { city = "Lisbon" }

[[answers]]
say = "All right."
"#;

#[tokio::test]
async fn no_request_goes_unanswered_and_none_ends_the_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("script.toml");
    std::fs::write(&script, SCRIPT).expect("the script is written");
    let script = script.to_str().expect("a path of plain text");
    let upstream = Upstream::start().await;
    let gateway = setup(&upstream.base_url(), script).start().await;

    let next = AtomicUsize::new(0);
    let bodies = bodies::originals();
    let senders = (0..CONNECTIONS).map(|_| send_all(&gateway, &bodies, &next));
    let mut seen = Seen::default();
    for part in futures_util::future::join_all(senders).await {
        seen.add(part);
    }

    let models = Caller::of(&gateway).request("GET", "/v1/models");
    let models = Caller::of(&gateway)
        .send(models.header("authorization", requests::LENIENT))
        .await;
    assert_eq!(models.status, 200, "the process lives: {}", gateway.log());
    assert!(!gateway.log().contains("panicked"), "{}", gateway.log());
    seen.check();
}

fn setup(base_url: &str, script: &str) -> Setup {
    let tables = format!(
        r#"
[[upstreams]]
name = "scripted"
script = "{script}"

[[agents]]
name = "support.scripted"
upstream = "scripted"
model = "gpt-mock"
instructions = "Be kind."

[passthrough]
upstream = "scripted"

[[keys]]
name = "strict"
key = "strict-key"
models = ["support.*"]

[[keys]]
name = "lenient"
key = "lenient-key"
tool_choice_strings = true
"#
    );
    let setup = Setup::with_upstream(base_url).server("max_body = \"256KiB\"\n");
    setup.tables(&tables)
}

/// Sends requests one after the other over a connection that is kept, until none is left.
async fn send_all(gateway: &Gateway, bodies: &[Value], next: &AtomicUsize) -> Seen {
    let mut seen = Seen::default();
    let mut connection = Connection::to(gateway.address());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= REQUESTS {
            return seen;
        }
        let mut rng = Rng::with_seed(SEED ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let request = requests::any(bodies, &mut rng);
        let judged = match connection.ask(&request).await {
            Ok(reply) => judge(&request, &reply),
            Err(broken) => Err(broken),
        };
        match judged {
            Ok(outcome) => seen.count(outcome),
            Err(fault) => seen.fail(number, &request, &fault),
        }
    }
}

/// Whether a reply is one that the contract allows; gives the status and code for counting.
fn judge(request: &Request, reply: &Reply) -> Result<String, String> {
    let excerpt = || reply.text().chars().take(300).collect::<String>();
    if reply.status >= 500 {
        return Err(format!("status {}: {}", reply.status, excerpt()));
    }
    if request.is_head() {
        return Ok(format!("{} to HEAD", reply.status));
    }
    if reply.status == 200 && request.is_get() {
        let body: Result<Value, _> = serde_json::from_slice(&reply.body);
        let listed = body.map_err(|error| format!("{error}: {}", excerpt()))?;
        return Ok(format!("200 {}", listed["object"]));
    }
    let folded = fold::fold(reply, Calls::Checked);
    let folded = folded.map_err(|broken| format!("{broken}; {}: {}", reply.status, excerpt()))?;
    if reply.status == 200 && !folded["error"].is_null() {
        return Err(format!("a stream that fails: {}", folded["error"]));
    }
    Ok(format!("{} {}", reply.status, folded["error"]["code"]))
}

/// What came of the requests.
#[derive(Default)]
struct Seen {
    outcomes: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Seen {
    fn count(&mut self, outcome: String) {
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    fn fail(&mut self, number: usize, request: &Request, fault: &str) {
        let sent = request.shown();
        let failure = format!("request {number} of seed {SEED:#x}: {fault}\nsent: {sent}");
        self.failures.push(failure);
    }

    fn add(&mut self, other: Seen) {
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        self.failures.extend(other.failures);
    }

    /// Nothing failed, and the requests were broken in many ways, but not so much that none got
    /// through.
    fn check(&self) {
        let told: Vec<&str> = self.failures.iter().map(String::as_str).collect();
        let told = &told[..told.len().min(FAILURES_TOLD)];
        assert!(
            told.is_empty(),
            "{} of {REQUESTS} requests failed, among them:\n\n{}\n\nthe others: {:#?}",
            self.failures.len(),
            told.join("\n\n"),
            self.outcomes
        );
        let answered = self.outcomes.get("200 null").copied().unwrap_or(0);
        let (least, kinds) = (REQUESTS / 20, self.outcomes.len());
        assert!(answered > least && kinds > 20, "{:#?}", self.outcomes);
    }
}
