//! One gateway between a scripted model, a service and a correct caller.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::test_runner::TestCaseError;
use proptest::{prop_assert, prop_assert_eq};
use serde_json::{Value, json};

use super::one_process;
use super::script::{Call, Habits, Round, Script, TOOLS, agent_name, owned, run};
use crate::harness::fold::{Calls, fold};
use crate::harness::http::Request;
use crate::harness::script::Answer;
use crate::harness::upstream::Upstream;
use crate::harness::world as harness;

/// What all scripts are played with.
pub(super) struct World {
    model: harness::World,
    service: Upstream,
    /// Makes each conversation one that the gateway has not seen.
    played: AtomicUsize,
}

impl World {
    pub(super) async fn start() -> Self {
        let service = Upstream::answering(|request| {
            let result = run(tool_of(request), request.text());
            Answer::body(200, "application/json", result)
        })
        .await;
        let tables = tables(&service.authority());
        Self {
            model: harness::World::start(|setup| setup.tables(&tables)).await,
            service,
            played: AtomicUsize::new(0),
        }
    }

    /// Plays a script to its end.
    pub(super) async fn play(&self, script: &Script) -> Result<(), TestCaseError> {
        self.model
            .upstream
            .play(script.rounds.iter().map(Round::answer));
        self.service.play([]);
        let number = self.played.fetch_add(1, Ordering::Relaxed);
        let question = json!({"role": "user", "content": format!("Question {number}")});
        let mut body = json!({
            "model": script.agent(), "stream": script.streamed, "messages": [question],
            "tools": external_tools(script),
        });
        for (text, calls) in one_process::answers(script) {
            let message = self.ask(script, &body, &text, &calls).await?;
            let answered = answered(&message, &calls, &script.habits);
            let messages = body["messages"].as_array_mut();
            messages.expect("a conversation").extend(answered);
        }
        self.check_model(script, &question)?;
        self.check_runs(script)
    }

    /// Sends a request, and gives the message once it has been found to be the right one.
    async fn ask(
        &self,
        script: &Script,
        body: &Value,
        text: &str,
        calls: &[&Call],
    ) -> Result<Value, TestCaseError> {
        let reply = self.model.caller.ask(body).await;
        let bytes = format!("{:?}\n{}", reply.headers, reply.text());
        let all = script.rounds.iter().flat_map(|round| &round.calls);
        for call in all.filter(|call| script.is_internal(call)) {
            for trace in call.traces() {
                prop_assert!(!bytes.contains(&trace), "{trace} is shown in {bytes}");
            }
        }
        let folded = fold(&reply, Calls::Checked).map_err(TestCaseError::fail)?;
        let message = folded["message"].clone();
        let said = message["content"].as_str().unwrap_or_default();
        prop_assert_eq!(said, text, "{}", folded);
        let handed = message["tool_calls"].as_array().into_iter().flatten();
        let handed: Vec<Value> = handed.map(|call| call["function"].clone()).collect();
        let own = calls
            .iter()
            .map(|call| json!({"name": call.name(), "arguments": call.arguments()}));
        prop_assert_eq!(handed, own.collect::<Vec<_>>(), "{}", folded);
        Ok(message)
    }

    /// In every round the model was asked what one process would have asked.
    fn check_model(&self, script: &Script, question: &Value) -> Result<(), TestCaseError> {
        let asked: Vec<Vec<Value>> = self.model.upstream.requests().iter().map(told).collect();
        let expected = one_process::requests(script, question);
        prop_assert_eq!(asked.len(), expected.len(), "rounds");
        let expected = with_words_of(&asked, expected)?;
        for (round, (asked, expected)) in asked.iter().zip(&expected).enumerate() {
            for (at, (asked, expected)) in asked.iter().zip(expected).enumerate() {
                let other = format!(
                    "message {at} of round {} is\n  {asked}\nand where one process owns all tools\n  {expected}\n",
                    round + 1
                );
                prop_assert!(asked == expected, "{other}");
            }
            prop_assert_eq!(
                asked.len(),
                expected.len(),
                "messages of round {}",
                round + 1
            );
        }
        Ok(())
    }

    /// Each internal call ran once, and in the model's order but for reads beside each other.
    fn check_runs(&self, script: &Script) -> Result<(), TestCaseError> {
        let ran: Vec<(String, String)> = self
            .service
            .requests()
            .iter()
            .map(|request| (tool_of(request).to_owned(), request.text().to_owned()))
            .collect();
        let own = one_process::runs(script);
        prop_assert_eq!(ran.len(), own.len(), "runs: {:?}", ran);
        let mut ends = Vec::new();
        for call in &own {
            let run = (call.name().to_owned(), call.arguments());
            let at = ran.iter().position(|ran| *ran == run);
            let at =
                at.ok_or_else(|| TestCaseError::fail(format!("{run:?} is not among {ran:?}")))?;
            ends.push((at, call.writes()));
        }
        for (later, (at, writes)) in ends.iter().enumerate() {
            for (earlier, wrote) in &ends[..later] {
                let in_order = earlier < at || !(*wrote || *writes);
                prop_assert!(in_order, "out of order: {ran:?}");
            }
        }
        Ok(())
    }
}

