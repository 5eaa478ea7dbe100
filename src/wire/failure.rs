//! The error an upstream reports, whatever envelope its family uses.

mod report;

use serde_json::{Map, Value};

pub(super) use report::in_place_of_answer;

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
    /// How long it wants to be left alone, if it wrote that into the body: seconds.
    pub retry_after: Option<u32>,
}

/// Longest message that is passed on, in characters.
const MESSAGE_CHARS: usize = 2000;
/// Longest type, parameter and code, in characters.
const NAME_CHARS: usize = 200;

/// Where the text of an error stands, the likeliest place first, in small letters and without
/// underscores.
const TEXTS: [&str; 17] = [
    "message",
    "detail",
    "msg",
    "error",
    "errors",
    "errormessage",
    "errormsg",
    "err",
    "errmsg",
    "exception",
    "fault",
    "baseresp",
    "statusmsg",
    "faultstring",
    "reason",
    "description",
    "title",
];

/// A member's name in the form of [`TEXTS`].
fn plain(key: &str) -> String {
    let letters = key.chars().filter(|letter| *letter != '_');
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

impl Failure {
    /// An error of which only the text is known.
    pub fn of_text(text: &str) -> Failure {
        Failure {
            message: text.to_owned(),
            ..Failure::default()
        }
    }

    /// Its texts, to be looked through and shortened.
    fn texts(&mut self) -> impl Iterator<Item = (&mut String, usize)> {
        let names = [&mut self.kind, &mut self.param, &mut self.code];
        let names = names.into_iter().flatten().map(|name| (name, NAME_CHARS));
        std::iter::once((&mut self.message, MESSAGE_CHARS)).chain(names)
    }

    /// As it may be told: without what `private` takes out, and then within bounds, so that no
    /// part of a secret is left where a text is cut.
    #[must_use]
    pub fn told(mut self, private: impl Fn(String) -> String) -> Failure {
        for (text, chars) in self.texts() {
            *text = cut(private(std::mem::take(text)), chars);
        }
        self
    }
}

/// Reads an error body, whatever its shape. What has no text speaks for itself, as JSON; `None` if
/// there is nothing to be read.
pub fn failure(text: &str) -> Option<Failure> {
    from(&serde_json::from_str(text).ok()?)
}

fn from(body: &Value) -> Option<Failure> {
    let message = said(body).or_else(|| excerpt(body))?;
    let top = object(body);
    let places = [top.and_then(inner), top];
    let text = |key: &str| {
        let mut places = places.iter().flatten();
        places.find_map(|fields| match fields.get(key)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let code = text("code").or_else(|| text("error_code"));
    let numbers = [code.clone(), text("status"), text("status_code")];
    let status = numbers
        .into_iter()
        .flatten()
        .filter_map(|number| number.parse().ok())
        .find(|status| (400..600).contains(status));
    let named = |text: &String| text.parse::<u16>().is_err() && text != "error";
    let kind = text("type").filter(named);
    Some(Failure {
        message,
        kind: kind.or_else(|| text("status").filter(named)),
        param: text("param"),
        code,
        status,
        retry_after: text("retry_after").and_then(|time| seconds(&time)),
    })
}

/// A number of seconds, rounded up.
fn seconds(text: &str) -> Option<u32> {
    let seconds = std::time::Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    let whole = seconds.as_secs() + u64::from(seconds.subsec_nanos() > 0);
    u32::try_from(whole).ok()
}

/// The object that stands under the name of an error.
fn inner(top: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let names = ["error", "errors", "base_resp"];
    let found = names.iter().find_map(|name| object(top.get(*name)?));
    // A list of details is about fields: its types are no types of errors.
    found.or_else(|| top.get("detail")?.as_object())
}

/// An object, or the first of a list.
fn object(value: &Value) -> Option<&Map<String, Value>> {
    match value {
        Value::Array(elements) => elements.first()?.as_object(),
        other => other.as_object(),
    }
}

/// The text of an error, however deep it stands; those of several one after the other.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        Value::Array(elements) => {
            let texts: Vec<String> = elements.iter().filter_map(said).collect();
            (!texts.is_empty()).then(|| texts.join("; "))
        }
        Value::Object(fields) => said_by(fields),
        _ => None,
    }
}

fn said_by(fields: &Map<String, Value>) -> Option<String> {
    let inner = fields.get("error").filter(|error| !error.is_string());
    inner.and_then(said).or_else(|| {
        // What has been looked into says nothing: twice at each depth would take for ever.
        let open = |key: &str| inner.is_none() || key != "error";
        let named = |name: &str| {
            let mut places = fields
                .iter()
                .filter(|(key, _)| open(key) && plain(key) == name);
            places.find_map(|(_, value)| said(value))
        };
        let text = || fields.get("text").and_then(said);
        TEXTS.into_iter().find_map(named).or_else(text)
    })
}

