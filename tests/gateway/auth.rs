//! Keys: who may call, what each may use, and that no secret goes where it does not belong (U6).
//! The refusals themselves are cases of `fixtures/requests`.

use serde_json::Value;

use crate::harness::caller::{Caller, Reply};
use crate::harness::case::request;
use crate::harness::gateway::{Gateway, Setup, UPSTREAM_KEY};
use crate::harness::script::Answer;
use crate::harness::upstream::{Upstream, nobody};

const DESK_KEY: &str = "hb-key-of-the-desk";
const LAB_KEY: &str = "hb-key-of-the-lab";

/// The desk may use what begins with `support`; the lab, whose key is stored as a digest, all.
const KEYS: &str = r#"
[[agents]]
name = "lab/probe"
upstream = "model"
model = "gpt-mock"

[[keys]]
name = "desk"
key = "hb-key-of-the-desk"
models = ["support*"]

[[keys]]
name = "lab"
sha256 = "5b714f36fb8489324d3e4e6e37b31df0912d332796e4bdb6b73fc6d7d4bff129"
models = ["*"]
"#;

async fn gateway_with_keys(upstream: &Upstream) -> Gateway {
    let setup = Setup::with_upstream(&upstream.base_url());
    setup.tables(KEYS).start().await
}

async fn ask_as(gateway: &Gateway, key: &str, model: &str) -> Reply {
    let caller = Caller::of(gateway);
    let mut body = request(false);
    body["model"] = Value::from(model);
    let chat = caller.request("POST", "/v1/chat/completions").json(&body);
    caller.send(chat.bearer_auth(key)).await
}

#[tokio::test]
async fn each_key_uses_the_models_it_may_use() {
    let upstream = Upstream::start().await;
    let gateway = gateway_with_keys(&upstream).await;
    for (key, model) in [
        (DESK_KEY, "support"),
        (LAB_KEY, "support"),
        (LAB_KEY, "lab/probe"),
    ] {
        let folded = ask_as(&gateway, key, model).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{key} {model}");
    }
    assert_eq!(upstream.requests().len(), 3);
    let reply = ask_as(&gateway, DESK_KEY, "lab/probe").await;
    assert!(matches!(reply.status, 403 | 404), "{}", reply.text());
    reply.folded();
    assert_eq!(upstream.requests().len(), 3, "the upstream is not asked");
}

#[tokio::test]
async fn models_are_listed_for_the_key() {
    let upstream = Upstream::start().await;
    let gateway = gateway_with_keys(&upstream).await;
    let caller = Caller::of(&gateway);
    for (key, expected) in [
        (DESK_KEY, vec!["support"]),
        (LAB_KEY, vec!["lab/probe", "support"]),
    ] {
        let list = caller.request("GET", "/v1/models").bearer_auth(key);
        let list = caller.send(list).await.json();
        let mut names: Vec<&str> = list["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|model| model["id"].as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(names, expected);
    }
    let hidden = caller
        .request("GET", "/v1/models/lab/probe")
        .bearer_auth(DESK_KEY);
    let reply = caller.send(hidden).await;
    assert!(matches!(reply.status, 403 | 404), "{}", reply.text());
    let reply = caller.get("/v1/models").await;
    assert_eq!(reply.status, 401, "a list needs a key, too");
    reply.folded();
}

#[tokio::test]
async fn the_upstream_sees_the_gateways_key_and_nothing_of_the_callers() {
    let upstream = Upstream::start().await;
    let gateway = gateway_with_keys(&upstream).await;
    ask_as(&gateway, DESK_KEY, "support").await.folded();
    let request = upstream.only_request();
    let authorization: Vec<&str> = request
        .headers
        .iter()
        .filter(|(name, _)| name == "authorization")
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(authorization, [format!("Bearer {UPSTREAM_KEY}")]);
    for (name, value) in &request.headers {
        assert!(!value.contains(DESK_KEY), "{name} shows the caller's key");
    }
    assert!(!request.text().contains(DESK_KEY));
}

#[tokio::test]
async fn no_secret_in_errors_or_in_the_log() {
    let upstream = Upstream::start().await;
    let gateway = gateway_with_keys(&upstream).await;
    let wrong = "hb-key-of-nobody-at-all";
    let mut texts = Vec::new();
    for key in [DESK_KEY, LAB_KEY, wrong] {
        for answer in [
            Answer::text("done"),
            Answer::body(401, "text/plain", ""),
            Answer::raw("x"),
        ] {
            upstream.play([answer]);
            texts.push(ask_as(&gateway, key, "support").await.text());
        }
    }
    let setup = Setup::with_upstream(&nobody().await).tables(KEYS);
    let alone = setup.start().await;
    texts.push(ask_as(&alone, DESK_KEY, "support").await.text());
    texts.push(gateway.log());
    texts.push(alone.log());
    for text in texts {
        for secret in [DESK_KEY, LAB_KEY, UPSTREAM_KEY, wrong] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

#[tokio::test]
async fn the_callers_authorization_goes_upstream_where_the_upstream_says_so() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url()).keyless();
    let gateway = setup.upstream(r#"auth = "caller""#).start().await;
    let reply = ask_as(&gateway, "sk-of-the-caller", "support").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let request = upstream.only_request();
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-of-the-caller")
    );
}
