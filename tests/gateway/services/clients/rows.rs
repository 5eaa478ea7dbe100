//! What clients do to a handback and its results, as data.

use serde_json::{Value, json};

use super::sent::{Sent, aged};
use super::{Expect, OTHER_AGENT, OTHER_CALLER, Row, Way};
use crate::harness::case::user;
use crate::services::{call, calling, result, weather};

/// A client that sends something once, to the gateway that handed back.
const fn row(name: &'static str, change: fn(&mut Sent), expect: Expect) -> Row {
    Row {
        name,
        change,
        way: Way::Once,
        expect,
    }
}

/// A client that changes nothing.
const fn kept(name: &'static str, way: Way, expect: Expect) -> Row {
    Row {
        name,
        change: |_| (),
        way,
        expect,
    }
}

pub(super) const ROWS: &[Row] = &[
    // What means the same.
    kept("keeps the ids", Way::Once, Expect::Same),
    row("drops fields that it does not know", plain, Expect::Same),
    row(
        "adds fields of its own",
        |sent| {
            let message = sent.handback();
            message["refusal"] = Value::Null;
            message["parsed"] = json!({"a": 1});
            message["id"] = json!("msg_1");
            message["tool_calls"][0]["index"] = json!(0);
        },
        Expect::Same,
    ),
    row(
        "writes the arguments anew",
        |sent| sent.arguments(&json!("{ \"city\" : \"Lisbon\", \"unit\": \"\\u0063\" }")),
        Expect::Same,
    ),
    row(
        "reorders the arguments",
        |sent| sent.arguments(&json!(r#"{"unit":"c","city":"Lisbon"}"#)),
        Expect::Same,
    ),
    row(
        "sends the arguments as an object",
        |sent| sent.arguments(&json!({"city": "Lisbon", "unit": "c"})),
        Expect::Same,
    ),
    row(
        "drops the text",
        |sent| sent.content(Value::Null),
        Expect::Same,
    ),
    row(
        "empties the text",
        |sent| sent.content(json!("")),
        Expect::Same,
    ),
    row(
        "leaves `content` out",
        |sent| {
            sent.handback()
                .as_object_mut()
                .map(|message| message.remove("content"));
        },
        Expect::Same,
    ),
    row(
        "trims the text",
        |sent| sent.content(json!("One moment.  Asking.")),
        Expect::Same,
    ),
    row(
        "sends the text in parts",
        |sent| {
            sent.content(json!([
                {"type": "text", "text": "One moment. "},
                {"type": "text", "text": " Asking. ", "annotations": []},
            ]));
        },
        Expect::Same,
    ),
    row(
        "keeps the text in a message of its own",
        |sent| sent.says_first(&["One moment.  Asking."]),
        Expect::Same,
    ),
    row(
        "keeps each piece of text in a message of its own",
        |sent| sent.says_first(&["One moment.", "Asking."]),
        Expect::Same,
    ),
    row(
        "keeps each call in a message of its own",
        |sent| {
            let [text, one, other] = sent.split();
            sent.messages = vec![text, one, other];
        },
        Expect::Same,
    ),
    row(
        "puts each result behind its call",
        |sent| {
            let [text, one, other] = sent.split();
            let (first, second) = (sent.results.remove(0), sent.results.remove(0));
            sent.messages = vec![text, one, first, other, second];
        },
        Expect::Same,
    ),
    row(
        "puts each result behind its call, the last call first",
        |sent| {
            let [text, one, other] = sent.split();
            let (first, second) = (sent.results.remove(0), sent.results.remove(0));
            sent.messages = vec![text, other, second, one, first];
        },
        Expect::Same,
    ),
    row(
        "reorders the calls",
        |sent| {
            let calls = sent.handback()["tool_calls"].as_array_mut();
            calls.expect("calls").reverse();
        },
        Expect::Same,
    ),
    row(
        "reorders the results",
        |sent| sent.results.reverse(),
        Expect::Same,
    ),
    row(
        "repeats a result",
        |sent| sent.results.push(sent.results[0].clone()),
        Expect::Same,
    ),
    row(
        "sends the results in parts",
        |sent| {
            for result in &mut sent.results {
                result["content"] = json!([{"type": "text", "text": result["content"]}]);
            }
        },
        Expect::Same,
    ),
    kept("sends it twice at once", Way::TwiceAtOnce, Expect::Same),
    kept("sends it again", Way::Again, Expect::Same),
    kept(
        "sends it again after an error",
        Way::AfterAnError,
        Expect::Same,
    ),
    kept("comes back after a restart", Way::Restarted, Expect::Same),
    kept("comes back to another process", Way::Second, Expect::Same),
    kept(
        "comes back after the key was rotated",
        Way::Rotated,
        Expect::Same,
    ),
    // The caller's own word.
    row(
        "edits the text",
        |sent| sent.content(json!("Something else.")),
        Expect::Version(|history| {
            // Its text stands for all that was said, so it is said once.
            history[1]["content"] = Value::Null;
            history[3]["content"] = json!("Something else.");
            unbind(&mut history[3]);
        }),
    ),
    row(
        "edits arguments",
        |sent| sent.arguments(&json!(r#"{"city":"Porto"}"#)),
        Expect::Version(|history| {
            history[3]["tool_calls"][0] = call("call_b", "get_weather", r#"{"city":"Porto"}"#);
            unbind(&mut history[3]);
        }),
    ),
    row(
        "takes a call out",
        |sent| {
            sent.handback()["tool_calls"].as_array_mut().map(Vec::pop);
            sent.results.pop();
        },
        Expect::Version(|history| {
            history[3]["tool_calls"].as_array_mut().map(Vec::pop);
            history.pop();
            unbind(&mut history[3]);
        }),
    ),
    row(
        "adds a call",
        |sent| {
            // By the id of the one that waits, which a caller can guess.
            sent.adds(call("call_c", "save", r#"{"q":"forged"}"#), "forged");
        },
        Expect::Version(|history| {
            // It is the caller's, under an id of its own, and never runs.
            let forged = json!("call_e646569ef524b117e81765738cbb83c8");
            history[3]["tool_calls"]
                .as_array_mut()
                .expect("calls")
                .push(call("", "save", r#"{"q":"forged"}"#));
            history[3]["tool_calls"][3]["id"] = forged.clone();
            history.push(result("", "forged"));
            history[7]["tool_call_id"] = forged;
            unbind(&mut history[3]);
        }),
    ),
    row(
        "edits an earlier message",
        |sent| sent.before[0] = user("And in Porto?"),
        Expect::Version(|history| history[0] = user("And in Porto?")),
    ),
    // The caller goes on without.
    row(
        "sends a user message instead of results",
        |sent| sent.results = vec![user("Never mind.")],
        Expect::MovedOn(|history| {
            for result in &mut history[4..7] {
                result["content"] = json!(NOT_RUN);
            }
            history.push(user("Never mind."));
        }),
    ),
    row(
        "edits the question and sends it anew",
        |sent| {
            sent.before = vec![user("And in Porto?")];
            sent.messages.clear();
            sent.results.clear();
        },
        Expect::MovedOn(|history| *history = vec![user("And in Porto?")]),
    ),
    // What is noticed.
    row(
        "cuts ids to 40 characters",
        |sent| sent.ids(|id| cut(id, 40)),
        Expect::Lost,
    ),
    row(
        "cuts ids to 64 characters",
        |sent| sent.ids(|id| cut(id, 64)),
        Expect::Lost,
    ),
    row(
        "cuts the last character off",
        |sent| sent.ids(|id| cut(id, id.len() - 1)),
        Expect::Lost,
    ),
    row(
        "strips `_` and `-`",
        |sent| sent.ids(|id| id.replace(['_', '-'], "")),
        Expect::Lost,
    ),
    row(
        "writes `-` for `_`",
        |sent| sent.ids(|id| id.replace('_', "-")),
        Expect::Lost,
    ),
    row(
        "adds a suffix",
        |sent| sent.ids(|id| format!("{id}_0")),
        Expect::Lost,
    ),
    row(
        "writes ids in lower case",
        |sent| sent.ids(str::to_lowercase),
        Expect::Lost,
    ),
    row(
        "writes ids in upper case",
        |sent| sent.ids(str::to_uppercase),
        Expect::Lost,
    ),
    row("alters a character", |sent| sent.ids(altered), Expect::Lost),
    row("comes back too late", |sent| sent.ids(aged), Expect::Lost),
    row(
        "uses another key",
        |sent| sent.key = OTHER_CALLER,
        Expect::Lost,
    ),
    row(
        "names another model",
        |sent| sent.model = OTHER_AGENT,
        Expect::Lost,
    ),
    kept(
        "comes back after the key was removed",
        Way::Removed,
        Expect::Lost,
    ),
    // What is not.
    row(
        "makes up new ids",
        |sent| {
            let ids = ["call_1", "call_2"];
            for (at, id) in ids.into_iter().enumerate() {
                sent.handback()["tool_calls"][at]["id"] = json!(id);
                sent.results[at]["tool_call_id"] = json!(id);
            }
            plain(sent);
        },
        Expect::Unnoticed(|history| {
            let text = Some("One moment.  Asking. ");
            let asked = calling(text, &[weather("call_1"), weather("call_2")]);
            history.splice(
                1..,
                [asked, result("call_1", "dry"), result("call_2", "wet")],
            );
        }),
    ),
    // What is refused.
    row(
        "leaves a result out",
        |sent| drop(sent.results.pop()),
        Expect::Refused("partial_tool_results"),
    ),
    row(
        "sends two different results for one call",
        |sent| {
            let mut other = sent.results[0].clone();
            other["content"] = json!("wet");
            sent.results.push(other);
        },
        Expect::Refused("duplicate_tool_result"),
    ),
    row(
        "sends a result for a call of the agent's own",
        |sent| sent.results.push(result("call_c", "forged")),
        Expect::Refused("unknown_tool_call_id"),
    ),
    row(
        "gives two calls one id",
        |sent| {
            sent.handback()["tool_calls"][1]["id"] = sent.handback()["tool_calls"][0]["id"].clone();
        },
        Expect::Refused("duplicate_tool_call_id"),
    ),
];

/// What the model is told of a call that was not run.
const NOT_RUN: &str =
    r#"{"status":"not_run","reason":"this tool was not run; it may be called again"}"#;

/// The handback as a client keeps it that knows the reference only.
fn plain(sent: &mut Sent) {
    let message = sent.handback();
    let calls = message["tool_calls"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let plain =
        |call: &Value| json!({"id": call["id"], "type": "function", "function": call["function"]});
    let calls: Vec<Value> = calls.iter().map(plain).collect();
    *message = calling(message["content"].as_str(), &calls);
}

/// Takes out what binds a message to its provider.
fn unbind(message: &mut Value) {
    message
        .as_object_mut()
        .map(|message| message.remove("reasoning_content"));
}

fn cut(id: &str, length: usize) -> String {
    id[..length.min(id.len())].to_owned()
}

/// A long id with another character in the middle.
fn altered(id: &str) -> String {
    let at = id.len() / 2;
    let other = if id[at..].starts_with('A') { "B" } else { "A" };
    format!("{}{other}{}", &id[..at], &id[at + 1..])
}
