//! Checks the arguments of a model's call against the tool's `parameters` (contract A6).
//!
//! Schemas are compiled when a call needs them and kept by their bytes, on each thread. A schema
//! that cannot be compiled is not checked: real definitions hold errors that no model minds. A
//! remote `$ref` is such an error, since there is no resolver to follow it with.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::budget;

/// What is wrong with arguments.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// They do not fit the schema: what and where, for the model to read.
    #[error("the arguments do not fit the parameters: {0}")]
    Mismatch(String),
    /// JSON, but no object.
    #[error("the arguments are not a JSON object")]
    NotObject,
    /// No JSON at all: cut short, or two values in a row.
    #[error("the arguments are not valid JSON")]
    NotJson,
}

/// Schemas kept on a thread; when there are more, all are dropped and compiled anew.
const CACHED_SCHEMAS: usize = 512;
/// Bytes of schemas kept on a thread.
const CACHED_BYTES: usize = 4 * 1024 * 1024;
/// A schema larger than this is not checked, in bytes.
const SCHEMA_BYTES: usize = 1024 * 1024;
/// Steps of a backtracking pattern, so that none runs away.
const PATTERN_STEPS: usize = 50_000;
/// Memory of a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1024 * 1024;
/// Mismatches told to the model.
const MISMATCHES: usize = 5;
/// Length of one of them, in characters.
const MISMATCH_CHARS: usize = 300;

/// Checks that `arguments` is a JSON object that fits `schema`, if there is one.
pub fn check(arguments: &str, schema: Option<&str>) -> Result<(), Wrong> {
    is_object(arguments)?;
    let Some(schema) = schema.filter(|schema| schema.len() <= SCHEMA_BYTES) else {
        return Ok(());
    };
    // An object nested too deeply for a tree is still one; its schema is then not checked.
    let Ok(instance) = serde_json::from_str::<Value>(arguments) else {
        return Ok(());
    };
    match compiled(schema) {
        Some(compiled) if budget::can_check(&compiled.schema, &instance) => {
            fits(&compiled.validator, &instance)
        }
        _ => Ok(()),
    }
}

/// Checks that `arguments` is a JSON object.
pub fn is_object(arguments: &str) -> Result<(), Wrong> {
    if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err() {
        return Err(Wrong::NotJson);
    }
    if arguments.trim_start().starts_with('{') {
        Ok(())
    } else {
        Err(Wrong::NotObject)
    }
}

fn fits(validator: &Validator, instance: &Value) -> Result<(), Wrong> {
    if validator.is_valid(instance) {
        return Ok(());
    }
    // A pattern that ran out of steps says nothing about the value.
    let undecided = |error: &ValidationError<'_>| {
        matches!(
            error.kind(),
            ValidationErrorKind::BacktrackLimitExceeded { .. }
        )
    };
    let mismatches: Vec<String> = validator
        .iter_errors(instance)
        .filter(|error| !undecided(error))
        .take(MISMATCHES)
        .map(|error| {
            let path = error.instance_path().to_string();
            let place = if path.is_empty() {
                "/".to_owned()
            } else {
                path
            };
            format!("{place}: {error}")
                .chars()
                .take(MISMATCH_CHARS)
                .collect()
        })
        .collect();
    if mismatches.is_empty() {
        return Ok(());
    }
    Err(Wrong::Mismatch(mismatches.join("; ")))
}

/// A schema and what checks it.
struct Compiled {
    schema: Value,
    validator: Validator,
}

