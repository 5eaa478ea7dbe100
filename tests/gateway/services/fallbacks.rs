//! An upstream that fails in the middle of a turn: what was run stays run (contract U5).

use serde_json::json;

use super::{call, calling, closes, kb, messages, says, setup};
use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::script::{Answer, delta, done, event};
use crate::harness::service::result;
use crate::harness::upstream::Upstream;

#[tokio::test]
async fn a_hidden_round_is_not_run_again_when_the_next_fails() {
    let (upstream, spare, service) = (Upstream::start().await, Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service)
        .retries(1)
        .fallback(&spare.base_url(), "")
        .start()
        .await;
    service.tool("save").play([result(&json!({"saved": true}))]);
    let mut hidden = calling(Some("One moment. "), &[call("s1", "save", "{\"q\":1}")]);
    hidden["reasoning_content"] = json!("It has to be saved.");
    let fails =
        Answer::json(503, &json!({"error": {"message": "busy"}})).header("retry-after", "0");
    upstream.play([says(&hidden), fails]);
    spare.play([
        says(&calling(None, &[call("s2", "look", "{}")])),
        closes("Saved."),
    ]);

    let folded = Caller::of(&gateway).ask(&request(true)).await.folded();

    assert_eq!(folded["message"]["content"], "One moment. Saved.");
    assert_eq!((service.calls("save"), service.calls("look")), (1, 1));
    assert_eq!(
        upstream.requests().len(),
        3,
        "one round, and a request that was repeated"
    );
    let [second, third] = &spare.requests()[..] else {
        panic!("{} requests to the spare", spare.requests().len());
    };
    assert_eq!(second.json()["model"], "spare-model");
    let asked = messages(second);
    assert_eq!(asked[1]["tool_calls"][0]["id"], "s1");
    assert!(asked[1].get("reasoning_content").is_none(), "{}", asked[1]);
    assert_eq!(
        messages(third)[..3],
        asked[..3],
        "the rest of the turn stays with the spare"
    );
}

#[tokio::test]
async fn a_call_in_front_of_an_error_is_not_run() {
    let (upstream, service) = (Upstream::start().await, kb().await);
    let gateway = setup(&upstream, &service).start().await;
    let save = calling(None, &[call("s1", "save", "{\"q\":1}")]);
    for error in [
        json!({"detail": "busy"}),
        json!({"errors": [{"message": "busy"}]}),
        json!({"choices": [], "base_resp": {"status_code": 1002, "status_msg": "busy"}}),
    ] {
        upstream.play([Answer::stream(vec![
            event(&delta(&save)),
            event(&error),
            done(),
        ])]);
        for streamed in [false, true] {
            let reply = Caller::of(&gateway).ask(&request(streamed)).await;
            let folded = reply.folded();
            assert_eq!(folded["error"]["code"], "upstream_error", "{folded}");
            assert_eq!(service.calls("save"), 0, "{error}");
        }
    }
}
