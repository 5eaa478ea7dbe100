//! Agents with tools of their own, through the whole gateway: internal rounds, mixed rounds, what
//! travels sealed between two requests, retries, and teams.

mod attempts;
mod bounds;
mod branches;
mod chains;
mod clients;
mod continuations;
mod fallbacks;
mod faults;
mod given_ids;
mod hostile;
mod internal;
mod journal;
mod killed;
mod mcp;
mod mixed;
mod observed;
mod providers;
mod retries;
mod silences;
mod teams;
mod traces;
mod waiting;

use serde_json::{Value, json};

use super::harness::caller::Caller;
use super::harness::case::{request, user};
use super::harness::gateway::{Gateway, Setup};
use super::harness::http::Request;
use super::harness::script::{Answer, Gate, Step, chunk, done, event};
use super::harness::service::Service;
use super::harness::upstream::Upstream;

/// Two sealing keys.
const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const OTHER_KEY: &str = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpBQkNERUY=";

/// A service with two tools that read and two that write.
async fn kb() -> Service {
    let service = Service::start("kb", &["look", "find", "save", "file"]).await;
    let mut service = service
        .lines("look", "side_effect = \"none\"")
        .lines("find", "side_effect = \"none\"");
    for tool in ["look", "find", "save", "file"] {
        service = service.lines(tool, "parameters = { properties = { q = {} } }");
    }
    service
}

/// A gateway whose agent has the service.
fn setup(upstream: &Upstream, service: &Service) -> Setup {
    Setup::with_upstream(&upstream.base_url())
        .agent("services = [\"kb\"]\n")
        .tables(&service.toml())
}

/// The section that names sealing keys.
fn sealed_with(keys: &[&str]) -> String {
    format!("[continuation]\nkeys = {keys:?}\n")
}

