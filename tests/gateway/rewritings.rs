//! However a client writes one conversation, the model is asked the same.
//!
//! A failure shrinks to two short bodies that ought to have been one; make a case of
//! `fixtures/requests` of the second.

mod client;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::Value;

use super::harness::world::World;
use client::{Conversation, Habits, conversation};

#[test]
fn a_conversation_is_the_same_in_every_writing() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    // An upstream that takes texts only as results, so that a text in parts is that text.
    let texts = "overrides = { result_content = \"text\" }\n";
    let world = runtime.block_on(World::start(|setup| setup.upstream(texts)));
    let mut runner = TestRunner::new(Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let throws = proptest::collection::vec(0_u8..12, 1..80);
    let held = runner.run(&(conversation(), throws), |(conversation, throws)| {
        runtime.block_on(play(&world, &conversation, &throws))
    });
    match held {
        Err(TestError::Fail(broken, _)) => panic!("{broken}"),
        held => held.expect("the test runs"),
    }
}

async fn play(
    world: &World,
    conversation: &Conversation,
    throws: &[u8],
) -> Result<(), TestCaseError> {
    let plain = Habits::new(&[0]).write(conversation);
    let rewritten = Habits::new(throws).write(conversation);
    let expected = asked(world, &plain).await?;
    prop_assert_eq!(
        asked(world, &rewritten).await?,
        expected,
        "{}\n{}",
        plain,
        rewritten
    );
    Ok(())
}

/// What the model is asked. Arguments are compared as what they say.
async fn asked(world: &World, body: &str) -> Result<Value, TestCaseError> {
    world.upstream.play([]);
    let request = world.caller.request("POST", "/v1/chat/completions");
    let request = request.header("content-type", "application/json");
    let reply = world.caller.send(request.body(body.to_owned())).await;
    prop_assert_eq!(reply.status, 200, "{}\n{}", body, reply.text());
    let mut asked = world.upstream.only_request().json();
    let messages = asked["messages"].as_array_mut().into_iter().flatten();
    for call in messages
        .filter_map(|message| message["tool_calls"].as_array_mut())
        .flatten()
    {
        let arguments = &mut call["function"]["arguments"];
        let text = arguments.as_str().unwrap_or_default();
        *arguments = serde_json::from_str(text).expect("arguments are JSON");
    }
    Ok(asked)
}
