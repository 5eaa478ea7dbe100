//! What a turn is where one process owns all tools: the loop that every agent framework has.

use serde_json::{Value, json};

use super::script::{Call, Script, run};

/// What the model is asked in each round. What it is told of a call that was not run has the
/// content null: the words are the gateway's.
pub(super) fn requests(script: &Script, question: &Value) -> Vec<Vec<Value>> {
    let mut messages = vec![question.clone()];
    let mut requests = Vec::new();
    for round in &script.rounds {
        requests.push(messages.clone());
        messages.push(round.message());
        for call in &round.calls {
            let found = run(call.name(), &call.arguments());
            let found = Some(found).filter(|_| !round.misfit);
            messages.push(json!({"role": "tool", "tool_call_id": call.id(), "content": found}));
        }
    }
    requests
}

/// The internal calls that are run, in the model's order.
pub(super) fn runs(script: &Script) -> Vec<&Call> {
    let rounds = script.rounds.iter().filter(|round| !round.misfit);
    let calls = rounds.flat_map(|round| &round.calls);
    calls.filter(|call| script.is_internal(call)).collect()
}

/// What the caller is told, request by request: all that was said since the last, and the calls
/// that are its own.
pub(super) fn answers(script: &Script) -> Vec<(String, Vec<&Call>)> {
    let mut answers = Vec::new();
    let mut said = String::new();
    for round in &script.rounds {
        said.push_str(round.text.unwrap_or_default());
        let own = round.calls.iter();
        let own = own.filter(|call| !round.misfit && !script.is_internal(call));
        let own: Vec<&Call> = own.collect();
        if !own.is_empty() || round.calls.is_empty() {
            answers.push((std::mem::take(&mut said), own));
        }
    }
    answers
}