#[derive(Default)]
struct Cache {
    by_schema: HashMap<Box<str>, Option<Rc<Compiled>>>,
    bytes: usize,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

fn compiled(schema: &str) -> Option<Rc<Compiled>> {
    CACHE.with_borrow_mut(|cache| {
        if let Some(known) = cache.by_schema.get(schema) {
            return known.clone();
        }
        if cache.by_schema.len() >= CACHED_SCHEMAS || cache.bytes + schema.len() > CACHED_BYTES {
            *cache = Cache::default();
        }
        let compiled = compile(schema).map(Rc::new);
        cache.bytes += schema.len();
        cache.by_schema.insert(schema.into(), compiled.clone());
        compiled
    })
}

fn compile(schema: &str) -> Option<Compiled> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    if !budget::can_compile(&schema) {
        return None;
    }
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(PATTERN_STEPS)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let validator = jsonschema::options()
        .with_pattern_options(patterns)
        .build(&schema)
        .ok()?;
    Some(Compiled { schema, validator })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: &str = r#"{"type":"object","properties":{"title":{"type":"string"},
        "priority":{"enum":["low","medium","high"]}},"required":["title","priority"]}"#;

    #[test]
    fn a_mismatch_says_what_and_where() {
        assert_eq!(
            check(r#"{"title":"a","priority":"low"}"#, Some(TICKET)),
            Ok(())
        );
        let Err(Wrong::Mismatch(text)) = check(r#"{"title":1,"priority":"urgent"}"#, Some(TICKET))
        else {
            panic!()
        };
        assert!(
            text.contains("/title") && text.contains("/priority") && text.contains("urgent"),
            "{text}"
        );
        assert_eq!(check("12", Some(TICKET)), Err(Wrong::NotObject));
        assert_eq!(check("{\"a\":1}{\"a\":2}", None), Err(Wrong::NotJson));
        assert_eq!(check("{\"a\":", None), Err(Wrong::NotJson));
    }

    #[test]
    fn parameters_may_be_named_like_keywords() {
        let schema = r#"{"type":"object","properties":{"type":{"type":"string"},"items":{"type":"integer"},
            "description":{"type":"boolean"},"required":{"type":"array"},"$ref":{"type":"string"}},"required":["required"]}"#;
        assert_eq!(
            check(
                r#"{"type":"a","items":1,"description":true,"required":[],"$ref":"x"}"#,
                Some(schema)
            ),
            Ok(())
        );
        assert!(check(r#"{"type":1,"required":[]}"#, Some(schema)).is_err());
    }

    #[test]
    fn a_schema_that_cannot_be_compiled_is_not_checked() {
        for schema in [
            r#"{"type":"nonsense"}"#,
            r#"{"$ref":"http://127.0.0.1:1/schema.json"}"#,
            r#"{"$ref":"file:///etc/hostname"}"#,
            r##"{"$ref":"#/$defs/missing"}"##,
            r#"{"properties":{"a":{"pattern":"("}}}"#,
        ] {
            assert_eq!(check(r#"{"a":"b"}"#, Some(schema)), Ok(()), "{schema}");
        }
        let deep = format!(
            "{}{}",
            r#"{"properties":{"a":"#.repeat(10_000),
            "{}".to_owned() + &"}}".repeat(10_000)
        );
        assert_eq!(check(r#"{"a":"b"}"#, Some(&deep)), Ok(()));
    }

    #[test]
    fn schemas_that_multiply_are_not_checked() {
        let mut doubling = String::from("{\"$defs\":{");
        doubling.extend((0..30).map(|n| {
            let next = format!("{{\"$ref\":\"#/$defs/d{}\"}}", n + 1);
            format!("\"d{n}\":{{\"anyOf\":[{next},{next}]}},")
        }));
        doubling +=
            "\"d30\":{\"type\":\"integer\"}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}}}";
        assert_eq!(check(r#"{"a":"x"}"#, Some(&doubling)), Ok(()));
        let expression = r##"{"$defs":{"E":{"anyOf":[
            {"type":"object","properties":{"l":{"$ref":"#/$defs/E"}},"required":["l","x"]},
            {"type":"object","properties":{"l":{"$ref":"#/$defs/E"}},"required":["l","y"]},
            {"type":"integer"}]}},"type":"object","properties":{"a":{"$ref":"#/$defs/E"}}}"##;
        let deep = format!(
            "{{\"a\":{}\"bad\"{}}}",
            "{\"l\":".repeat(40),
            "}".repeat(40)
        );
        assert_eq!(check(&deep, Some(expression)), Ok(()));
        assert!(check(r#"{"a":{"l":{"l":"bad"}}}"#, Some(expression)).is_err());
    }

    #[test]
    fn hostile_patterns_and_depths_end() {
        let schema = r#"{"properties":{"a":{"type":"string","pattern":"^(a|aa)+(?=b)$"}}}"#;
        let _ = check(&format!("{{\"a\":\"{}\"}}", "a".repeat(5000)), Some(schema));
        let recursive =
            r##"{"$defs":{"n":{"properties":{"k":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}"##;
        let deep = format!("{}1{}", r#"{"k":"#.repeat(5000), "}".repeat(5000));
        assert_eq!(check(&deep, Some(recursive)), Ok(()));
        let looping = r##"{"$ref":"#"}"##;
        assert_eq!(check("{}", Some(looping)), Ok(()));
    }
}
