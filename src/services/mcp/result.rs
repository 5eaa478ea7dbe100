//! What the model is told of a tool's result.
//!
//! A result is a list of content blocks, a structured value, or both. The model gets the text of
//! the blocks, a note for each that is no text, and the structured value as compact JSON behind
//! them, once: a block that says the same, as servers are told to send it, gives its spelling.
//!
//! Without such a block numbers that neither 64 bits nor a double can hold are rounded: the SDK
//! reads them before they come here.

use rmcp::model::{ContentBlock, ResourceContents, ServerResult};
use serde_json::Value;

use crate::private::Private;
use crate::services::{Reply, reply};
use crate::wire::write::compact;

/// What a result without content is told as: an empty text makes models call again.
const NOTHING: &str = "(no output)";

/// What the model is told, within `limit` bytes.
pub(super) fn reply(answer: ServerResult, private: &Private, limit: usize) -> Reply {
    let (text, is_error) = match answer {
        ServerResult::CallToolResult(result) => {
            let blocks = result.content.into_iter().map(told).collect();
            let text = joined(blocks, result.structured_content);
            (text, result.is_error.unwrap_or(false))
        }
        ServerResult::CustomResult(other) => loose(other.0),
        ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
            (NOTHING.to_owned(), false)
        }
        // A result with a key that makes it look like another method's.
        other => loose(serde_json::to_value(other).unwrap_or_default()),
    };
    if is_error {
        reply::failed(&private.failure(text), limit)
    } else {
        reply::completed(private.result(text), false, limit)
    }
}

/// A result that does not have the protocol's form: what can be read of it is told.
fn loose(value: Value) -> (String, bool) {
    let Value::Object(mut result) = value else {
        return (joined(Vec::new(), Some(value)), false);
    };
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    for own in ["isError", "_meta", "resultType"] {
        result.remove(own);
    }
    let structured = result.remove("structuredContent");
    let text = match (result.remove("content"), structured) {
        (None, None) => joined(Vec::new(), Some(Value::Object(result))),
        (Some(Value::Array(blocks)), structured) => {
            joined(blocks.into_iter().map(loose_block).collect(), structured)
        }
        (Some(Value::String(text)), structured) => joined(vec![text], structured),
        (_, structured) => joined(Vec::new(), structured),
    };
    (text, is_error)
}

fn loose_block(block: Value) -> String {
    let kind = block.get("type").and_then(Value::as_str);
    let note = omitted(kind.unwrap_or("content"));
    serde_json::from_value(block).map_or(note, told)
}

/// What is told of a block: its text, or a note that there was something else.
fn told(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => omitted(&image.mime_type),
        ContentBlock::Audio(audio) => omitted(&audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[resource {:?}: {}]", link.name, link.uri),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents { uri, mime_type, .. } => {
                let kind = mime_type.unwrap_or_else(|| "resource".to_owned());
                omitted(&format!("{kind} {uri}"))
            }
            _ => omitted("resource"),
        },
        _ => omitted("content"),
    }
}

fn omitted(what: &str) -> String {
    format!("[{what} omitted]")
}

fn joined(mut blocks: Vec<String>, structured: Option<Value>) -> String {
    if let Some(value) = structured.filter(says_something) {
        let same: Vec<String> = blocks
            .extract_if(.., |block| is_same(block, &value))
            .collect();
        let spelt = same.first().map(|block| compact(block));
        blocks.push(spelt.unwrap_or_else(|| value.to_string()));
    }
    blocks.retain(|block| !block.is_empty());
    if blocks.is_empty() {
        NOTHING.to_owned()
    } else {
        blocks.join("\n")
    }
}

fn says_something(value: &Value) -> bool {
    !value.is_null() && value.as_object().is_none_or(|members| !members.is_empty())
}

