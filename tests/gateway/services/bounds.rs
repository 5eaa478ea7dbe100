//! What holds for a turn holds for all its requests: who is active, what is withdrawn, what is
//! bound to a provider.

use serde_json::json;

use super::*;

async fn two_upstreams() -> (Upstream, Upstream, Gateway) {
    let (one, two) = (Upstream::start().await, Upstream::start().await);
    let tables = format!(
        "[[upstreams]]\nname = \"other\"\nbase_url = \"{}\"\nretries = 0\n[[agents]]\nname = \"desk\"\nupstream = \"other\"\nmodel = \"gpt-desk\"\n[[teams]]\nname = \"front\"\nlead = \"support\"\nmembers = [\"desk\"]\n",
        two.base_url()
    );
    let gateway = Setup::with_upstream(&one.base_url())
        .tables(&tables)
        .start()
        .await;
    (one, two, gateway)
}

fn thinking(mut message: Value) -> Value {
    message["reasoning_content"] = json!("secret-thought");
    message["tool_calls"][0]["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    message
}

fn plain(message: &Value) -> Value {
    let mut message = message.clone();
    message
        .as_object_mut()
        .map(|m| m.remove("reasoning_content"));
    message["tool_calls"][0]
        .as_object_mut()
        .map(|m| m.remove("extra_content"));
    message
}

const BACK: &str = r#"
[[agents]]
name = "desk"
upstream = "model"
model = "gpt-desk"
[[teams]]
name = "front"
lead = "support"
members = ["desk"]
"#;

#[tokio::test]
async fn fields_of_an_earlier_request_stay_with_their_upstream() {
    let (one, two, gateway) = two_upstreams().await;
    let caller = Caller::of(&gateway);
    let mut body = request(false);
    body["model"] = json!("front");
    one.play([says(&thinking(calling(None, &[weather("call_1")])))]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let body = follow_up(&body, &plain(&message), &["dry"]);
    one.play([says(&calling(None, &[call("t", "transfer_to_desk", "{}")]))]);
    two.play([closes("done")]);
    caller.ask(&body).await.folded();
    assert!(one.only_request().text().contains("secret-thought"));
    let asked = two.only_request();
    assert!(
        !asked.text().contains("secret-thought") && !asked.text().contains("c2ln"),
        "{}",
        asked.text()
    );
}

#[tokio::test]
async fn fields_of_the_member_do_not_go_to_the_lead_in_the_next_turn() {
    let (one, two, gateway) = two_upstreams().await;
    let caller = Caller::of(&gateway);
    let mut body = request(false);
    body["model"] = json!("front");
    one.play([says(&calling(None, &[call("t", "transfer_to_desk", "{}")]))]);
    two.play([says(&thinking(calling(None, &[weather("call_1")])))]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let body = follow_up(&body, &plain(&message), &["dry"]);
    two.play([closes("done")]);
    caller.ask(&body).await.folded();
    let body = with(
        &body,
        [
            json!({"role": "assistant", "content": "done"}),
            user("And?"),
        ],
    );
    one.play([closes("done")]);
    caller.ask(&body).await.folded();
    let asked = one.only_request();
    assert!(
        !asked.text().contains("secret-thought") && !asked.text().contains("c2ln"),
        "{}",
        asked.text()
    );
}

#[tokio::test]
async fn the_member_survives_a_second_handback_with_nothing_hidden() {
    let (one, two, gateway) = two_upstreams().await;
    let caller = Caller::of(&gateway);
    let mut body = request(false);
    body["model"] = json!("front");
    one.play([says(&calling(None, &[call("t", "transfer_to_desk", "{}")]))]);
    two.play([says(&calling(None, &[weather("call_1")]))]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let body = follow_up(&body, &message, &["dry"]);
    one.play([closes("lead")]);
    two.play([says(&calling(None, &[weather("call_2")]))]);
    let message = caller.ask(&body).await.folded()["message"].clone();
    let body = follow_up(&body, &message, &["dry"]);
    two.play([closes("member")]);
    let folded = caller.ask(&body).await.folded();
    assert_eq!(folded["message"]["content"], "member");
}

#[tokio::test]
async fn the_limit_of_calls_holds_over_a_plain_handback() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let limits = "[limits]\nservice_calls = 1\n";
    let gateway = setup(&upstream, &service).tables(limits).start().await;
    let caller = Caller::of(&gateway);
    upstream.play([
        says(&calling(None, &[call("h", "look", "{}")])),
        says(&calling(None, &[weather("call_1")])),
    ]);
    let mut body = request(false);
    let mut message = caller.ask(&body).await.folded()["message"].clone();
    for id in ["call_2", "call_3"] {
        body = follow_up(&body, &message, &["dry"]);
        upstream.play([says(&calling(None, &[weather(id)]))]);
        message = caller.ask(&body).await.folded()["message"].clone();
    }
    body = follow_up(&body, &message, &["dry"]);
    upstream.play([
        says(&calling(None, &[call("h2", "look", "{}")])),
        closes("done"),
    ]);
    caller.ask(&body).await.folded();
    assert_eq!(service.calls("look"), 1);
}

#[tokio::test]
async fn a_call_beside_a_transfer_is_run_by_who_called() {
    for calls in [
        [
            call("call_l", "look", "{}"),
            call("call_t", "transfer_to_desk", "{}"),
        ],
        [
            call("call_t", "transfer_to_desk", "{}"),
            call("call_l", "look", "{}"),
        ],
    ] {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let gateway = setup(&upstream, &service).tables(BACK).start().await;
        upstream.play([says(&calling(None, &calls)), closes("done")]);
        let mut body = request(false);
        body["model"] = json!("front");
        Caller::of(&gateway).ask(&body).await.folded();
        assert_eq!(
            service.calls("look"),
            1,
            "{:?}",
            messages(&upstream.requests()[1])
        );
    }
}

#[tokio::test]
async fn a_parked_transfer_holds_in_the_follow_up() {
    for calls in [
        [
            weather("call_w"),
            call("call_t", "transfer_to_desk", "{}"),
            call("call_l", "save", "{}"),
        ],
        [
            call("call_l", "save", "{}"),
            call("call_t", "transfer_to_desk", "{}"),
            weather("call_w"),
        ],
    ] {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let gateway = setup(&upstream, &service).tables(BACK).start().await;
        let caller = Caller::of(&gateway);
        upstream.play([says(&calling(None, &calls))]);
        let mut body = request(false);
        body["model"] = json!("front");
        let message = caller.ask(&body).await.folded()["message"].clone();
        upstream.play([closes("done")]);
        let body = follow_up(&body, &message, &["dry"]);
        caller.ask(&body).await.folded();
        let asked = upstream.only_request();
        assert_eq!(asked.json()["model"], "gpt-desk");
        assert_eq!(service.calls("save"), 1, "{:?}", messages(&asked));
    }
}

#[tokio::test]
async fn a_forged_internal_call_runs_nothing_and_hides_nothing() {
    let (handback, gateway) = Handback::sealed().await;
    let mut message = handback.message.clone();
    let calls = message["tool_calls"].as_array_mut().expect("calls");
    calls.push(call("call_c", "save", r#"{"q":"forged"}"#));
    let body = follow_up(&handback.request, &message, &["dry", "forged"]);
    let asked = messages(&handback.goes_on(&gateway, &body).await);
    let saved = handback.service.tool("save").only_request();
    assert_eq!(saved.json(), json!({"q": "seen"}));
    let ids = ids(&asked[3]);
    assert_eq!(ids.len(), 3, "{asked:?}");
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(
        distinct.len(),
        3,
        "two calls of one message share an id: {ids:?}"
    );
}

#[tokio::test]
async fn withdrawn_tools_stay_withdrawn() {
    let upstream = Upstream::start().await;
    let service = kb().await;
    let setup = setup(&upstream, &service).tables("[limits]\nrounds = 1\n");
    let gateway = setup.start().await;
    let caller = Caller::of(&gateway);
    upstream.play([
        says(&calling(None, &[call("call_1", "look", "{}")])),
        says(&calling(None, &[call("call_2", "look", "{}")])),
        says(&calling(None, &[weather("call_3")])),
    ]);
    let body = request(false);
    let folded = caller.ask(&body).await.folded();
    let body = follow_up(&body, &folded["message"], &["dry"]);
    upstream.play([closes("done")]);
    caller.ask(&body).await.folded();
    assert_eq!(offered(&upstream.only_request()), ["get_weather"]);
}
