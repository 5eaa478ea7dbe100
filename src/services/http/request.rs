//! From a call to its request.

use std::collections::HashSet;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use super::super::Invocation;
use super::super::settings::{HttpTool, Method};
use super::fill::FillError;
use crate::wire::raw::Members;
use crate::wire::write::ObjectWriter;

/// The header of the key that stays the same when a call is repeated (contract V3).
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header of the call's place in a trace.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The name of an argument and its value as JSON.
type Argument<'a> = (&'a str, &'a str);

/// Why a call cannot be made: told to the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    /// The arguments are no object.
    #[error("the arguments are not a JSON object")]
    Arguments,
    /// They do not fit into the URL.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// The client refuses it.
    #[error("the request cannot be sent")]
    Refused,
}

/// The request of a call.
///
/// Arguments that the URL does not name are members of the JSON body, as the model wrote them.
/// GET and HEAD have no body: there each becomes a pair of the query, written as in a template.
/// A DELETE that would have an empty object as its body has none, which more servers take.
pub(super) fn build(
    client: &reqwest::Client,
    content_type: &HeaderValue,
    tool: &HttpTool,
    invocation: &Invocation,
) -> Result<reqwest::Request, BuildError> {
    let arguments = Members::parse(&invocation.arguments).map_err(|_| BuildError::Arguments)?;
    let rest = rest(tool, &arguments);
    let pairs: &[Argument<'_>] = if tool.method.has_body() { &[] } else { &rest };
    let url = tool.url.fill(&arguments, pairs)?;
    let key = HeaderValue::from_str(&invocation.idempotency_key);
    let key = key.map_err(|_| BuildError::Refused)?;
    let request = client.request(method(tool.method), url);
    let mut request = request.header(IDEMPOTENCY_KEY, key);
    if let Some(traceparent) = &invocation.traceparent {
        request = request.header(TRACEPARENT, traceparent);
    }
    if tool.method.has_body() && !(tool.method == Method::Delete && rest.is_empty()) {
        request = request.body(body(&rest));
    }
    let mut request = request.build().map_err(|_| BuildError::Refused)?;
    if request.body().is_some() {
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, content_type.clone());
    }
    Ok(request)
}

/// The arguments that the URL does not name, each once. Of a name that comes twice the last
/// counts, which is the one that was checked against the parameters.
fn rest<'a>(tool: &HttpTool, arguments: &'a Members<'a>) -> Vec<Argument<'a>> {
    let mut seen: HashSet<&str> = tool.url.arguments().collect();
    let backwards = arguments.0.iter().rev();
    let own = backwards.filter(|(name, _)| seen.insert(name));
    let mut rest: Vec<_> = own
        .map(|(name, value)| (name.as_ref(), value.get()))
        .collect();
    rest.reverse();
    rest
}

fn body(members: &[Argument<'_>]) -> String {
    let mut text = String::new();
    let mut object = ObjectWriter::begin(&mut text);
    for (name, value) in members {
        object.member(name, value);
    }
    object.end();
    text
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Delete => reqwest::Method::DELETE,
        Method::Get => reqwest::Method::GET,
        Method::Head => reqwest::Method::HEAD,
        Method::Patch => reqwest::Method::PATCH,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::services::settings::{NO_PARAMETERS, SideEffect, UrlTemplate};

    fn tool(method: Method, url: &str) -> HttpTool {
        HttpTool {
            name: "look".to_owned(),
            description: None,
            parameters: NO_PARAMETERS.to_owned(),
            method,
            url: UrlTemplate::parse(url).unwrap(),
            timeout: Duration::from_secs(1),
            result_limit: None,
            side_effect: SideEffect::None,
        }
    }

    fn built(method: Method, url: &str, arguments: &str) -> Result<reqwest::Request, String> {
        let invocation = Invocation {
            tool: "look".to_owned(),
            arguments: arguments.to_owned(),
            idempotency_key: "key-1".to_owned(),
            traceparent: None,
            reply_limit: 1000,
        };
        let json = HeaderValue::from_static("application/json");
        let client = reqwest::Client::new();
        build(&client, &json, &tool(method, url), &invocation).map_err(|e| e.to_string())
    }

    #[test]
    fn other_arguments_go_into_the_body_or_the_query() {
        let url = "http://h/{a}?b={b}";
        let arguments = r#"{"a":1,"c":[1.0, 2],"b":"x","d":{"e": "f"},"c":"last","g":null}"#;
        for (method, asked, body) in [
            (
                Method::Get,
                "http://h/1?b=x&d=%7B%22e%22%3A%22f%22%7D&c=last",
                None,
            ),
            (
                Method::Head,
                "http://h/1?b=x&d=%7B%22e%22%3A%22f%22%7D&c=last",
                None,
            ),
            (
                Method::Post,
                "http://h/1?b=x",
                Some(r#"{"d":{"e": "f"},"c":"last","g":null}"#),
            ),
            (
                Method::Delete,
                "http://h/1?b=x",
                Some(r#"{"d":{"e": "f"},"c":"last","g":null}"#),
            ),
        ] {
            let request = built(method, url, arguments).unwrap();
            assert_eq!(request.url().as_str(), asked);
            let sent = request.body().and_then(reqwest::Body::as_bytes);
            assert_eq!(sent, body.map(str::as_bytes), "{method:?}");
            assert_eq!(request.headers()["idempotency-key"], "key-1");
            let kind = request.headers().get(CONTENT_TYPE);
            assert_eq!(kind.is_some(), body.is_some(), "{method:?}");
        }
    }

    #[test]
    fn a_body_without_members_is_an_object_but_for_delete() {
        for (method, body) in [
            (Method::Post, Some("{}")),
            (Method::Put, Some("{}")),
            (Method::Patch, Some("{}")),
            (Method::Delete, None),
            (Method::Get, None),
        ] {
            let request = built(method, "http://h/{a}", r#"{"a":"b"}"#).unwrap();
            let sent = request.body().and_then(reqwest::Body::as_bytes);
            assert_eq!(sent, body.map(str::as_bytes), "{method:?}");
        }
    }

    #[test]
    fn arguments_that_cannot_be_sent_are_told() {
        for (arguments, reason) in [
            ("[]", "the arguments are not a JSON object"),
            (
                "{}",
                "the argument `a` is missing or empty; the tool needs it",
            ),
            (r#"{"a":"\ud800"}"#, "the argument `a` cannot be read"),
        ] {
            let error = built(Method::Get, "http://h/{a}", arguments).unwrap_err();
            assert_eq!(error, reason);
        }
    }
}
