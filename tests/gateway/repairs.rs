//! What the caller is told when the model's calls stayed wrong (A6). Which calls get through and
//! what the model is told are cases of `fixtures/wire`.

use serde_json::{Value, json};

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, completion};
use crate::harness::upstream::Upstream;

const HEADER: &str = "x-handback-arguments";

fn calls_weather(arguments: &str) -> Answer {
    let call = json!({"id": "call_w1", "type": "function",
        "function": {"name": "get_weather", "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    Answer::json(200, &completion(&message, "tool_calls"))
}

async fn header_for(arguments: &str) -> (Value, String) {
    let upstream = Upstream::playing([calls_weather(arguments)]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    (reply.folded(), reply.header(HEADER).to_owned())
}

#[tokio::test]
async fn unrepaired_arguments_are_said_in_a_header() {
    let (folded, header) = header_for(r#"{"town":"Lisbon"}"#).await;
    let function = &folded["message"]["tool_calls"][0]["function"];
    assert_eq!(function["arguments"], r#"{"town":"Lisbon"}"#);
    assert_eq!(header, "unrepaired");
}

#[tokio::test]
async fn right_arguments_need_no_header() {
    let (folded, header) = header_for(r#"{"city":"Lisbon"}"#).await;
    assert_eq!(folded["finish_reason"], "tool_calls");
    assert_eq!(header, "");
}
