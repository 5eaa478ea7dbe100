//! Holds every answer against `fixtures/schemas/answers.json`, OpenAI's reference as JSON Schema.
//! What a single body or event cannot tell (order, what is said twice) is for [`super::fold`] and
//! [`super::stream`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

const SCHEMAS: &str = include_str!("../../../fixtures/schemas/answers.json");

static VALIDATORS: LazyLock<BTreeMap<&str, Validator>> = LazyLock::new(|| {
    let schemas: Value = serde_json::from_str(SCHEMAS).expect("the schemas are JSON");
    let kinds = ["completion", "chunk", "error", "model", "list"];
    kinds.map(|kind| (kind, validator(&schemas, kind))).into()
});

fn validator(schemas: &Value, kind: &str) -> Validator {
    let reference = format!("#/$defs/{kind}");
    let schema = json!({"$ref": reference, "$defs": schemas["$defs"]});
    jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(&schema)
        .expect("the schemas are schemas")
}

/// Checks a body of JSON that came with this status.
pub(crate) fn body(status: u16, body: &Value) -> Result<(), String> {
    let kind = match body["object"].as_str() {
        _ if status >= 400 => "error",
        Some("list") => "list",
        Some("model") => "model",
        _ => "completion",
    };
    check(kind, body)
}

/// Checks the data of an event.
pub(crate) fn event(data: &Value) -> Result<(), String> {
    let kind = if data.get("error").is_some() {
        "error"
    } else {
        "chunk"
    };
    check(kind, data)
}

fn check(kind: &str, value: &Value) -> Result<(), String> {
    let validator = &VALIDATORS[kind];
    let complaints: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!(
        "no {kind} by the reference: {}",
        complaints.join("; ")
    ))
}
