//! Plays a case against a gateway in one mode, and says what differs from what it expects.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::caller::{Caller, Reply};
use super::case::{Case, Exchange};
use super::delivery::Delivery;
use super::fold::{self, Calls};
use super::pattern;
use super::play::Wire;
use super::referee;
use super::upstream::Upstream;

/// One way of playing a case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) streamed: bool,
    pub(crate) wire: Wire,
    pub(crate) delivery: Delivery,
}

impl Mode {
    /// Every mode that makes sense for a case.
    pub(crate) fn all(case: &Case) -> Vec<Self> {
        let plays = || {
            let later = case.then.iter().flat_map(|then| &then.exchange.upstream);
            case.exchange.upstream.iter().chain(later)
        };
        let open_wire = plays().any(|play| play.message.is_some()) || plays().next().is_none();
        let events = plays().any(|play| play.events.is_some());
        let mut modes = Vec::new();
        for streamed in [false, true] {
            let mut add = |wire, deliveries: Vec<Delivery>| {
                modes.extend(deliveries.into_iter().map(|delivery| Self {
                    streamed,
                    wire,
                    delivery,
                }));
            };
            if open_wire && !streamed {
                add(Wire::Json, vec![Delivery::AtOnce]);
            }
            if events {
                add(Wire::Events, Delivery::all());
            } else if open_wire {
                // An upstream that streams although it was not asked to is read all the same.
                add(Wire::Events, vec![Delivery::AtOnce, Delivery::ByteByByte]);
            } else {
                add(Wire::Json, vec![Delivery::AtOnce]);
            }
        }
        modes.retain(|mode| match case.only.as_deref() {
            None => true,
            Some("whole") => !mode.streamed,
            Some("streamed") => mode.streamed,
            Some(other) => panic!("a case is only whole or streamed, not {other:?}"),
        });
        modes
    }
}

/// Plays the first request and its follow-ups.
pub(crate) async fn run(
    case: &Case,
    mode: Mode,
    upstream: &Upstream,
    caller: &Caller,
) -> Result<(), String> {
    let mut fields = case.fields(mode.streamed);
    let folded = exchange(case, &case.exchange, &fields, mode, upstream, caller).await?;
    let mut message = folded["message"].clone();
    for (turn, then) in case.then.iter().enumerate() {
        follow_up(&mut fields, &message, &then.results, then.say.as_deref())?;
        let folded = exchange(case, &then.exchange, &fields, mode, upstream, caller)
            .await
            .map_err(|broken| format!("follow-up {turn}: {broken}"))?;
        message = folded["message"].clone();
    }
    Ok(())
}

async fn exchange(
    case: &Case,
    exchange: &Exchange,
    fields: &Map<String, Value>,
    mode: Mode,
    upstream: &Upstream,
    caller: &Caller,
) -> Result<Value, String> {
    let plays = exchange.upstream.iter();
    upstream.play(plays.map(|play| play.answer(mode.wire, mode.delivery)));
    let reply = send(case, fields, caller).await?;
    let calls = if exchange.forwarded_calls {
        Calls::Forwarded
    } else {
        Calls::Checked
    };
    let judged = fold::fold(&reply, calls).and_then(|folded| {
        check_answer(exchange, &folded, mode)?;
        check_calls(&folded, fields)?;
        check_upstream(case, exchange, &folded, mode, upstream)?;
        Ok(folded)
    });
    judged.map_err(|broken| {
        let text = reply.text();
        let shown: String = text.chars().take(2_000).collect();
        format!("{broken}\n    got {}: {shown}", reply.status)
    })
}

async fn send(case: &Case, fields: &Map<String, Value>, caller: &Caller) -> Result<Reply, String> {
    let body = match &case.body {
        Some(text) => text.clone(),
        None => json!(fields).to_string(),
    };
    let mut request = caller.request(&case.method, &case.path);
    if !case.headers.contains_key("content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in &case.headers {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    if case.method != "GET" {
        request = request.body(body);
    }
    let reply = caller.try_send(request).await;
    reply.map_err(|error| format!("the gateway gave no answer: {error:?}"))
}