/// Whether a text is the JSON of that value, however it is spaced.
fn is_same(text: &str, value: &Value) -> bool {
    let looks_alike = match value {
        Value::Object(_) => text.trim_start().starts_with('{'),
        Value::Array(_) => text.trim_start().starts_with('['),
        _ => true,
    };
    looks_alike && serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use crate::services::Outcome;
    use crate::services::settings::{Glob, McpSettings, McpTransport};

    fn told(result: &str) -> Reply {
        let answer: ServerResult = serde_json::from_str(result).unwrap();
        let key = Secret::new("Bearer 0123456789abcdef");
        let settings = McpSettings {
            transport: McpTransport::Http(url::Url::parse("http://crm.test/mcp?k=v").unwrap()),
            headers: vec![("authorization".to_owned(), key)],
            tools: vec![Glob::new("*")],
            deny: Vec::new(),
            prefix: String::new(),
            timeout: std::time::Duration::from_secs(1),
            description_limit: None,
        };
        reply(answer, &super::super::private(&settings), 10_000)
    }

    fn text(result: &str) -> String {
        told(result).text
    }

    #[test]
    fn what_is_no_text_becomes_a_note() {
        let shown = text(
            r#"{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},
            {"type":"audio","data":"AAAA","mimeType":"audio/wav"},
            {"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"hello"}},
            {"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/x-b","blob":"AAAA"}},
            {"type":"resource_link","uri":"file:///b","name":"b"}]}"#,
        );
        let expected = "[image/png omitted]\n[audio/wav omitted]\nhello\n\
                        [application/x-b file:///a.bin omitted]\n[resource \"b\": file:///b]";
        assert_eq!(shown, expected);
    }

    #[test]
    fn structured_content_is_told_once() {
        for (result, shown) in [
            (
                r#"{"content":[],"structuredContent":{"projects":[{"id":1}]}}"#,
                r#"{"projects":[{"id":1}]}"#,
            ),
            (
                r#"{"content":[{"type":"text","text":"One."}],"structuredContent":{"n":1}}"#,
                "One.\n{\"n\":1}",
            ),
            (
                r#"{"content":[{"type":"text","text":"{ \"n\": 1 }"}],"structuredContent":{"n":1}}"#,
                r#"{"n":1}"#,
            ),
            (
                r#"{"content":[{"type":"text","text":" {\"n\": 12345678901234567890123, \"x\": 1.10}"}],
                    "structuredContent":{"n":12345678901234567890123,"x":1.10}}"#,
                r#"{"n":12345678901234567890123,"x":1.10}"#,
            ),
            (r#"{"content":[],"structuredContent":{}}"#, NOTHING),
            (r#"{"structuredContent":[1,2],"content":[]}"#, "[1,2]"),
        ] {
            assert_eq!(text(result), shown, "{result}");
        }
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        for result in [
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":""}]}"#,
            "{}",
            r#"{"_meta":{}}"#,
        ] {
            assert_eq!(text(result), NOTHING, "{result}");
        }
    }

    #[test]
    fn results_of_a_wrong_form_are_read_as_far_as_they_go() {
        for (result, shown) in [
            (
                r#"{"content":[{"type":"text","text":"a"},{"type":"video","url":"x"},{"type":"text"}]}"#,
                "a\n[video omitted]\n[text omitted]",
            ),
            (r#"{"content":"plain"}"#, "plain"),
            (r#"{"toolResult":{"n":1}}"#, r#"{"toolResult":{"n":1}}"#),
        ] {
            assert_eq!(text(result), shown, "{result}");
        }
    }

    #[test]
    fn errors_are_failures() {
        let answer = r#"{"content":[{"type":"text","text":"rate limited"}],"isError":true}"#;
        assert_eq!(told(answer).outcome, Outcome::Failed);
        assert_eq!(
            text(answer),
            r#"{"status":"failed","reason":"rate limited"}"#
        );
    }

    #[test]
    fn an_echo_of_a_key_or_of_the_address_is_taken_out() {
        let answer =
            r#"{"content":[{"type":"text","text":"0123456789abcdef at http://crm.test/mcp?k=v"}]}"#;
        assert_eq!(text(answer), "[redacted] at http://crm.test/mcp?k=v");
        let failed = answer.replace("]}", "],\"isError\":true}");
        assert_eq!(
            text(&failed),
            r#"{"status":"failed","reason":"[redacted] at [redacted]"}"#
        );
    }
}
