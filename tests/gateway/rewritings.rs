//! However a client writes one conversation, the model is asked the same.
//!
//! A failure shrinks to two short bodies that ought to have been one; make a case of
//! `fixtures/requests` of the second.

mod client;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::Value;

use super::harness::caller::Caller;
use super::harness::gateway::{Gateway, Setup};
use super::harness::upstream::Upstream;
use client::{Conversation, Habits, conversation};

#[test]
fn a_conversation_is_the_same_in_every_writing() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    let world = runtime.block_on(World::start());
    let mut runner = TestRunner::new(Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let throws = proptest::collection::vec(0_u8..12, 1..80);
    let held = runner.run(&(conversation(), throws), |(conversation, throws)| {
        runtime.block_on(world.play(&conversation, &throws))
    });
    match held {
        Err(TestError::Fail(broken, _)) => panic!("{broken}"),
        held => held.expect("the test runs"),
    }
}

struct World {
    _gateway: Gateway,
    caller: Caller,
    upstream: Upstream,
}

impl World {
    /// An upstream that takes texts only as results, so that a text in parts is that text.
    async fn start() -> Self {
        let upstream = Upstream::start().await;
        let gateway = Setup::with_upstream(&upstream.base_url())
            .upstream("overrides = { result_content = \"text\" }\n")
            .start()
            .await;
        Self {
            caller: Caller::of(&gateway),
            _gateway: gateway,
            upstream,
        }
    }

    async fn play(&self, conversation: &Conversation, throws: &[u8]) -> Result<(), TestCaseError> {
        let plain = Habits::new(&[0]).write(conversation);
        let rewritten = Habits::new(throws).write(conversation);
        let expected = self.asked(&plain).await?;
        prop_assert_eq!(
            self.asked(&rewritten).await?,
            expected,
            "{}\n{}",
            plain,
            rewritten
        );
        Ok(())
    }

    /// What the model is asked. Arguments are compared as what they say.
    async fn asked(&self, body: &str) -> Result<Value, TestCaseError> {
        self.upstream.play([]);
        let request = self.caller.request("POST", "/v1/chat/completions");
        let request = request.header("content-type", "application/json");
        let reply = self.caller.send(request.body(body.to_owned())).await;
        prop_assert_eq!(reply.status, 200, "{}\n{}", body, reply.text());
        let mut asked = self.upstream.only_request().json();
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
}