fn check_answer(exchange: &Exchange, folded: &Value, mode: Mode) -> Result<(), String> {
    check_status(exchange, folded)?;
    let in_this_mode = if mode.streamed {
        &exchange.expect_streamed
    } else {
        &exchange.expect_whole
    };
    for expected in [Some(&exchange.expect), in_this_mode.as_ref()]
        .into_iter()
        .flatten()
    {
        if !expected.is_null() {
            pattern::matches(expected, Some(folded))?;
        }
    }
    Ok(())
}

fn check_status(exchange: &Exchange, folded: &Value) -> Result<(), String> {
    let status = folded["status"].as_u64().unwrap_or_default();
    let failed = folded.get("error").is_some();
    if !exchange.fails.is_empty() {
        let named = exchange.fails.iter().any(|code| u64::from(*code) == status);
        // Once a stream has begun, its status is 200 whatever comes.
        let in_stream = folded["streamed"] == true;
        if failed && (named || in_stream) {
            return Ok(());
        }
        let expected = &exchange.fails;
        return Err(format!("status {status}, expected an error {expected:?}"));
    }
    let own_status = exchange.expect.get("status").is_some();
    if !own_status && (status != 200 || failed) {
        return Err(format!("status {status}, expected a success"));
    }
    Ok(())
}

/// Calls that are handed back are the caller's own tools', under ids it has not seen yet.
fn check_calls(folded: &Value, fields: &Map<String, Value>) -> Result<(), String> {
    let names: BTreeSet<&str> = elements(fields.get("tools"))
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    let known_ids: BTreeSet<&str> = elements(fields.get("messages"))
        .flat_map(|message| elements(message.get("tool_calls")))
        .filter_map(|call| call["id"].as_str())
        .collect();
    for call in elements(folded["message"].get("tool_calls")) {
        let name = call["function"]["name"].as_str().unwrap_or_default();
        if !names.contains(name) {
            return Err(format!(
                "a call of {name:?}, which the caller does not have"
            ));
        }
        let id = call["id"].as_str().unwrap_or_default();
        if known_ids.contains(id) {
            return Err(format!("the id {id:?} is already in the conversation"));
        }
    }
    Ok(())
}

fn check_upstream(
    case: &Case,
    exchange: &Exchange,
    folded: &Value,
    mode: Mode,
    upstream: &Upstream,
) -> Result<(), String> {
    let requests = upstream.requests();
    let refused = folded["status"].as_u64() >= Some(400) && exchange.fails.is_empty();
    let usual = if refused {
        0
    } else {
        exchange.asked.len().max(1)
    };
    let expected = exchange.upstream_requests.unwrap_or(usual);
    if requests.len() != expected {
        let asked = requests.len();
        return Err(format!(
            "the upstream was asked {asked} times, expected {expected}"
        ));
    }
    for (round, request) in requests.iter().enumerate() {
        let told = |broken| format!("upstream request {round}: {broken}\n    {}", request.text());
        referee::check(request, mode.streamed).map_err(told)?;
        referee::check_headers(request, &case.asked_headers).map_err(told)?;
        if let Some(expected) = exchange.asked.get(round) {
            pattern::matches(expected, Some(&request.json())).map_err(told)?;
        }
    }
    for part in &exchange.asked_text {
        let found = requests
            .first()
            .is_some_and(|request| request.text().contains(part));
        if !found {
            let text = requests.first().map_or("nothing", |request| request.text());
            return Err(format!("the upstream did not get {part:?} but {text}"));
        }
    }
    Ok(())
}

/// Turns the request into the next one: the answer, a result per call, and perhaps a message.
fn follow_up(
    fields: &mut Map<String, Value>,
    answer: &Value,
    results: &[Value],
    say: Option<&str>,
) -> Result<(), String> {
    let calls: Vec<&Value> = elements(answer.get("tool_calls")).collect();
    if calls.len() != results.len() {
        return Err(format!(
            "{} results for the calls of {answer}",
            results.len()
        ));
    }
    let mut more = vec![answer.clone()];
    for (call, content) in calls.iter().zip(results) {
        more.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
    }
    more.extend(say.map(|text| json!({"role": "user", "content": text})));
    match fields.get_mut("messages").and_then(Value::as_array_mut) {
        Some(messages) => messages.extend(more),
        None => return Err("a follow-up needs messages".to_owned()),
    }
    Ok(())
}

fn elements(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}
