//! Expectations as data: a JSON value that is compared with what happened.
//!
//! An object matches an object that has at least its keys; an array matches element by element;
//! anything else matches its equal. An object whose only key begins with `$` is a test:
//!
//! | test | holds for |
//! |---|---|
//! | `{"$any": true}` | anything that is there |
//! | `{"$absent": true}` | a key that is not there |
//! | `{"$one_of": [..]}` | what matches one of the patterns |
//! | `{"$contains": [..]}` | a text that contains each of the texts |
//! | `{"$lacks": [..]}` | a text that contains none of the texts |
//! | `{"$json": ..}` | a text that is JSON and matches |
//! | `{"$only": {..}}` | an object that matches and has no other keys |
//! | `{"$text": [least, most]}` | a text of that many bytes |
//! | `{"$id": true}` | a short call id: 1 to 40 characters of `[A-Za-z0-9_-]` |
//! | `{"$repeat": [text, count]}` | the text, so many times |
//! | `{"$all": [..]}` | what matches all of the patterns |

use serde_json::{Map, Value};

/// Compares `actual` with `pattern`; the error says where they differ and how.
pub(crate) fn matches(pattern: &Value, actual: Option<&Value>) -> Result<(), String> {
    compare(pattern, actual, "$")
}

fn compare(pattern: &Value, actual: Option<&Value>, place: &str) -> Result<(), String> {
    if let Some((test, argument)) = as_test(pattern) {
        return check(test, argument, actual, place);
    }
    let Some(actual) = actual else {
        return Err(format!("{place} is absent, expected {pattern}"));
    };
    match (pattern, actual) {
        (Value::Object(pattern), Value::Object(actual)) => {
            for (key, pattern) in pattern {
                compare(pattern, actual.get(key), &format!("{place}.{key}"))?;
            }
            Ok(())
        }
        (Value::Array(patterns), Value::Array(elements)) => {
            if patterns.len() != elements.len() {
                let (expected, found) = (patterns.len(), elements.len());
                return Err(format!(
                    "{place} has {found} elements, expected {expected}: {actual}"
                ));
            }
            for (index, (pattern, element)) in patterns.iter().zip(elements).enumerate() {
                compare(pattern, Some(element), &format!("{place}[{index}]"))?;
            }
            Ok(())
        }
        _ if pattern == actual => Ok(()),
        _ => Err(format!("{place} is {actual}, expected {pattern}")),
    }
}

fn as_test(pattern: &Value) -> Option<(&str, &Value)> {
    let mut entries = pattern.as_object()?.iter();
    match (entries.next(), entries.next()) {
        (Some((key, argument)), None) if key.starts_with('$') => Some((key, argument)),
        _ => None,
    }
}

fn check(test: &str, argument: &Value, actual: Option<&Value>, place: &str) -> Result<(), String> {
    if test == "$absent" {
        return match actual {
            None => Ok(()),
            Some(actual) => Err(format!("{place} is {actual}, expected nothing there")),
        };
    }
    if test == "$one_of" {
        let one = |pattern| compare(pattern, actual, place).is_ok();
        if list(argument).iter().any(one) {
            return Ok(());
        }
        let found = actual.unwrap_or(&Value::Null);
        return Err(format!("{place} is {found}, expected {test} {argument}"));
    }
    let Some(actual) = actual else {
        return Err(format!("{place} is absent, expected {test} {argument}"));
    };
    let failure = || Err(format!("{place} is {actual}, expected {test} {argument}"));
    let words = actual.as_str();
    let holds = match test {
        "$any" => true,
        "$all" => {
            for pattern in list(argument) {
                compare(pattern, Some(actual), place)?;
            }
            true
        }
        "$contains" => words.is_some_and(|text| texts(argument).all(|part| text.contains(part))),
        "$lacks" => words.is_some_and(|text| !texts(argument).any(|part| text.contains(part))),
        "$json" => {
            let Some(Ok(parsed)) = words.map(serde_json::from_str::<Value>) else {
                return failure();
            };
            return compare(argument, Some(&parsed), place);
        }
        "$only" => {
            let keys = |value: &Value| value.as_object().map(Map::len);
            compare(argument, Some(actual), place)?;
            keys(argument) == keys(actual)
        }
        "$text" => words.is_some_and(|text| {
            let length = text.len() as u64;
            argument[0].as_u64() <= Some(length) && Some(length) <= argument[1].as_u64()
        }),
        "$id" => words.is_some_and(is_short_id),
        "$repeat" => words.is_some_and(|text| {
            let count = argument[1]
                .as_u64()
                .and_then(|count| usize::try_from(count).ok());
            let part = argument[0].as_str().unwrap_or_default();
            count.is_some_and(|count| text == part.repeat(count))
        }),
        _ => return Err(format!("{place}: there is no test {test}")),
    };
    if holds { Ok(()) } else { failure() }
}

fn list(argument: &Value) -> &[Value] {
    argument.as_array().map_or(&[], Vec::as_slice)
}

fn texts(argument: &Value) -> impl Iterator<Item = &str> {
    list(argument).iter().map(|text| {
        text.as_str()
            .unwrap_or_else(|| panic!("{text} is no text to look for"))
    })
}

fn is_short_id(id: &str) -> bool {
    (1..=40).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
