//! Writes `seeds/` from the project's fixtures: `cargo run --example seed`, in this folder.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// Variants of a case that become seeds; more say little that is new.
const VARIANTS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in ["request", "answer", "arguments", "continuation"] {
        let folder = fuzz.join("seeds").join(target);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
    }
    let fixtures = fuzz.join("../fixtures");
    for (name, case) in cases(&fixtures.join("requests"))? {
        fs::write(fuzz.join("seeds/request").join(&name), request(&case))?;
        for (nth, tool) in case["request"]["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let schema = &tool["function"]["parameters"];
            let text = format!("{schema}\0{{\"city\":\"Lisbon\",\"type\":null}}");
            fs::write(
                fuzz.join("seeds/arguments").join(format!("{name}-{nth}")),
                text,
            )?;
        }
    }
    for (name, case) in cases(&fixtures.join("wire"))? {
        if let Some(play) = case["upstream"].get(0) {
            fs::write(fuzz.join("seeds/answer").join(name), answer(play))?;
        }
    }
    for entry in fs::read_dir(fixtures.join("continuation"))? {
        let path = entry?.path();
        let file: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        for (what, id) in mangled(file["id"].as_str().unwrap_or_default()) {
            let name = format!("{stem}-{what}");
            fs::write(fuzz.join("seeds/continuation").join(name), id)?;
        }
    }
    Ok(())
}

/// An id, and what clients and databases make of it.
fn mangled(id: &str) -> Vec<(&'static str, String)> {
    let cut = |to: usize| id.chars().take(to).collect::<String>();
    vec![
        ("whole", id.to_owned()),
        ("start", cut(9)),
        ("nonce", cut(41)),
        ("cut-40", cut(40)),
        ("cut-64", cut(64)),
        ("cut-by-one", cut(id.len().saturating_sub(1))),
        ("stripped", id.replace(['_', '-'], "")),
        ("dashes", id.replace('_', "-")),
        ("suffixed", format!("{id}_0")),
        ("padded", format!("{id}==")),
        ("twice", format!("{id}{id}")),
        ("lower", id.to_lowercase()),
        ("upper", id.to_uppercase()),
        ("zeros", format!("{}{}", cut(9), "A".repeat(400))),
    ]
}

/// The first variants of every case of a folder, each with the keys of its file.
fn cases(folder: &Path) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut file: Map<String, Value> = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let variants = match file.remove("variants") {
            Some(Value::Array(variants)) => variants,
            _ => vec![json!({})],
        };
        for (nth, variant) in variants.into_iter().take(VARIANTS).enumerate() {
            let mut case = file.clone();
            case.extend(variant.as_object().cloned().unwrap_or_default());
            cases.push((format!("{stem}-{nth}"), Value::Object(case)));
        }
    }
    Ok(cases)
}

fn request(case: &Value) -> String {
    if let Some(body) = case["body"].as_str() {
        return body.to_owned();
    }
    let mut fields = Map::new();
    fields.insert("model".to_owned(), json!("m"));
    fields.insert(
        "messages".to_owned(),
        json!([{"role": "user", "content": "Hi"}]),
    );
    fields.extend(case["request"].as_object().cloned().unwrap_or_default());
    Value::Object(fields).to_string()
}

/// The size of the reads, then the answer as a server writes it.
fn answer(play: &Value) -> String {
    if let Some(body) = play["body"].as_str() {
        return format!("\u{7}{body}");
    }
    if let Some(events) = play["events"].as_array() {
        let events: String = events.iter().map(event).collect();
        return format!("\u{7}{events}");
    }
    let whole = json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": play["usage"],
        "choices": [{"index": 0, "message": play["message"], "finish_reason": play["finish"]}],
    });
    let json = play.get("json").unwrap_or(&whole);
    format!("\u{7}{json}")
}

fn event(event: &Value) -> String {
    if let Some(data) = event.as_str() {
        return format!("data: {data}\n\n");
    }
    if let Some(lines) = event["lines"].as_array() {
        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        return lines.join("\n") + "\n\n";
    }
    let mut chunk = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": event["delta"], "finish_reason": event["finish"]}],
    });
    for (key, value) in event["beside"].as_object().into_iter().flatten() {
        chunk[key] = value.clone();
    }
    format!("data: {}\n\n", event.get("chunk").unwrap_or(&chunk))
}
