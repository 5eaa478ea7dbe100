//! What one `[[services]]` section says.
//!
//! Plain data, and the little that whoever reads the configuration has to know of services
//! before any of them runs: which names a tool may have, and which tools there are already.

use std::fmt;
use std::time::Duration;

use url::Url;

use super::clock;
use crate::glob;
use crate::secret::Secret;

pub use super::http::template::{TemplateError, UrlTemplate};
pub use crate::tools::SideEffect;
pub use crate::tools::name::{NAME_CHARS, is_valid as is_tool_name};

/// How long a call of an HTTP tool may take where nothing else is said.
pub const DEFAULT_HTTP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a request to an MCP server may take where nothing else is said.
pub const DEFAULT_MCP_TIMEOUT: Duration = Duration::from_secs(30);

/// The parameters of a tool that names none.
pub const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// A place where tools live.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// The name that agents refer to. Not empty, without dots and stars, unique among the
    /// services.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What a service is, key `kind`.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The built-in clock with its one tool, [`clock::TOOL`].
    Clock,
    /// Tools behind HTTP, each described in the file.
    Http(HttpServiceSettings),
    /// A server of the Model Context Protocol, which says itself what it offers.
    Mcp(McpSettings),
}

/// Tools behind HTTP.
#[derive(Clone, Debug)]
pub struct HttpServiceSettings {
    /// Headers of every request, in the order of the file: valid names in lower case, each
    /// once, none that a request sets itself but for `accept` and `content-type`, where the
    /// operator's hold. Empty by default.
    pub headers: Vec<(String, Secret)>,
    /// The tools, at least one; their names are unique.
    pub tools: Vec<HttpTool>,
    /// What stands before each tool's name as the model sees it. Default "".
    pub prefix: String,
}

/// One tool behind HTTP, one `[[services.tools]]` section.
#[derive(Clone, Debug)]
pub struct HttpTool {
    /// The service's own name for it; behind the prefix it is a name that chat completions
    /// takes.
    pub name: String,
    /// What the model is told about it. Absent by default.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, an object in compact JSON. Default
    /// [`NO_PARAMETERS`].
    pub parameters: String,
    /// How it is asked.
    pub method: Method,
    /// Where it is asked; each `{argument}` is a property of `parameters`.
    pub url: UrlTemplate,
    /// How long a call may take, from the connection to the last byte. Above zero, default
    /// [`DEFAULT_HTTP_TIMEOUT`].
    pub timeout: Duration,
    /// Largest result in bytes, at least 1, if it is to be smaller than what the turn allows.
    /// Absent by default.
    pub result_limit: Option<usize>,
    /// What a call does to the world. Default [`SideEffect::ExternalWrite`].
    pub side_effect: SideEffect,
}

/// The method of a request to an HTTP tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// `DELETE`
    Delete,
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `PATCH`
    Patch,
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

impl Method {
    /// All methods under the names that the file and the wire have for them.
    pub const ALL: [(&str, Method); 6] = [
        ("GET", Method::Get),
        ("POST", Method::Post),
        ("PUT", Method::Put),
        ("PATCH", Method::Patch),
        ("DELETE", Method::Delete),
        ("HEAD", Method::Head),
    ];

    /// Whether arguments that are not in the URL go into a body; otherwise they go into the
    /// query.
    pub fn has_body(self) -> bool {
        !matches!(self, Method::Get | Method::Head)
    }
}

/// A server of the Model Context Protocol and what is used of it.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// How it is reached.
    pub transport: McpTransport,
    /// Headers of every request, as [`HttpServiceSettings::headers`] but without
    /// `accept` and `content-type`. Always empty for [`McpTransport::Command`].
    pub headers: Vec<(String, Secret)>,
    /// Which of its tools are used, by the server's own names. Never empty, default `*`.
    pub tools: Vec<Glob>,
    /// Which of those are not. Empty by default.
    pub deny: Vec<Glob>,
    /// What stands before each tool's name as the model sees it: at most 32 characters of
    /// `A-Z a-z 0-9 _ -`. Default "".
    pub prefix: String,
    /// How long a request to it may take. Above zero, default [`DEFAULT_MCP_TIMEOUT`].
    pub timeout: Duration,
    /// Longest description of a tool that the model sees, in characters, at least 1; longer
    /// ones are cut. Absent by default: no bound.
    pub description_limit: Option<usize>,
}

impl McpSettings {
    /// Whether the tool that the server calls `own_name` is used.
    pub fn uses(&self, own_name: &str) -> bool {
        let named = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(own_name));
        named(&self.tools) && !named(&self.deny)
    }
}

/// How an MCP server is reached. `Debug` shows of a URL no more than its origin, of the
/// environment no values.
#[derive(Clone)]
pub enum McpTransport {
    /// Streamable HTTP at this URL: http or https, without user information and fragment. Its
    /// query may be a secret.
    Http(Url),
    /// A process of its own that talks over standard input and output.
    Command {
        /// The program and its arguments; never empty, and neither is the program. A relative
        /// program is looked up as the operating system does.
        command: Vec<String>,
        /// Variables added to its environment, in the order of the file. Empty by default.
        env: Vec<(String, Secret)>,
    },
}

impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpTransport::Http(url) => {
                let origin = url.origin().ascii_serialization();
                f.debug_tuple("Http").field(&origin).finish()
            }
            McpTransport::Command { command, env } => f
                .debug_struct("Command")
                .field("program", &command.first())
                .field("arguments", &command.len().saturating_sub(1))
                .field("env", env)
                .finish(),
        }
    }
}

/// A pattern over a service's own names for its tools, such as `delete_*`: `*` stands for any
/// characters or none, everything else for itself, in the same case.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Glob(String);

impl Glob {
    /// Any text is a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `name` as a whole fits.
    pub fn matches(&self, name: &str) -> bool {
        glob::matches(&self.0, name)
    }
}

/// Which tools of which service an agent may use: `clock`, `kb.search_articles` or `crm.find_*`
/// as the file has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServicePattern {
    /// The name of the service; there is one of that name.
    pub service: String,
    /// Which of its tools, by its own names for them; `None` for all.
    pub tool: Option<Glob>,
}

impl ServicePattern {
    /// Whether the tool that `service` calls `own_name` is meant.
    pub fn selects(&self, service: &str, own_name: &str) -> bool {
        let named = |glob: &Glob| glob.matches(own_name);
        self.service == service && self.tool.as_ref().is_none_or(named)
    }
}

impl ServiceSettings {
    /// The tools of a service that are known without asking it, as pairs of its own name and
    /// the name that the model sees; `None` where only the service itself can say.
    pub fn known_tools(&self) -> Option<Vec<(&str, String)>> {
        match &self.kind {
            Kind::Clock => Some(vec![(clock::TOOL, clock::TOOL.to_owned())]),
            Kind::Http(http) => {
                let names = http.tools.iter().map(|tool| tool.name.as_str());
                let seen = |name| (name, format!("{}{name}", http.prefix));
                Some(names.map(seen).collect())
            }
            Kind::Mcp(_) => None,
        }
    }
}
