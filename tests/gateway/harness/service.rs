//! A scripted HTTP service: tools that Handback runs. Each has a bare TCP server of its own, the
//! one that plays the upstream, so that a test can script, hold and count the calls of each
//! however they interleave.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::script::{Answer, Framing, Gate, Step};
use super::upstream::Upstream;

/// The key that the service's requests carry, which nobody may ever see.
pub(crate) const SERVICE_KEY: &str = "service-s3cret-key";

/// A running service. Dropping it stops it.
pub(crate) struct Service {
    name: String,
    tools: Vec<Tool>,
}

struct Tool {
    name: String,
    /// Lines of TOML that are not the usual ones.
    lines: String,
    server: Upstream,
}

impl Service {
    /// A service with these tools. Each answers `{"tool": NAME}` until it is given a script.
    pub(crate) async fn start(name: &str, tools: &[&str]) -> Self {
        let mut started = Vec::new();
        for tool in tools {
            started.push(Tool {
                name: (*tool).to_owned(),
                lines: String::new(),
                server: Upstream::playing([Answer::json(200, &json!({"tool": tool}))]).await,
            });
        }
        Self {
            name: name.to_owned(),
            tools: started,
        }
    }

    /// Adds lines to the table of a tool. It is asked with POST at [`Service::url`], without
    /// parameters, unless they say otherwise.
    pub(crate) fn lines(mut self, tool: &str, lines: &str) -> Self {
        let found = self.tools.iter_mut().find(|known| known.name == tool);
        let found = found.expect("the service has the tool");
        found.lines.push_str(lines);
        found.lines.push('\n');
        self
    }

    /// The server of a tool: what it answers, and what it was asked.
    pub(crate) fn tool(&self, name: &str) -> &Upstream {
        let found = self.tools.iter().find(|known| known.name == name);
        &found.expect("the service has the tool").server
    }

    /// Where a tool is asked, with this path and query.
    pub(crate) fn url(&self, tool: &str, rest: &str) -> String {
        format!("http://{}{rest}", self.tool(tool).authority())
    }

    /// How often a tool was asked since its script began.
    pub(crate) fn calls(&self, tool: &str) -> usize {
        self.tool(tool).requests().len()
    }

    /// The service as a section of the configuration.
    pub(crate) fn toml(&self) -> String {
        let mut toml = format!(
            "[[services]]\nname = \"{}\"\nkind = \"http\"\n\
             headers = {{ authorization = \"Bearer {SERVICE_KEY}\" }}\n",
            self.name
        );
        for tool in &self.tools {
            let _ = writeln!(toml, "[[services.tools]]\nname = \"{}\"", tool.name);
            if !tool.lines.contains("method =") {
                toml.push_str("method = \"POST\"\n");
            }
            if !tool.lines.contains("url =") {
                let path = format!("/tools/{}", tool.name);
                let _ = writeln!(toml, "url = \"{}\"", self.url(&tool.name, &path));
            }
            toml.push_str(&tool.lines);
        }
        toml
    }
}

/// A result.
pub(crate) fn result(value: &Value) -> Answer {
    Answer::json(200, value)
}

/// A result that waits until the test opens the gate.
pub(crate) fn held(gate: &Gate, value: &Value) -> Answer {
    let mut answer = Answer::json(200, value);
    answer.framing = Framing::Chunked;
    answer.steps.insert(0, Step::Wait(gate.clone()));
    answer
}

/// A result without content.
pub(crate) fn empty() -> Answer {
    Answer {
        status: 204,
        headers: Vec::new(),
        framing: Framing::Close,
        steps: Vec::new(),
        raw: None,
    }
}

/// Bytes that are no text.
pub(crate) fn binary(bytes: usize) -> Answer {
    let body: Vec<u8> = b"\x89PNG\0\xff\xfe\n"
        .iter()
        .copied()
        .cycle()
        .take(bytes)
        .collect();
    Answer::body(200, "image/png", body)
}

/// A text of this many bytes.
pub(crate) fn huge(status: u16, bytes: usize) -> Answer {
    Answer::body(status, "text/plain", "x".repeat(bytes))
}

/// A text without end, a piece at a time.
pub(crate) fn endless(piece: &str) -> Answer {
    let mut answer = Answer::body(200, "text/plain", "");
    answer.framing = Framing::Chunked;
    answer.steps = vec![Step::Babble(piece.as_bytes().to_vec())];
    answer
}

/// A result that breaks off after its first bytes.
pub(crate) fn cut(status: u16) -> Answer {
    let mut answer = Answer::body(status, "application/json", "{\"half\":");
    answer.framing = Framing::Chunked;
    answer.steps.push(Step::Cut);
    answer
}

/// A redirect.
pub(crate) fn redirect(status: u16, location: &str) -> Answer {
    Answer::body(status, "text/plain", "moved").header("location", location)
}
