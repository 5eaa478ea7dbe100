//! Bodies: those of the request cases, broken in one to three ways.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::nasty;
use crate::harness::case::case_files;

/// The bodies of every case in `fixtures/requests`, for the scripted agent. A body that is text
/// comes as a string.
pub(super) fn originals() -> Vec<Value> {
    let files = case_files("requests");
    let cases = files.iter().flat_map(|file| &file.cases);
    let body = |(nth, case): (usize, &crate::harness::case::Case)| {
        if let Some(text) = &case.body {
            return json!(text);
        }
        let mut fields = case.fields(nth % 2 == 0);
        if nth % 4 == 0 {
            fields.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        if fields.contains_key("model") {
            fields.insert("model".to_owned(), json!("support.scripted"));
        }
        Value::Object(fields)
    };
    let bodies: Vec<Value> = cases.enumerate().map(body).collect();
    assert!(bodies.len() > 50, "only {} bodies", bodies.len());
    bodies
}

/// One of the bodies, broken; every tenth is left whole.
pub(super) fn broken(originals: &[Value], rng: &mut Rng) -> Vec<u8> {
    let original = &originals[rng.usize(..originals.len())];
    let mut raw = Vec::new();
    let ways = if rng.u8(..10) == 0 {
        0
    } else {
        rng.usize(1..4)
    };
    let mut tree = original.clone();
    let mut in_bytes = 0;
    for _ in 0..ways {
        if rng.u8(..4) == 0 {
            in_bytes += 1;
        } else {
            break_tree(&mut tree, &mut raw, rng);
        }
    }
    let mut text = match tree {
        Value::String(text) => text,
        tree => tree.to_string(),
    };
    for (nth, token) in raw.iter().enumerate() {
        text = text.replace(&format!("\"{}\"", placeholder(nth)), token);
    }
    let mut bytes = text.into_bytes();
    for _ in 0..in_bytes {
        break_bytes(&mut bytes, rng);
    }
    bytes
}

/// Stands in a tree for a text that a tree cannot hold.
fn placeholder(nth: usize) -> String {
    format!("@raw-{nth}@")
}

fn break_tree(tree: &mut Value, raw: &mut Vec<String>, rng: &mut Rng) {
    let mut spots = count(tree);
    spots = rng.usize(..spots);
    let Some(spot) = nth_value(tree, &mut spots) else {
        return;
    };
    match (spot, rng.u8(..8)) {
        (Value::Array(elements), 0..3) => break_array(elements, rng),
        (Value::Object(members), 0..3) => break_object(members, raw, rng),
        (spot, _) => {
            let token = nasty::value(rng);
            *spot = json!(placeholder(raw.len()));
            raw.push(token);
        }
    }
}

/// Elements go, come again, or change places.
fn break_array(elements: &mut Vec<Value>, rng: &mut Rng) {
    if elements.is_empty() {
        return;
    }
    let at = rng.usize(..elements.len());
    match rng.u8(..4) {
        0 => drop(elements.remove(at)),
        1 => elements.insert(rng.usize(..=elements.len()), elements[at].clone()),
        2 => elements.swap(0, at),
        _ => {
            let times = rng.usize(1..200);
            elements.extend(std::iter::repeat_n(elements[at].clone(), times));
        }
    }
}

/// Members go, come again with the same key, or under an escaped or unknown one.
fn break_object(members: &mut Map<String, Value>, raw: &mut Vec<String>, rng: &mut Rng) {
    let keys: Vec<String> = members.keys().cloned().collect();
    let Some(key) = keys.get(rng.usize(..keys.len().max(1))) else {
        return;
    };
    let value = members.get(key).cloned().unwrap_or_default();
    let quoted = json!(key).to_string();
    match rng.u8(..4) {
        0 => drop(members.remove(key)),
        1 => {
            let again = if rng.bool() {
                value.to_string()
            } else {
                nasty::value(rng)
            };
            members.insert(key.clone(), json!(placeholder(raw.len())));
            raw.push(format!("{value},{quoted}:{again}"));
        }
        2 => {
            let first = key.chars().next().map_or(0, |first| first as u32);
            let rest: String = key.chars().skip(1).collect();
            let escaped = format!("\\u{first:04x}{rest}");
            members.insert("before".to_owned(), json!(placeholder(raw.len())));
            raw.push(format!("7,\"{escaped}\":{value}"));
            members.remove(key);
        }
        _ => {
            members.insert(format!("x-{}", rng.u8(..)), json!(placeholder(raw.len())));
            raw.push(nasty::value(rng));
        }
    }
}

/// How many values a tree holds, itself among them.
fn count(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(elements) => elements.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// The value after `left` others, the outer one first.
fn nth_value<'a>(tree: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(tree);
    }
    *left -= 1;
    match tree {
        Value::Array(elements) => elements.iter_mut().find_map(|value| nth_value(value, left)),
        Value::Object(members) => members
            .values_mut()
            .find_map(|value| nth_value(value, left)),
        _ => None,
    }
}

fn break_bytes(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let length = bytes.len();
    let mut span = || {
        let from = rng.usize(..=length);
        from..rng.usize(from..=length.min(from + 40))
    };
    let (one, other) = (span(), span());
    match rng.u8(..6) {
        0 => bytes.truncate(one.start),
        1 => drop(bytes.drain(one)),
        2 => {
            let copied = bytes[one].to_vec();
            bytes.splice(other.start..other.start, copied);
        }
        3 => {
            let copied = bytes[one].to_vec();
            bytes.splice(other, copied);
        }
        4 => drop(bytes.splice(one.start..one.start, nasty::bytes(rng).iter().copied())),
        _ => {
            for _ in 0..rng.usize(1..8) {
                if let Some(byte) = bytes.get_mut(rng.usize(..length.max(1))) {
                    *byte ^= 1 << rng.u8(..8);
                }
            }
        }
    }
}
