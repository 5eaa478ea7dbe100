//! Whether JSON that stands where an answer should is the report of an error.

use serde_json::{Map, Value};

use super::{Failure, from, plain, said};

/// The error that stands where an answer should. JSON that tells of an answer, with choices or
/// with usage, is one only where a code says so.
pub(in crate::wire) fn in_place_of_answer(text: &str) -> Option<Failure> {
    let body: Value = serde_json::from_str(text).ok()?;
    let top = body.as_object()?;
    let response = top.get("base_resp");
    let code = response.and_then(|response| response.get("status_code"));
    if code.and_then(verdict) == Some(Verdict::Failed) {
        return from(&body);
    }
    let choices = top.get("choices").and_then(Value::as_array);
    if choices.is_some_and(|choices| !choices.is_empty()) {
        return None;
    }
    let absent = |key: &str| top.get(key).is_none_or(Value::is_null);
    let signs = Signs::of(top);
    let alone = absent("choices") && absent("usage");
    (signs.have(Sign::Failed) || alone && signs.speak_of_error()).then(|| from(&body))?
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

/// What a member of an object says of whether that reports an error.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Sign {
    /// A code, a status or the like says that something failed.
    Failed,
    /// One says that nothing did.
    Fine,
    /// There is an error, by that name.
    Error,
    /// There is a message, as errors have and notices too.
    Message,
    /// There is what notices have: a type, a status or an error that is null.
    Notice,
}

/// Signs of an object.
struct Signs(Vec<Sign>);

impl Signs {
    fn of(top: &Map<String, Value>) -> Signs {
        let signs = top.iter();
        Signs(
            signs
                .filter_map(|(key, value)| Sign::of(&plain(key), value))
                .collect(),
        )
    }

    fn have(&self, sign: Sign) -> bool {
        self.0.contains(&sign)
    }

    fn speak_of_error(&self) -> bool {
        let notice = self.have(Sign::Fine) || self.have(Sign::Notice);
        self.have(Sign::Failed)
            || self.have(Sign::Error) && !self.have(Sign::Fine)
            || self.have(Sign::Message) && !notice
    }
}

impl Sign {
    fn of(key: &str, value: &Value) -> Option<Sign> {
        let word = value.as_str().map(str::to_ascii_lowercase);
        let word = word.as_deref();
        let failed = |failed| if failed { Sign::Failed } else { Sign::Notice };
        match key {
            "error" | "errors" | "errormessage" | "errormsg" | "err" | "errmsg" | "exception"
            | "fault" => Some(said(value).map_or(Sign::Notice, |_| Sign::Error)),
            "message" | "msg" | "detail" => said(value).map(|_| Sign::Message),
            "code" | "errorcode" | "statuscode" => verdict(value).map(|verdict| match verdict {
                Verdict::Failed => Sign::Failed,
                Verdict::Fine => Sign::Fine,
            }),
            "status" if value.is_null() => None,
            "status" => {
                let number = value.as_u64().or_else(|| word?.parse().ok());
                let words = ["error", "fail", "failed", "failure"];
                let says_so = word.is_some_and(|word| words.contains(&word));
                Some(failed(says_so || number >= Some(400)))
            }
            "type" | "object" | "event" => word.map(|word| failed(word == "error")),
            "success" | "ok" => match value {
                Value::Bool(true) => Some(Sign::Fine),
                Value::Bool(false) => Some(Sign::Failed),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_an_error_in_place_of_answer_is_one() {
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
                r#"{"choices":[{"delta":{}}],"base_resp":{"status_code":1004,"status_msg":"m"}}"#,
                "m",
                None,
            ),
            (
                r#"{"choices":[],"usage":{"total_tokens":0},"code":"Inspected","message":"m"}"#,
                "m",
                None,
            ),
            (r#"{"Error":{"Message":"m"}}"#, "m", None),
            (r#"{"ErrorMsg":"m"}"#, "m", None),
            (r#"{"errmsg":"m"}"#, "m", None),
            (r#"{"err":"m"}"#, "m", None),
            (r#"{"exception":"m"}"#, "m", None),
            (r#"{"ok":false,"message":"m"}"#, "m", None),
            (r#"{"status":"ERROR","message":"m"}"#, "m", None),
            (r#"{"status":"500","message":"m"}"#, "m", Some(500)),
            (
                r#"{"choices":null,"usage":{"total_tokens":0},"base_resp":{"status_code":1004,"status_msg":"m"}}"#,
                "m",
                None,
            ),
        ] {
            let failure = in_place_of_answer(text).unwrap();
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
            r#"{"type":"ping","message":"keep-alive"}"#,
            r#"{"type":"status","msg":"loading"}"#,
            r#"{"event":"progress","detail":"half"}"#,
            r#"{"status":"processing","message":"queued"}"#,
            r#"{"status":200,"message":"ok"}"#,
            r#"{"statusCode":200,"message":"ok"}"#,
            r#"{"error":null,"message":"begun"}"#,
            r#"{"ok":true,"message":"begun"}"#,
            r#"{"choices":[{"delta":{}}],"code":"x"}"#,
        ] {
            assert_eq!(in_place_of_answer(text), None, "{text}");
        }
    }
}