/// What is expected, where the words of a message are the gateway's with those that it had when
/// the message was shown first.
fn with_words_of(
    asked: &[Vec<Value>],
    mut expected: Vec<Vec<Value>>,
) -> Result<Vec<Vec<Value>>, TestCaseError> {
    for messages in &mut expected {
        for (at, message) in messages.iter_mut().enumerate() {
            if message["role"] == "tool" && message["content"].is_null() {
                let first = asked.iter().find_map(|asked| asked.get(at));
                let words = first.and_then(|first| first["content"].as_str());
                let words = words.unwrap_or_default();
                let is_note = words.contains("failed") || words.contains("not_run");
                prop_assert!(
                    is_note,
                    "of a call that was not run the model is told {words:?}"
                );
                message["content"] = json!(words);
            }
        }
    }
    Ok(expected)
}

fn tool_of(request: &Request) -> &str {
    request.target.rsplit('/').next().unwrap_or_default()
}

/// The service with all tools, and an agent for each choice of them.
fn tables(service: &str) -> String {
    let mut toml = String::from("[[services]]\nname = \"kb\"\nkind = \"http\"\n");
    for tool in TOOLS {
        let effect = if tool.starts_with("find") {
            "none"
        } else {
            "external_write"
        };
        let _ = write!(
            toml,
            "[[services.tools]]\nname = \"{tool}\"\nmethod = \"POST\"\nurl = \"http://{service}/{tool}\"\n\
             side_effect = \"{effect}\"\nparameters = {{ properties = {{ q = {{ type = \"string\" }} }}, required = [\"q\"] }}\n"
        );
    }
    for mask in 0..1_usize << TOOLS.len() {
        let internal = std::array::from_fn(|at| mask >> at & 1 == 1);
        let tools = owned(internal).map(|tool| format!("kb.{tool}"));
        let tools: Vec<String> = tools.collect();
        let _ = write!(
            toml,
            "[[agents]]\nname = \"{}\"\nupstream = \"model\"\nmodel = \"gpt-mock\"\nservices = {tools:?}\n",
            agent_name(internal)
        );
    }
    toml
}

fn external_tools(script: &Script) -> Value {
    let own = TOOLS
        .iter()
        .zip(script.internal)
        .filter(|(_, internal)| !internal);
    own.map(|(tool, _)| {
        json!({"type": "function", "function": {"name": tool, "parameters": {
            "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"],
        }}})
    })
    .collect()
}

/// What the caller sends back: the message, and a result for each call.
fn answered(message: &Value, calls: &[&Call], habits: &Habits) -> Vec<Value> {
    let mut message = message.clone();
    let ids: Vec<Value> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| call["id"].clone())
        .collect();
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        if habits.drops_unknown_fields {
            call.as_object_mut()
                .map(|call| call.remove("extra_content"));
        }
        if habits.writes_arguments_anew {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            call["function"]["arguments"] = json!(arguments.replace(':', " : "));
        }
    }
    if let Some(message) = message.as_object_mut()
        && habits.drops_unknown_fields
    {
        message.remove("reasoning_content");
        if message["content"].is_null() {
            message.remove("content");
        }
    }
    let result = |(id, call): (&Value, &&Call)| json!({"role": "tool", "tool_call_id": id, "content": run(call.name(), &call.arguments())});
    let mut results: Vec<Value> = ids.iter().zip(calls).map(result).collect();
    if habits.reverses_results {
        results.reverse();
    }
    std::iter::once(message).chain(results).collect()
}

/// The messages of a request to the model, without what is the same in another spelling:
/// arguments are JSON, an absent content is null, and a result may repeat its tool's name.
fn told(request: &Request) -> Vec<Value> {
    let mut messages = request.json()["messages"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for message in &mut messages {
        if message["role"] == "tool" {
            message
                .as_object_mut()
                .map(|message| message.remove("name"));
        } else if message.get("content").is_none() {
            message["content"] = Value::Null;
        }
        for call in message
            .get_mut("tool_calls")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let arguments: Value = call["function"]["arguments"]
                .as_str()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default();
            call["function"]["arguments"] = json!(arguments.to_string());
        }
    }
    messages
}
