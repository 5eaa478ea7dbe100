//! Teams: a transfer is hidden, and whoever is active stays so over a handback.

use serde_json::{Value, json};

use super::{
    KEY, call, calling, closes, follow_up, kb, messages, offered, refused, result, says,
    sealed_with, weather,
};
use crate::harness::caller::Caller;
use crate::harness::case::{request, user};
use crate::harness::gateway::{Gateway, Setup, UPSTREAM_MODEL};
use crate::harness::script::Answer;
use crate::harness::service::Service;
use crate::harness::upstream::Upstream;

/// A lead without services and a member with some.
const TEAM: &str = r#"
[[agents]]
name = "office.desk"
upstream = "model"
model = "gpt-desk"
instructions = "You are the member."
services = ["kb"]
[[teams]]
name = "front"
lead = "support"
members = ["office.desk"]
"#;

struct Scene {
    upstream: Upstream,
    service: Service,
    setup: Setup,
    gateway: Gateway,
}

impl Scene {
    async fn start() -> Self {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let setup = Setup::with_upstream(&upstream.base_url())
            .agent("instructions = \"You are the lead.\"\n")
            .tables(&service.toml())
            .tables(TEAM)
            .tables(&sealed_with(&[KEY]));
        let gateway = setup.start().await;
        Self {
            upstream,
            service,
            setup,
            gateway,
        }
    }
}

fn ask_team(streamed: bool) -> Value {
    let mut body = request(streamed);
    body["model"] = json!("front");
    body
}

fn transfer() -> Value {
    calling(
        Some("One moment. "),
        &[call("call_t", "transfer_to_desk", "{}")],
    )
}

#[tokio::test]
async fn a_transfer_is_hidden_and_changes_who_is_asked() {
    for streamed in [false, true] {
        let scene = Scene::start().await;
        scene.upstream.play([
            says(&transfer()),
            says(&calling(None, &[call("call_1", "look", "{}")])),
            closes("It is dry."),
        ]);
        let reply = Caller::of(&scene.gateway).ask(&ask_team(streamed)).await;
        let folded = reply.folded();
        assert_eq!(folded["message"]["content"], "One moment. It is dry.");
        for hidden in ["transfer", "desk", "call_t", "look"] {
            assert!(!reply.text().contains(hidden), "{hidden}: {}", reply.text());
        }
        if !streamed {
            assert_eq!(folded["model"], "front");
        }
        let asked = scene.upstream.requests();
        assert_eq!(asked.len(), 3);
        assert_eq!(asked[0].json()["model"], UPSTREAM_MODEL);
        assert_eq!(
            messages(&asked[0])[0],
            json!({"role": "system", "content": "You are the lead."})
        );
        assert_eq!(offered(&asked[0]), ["get_weather", "transfer_to_desk"]);
        let second = messages(&asked[1]);
        assert_eq!(asked[1].json()["model"], "gpt-desk");
        assert_eq!(
            second[..3],
            [
                json!({"role": "system", "content": "You are the member."}),
                user("Is it raining in Lisbon?"),
                transfer(),
            ]
        );
        assert_eq!(second[3]["tool_call_id"], "call_t");
        assert_eq!(second.len(), 4);
        assert_eq!(
            offered(&asked[1]),
            ["get_weather", "look", "find", "save", "file"]
        );
        assert_eq!(scene.service.calls("look"), 1);
    }
}

