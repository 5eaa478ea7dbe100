//! The list of models and each of them, by every path that clients use (O1, R1).

use serde_json::Value;

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup};
use crate::harness::upstream::Upstream;

/// Two more agents, with the characters that names may hold.
const MORE_AGENTS: &str = r#"
[[agents]]
name = "desk/night shift/agent.v2"
upstream = "model"
model = "gpt-mock"

[[agents]]
name = "büro:früh"
upstream = "model"
model = "gpt-mock"
"#;

const NAMES: [&str; 3] = ["büro:früh", "desk/night shift/agent.v2", "support"];

async fn gateway() -> (Upstream, Gateway) {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).tables(MORE_AGENTS);
    let gateway = setup.start().await;
    (upstream, gateway)
}

fn check_model(model: &Value) {
    assert_eq!(model["object"], "model", "{model}");
    assert!(model["created"].is_u64(), "{model}");
    assert!(model["owned_by"].is_string(), "{model}");
}

#[tokio::test]
async fn the_list_names_every_agent_by_every_path() {
    let (_upstream, gateway) = gateway().await;
    let caller = Caller::of(&gateway);
    for path in [
        "/v1/models",
        "/models",
        "/v1/models/",
        "/models/",
        "/v1/models?limit=1&after=x",
    ] {
        let reply = caller.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert!(reply.header("content-type").starts_with("application/json"));
        assert_ne!(reply.header("x-request-id"), "");
        let list = reply.json();
        assert_eq!(list["object"], "list");
        let models = list["data"].as_array().expect("a list of models");
        let mut names: Vec<&str> = models
            .iter()
            .inspect(|model| check_model(model))
            .filter_map(|model| model["id"].as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(names, NAMES, "{path}");
    }
}

#[tokio::test]
async fn a_model_is_found_with_slashes_encoded_or_not() {
    let (_upstream, gateway) = gateway().await;
    let caller = Caller::of(&gateway);
    let paths = [
        ("support", "/v1/models/support"),
        ("support", "/models/support"),
        ("support", "/v1/models/support/"),
        ("support", "/v1/models/support?expand=all"),
        ("support", "/v1/models/%73upport"),
        (
            "desk/night shift/agent.v2",
            "/v1/models/desk/night%20shift/agent.v2",
        ),
        (
            "desk/night shift/agent.v2",
            "/v1/models/desk%2Fnight%20shift%2Fagent.v2",
        ),
        (
            "desk/night shift/agent.v2",
            "/models/desk%2fnight%20shift/agent.v2/",
        ),
        ("büro:früh", "/v1/models/b%C3%BCro:fr%C3%BCh"),
        ("büro:früh", "/v1/models/b%C3%BCro%3Afr%C3%BCh"),
    ];
    for (name, path) in paths {
        let reply = caller.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert_ne!(reply.header("x-request-id"), "");
        let model = reply.json();
        assert_eq!(model["id"], name, "{path}");
        check_model(&model);
    }
}

#[tokio::test]
async fn an_unknown_model_is_not_found() {
    let (_upstream, gateway) = gateway().await;
    let caller = Caller::of(&gateway);
    let paths = [
        ("supper", "/v1/models/supper"),
        ("support/x", "/v1/models/support/x"),
        ("desk", "/v1/models/desk"),
        ("gpt-mock", "/models/gpt-mock"),
    ];
    for (name, path) in paths {
        let folded = caller.get(path).await.folded();
        assert_eq!(folded["status"], 404, "{path}");
        assert_eq!(folded["error"]["code"], "model_not_found", "{path}");
        let message = folded["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(name), "{message}");
    }
}

#[tokio::test]
async fn an_answer_bears_the_name_that_the_caller_used() {
    let (upstream, gateway) = gateway().await;
    let caller = Caller::of(&gateway);
    for name in NAMES {
        for streamed in [false, true] {
            let mut body = request(streamed);
            body["model"] = Value::from(name);
            upstream.play([]);
            let folded = caller.ask(&body).await.folded();
            assert_eq!(folded["model"], name);
            assert_eq!(upstream.only_request().json()["model"], "gpt-mock");
        }
    }
}