/// An error without a text, as JSON.
fn excerpt(value: &Value) -> Option<String> {
    let says = match value {
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    says.then(|| value.to_string())
}

fn cut(mut text: String, chars: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
        text.push_str("...");
    }
    text
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
        for text in [
            "",
            "<html>",
            "{}",
            "[]",
            "null",
            "7",
            "\"\"",
            r#"{"error":"m"#,
        ] {
            assert_eq!(failure(text), None, "{text}");
        }
    }

    #[test]
    fn errors_in_each_other_are_looked_into_once() {
        for name in ["error", "errors", "detail", "Error"] {
            let (open, close) = (format!("{{\"{name}\":"), "}");
            let text = format!("{}0{}", open.repeat(100), close.repeat(100));
            let message = failure(&text).unwrap().message;
            assert!(message.starts_with(&open), "{message}");
        }
    }

    /// Bodies, and the message, code and status in them.
    type Shape = (
        &'static str,
        &'static str,
        Option<&'static str>,
        Option<u16>,
    );
    const SHAPES: &[Shape] = &[
        (
            r#"{"error":{"message":{"detail":"m"},"code":7}}"#,
            "m",
            Some("7"),
            None,
        ),
        (
            r#"{"error":{"message":["a",{"msg":"b"}]}}"#,
            "a; b",
            None,
            None,
        ),
        (
            r#"{"errors":[{"message":"a","code":7003},{"message":"b"}],"success":false}"#,
            "a; b",
            Some("7003"),
            None,
        ),
        (r#"{"errors":"m"}"#, "m", None, None),
        (
            r#"{"detail":{"message":"m","code":"c"}}"#,
            "m",
            Some("c"),
            None,
        ),
        (r#"{"error":"m","code":422}"#, "m", Some("422"), Some(422)),
        (
            r#"{"error":"Bad Request","message":"m","status":400}"#,
            "m",
            None,
            Some(400),
        ),
        (
            r#"{"error":{"message":"m"},"message":"outer","status":429}"#,
            "m",
            None,
            Some(429),
        ),
        (
            r#"{"object":"error","message":{"detail":[{"msg":"m","loc":["body"]}]},"code":null}"#,
            "m",
            None,
            None,
        ),
        (r#"[{"error":{"message":"m"}}]"#, "m", None, None),
        (r#"[[{"error":"m"}]]"#, "m", None, None),
        (r#"["m"]"#, "m", None, None),
        (r#""m""#, "m", None, None),
        (
            r#"{"fault":{"faultstring":"m","detail":{"errorcode":"x"}}}"#,
            "m",
            None,
            None,
        ),
        (
            r#"{"base_resp":{"status_code":1002,"status_msg":"m"}}"#,
            "m",
            None,
            None,
        ),
        (
            r#"{"type":"about:blank","title":"m","status":413}"#,
            "m",
            None,
            Some(413),
        ),
        (
            r#"{"error":{"message":{"nested":"x"},"code":7}}"#,
            r#"{"error":{"message":{"nested":"x"},"code":7}}"#,
            Some("7"),
            None,
        ),
        (r#"{ "what": [1] }"#, r#"{"what":[1]}"#, None, None),
    ];

    #[test]
    fn the_text_is_found_wherever_it_stands() {
        for &(text, message, code, status) in SHAPES {
            let failure = failure(text).unwrap();
            let found = (
                failure.message.as_str(),
                failure.code.as_deref(),
                failure.status,
            );
            assert_eq!(found, (message, code, status), "{text}");
        }
    }

    #[test]
    fn a_wish_in_the_body_is_read_in_seconds() {
        for (wish, seconds) in [
            ("7", Some(7)),
            ("\"7\"", Some(7)),
            ("0.2", Some(1)),
            ("-1", None),
            ("1e300", None),
            ("\"NaN\"", None),
            ("\"soon\"", None),
            ("null", None),
        ] {
            let text = format!(r#"{{"error":{{"message":"m","code":429,"retry_after":{wish}}}}}"#);
            assert_eq!(failure(&text).unwrap().retry_after, seconds, "{wish}");
        }
    }

    #[test]
    fn what_is_told_is_looked_through_and_then_cut() {
        let long = format!("{}secret", "\u{e9}".repeat(MESSAGE_CHARS - 3));
        let body = format!(r#"{{"error":{{"message":"{long}","code":"{long}"}}}}"#);
        let told = failure(&body)
            .unwrap()
            .told(|text| text.replace("secret", "_"));
        assert!(told.message.ends_with("\u{e9}_"), "{}", told.message);
        let code = told.code.unwrap();
        assert_eq!(code.chars().count(), NAME_CHARS + "...".len());
        let no_text = failure(&format!(r#"{{"what":["{long}"]}}"#)).unwrap();
        let told = no_text.told(|text| text.replace("secret", "_"));
        assert_eq!(told.message.chars().count(), MESSAGE_CHARS + "...".len());
        assert!(!told.message.contains("sec"));
    }
}