#[tokio::test]
async fn the_active_member_survives_a_handback_and_a_restart() {
    let scene = Scene::start().await;
    let body = ask_team(false);
    scene.upstream.play([
        says(&transfer()),
        says(&calling(
            None,
            &[weather("call_1"), call("call_2", "save", "{}")],
        )),
    ]);
    let folded = Caller::of(&scene.gateway).ask(&body).await.folded();
    assert_eq!(folded["finish_reason"], "tool_calls", "{folded}");
    let body = follow_up(&body, &folded["message"], &["dry"]);
    let restarted = scene.setup.start().await;
    for gateway in [&scene.gateway, &restarted] {
        scene.upstream.play([closes("done")]);
        let folded = Caller::of(gateway).ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        let asked = scene.upstream.only_request();
        assert_eq!(asked.json()["model"], "gpt-desk");
        let asked = messages(&asked);
        assert_eq!(asked[0]["content"], "You are the member.");
        assert_eq!(asked[2], transfer());
        assert_eq!(
            asked[5..],
            [
                result("call_1", "dry"),
                result("call_2", r#"{"tool":"save"}"#),
            ]
        );
    }
}

#[tokio::test]
async fn whoever_was_active_takes_a_failed_attempt_up() {
    for streamed in [false, true] {
        let scene = Scene::start().await;
        let no = Answer::body(500, "text/plain", "no");
        let save = calling(None, &[call("call_1", "save", "{}")]);
        scene.upstream.play([
            says(&transfer()),
            no.clone(),
            says(&save),
            no,
            closes("It is dry."),
        ]);
        let caller = Caller::of(&scene.gateway);
        let body = ask_team(streamed);
        for _ in 0..2 {
            let folded = caller.ask(&body).await.folded();
            assert_eq!(folded["error"]["code"], "upstream_error", "{folded}");
        }
        let folded = caller.ask(&body).await.folded();
        assert_eq!(folded["message"]["content"], "One moment. It is dry.");
        assert_eq!(scene.service.calls("save"), 1);
        let asked = scene.upstream.requests();
        assert_eq!(asked.len(), 5);
        for asked in &asked[1..] {
            assert_eq!(asked.json()["model"], "gpt-desk");
        }
        let last = messages(&asked[4]);
        assert_eq!(last[2], transfer());
        assert_eq!(last[4..], [save, result("call_1", r#"{"tool":"save"}"#)]);
    }
}

#[tokio::test]
async fn a_forced_choice_is_refused() {
    let scene = Scene::start().await;
    let caller = Caller::of(&scene.gateway);
    for choice in [
        json!("auto"),
        json!("none"),
        json!({"type": "function", "function": {"name": "get_weather"}}),
    ] {
        let mut body = ask_team(false);
        body["tool_choice"] = choice;
        let code = refused(&caller, &body, 400).await;
        assert_eq!(code, "tool_choice_unsupported_for_teams");
    }
    assert!(scene.upstream.requests().is_empty());
    let mut body = ask_team(false);
    body["tool_choice"] = Value::Null;
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "done");
}

#[tokio::test]
async fn names_of_any_members_tools_are_taken() {
    let scene = Scene::start().await;
    let caller = Caller::of(&scene.gateway);
    for name in ["transfer_to_desk", "save"] {
        let mut body = ask_team(false);
        body["tools"][0]["function"]["name"] = json!(name);
        assert_eq!(refused(&caller, &body, 400).await, "tool_name_conflict");
    }
}

#[tokio::test]
async fn a_team_is_a_model() {
    let scene = Scene::start().await;
    let caller = Caller::of(&scene.gateway);
    let list = caller.get("/v1/models").await.json();
    let models = list["data"].as_array().expect("a list");
    let names: Vec<_> = models
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    for name in ["front", "support", "office.desk"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(caller.get("/v1/models/front").await.json()["id"], "front");
}

#[tokio::test]
async fn what_binds_a_transfer_to_its_provider_goes_to_no_other() {
    for streamed in [false, true] {
        let (upstream, other, service) =
            (Upstream::start().await, Upstream::start().await, kb().await);
        let further = format!(
            "[[upstreams]]\nname = \"other\"\nbase_url = \"{}\"\nretries = 0\n",
            other.base_url()
        );
        let gateway = Setup::with_upstream(&upstream.base_url())
            .tables(&service.toml())
            .tables(&TEAM.replace("\"model\"", "\"other\""))
            .tables(&further)
            .start()
            .await;
        let mut thinking = transfer();
        thinking["reasoning_content"] = json!("Somebody else's business.");
        thinking["tool_calls"][0]["extra_content"] =
            json!({"google": {"thought_signature": "c2ln"}});
        upstream.play([says(&thinking)]);
        other.play([closes("Hello.")]);
        let folded = Caller::of(&gateway).ask(&ask_team(streamed)).await.folded();
        assert_eq!(
            folded["message"]["content"], "One moment. Hello.",
            "{folded}"
        );
        assert_eq!(messages(&other.only_request())[2], transfer());
    }
}

#[tokio::test]
async fn a_tool_of_the_one_before_is_not_named_to_the_caller() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    // The lead has the service; the member has nothing.
    let gateway = Setup::with_upstream(&upstream.base_url())
        .agent("services = [\"kb\"]\n")
        .tables(&service.toml())
        .tables(&TEAM.replace("services = [\"kb\"]\n", ""))
        .start()
        .await;
    for streamed in [false, true] {
        upstream.play([
            says(&transfer()),
            says(&calling(None, &[call("call_1", "look", "{}")])),
        ]);
        let reply = Caller::of(&gateway).ask(&ask_team(streamed)).await;
        assert_eq!(reply.folded()["error"]["code"], "invalid_model_output");
        assert!(!reply.text().contains("look"), "{}", reply.text());
    }
}

#[tokio::test]
async fn an_upstream_that_finds_fault_with_a_hidden_tool_does_not_name_it() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let gateway = super::setup(&upstream, &service).start().await;
    let caller = Caller::of(&gateway);
    let refusal = |message: &str| {
        Answer::json(
            400,
            &json!({"error": {"message": message, "param": "tools[1]"}}),
        )
    };
    upstream.play([refusal("Invalid schema for function 'save': no")]);
    let reply = caller.ask(&request(false)).await;
    assert_eq!(reply.status, 502);
    assert!(!reply.text().contains("save"), "{}", reply.text());
    let team = Scene::start().await;
    team.upstream.play([refusal("transfer_to_desk is no name")]);
    let reply = Caller::of(&team.gateway).ask(&ask_team(false)).await;
    assert_eq!(reply.status, 502);
    assert!(!reply.text().contains("desk"), "{}", reply.text());
    upstream.play([refusal("saved messages are too long")]);
    let reply = caller.ask(&request(false)).await;
    assert_eq!(reply.status, 400, "another word is no name");
    assert!(reply.text().contains("saved messages"));
}
