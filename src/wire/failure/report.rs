//! Whether JSON that stands where an answer should is the report of an error.

use serde_json::{Map, Value};

use super::{Failure, WORDS, from, said};

/// The error that stands where an answer should: JSON without choices, in one of the words that
/// errors have. A code that says success makes it none.
pub(in crate::wire) fn in_place_of_choices(text: &str) -> Option<Failure> {
    let body: Value = serde_json::from_str(text).ok()?;
    let top = body.as_object()?;
    let absent = |key: &str| top.get(key).is_none_or(Value::is_null);
    let alone = absent("choices") && absent("usage");
    let refused = top
        .get("base_resp")
        .and_then(|base| base.get("status_code"));
    let refused = refused.and_then(verdict) == Some(Verdict::Failed);
    if refused || alone && speaks_of_error(top) {
        from(&body)
    } else {
        None
    }
}

/// What a code says.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Verdict {
    Failed,
    Fine,
}

fn verdict(code: &Value) -> Option<Verdict> {
    let fine = match code {
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) => match text.parse() {
            Ok(number) => is_success(number),
            Err(_) => ["success", "ok"].contains(&text.to_ascii_lowercase().as_str()),
        },
        Value::Number(number) => number.as_u64().is_some_and(is_success),
        _ => return None,
    };
    Some(if fine { Verdict::Fine } else { Verdict::Failed })
}

fn is_success(number: u64) -> bool {
    matches!(number, 0 | 200..=299)
}

fn speaks_of_error(top: &Map<String, Value>) -> bool {
    let is = |key: &str, words: &[&str]| {
        let text = top.get(key).and_then(Value::as_str);
        text.is_some_and(|text| words.contains(&text))
    };
    let codes = ["code", "error_code", "status_code"];
    let verdicts: Vec<Verdict> = codes
        .iter()
        .filter_map(|key| verdict(top.get(*key)?))
        .collect();
    let failed = verdicts.contains(&Verdict::Failed)
        || is("status", &["error", "failed", "failure", "fail"])
        || ["type", "object"].iter().any(|key| is(key, &["error"]))
        || top.get("status").and_then(Value::as_u64) >= Some(400)
        || top.get("success") == Some(&Value::Bool(false));
    let fine = !verdicts.is_empty() || top.get("success") == Some(&Value::Bool(true));
    failed
        || !fine
            && WORDS
                .iter()
                .any(|key| top.get(*key).and_then(said).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_an_error_in_place_of_choices_is_one() {
        for (text, message, status) in [
            (r#"{"detail":"m"}"#, "m", None),
            (
                r#"{"choices":null,"detail":[{"loc":["body"],"msg":"m"}]}"#,
                "m",
                None,
            ),
            (r#"{"code":50001,"msg":"m"}"#, "m", None),
            (r#"{"code":"429","message":"m"}"#, "m", Some(429)),
            (
                r#"{"code":"InvalidParameter"}"#,
                r#"{"code":"InvalidParameter"}"#,
                None,
            ),
            (r#"{"code":-1,"msg":"success"}"#, "success", None),
            (r#"{"errors":[{"message":"m"}]}"#, "m", None),
            (r#"{"message":"m","id":"x","usage":null}"#, "m", None),
            (r#"{"text":"m","error_code":50002}"#, "m", None),
            (r#"{"status":"error","reason":"m"}"#, "m", None),
            (r#"{"status":503,"title":"m"}"#, "m", Some(503)),
            (r#"{"success":false,"code":0,"msg":"m"}"#, "m", None),
            (r#"{"type":"error"}"#, r#"{"type":"error"}"#, None),
            (
                r#"{"base_resp":{"status_code":1002,"status_msg":"m"}}"#,
                "m",
                None,
            ),
            (
                r#"{"choices":[],"base_resp":{"status_code":"1002","status_msg":"m"}}"#,
                "m",
                None,
            ),
            (
                r#"{"choices":null,"usage":{"total_tokens":0},"base_resp":{"status_code":1004,"status_msg":"m"}}"#,
                "m",
                None,
            ),
        ] {
            let failure = in_place_of_choices(text).unwrap();
            let found = (failure.message.as_str(), failure.status);
            assert_eq!(found, (message, status), "{text}");
        }
    }

    #[test]
    fn what_says_nothing_of_an_error_is_none() {
        for text in [
            "{}",
            r#"{"type":"ping"}"#,
            r#"{"id":"c","object":"chat.completion.chunk","created":1,"model":"m"}"#,
            r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#,
            r#"{"choices":[],"detail":"fast"}"#,
            r#"{"usage":{"total_tokens":1},"detail":"fast"}"#,
            r#"{"x_groq":{"id":"req_1"}}"#,
            r#"{"base_resp":{"status_code":0,"status_msg":""}}"#,
            r#"{"code":0,"msg":"success"}"#,
            r#"{"code":"200","message":"OK"}"#,
            r#"{"success":true,"message":"begun"}"#,
            r#"{"text":"","error_code":0}"#,
            r#"{"status":"in_progress","title":"Rain"}"#,
            r#"{"message":"","detail":null,"errors":[]}"#,
        ] {
            assert_eq!(in_place_of_choices(text), None, "{text}");
        }
    }
}
