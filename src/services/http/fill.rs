//! Puts the arguments of a call into the URL of its tool.
//!
//! What is put there is percent-encoded down to the unreserved characters of RFC 3986, so that it
//! can neither end its segment nor its pair (`value` says how each kind of value is
//! written):
//!
//! - In the path an argument that is absent, null or empty is refused, and so is one that makes
//!   its segment `.` or `..`: the request would go to another address than the operator wrote.
//! - In the query a pair whose argument is absent or null is left out.

use url::Url;

use super::template::{Piece, UrlTemplate};
use super::value::{self, Unusable};
use crate::wire::raw::Members;

/// Longest URL that is asked for, in bytes: more than most servers take.
const URL_BYTES: usize = 32 * 1024;

/// Why arguments do not fit into a template: told to the model.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum FillError {
    /// The path would lead elsewhere.
    #[error("the argument `{0}` cannot be \".\" or \"..\"")]
    Dots(String),
    /// The path needs it.
    #[error("the argument `{0}` is missing or empty; the tool needs it")]
    Missing(String),
    /// All arguments together.
    #[error("the arguments are too long: they are part of a URL; send shorter ones")]
    TooLong,
    /// A value that is no text.
    #[error("the argument `{0}` cannot be read")]
    Unusable(String),
}

impl UrlTemplate {
    /// The URL for these arguments; `more` become further pairs of the query.
    pub(super) fn fill(
        &self,
        arguments: &Members<'_>,
        more: &[(&str, &str)],
    ) -> Result<Url, FillError> {
        let mut url = self.origin.clone();
        url.set_path("");
        let mut text = url.as_str().trim_end_matches('/').to_owned();
        text += &self.filled_path(arguments)?;
        let mut pairs = Vec::new();
        for pair in &self.query {
            pairs.extend(filled_pair(pair, arguments)?);
        }
        for (name, json) in more {
            let value =
                value::encoded(json).map_err(|_| FillError::Unusable((*name).to_owned()))?;
            pairs.extend(value.map(|value| format!("{}={value}", value::encode(name))));
        }
        if !pairs.is_empty() {
            text.push('?');
            text += &pairs.join("&");
        }
        if text.len() > URL_BYTES {
            return Err(FillError::TooLong);
        }
        Url::parse(&text).map_err(|_| FillError::TooLong)
    }

    fn filled_path(&self, arguments: &Members<'_>) -> Result<String, FillError> {
        let mut path = String::new();
        // The argument in the segment that `path` ends with.
        let mut last = None;
        for piece in &self.path {
            match piece {
                Piece::Argument(name) => {
                    let value = lookup(arguments, name)?.filter(|value| !value.is_empty());
                    path += &value.ok_or_else(|| FillError::Missing(name.clone()))?;
                    last = Some(name);
                }
                Piece::Text(text) => {
                    let end = text.find(is_separator).unwrap_or(text.len());
                    path += &text[..end];
                    if end < text.len() {
                        check_segment(&path, last.take())?;
                    }
                    path += &text[end..];
                }
            }
        }
        check_segment(&path, last)?;
        Ok(path)
    }
}

fn is_separator(character: char) -> bool {
    matches!(character, '/' | '\\')
}

/// Fails if the last segment of `path`, which holds `argument`, is one that URLs resolve.
fn check_segment(path: &str, argument: Option<&String>) -> Result<(), FillError> {
    let Some(argument) = argument else {
        return Ok(());
    };
    let segment = path.rsplit(is_separator).next().unwrap_or_default();
    let segment = segment.replace("%2e", ".").replace("%2E", ".");
    match segment.as_str() {
        "." | ".." => Err(FillError::Dots(argument.clone())),
        _ => Ok(()),
    }
}

/// A pair of the query; `None` if an argument of it is not there.
fn filled_pair(pair: &[Piece], arguments: &Members<'_>) -> Result<Option<String>, FillError> {
    let mut filled = String::new();
    for piece in pair {
        match piece {
            Piece::Text(text) => filled += text,
            Piece::Argument(name) => match lookup(arguments, name)? {
                Some(value) => filled += &value,
                None => return Ok(None),
            },
        }
    }
    Ok(Some(filled))
}

