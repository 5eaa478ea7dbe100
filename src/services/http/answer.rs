//! From what an endpoint answers to what the model is told.

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use url::Url;

use super::private;
use crate::private::Private;
use crate::services::{Reply, reply};
use crate::wire::write::ObjectWriter;

/// How much of a failure's text is read, in bytes.
const FAILURE_BYTES: usize = 8 * 1024;

/// How much of it the model is told, in bytes.
const EXCERPT_BYTES: usize = 500;

/// Kinds of content that are no text, whatever their bytes are.
const BINARY: [&str; 8] = [
    "application/gzip",
    "application/octet-stream",
    "application/pdf",
    "application/zip",
    "audio/",
    "font/",
    "image/",
    "video/",
];

/// Kinds of content that are text, even if some bytes are not.
const TEXT: [&str; 7] = [
    "text/",
    "json",
    "xml",
    "yaml",
    "csv",
    "javascript",
    "x-www-form-urlencoded",
];

/// Character sets whose bytes are the first 256 characters, or nearly.
const LATIN: [&str; 4] = ["iso-8859-1", "latin1", "us-ascii", "windows-1252"];

/// The reply for an answer, within `limit` bytes.
pub(super) async fn tell(response: Response, private: &Private, limit: usize) -> Reply {
    let status = response.status().as_u16();
    if response.status().is_success() {
        // What the limit cuts through must have been seen whole to be taken out.
        let body = read(response, limit.saturating_add(private.longest())).await;
        return body.map_or_else(
            |Broken| {
                let reason = format!("the service answered with HTTP {status} and broke off");
                reply::failed(&reason, limit)
            },
            |body| result(&body, status, private, limit),
        );
    }
    if let Some(reason) = redirected(&response) {
        return reply::failed(
            &format!("the service answered with HTTP {status}, {reason}"),
            limit,
        );
    }
    let asked = response.url().clone();
    // A failure is told as such even if its text does not come.
    let words = read(response, FAILURE_BYTES).await.ok();
    let words = words.and_then(|body| words_of(&body, private, &asked));
    let reason = match words {
        Some(words) => format!("the service answered with HTTP {status}: {words}"),
        None => format!("the service answered with HTTP {status}"),
    };
    reply::failed(&reason, limit)
}

/// Why a redirect was not followed; `None` if the answer is none.
fn redirected(response: &Response) -> Option<&'static str> {
    let is_redirect = response.status().is_redirection();
    let target = response.headers().get(LOCATION).filter(|_| is_redirect)?;
    let target = target
        .to_str()
        .ok()
        .and_then(|text| response.url().join(text).ok());
    Some(match target {
        Some(target) if target.origin() == response.url().origin() => {
            "a redirect too many: it was not followed"
        }
        Some(_) => "a redirect to another host or scheme: it was not followed",
        None => "a redirect that cannot be read",
    })
}

/// The answer's connection broke off.
struct Broken;

/// The first part of a body.
struct Body {
    bytes: Vec<u8>,
    /// Whether that is all of it.
    complete: bool,
    /// What the answer says about its length, if that holds for `bytes`.
    length: Option<u64>,
    content_type: String,
}

/// Reads at most about `limit` bytes, however many there are.
async fn read(mut response: Response, limit: usize) -> Result<Body, Broken> {
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let mut body = Body {
        bytes: Vec::new(),
        complete: true,
        length: response.content_length(),
        content_type: content_type.unwrap_or_default().to_ascii_lowercase(),
    };
    while let Some(chunk) = response.chunk().await.map_err(|_| Broken)? {
        let room = limit - body.bytes.len();
        body.bytes
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            body.complete = false;
            break;
        }
    }
    Ok(body)
}

/// The reply for the body of a success.
fn result(body: &Body, status: u16, private: &Private, limit: usize) -> Reply {
    if body.bytes.is_empty() {
        let note = format!("the service answered with HTTP {status} and no content");
        return reply::completed(noted(&note, &[]), false, limit);
    }
    let Some(mut text) = text_of(body) else {
        return reply::completed(binary(body, private), false, limit);
    };
    text = private.result(text);
    if !body.complete {
        // Its end may be the beginning of a secret.
        let kept = text.len().saturating_sub(private.longest());
        text.truncate(text.floor_char_boundary(kept));
    }
    reply::completed(text, !body.complete, limit)
}

