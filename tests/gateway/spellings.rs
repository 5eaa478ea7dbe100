//! However a server writes one answer, and however its bytes arrive, the caller gets that answer.
//!
//! A failure shrinks to a short body and is printed with it; make a case of `fixtures/wire` of it.

#[path = "../turns/properties/pieces.rs"]
mod pieces;
mod server;
mod stream;
#[path = "../turns/properties/values.rs"]
mod values;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use serde_json::{Value, json};

use super::harness::case::user;
use super::harness::gateway::AGENT;
use super::harness::script::{Answer, Step};
use super::harness::world::World;
use server::{Habits, Said, habits, said};

#[test]
fn an_answer_is_the_same_in_every_spelling() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    let world = runtime.block_on(World::start(|setup| setup));
    let mut runner = TestRunner::new(values::cases(300));
    let held = runner.run(
        &(said(), habits(), any::<bool>()),
        |(mut said, habits, streamed)| {
            habits.fit(&mut said);
            runtime.block_on(play(&world, &said, &habits, streamed))
        },
    );
    match held {
        // The body says more than the habits that wrote it.
        Err(TestError::Fail(broken, _)) => panic!("{broken}"),
        held => held.expect("the test runs"),
    }
}

async fn play(
    world: &World,
    said: &Said,
    habits: &Habits,
    streamed: bool,
) -> Result<(), TestCaseError> {
    let body = habits.write(said);
    world.upstream.play([answer(&body, habits)]);
    let mut request = json!({
        "model": AGENT, "stream": streamed, "messages": [user("Go.")], "tools": tools(),
    });
    if streamed {
        request["stream_options"] = json!({"include_usage": true});
    }
    let folded = world.caller.ask(&request).await.folded();
    let text = String::from_utf8_lossy(&body);
    prop_assert_eq!(heard(&folded), meant(said), "{:?}", text);
    Ok(())
}

/// The upstream's answer in writes.
fn answer(body: &[u8], habits: &Habits) -> Answer {
    let mut places: Vec<usize> = habits
        .writes
        .iter()
        .map(|at| at.index(body.len() + 1))
        .collect();
    places.extend([0, body.len()]);
    places.sort_unstable();
    let writes = places
        .windows(2)
        .map(|pair| Step::Write(body[pair[0]..pair[1]].to_vec()));
    let mut answer = Answer::stream(writes.collect());
    if !habits.events {
        answer.headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    }
    answer
}

fn tools() -> Value {
    let tool = |name: &&str| json!({"type": "function", "function": {"name": name}});
    pieces::NAMES.iter().map(tool).collect()
}

/// What the caller understood. A text of nothing is no text.
fn heard(folded: &Value) -> Value {
    let text = |key: &str| {
        folded["message"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let calls = folded["message"]["tool_calls"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let function = |call: &Value| call["function"].clone();
    json!({
        "text": text("content"), "reasoning": text("reasoning_content"),
        "calls": calls.iter().map(function).collect::<Vec<_>>(),
        "finish": folded["finish_reason"], "usage": folded["usage"],
    })
}

/// What the model meant. Calls of an answer that was cut short are none.
fn meant(said: &Said) -> Value {
    let text = |bodies: &[String]| -> Value {
        serde_json::from_str(&format!("\"{}\"", bodies.concat())).expect("a string")
    };
    let whole = said.cut_short.is_none();
    let calls = said.calls.iter().filter(|_| whole);
    let calls: Vec<Value> = calls
        .map(|call| json!({"name": call.name, "arguments": call.arguments}))
        .collect();
    let usual = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    let (prompt, completion) = said.usage.unwrap_or_default();
    json!({
        "text": text(&said.text), "reasoning": text(&said.reasoning), "calls": calls,
        "finish": said.cut_short.unwrap_or(usual),
        "usage": {
            "prompt_tokens": prompt, "completion_tokens": completion,
            "total_tokens": u32::from(prompt) + u32::from(completion),
        },
    })
}
