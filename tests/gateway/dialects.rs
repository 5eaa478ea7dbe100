//! What is sent to each family of servers: walks `fixtures/dialects`, a folder for each row of
//! the table. And where Azure wants it sent.

use std::collections::BTreeSet;
use std::path::Path;

use handback::upstream::dialect::ROWS;
use serde_json::json;

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{AGENT, Setup, UPSTREAM_KEY, UPSTREAM_MODEL};
use crate::harness::script::Answer;
use crate::harness::upstream::Upstream;
use crate::harness::walk::walk_with;
use crate::requests::modes;

#[tokio::test(flavor = "multi_thread")]
async fn every_family_gets_what_it_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dialects");
    let entries = std::fs::read_dir(folder).expect("the fixtures are there");
    let folders: BTreeSet<String> = entries
        .map(|entry| entry.expect("a readable folder").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let rows = ROWS.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(folders, rows.collect(), "one folder for each row");
    for family in folders {
        let settings = format!("dialect = \"{family}\"");
        walk_with(&format!("dialects/{family}"), &settings, modes).await;
    }
}

/// A gateway whose only upstream is at `base_url`, without the usual path.
fn azure(upstream: &Upstream, lines: &str) -> Setup {
    let root = upstream.base_url().replace("/v1", "");
    Setup::with_upstream(&root).upstream(&format!("dialect = \"azure\"\n{lines}\n"))
}

#[tokio::test]
async fn dated_apis_of_azure_have_a_path_for_each_deployment() {
    let upstream = Upstream::start().await;
    let passthrough = "[passthrough]\nupstream = \"model\"";
    let setup = azure(&upstream, "api_version = \"2024-10-21\"").tables(passthrough);
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    for (model, deployment) in [(AGENT, UPSTREAM_MODEL), ("my gpt/5", "my%20gpt%2F5")] {
        upstream.play([]);
        let mut body = request(false);
        body["model"] = json!(model);
        let answer = caller.ask(&body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let asked = upstream.only_request();
        assert_eq!(
            asked.target,
            format!("/openai/deployments/{deployment}/chat/completions?api-version=2024-10-21")
        );
        assert_eq!(asked.header("api-key"), Some(UPSTREAM_KEY));
        assert_eq!(asked.header("authorization"), None);
    }
}

#[tokio::test]
async fn what_azure_says_shows_neither_key_nor_address() {
    let upstream = Upstream::start().await;
    let gateway = azure(&upstream, "api_version = \"2024-10-21\"")
        .start()
        .await;
    let told = format!(
        "{}/openai/deployments/{UPSTREAM_MODEL} refuses {UPSTREAM_KEY}",
        upstream.authority()
    );
    let body = json!({"error": {"message": told, "type": "t", "param": null, "code": null}});
    upstream.play([Answer::json(400, &body)]);
    let answer = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!(answer.status, 400);
    assert!(!answer.text().contains(UPSTREAM_KEY), "{}", answer.text());
    assert!(
        !answer.text().contains(&upstream.authority()),
        "{}",
        answer.text()
    );
}