/// What stands for content that is no text.
fn binary(body: &Body, private: &Private) -> String {
    let size = match body.length {
        Some(length) => format!("{length} bytes"),
        None if body.complete => format!("{} bytes", body.bytes.len()),
        None => format!("more than {} bytes", body.bytes.len()),
    };
    let kind = reply::start(&body.content_type, 100);
    let kind = if kind.is_empty() { "unknown" } else { kind };
    let kind = private.result(kind.to_owned());
    let note = "the content is not text and cannot be shown";
    noted(note, &[("content_type", &kind), ("size", &size)])
}

fn noted(note: &str, more: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut object = ObjectWriter::begin(&mut text);
    object.string("status", "completed");
    object.string("note", note);
    for (key, value) in more {
        object.string(key, value);
    }
    object.end();
    text
}

/// The words of a failure: bounded, on one line, without what is private.
fn words_of(body: &Body, private: &Private, asked: &Url) -> Option<String> {
    let text = text_of(body)?;
    let mut text = private.failure_at(text, private::forms_of(asked));
    if !body.complete {
        let kept = text.len().saturating_sub(private.longest());
        text.truncate(text.floor_char_boundary(kept));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    let excerpt = reply::start(&words, EXCERPT_BYTES);
    let more = if excerpt.len() < words.len() {
        "..."
    } else {
        ""
    };
    (!excerpt.is_empty()).then(|| format!("{excerpt}{more}"))
}

/// A body as text, without a byte order mark; `None` if it is none.
fn text_of(body: &Body) -> Option<String> {
    let kind = body
        .content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let is_text = TEXT.iter().any(|text| kind.contains(text));
    if !is_text && BINARY.iter().any(|binary| kind.starts_with(binary)) {
        return None;
    }
    let bytes = body
        .bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&body.bytes);
    if bytes.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(error) => {
            let text = &bytes[..error.valid_up_to()];
            if error.error_len().is_none() && !body.complete {
                // Only its last character was cut.
                return Some(String::from_utf8_lossy(text).into_owned());
            }
            let charset = body
                .content_type
                .split("charset=")
                .nth(1)
                .unwrap_or_default();
            let charset = charset.trim_start_matches('"');
            if LATIN.iter().any(|latin| charset.starts_with(latin)) {
                return Some(bytes.iter().copied().map(char::from).collect());
            }
            is_text.then(|| String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content_type: &str, bytes: &[u8], complete: bool) -> Option<String> {
        text_of(&Body {
            bytes: bytes.to_vec(),
            complete,
            length: None,
            content_type: content_type.to_owned(),
        })
    }

    #[test]
    fn bytes_are_text_by_what_they_are_said_to_be_and_by_what_they_are() {
        let umlaut: &[u8] = b"\xfc";
        for (content_type, bytes, expected) in [
            ("application/json", b"{}".as_slice(), Some("{}")),
            ("application/problem+json; charset=utf-8", b"{}", Some("{}")),
            ("image/svg+xml", b"<svg/>", Some("<svg/>")),
            ("", b"plain", Some("plain")),
            ("application/x-unknown", b"plain", Some("plain")),
            ("application/x-unknown", umlaut, None),
            ("text/plain", umlaut, Some("\u{fffd}")),
            (
                "text/plain; charset=\"windows-1252\"",
                umlaut,
                Some("\u{fc}"),
            ),
            ("text/plain", b"a\0b", None),
            ("application/octet-stream", b"plain", None),
            ("video/mp4", b"plain", None),
        ] {
            assert_eq!(
                text(content_type, bytes, true).as_deref(),
                expected,
                "{content_type}"
            );
        }
        // A character that was cut is left out, one that is broken is not.
        assert_eq!(
            text("", "a\u{5929}".as_bytes().get(..3).unwrap(), false).as_deref(),
            Some("a")
        );
        assert_eq!(
            text("", "a\u{5929}".as_bytes().get(..3).unwrap(), true),
            None
        );
    }
}
