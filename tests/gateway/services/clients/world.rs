//! The turn that every client goes on with, and how a row is played.

use serde_json::{Value, json};

use super::sent::Sent;
use super::{CALLER, OTHERS, Row, Way};
use crate::harness::caller::{Caller, Reply};
use crate::harness::case::{request, user};
use crate::harness::gateway::{AGENT, Gateway, Setup};
use crate::harness::http::Request;
use crate::harness::script::Answer;
use crate::harness::service::Service;
use crate::harness::upstream::Upstream;
use crate::services::{
    KEY, OTHER_KEY, call, calling, closes, ids, kb, messages, result, says, sealed_with, setup,
    weather,
};

/// The mixed round, with what providers bind to their messages.
fn mixed() -> Value {
    let mut first = weather("call_b");
    first["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    let calls = [
        first,
        call("call_c", "save", r#"{"q":"seen"}"#),
        weather("call_d"),
    ];
    let mut message = calling(Some(" Asking. "), &calls);
    message["reasoning_content"] = json!("The user asks for the weather.");
    message
}

/// What the model is asked once the results are there.
pub(super) fn history() -> Vec<Value> {
    vec![
        user("Is it raining in Lisbon?"),
        calling(Some("One moment. "), &[hidden()]),
        result("call_a", r#"{"tool":"look"}"#),
        mixed(),
        result("call_b", "dry"),
        result("call_c", r#"{"tool":"save"}"#),
        result("call_d", "wet"),
    ]
}

fn hidden() -> Value {
    call("call_a", "look", r#"{"q":"rain"}"#)
}

/// A model, a service, and two gateways that differ in what they do with a loss.
pub(super) struct World {
    upstream: Upstream,
    service: Service,
    setup: Setup,
    refusing: Gateway,
    degrading: Gateway,
}

impl World {
    pub(super) async fn start() -> Self {
        let upstream = Upstream::start().await;
        let service = kb().await;
        let setup = setup(&upstream, &service).tables(OTHERS);
        let sealed = sealed_with(&[KEY]);
        let degrade = format!("{sealed}on_lost = \"degrade\"\n");
        let refusing = setup.clone().tables(&sealed).start().await;
        let degrading = setup.clone().tables(&degrade).start().await;
        Self {
            upstream,
            service,
            setup,
            refusing,
            degrading,
        }
    }

    async fn with_keys(&self, keys: &[&str]) -> Gateway {
        self.setup.clone().tables(&sealed_with(keys)).start().await
    }

    /// Gets to the handback; gives what a faithful client sends next.
    async fn hand_back(&self, gateway: &Gateway, streamed: bool) -> Sent {
        self.upstream.play([
            says(&calling(Some("One moment. "), &[hidden()])),
            says(&mixed()),
        ]);
        let body = request(streamed);
        let folded = ask(gateway, CALLER, &body).await.folded();
        assert_eq!(folded["finish_reason"], "tool_calls", "{folded}");
        let message = folded["message"].clone();
        let ids = ids(&message);
        self.upstream.play([closes("done")]);
        Sent {
            before: vec![user("Is it raining in Lisbon?")],
            results: vec![result(&ids[0], "dry"), result(&ids[1], "wet")],
            messages: vec![message],
            model: AGENT,
            key: CALLER,
        }
    }

    /// Plays a row; gives the replies, and what the model was asked.
    async fn play(
        &self,
        row: &Row,
        gateway: &Gateway,
        streamed: bool,
    ) -> (Vec<Reply>, Vec<Request>) {
        let gateway = match row.way {
            Way::Restarted => &self.with_keys(&[KEY]).await,
            _ => gateway,
        };
        let mut sent = self.hand_back(gateway, streamed).await;
        (row.change)(&mut sent);
        let body = sent.body(streamed);
        let ask = async |gateway: &Gateway| ask(gateway, sent.key, &body).await;
        let replies = match row.way {
            Way::Once => vec![ask(gateway).await],
            Way::Again => vec![ask(gateway).await, ask(gateway).await],
            Way::TwiceAtOnce => {
                let (one, other) = tokio::join!(ask(gateway), ask(gateway));
                vec![one, other]
            }
            Way::AfterAnError => {
                self.upstream.play([Answer::body(500, "text/plain", "no")]);
                assert_eq!(ask(gateway).await.status, 502);
                self.upstream.play([closes("done")]);
                vec![ask(gateway).await]
            }
            Way::Restarted | Way::Second => vec![ask(&self.with_keys(&[KEY]).await).await],
            Way::Rotated => vec![ask(&self.with_keys(&[OTHER_KEY, KEY]).await).await],
            Way::Removed => vec![ask(&self.with_keys(&[OTHER_KEY]).await).await],
        };
        (replies, self.upstream.requests())
    }

    /// Plays a row that has to succeed with this history, and calls that waited run so often.
    pub(super) async fn goes_on(&self, row: &Row, streamed: bool, expected: &[Value], runs: usize) {
        let before = self.service.calls("save");
        let (replies, asked) = self.play(row, &self.refusing, streamed).await;
        for reply in &replies {
            let folded = reply.folded();
            let said = &folded["message"]["content"];
            assert_eq!(said, "done", "{}: {folded}", row.name);
            let lost = reply.header("x-handback-continuation");
            assert_eq!(lost, "", "{}", row.name);
        }
        // Of two at once the second may get the answer of the first.
        assert!((1..=replies.len()).contains(&asked.len()), "{}", row.name);
        for asked in asked {
            assert_eq!(messages(&asked), expected, "{}", row.name);
        }
        assert_eq!(self.service.calls("save") - before, runs, "{}", row.name);
    }

    /// Plays a row that has to be refused, at no cost.
    pub(super) async fn is_refused(&self, row: &Row, streamed: bool, code: &str) {
        let before = self.service.calls("save");
        let (replies, asked) = self.play(row, &self.refusing, streamed).await;
        for reply in replies {
            let folded = reply.folded();
            assert_eq!(folded["status"], 400, "{}: {folded}", row.name);
            assert_eq!(folded["error"]["code"], code, "{}", row.name);
            if code == "continuation_lost" {
                assert_eq!(folded["error"]["param"], "messages[1]", "{}", row.name);
            }
        }
        assert!(asked.is_empty(), "{}", row.name);
        assert_eq!(self.service.calls("save"), before, "{}", row.name);
    }

    /// Plays a row whose loss is borne: the visible part goes on, and everybody is told.
    pub(super) async fn is_degraded(&self, row: &Row, streamed: bool) {
        let before = self.service.calls("save");
        let (replies, asked) = self.play(row, &self.degrading, streamed).await;
        for reply in replies {
            assert_eq!(reply.folded()["message"]["content"], "done", "{}", row.name);
            assert_eq!(
                reply.header("x-handback-continuation"),
                "lost",
                "{}",
                row.name
            );
        }
        let [asked] = &asked[..] else {
            panic!("{}: the model is asked once", row.name);
        };
        let shown = messages(asked);
        assert_eq!(shown.len(), 4, "{}: {shown:?}", row.name);
        for (at, id) in ids(&shown[1]).iter().enumerate() {
            assert!(id.len() <= 40, "{}: {id}", row.name);
            assert_eq!(
                shown[1]["tool_calls"][at]["function"],
                weather("")["function"]
            );
            assert_eq!(shown[2 + at]["tool_call_id"], *id, "{}", row.name);
        }
        assert_eq!(shown[2]["content"], "dry", "{}", row.name);
        let told = shown[3]["content"].as_str().unwrap_or_default();
        assert!(
            told.starts_with("wet") && told.contains("not available"),
            "{}: {told}",
            row.name
        );
        assert_eq!(self.service.calls("save"), before, "{}", row.name);
    }
}

async fn ask(gateway: &Gateway, key: &str, body: &Value) -> Reply {
    let caller = Caller::of(gateway);
    let request = caller.request("POST", "/v1/chat/completions");
    caller.send(request.bearer_auth(key).json(body)).await
}
