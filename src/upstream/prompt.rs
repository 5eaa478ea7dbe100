//! Renders a model request.

use std::borrow::Cow;

use super::dialect::Dialect;
use crate::wire::splice::Splice;
use crate::wire::write::{quote_into, quoted};
use crate::wire::{Body, Message, Raw, Role, request::Field};

/// What the model is asked with.
#[derive(Debug)]
pub struct Prompt<'a> {
    /// The model as the upstream knows it.
    pub model: &'a str,
    /// The agent's instructions.
    pub instructions: Option<&'a str>,
    /// The conversation.
    pub messages: &'a [Message],
    /// The tools that are offered.
    pub tools: &'a [&'a Raw],
    /// The forced choice, if this round has one.
    pub tool_choice: Option<&'a Raw>,
    /// The caller's other fields and the agent's defaults.
    pub fields: &'a [Field],
    /// How the upstream wants it written.
    pub dialect: &'a Dialect,
}

/// Room for the short fields of a request, in bytes.
const SHORT_FIELDS: usize = 1024;

impl Prompt<'_> {
    /// The JSON body. Long runs of the caller's own bytes are shared, not copied.
    pub fn render(&self) -> Body {
        let mut out = Splice::with_capacity(SHORT_FIELDS);
        out.text("{\"model\":");
        out.text(&quoted(self.model));
        for field in self.fields {
            // Upstreams refuse it without tools.
            if self.tools.is_empty() && field.key == "parallel_tool_calls" {
                continue;
            }
            let Some(name) = self.dialect.key(field, self.fields) else {
                continue;
            };
            let mut key = String::with_capacity(name.len() + 4);
            key.push(',');
            quote_into(&mut key, name);
            key.push(':');
            out.text(&key);
            out.value(&field.value);
        }
        out.text(",\"messages\":[");
        match self.dialect.messages(self.messages) {
            None => self.messages_into(&mut out, self.messages.iter()),
            Some(sent) => self.messages_into(&mut out, sent.iter().map(Cow::as_ref)),
        }
        out.text("]");
        if !self.tools.is_empty() {
            match self.dialect.offered(self.tools, self.tool_choice) {
                None => tools_into(&mut out, self.tools.iter().copied(), self.tool_choice),
                Some(sent) => tools_into(&mut out, &sent.tools, sent.choice.as_ref()),
            }
        }
        out.text("}");
        out.finish()
    }

    /// The instructions stand in the first message: in the caller's system message if it begins
    /// with one, since many chat templates take a single system message only.
    fn messages_into<'m>(
        &self,
        out: &mut Splice,
        mut messages: impl Iterator<Item = &'m Message> + Clone,
    ) {
        if let Some(instructions) = self.instructions {
            let mut behind = messages.clone();
            let merged = behind
                .next()
                .and_then(|first| with_instructions(first, instructions));
            if merged.is_some() {
                messages = behind;
            }
            out.text(&merged.unwrap_or_else(|| Message::system(instructions).raw.get().to_owned()));
            if messages.clone().next().is_some() {
                out.text(",");
            }
        }
        out.elements(messages.map(|message| &message.raw));
    }
}

fn tools_into<'t>(
    out: &mut Splice,
    tools: impl IntoIterator<Item = &'t Raw>,
    choice: Option<&Raw>,
) {
    out.text(",\"tools\":[");
    out.elements(tools);
    out.text("]");
    if let Some(choice) = choice {
        out.text(",\"tool_choice\":");
        out.value(choice);
    }
}

/// A system message that says the instructions first; `None` if the message is another.
fn with_instructions(first: &Message, instructions: &str) -> Option<String> {
    if !matches!(first.role, Role::System | Role::Developer) {
        return None;
    }
    let content = first.field("content")?;
    let mut new = String::new();
    match content.get().as_bytes().first()? {
        b'"' => {
            quote_into(&mut new, instructions);
            new.pop();
            new.extend(["\\n\\n", content.body(), "\""]);
        }
        b'[' => {
            new.push_str("[{\"type\":\"text\",\"text\":");
            quote_into(&mut new, instructions);
            new.push('}');
            let rest = content.get()[1..].trim_start();
            new.push_str(if rest.starts_with(']') { "" } else { "," });
            new.push_str(rest);
        }
        _ => return None,
    }
    Some(first.text_with("content", &new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::request::ChatRequest;

    fn render(body: &str, instructions: Option<&str>) -> String {
        let request = ChatRequest::parse(body.to_owned().into()).unwrap();
        let tools: Vec<&Raw> = request.tools.iter().map(|tool| &tool.raw).collect();
        let prompt = Prompt {
            model: "up\"stream",
            instructions,
            messages: &request.messages,
            tools: &tools,
            tool_choice: None,
            fields: &request.fields,
            dialect: &Dialect::REFERENCE,
        };
        String::from_utf8(prompt.render().into_bytes().to_vec()).unwrap()
    }

    #[test]
    fn fields_leave_as_they_came() {
        let body = r#"{"model":"m","seed":12345678901234567890,"x":{"b":1.0,"a":1e-7},"messages":[{"role":"user","content":"\u00e9"}],"tools":[],"parallel_tool_calls":true}"#;
        let expected = r#"{"model":"up\"stream","seed":12345678901234567890,"x":{"b":1.0,"a":1e-7},"messages":[{"role":"user","content":"\u00e9"}]}"#;
        assert_eq!(render(body, None), expected);
    }

    #[test]
    fn instructions_stand_in_the_first_message() {
        let user = r#"{"role":"user","content":"hi"}"#;
        for (first, expected) in [
            (
                "",
                format!(r#"{{"role":"system","content":"Be\nkind"}},{user}"#),
            ),
            (
                r#"{"role":"system","content":"terse"},"#,
                format!(r#"{{"role":"system","content":"Be\nkind\n\nterse"}},{user}"#),
            ),
            (
                r#"{"role":"developer","content":[ {"type":"text","text":"t"}]},"#,
                format!(
                    r#"{{"role":"developer","content":[{{"type":"text","text":"Be\nkind"}},{{"type":"text","text":"t"}}]}},{user}"#
                ),
            ),
        ] {
            let body = format!(r#"{{"model":"m","messages":[{first}{user}]}}"#);
            let expected = format!(r#"{{"model":"up\"stream","messages":[{expected}]}}"#);
            assert_eq!(render(&body, Some("Be\nkind")), expected);
        }
    }
}