/// The value of an argument as it goes into a URL; `None` if it is not there.
fn lookup(arguments: &Members<'_>, name: &str) -> Result<Option<String>, FillError> {
    let Some(json) = arguments.get(name) else {
        return Ok(None);
    };
    value::encoded(json.get()).map_err(|Unusable| FillError::Unusable(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, arguments: &str) -> Result<String, FillError> {
        let template = UrlTemplate::parse(template).unwrap();
        let url = template.fill(&Members::parse(arguments).unwrap(), &[])?;
        Ok(url.to_string())
    }

    #[test]
    fn arguments_go_into_path_and_query() {
        for (template, arguments, url) in [
            ("http://h", "{}", "http://h/"),
            ("http://h:81/a?b=c", "{}", "http://h:81/a?b=c"),
            (
                "https://h/t/{id}",
                r#"{"id":"a/b?c#d"}"#,
                "https://h/t/a%2Fb%3Fc%23d",
            ),
            (
                "http://h/{a}-{b}/{a}",
                r#"{"a":1.0,"b":true}"#,
                "http://h/1.0-true/1.0",
            ),
            ("http://h/..{a}", r#"{"a":"b"}"#, "http://h/..b"),
            (
                "http://h?q={q}",
                r#"{"q":"a b&c"}"#,
                "http://h/?q=a%20b%26c",
            ),
            (
                "http://h/?q={q}&r=1&s={s}",
                r#"{"s":""}"#,
                "http://h/?r=1&s=",
            ),
            ("http://h/?q={q}&s={s}", r#"{"q":null}"#, "http://h/"),
            (
                "http://h/x?{q}=1&r={q}-{q}",
                r#"{"q":["a","b"]}"#,
                "http://h/x?a,b=1&r=a,b-a,b",
            ),
            (
                "http://h/{a b}?x={x?&y}",
                r#"{"a b":"c","x?&y":"d"}"#,
                "http://h/c?x=d",
            ),
            // The last one counts, as for the check against the parameters.
            ("http://h/{a}", r#"{"a":"no","a":"yes"}"#, "http://h/yes"),
        ] {
            assert_eq!(
                filled(template, arguments).as_deref(),
                Ok(url),
                "{template}"
            );
        }
    }

    #[test]
    fn no_argument_leads_elsewhere() {
        let missing = FillError::Missing("a".to_owned());
        let dots = FillError::Dots("a".to_owned());
        for (template, arguments, error) in [
            ("http://h/x/{a}", "{}", &missing),
            ("http://h/x/{a}", r#"{"a":null}"#, &missing),
            ("http://h/x/{a}/y", r#"{"a":""}"#, &missing),
            ("http://h/x/{a}/y", r#"{"a":[]}"#, &missing),
            ("http://h/x/{a}", r#"{"a":".."}"#, &dots),
            ("http://h/x/{a}/y", r#"{"a":"."}"#, &dots),
            ("http://h/x/.{a}?q=1", r#"{"a":"."}"#, &dots),
            ("http://h/x/{a}%2e/y", r#"{"a":"."}"#, &dots),
            ("http://h/x/%2E{a}\\y", r#"{"a":"."}"#, &dots),
        ] {
            assert_eq!(
                filled(template, arguments).as_ref(),
                Err(error),
                "{template}"
            );
        }
        let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(URL_BYTES));
        assert_eq!(filled("http://h/{a}", &huge), Err(FillError::TooLong));
        for value in [
            "//evil/",
            "\\\\evil\\",
            "@evil",
            ":1@evil",
            "%2e%2e",
            "a\\n\\r\\tb",
            "../x",
        ] {
            let arguments = format!("{{\"a\":{}}}", crate::wire::write::quoted(value));
            let url = Url::parse(&filled("http://h/x/{a}/y?z={a}", &arguments).unwrap()).unwrap();
            assert_eq!(url.origin().ascii_serialization(), "http://h", "{value}");
            let segments: Vec<&str> = url.path_segments().unwrap().collect();
            assert!(matches!(segments.as_slice(), ["x", _, "y"]), "{segments:?}");
            assert_eq!(url.query_pairs().count(), 1, "{value}");
        }
    }
}