/// A call of the model.
fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// A call of the caller's tool.
fn weather(id: &str) -> Value {
    call(id, "get_weather", r#"{"city":"Lisbon","unit":"c"}"#)
}

/// A message of the model with calls.
fn calling(text: Option<&str>, calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": text, "tool_calls": calls})
}

/// A message of the model as it arrives: a stream, which is read for whole answers as well.
fn says(message: &Value) -> Answer {
    let mut delta = message.clone();
    let mut reason = "stop";
    for (index, call) in delta["tool_calls"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .enumerate()
    {
        call["index"] = json!(index);
        reason = "tool_calls";
    }
    let mut usage = chunk(&json!([]));
    usage["usage"] = json!({"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15});
    Answer::stream(vec![
        event(&chunk(
            &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
        )),
        event(&chunk(
            &json!([{"index": 0, "delta": {}, "finish_reason": reason}]),
        )),
        event(&usage),
        done(),
    ])
}

/// The model says `text` and stops.
fn closes(text: &str) -> Answer {
    says(&json!({"role": "assistant", "content": text}))
}

/// An answer of the model that waits until the test opens the gate, which it never does.
fn held_back(mut answer: Answer) -> Answer {
    answer.steps.insert(0, Step::Wait(Gate::closed()));
    answer
}

/// A result as the model sees it.
fn result(id: &str, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

/// The messages of a request to the model. Whether a tool message repeats the tool's name is the
/// upstream's business.
fn messages(request: &Request) -> Vec<Value> {
    let mut messages = request.json()["messages"]
        .as_array()
        .expect("a conversation")
        .clone();
    for message in messages
        .iter_mut()
        .filter(|message| message["role"] == "tool")
    {
        message
            .as_object_mut()
            .map(|message| message.remove("name"));
    }
    messages
}

/// The bytes of a request to the model up to the end of its messages.
fn prefix(request: &Request) -> &str {
    let text = request.text();
    let end = text
        .find(r#"],"tools":"#)
        .expect("tools stand behind the messages");
    &text[..end]
}

/// The names of the tools that the model was offered.
fn offered(request: &Request) -> Vec<String> {
    let body = request.json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
    tools.iter().filter_map(name).collect()
}

/// The idempotency keys that came with the calls of a tool.
fn keys(service: &Service, tool: &str) -> Vec<String> {
    let requests = service.tool(tool).requests();
    let key = |request: &Request| {
        let key = request.header("idempotency-key");
        key.unwrap_or_default().to_owned()
    };
    requests.iter().map(key).collect()
}

/// The ids of a message's calls.
fn ids(message: &Value) -> Vec<String> {
    let calls = message["tool_calls"].as_array();
    let id = |call: &Value| call["id"].as_str().map(str::to_owned);
    calls.into_iter().flatten().filter_map(id).collect()
}

/// The request that answers the calls of `message` with these results, in their order.
fn follow_up(request: &Value, message: &Value, results: &[&str]) -> Value {
    let ids = ids(message);
    let results = ids.iter().zip(results).map(|(id, text)| result(id, text));
    let messages = std::iter::once(message.clone()).chain(results);
    with(request, messages)
}

/// The request with further messages.
fn with(request: &Value, more: impl IntoIterator<Item = Value>) -> Value {
    let mut request = request.clone();
    let messages = request["messages"].as_array_mut();
    messages.expect("a conversation").extend(more);
    request
}

/// The code of the error that a request is refused with.
async fn refused(caller: &Caller, body: &Value, status: u16) -> String {
    let folded = caller.ask(body).await.folded();
    assert_eq!(folded["status"], status, "{folded}");
    folded["error"]["code"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The conversation that most tests about continuations go on with: a hidden round, then a
/// handback with a parked call.
struct Handback {
    upstream: Upstream,
    service: Service,
    setup: Setup,
    request: Value,
    /// What the caller was given.
    message: Value,
    /// What the model was asked last.
    asked: Request,
}

impl Handback {
    /// Gets to the handback with a gateway of this setup, which is gone or still runs afterwards.
    async fn reach(extra: &str, streamed: bool) -> (Self, Gateway) {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let setup = setup(&upstream, &service);
        let gateway = setup.clone().tables(extra).start().await;
        let request = request(streamed);
        upstream.play([
            says(&calling(
                Some("One moment. "),
                &[call("call_a", "look", r#"{"q":"rain"}"#)],
            )),
            says(&calling(
                Some(" Asking. "),
                &[weather("call_b"), call("call_c", "save", r#"{"q":"seen"}"#)],
            )),
        ]);
        let folded = Caller::of(&gateway).ask(&request).await.folded();
        assert_eq!(folded["finish_reason"], "tool_calls", "{folded}");
        assert_eq!(service.calls("save"), 0, "a parked call waits");
        let message = folded["message"].clone();
        let asked = upstream.requests().pop().expect("the model was asked");
        upstream.play([closes("done")]);
        let handback = Self {
            upstream,
            service,
            setup,
            request,
            message,
            asked,
        };
        (handback, gateway)
    }

    /// The same with a sealing key in the configuration.
    async fn sealed() -> (Self, Gateway) {
        Self::reach(&sealed_with(&[KEY]), false).await
    }

    /// The caller's answer to it.
    fn follow_up(&self) -> Value {
        follow_up(&self.request, &self.message, &["dry"])
    }

    /// What the model has to be asked once the result is there.
    fn history() -> Vec<Value> {
        vec![
            user("Is it raining in Lisbon?"),
            calling(
                Some("One moment. "),
                &[call("call_a", "look", r#"{"q":"rain"}"#)],
            ),
            result("call_a", r#"{"tool":"look"}"#),
            calling(
                Some(" Asking. "),
                &[weather("call_b"), call("call_c", "save", r#"{"q":"seen"}"#)],
            ),
            result("call_b", "dry"),
            result("call_c", r#"{"tool":"save"}"#),
        ]
    }

    /// Sends a follow-up that has to succeed, and gives what the model was asked.
    async fn goes_on(&self, gateway: &Gateway, body: &Value) -> Request {
        self.upstream.play([closes("done")]);
        let folded = Caller::of(gateway).ask(body).await.folded();
        assert_eq!(folded["message"]["content"], "done", "{folded}");
        self.upstream.only_request()
    }

    /// Sends a follow-up that has to be refused as lost, at no cost.
    async fn is_lost(&self, gateway: &Gateway, body: &Value) {
        self.upstream.play([closes("done")]);
        let code = refused(&Caller::of(gateway), body, 400).await;
        assert_eq!(code, "continuation_lost");
        assert!(self.upstream.requests().is_empty());
        assert_eq!(self.service.calls("save"), 0);
    }
}
