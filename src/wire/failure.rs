//! The error an upstream reports, whatever envelope its family uses.

use serde_json::Value;

/// An upstream's error in OpenAI's terms.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Failure {
    /// What the upstream says is wrong.
    pub message: String,
    /// OpenAI's `type`, if it gave one.
    pub kind: Option<String>,
    /// The offending parameter, if it named one.
    pub param: Option<String>,
    /// Its code; numbers as text.
    pub code: Option<String>,
    /// An HTTP status that it wrote into the body (400 to 599).
    pub status: Option<u16>,
}

/// Longest message that is passed on, in characters.
const MESSAGE_CHARS: usize = 2000;

/// Reads an error body: OpenAI's envelope, a bare string in it, the flat forms of other servers,
/// or one of these in an array. `None` if nothing in it reads as a message.
pub fn failure(text: &str) -> Option<Failure> {
    from(&serde_json::from_str(text).ok()?)
}

fn from(body: &Value) -> Option<Failure> {
    match body {
        Value::Array(elements) => elements
            .first()
            .and_then(|first| if first.is_array() { None } else { from(first) }),
        Value::Object(top) => match top.get("error") {
            Some(Value::Object(error)) => flat(error).or_else(|| flat(top)),
            Some(Value::String(message)) => Some(Failure {
                message: cut(message),
                ..flat(top).unwrap_or_default()
            }),
            _ => flat(top),
        },
        _ => None,
    }
}

fn flat(fields: &serde_json::Map<String, Value>) -> Option<Failure> {
    let text = |key: &str| match fields.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let message = text("message")
        .or_else(|| text("detail"))
        .or_else(|| text("msg"))
        .or_else(|| details(fields.get("detail")?))?;
    let code = text("code").or_else(|| text("error_code"));
    let numbers = [code.clone(), text("status"), text("status_code")];
    let status = numbers
        .into_iter()
        .flatten()
        .filter_map(|number| number.parse().ok())
        .find(|status| (400..600).contains(status));
    let named = |text: &String| text.parse::<u16>().is_err();
    let kind = text("type").or_else(|| text("status")).filter(named);
    Some(Failure {
        message: cut(&message),
        kind,
        param: text("param"),
        code,
        status,
    })
}

/// The messages of a list of validation errors, as FastAPI servers send them.
fn details(detail: &Value) -> Option<String> {
    let messages: Vec<&str> = detail
        .as_array()?
        .iter()
        .filter_map(|entry| entry.get("msg")?.as_str())
        .collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

fn cut(message: &str) -> String {
    message.chars().take(MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_envelope_gives_its_message() {
        for (text, message, kind, code) in [
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#,
                "m",
                Some("t"),
                Some("c"),
            ),
            (
                r#"{"error_code":"BAD","message":"m"}"#,
                "m",
                None,
                Some("BAD"),
            ),
            (r#"{"detail":"m"}"#, "m", None, None),
            (
                r#"{"detail":[{"loc":["body"],"msg":"a"},{"msg":"b"}]}"#,
                "a; b",
                None,
                None,
            ),
            (
                r#"{"object":"error","message":"m","type":"t","code":3280}"#,
                "m",
                Some("t"),
                Some("3280"),
            ),
            (
                r#"[{"error":{"code":400,"message":"m","status":"INVALID"}}]"#,
                "m",
                Some("INVALID"),
                Some("400"),
            ),
            (r#"{"error":"m"}"#, "m", None, None),
        ] {
            let failure = failure(text).unwrap();
            assert_eq!(
                (
                    failure.message.as_str(),
                    failure.kind.as_deref(),
                    failure.code.as_deref()
                ),
                (message, kind, code),
                "{text}"
            );
        }
        assert_eq!(failure("{\"choices\":[]}"), None);
        assert_eq!(failure("<html>"), None);
    }
}
