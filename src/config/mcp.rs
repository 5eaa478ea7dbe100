//! The sections `[[services]]` of MCP servers.

use url::Url;

use crate::secret::Secret;
use crate::services::settings::{DEFAULT_MCP_TIMEOUT, Glob, McpSettings, McpTransport};

use super::headers::{BODY_HEADERS, FRAMING_HEADERS, MCP_HEADERS, headers};
use super::item::Item;
use super::section::Section;
use super::service::prefix;
use super::turns::ABOVE_ZERO;

/// Reads what an MCP server has.
pub(super) fn mcp(section: &mut Section<'_>) -> Option<McpSettings> {
    let starts = section.find("command").is_some() && section.find("url").is_none();
    let transport = transport(section);
    let reserved = [FRAMING_HEADERS, BODY_HEADERS, MCP_HEADERS].concat();
    let headers = section.take("headers");
    if let Some(item) = headers.as_ref().filter(|_| starts) {
        item.mistake("a command has no use for this; take it out");
    }
    let headers = headers.and_then(|item| Some(self::headers(&item.section()?, &reserved)));
    let tools = section.read("tools", |item| {
        let tools = globs(item)?;
        if tools.is_empty() {
            return item.wrong("the list is empty; name a tool, or take tools out to use all");
        }
        Some(tools)
    });
    let deny = section.read("deny", globs);
    let prefix = section.read("prefix", prefix);
    let timeout = section.read("timeout", |item| item.duration(ABOVE_ZERO));
    let description_limit = section.read("description_limit", |item| item.number(1));
    Some(McpSettings {
        transport: transport?,
        headers: headers.unwrap_or_default(),
        tools: tools.unwrap_or_else(|| vec![Glob::new("*")]),
        deny: deny.unwrap_or_default(),
        prefix: prefix.unwrap_or_default(),
        timeout: timeout.unwrap_or(DEFAULT_MCP_TIMEOUT),
        description_limit,
    })
}

/// Either a URL or a command.
fn transport(section: &mut Section<'_>) -> Option<McpTransport> {
    let url = section.take("url");
    let command = section.take("command");
    let env = section.take("env");
    if let (Some(_), None, Some(env)) = (&url, &command, &env) {
        env.mistake("only a command has an environment; take it out");
    }
    let env = env.and_then(|item| item.section().map(|table| variables(&table)));
    match (url, command) {
        (Some(url), None) => server(&url).map(McpTransport::Http),
        (None, Some(item)) => Some(McpTransport::Command {
            command: command_line(&item)?,
            env: env.unwrap_or_default(),
        }),
        (Some(_), Some(command)) => {
            command.wrong("there is a url as well; take one of the two out")
        }
        (None, None) => {
            section.mistake(
                "there is neither url nor command; add one, \
                 such as url = \"https://crm.example/mcp\"",
            );
            None
        }
    }
}

/// The URL of a server. No mistake shows it: people put keys into it.
fn server(item: &Item<'_>) -> Option<Url> {
    const SUCH_AS: &str = "write one such as \"https://crm.example/mcp\"";

    let Ok(url) = Url::parse(item.text()?) else {
        return item.wrong(&format!("the value is not a URL; {SUCH_AS}"));
    };
    if !matches!(url.scheme(), "http" | "https") {
        return item.wrong(&format!("the URL is neither http nor https; {SUCH_AS}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return item.wrong("the URL holds a user name or password; take it out and set a header");
    }
    if url.fragment().is_some() {
        return item.wrong("the URL holds a fragment, which is never sent; take out all from # on");
    }
    Some(url)
}

/// A program and its arguments, which may be empty or secret.
fn command_line(item: &Item<'_>) -> Option<Vec<String>> {
    let items = item.list("texts, the program first: [\"crm-mcp\", \"--stdio\"]")?;
    let Some(program) = items.first() else {
        return item.wrong("the list is empty; name a program, such as [\"crm-mcp\", \"--stdio\"]");
    };
    program.text()?;
    // All of them are looked at before any is missed.
    let arguments: Vec<Option<String>> = items.iter().map(argument).collect();
    arguments.into_iter().collect()
}

fn argument(item: &Item<'_>) -> Option<String> {
    let text = item.secret()?;
    if text.contains('\0') {
        return item.wrong("the value holds a zero byte, which no process can be given");
    }
    Some(text.to_owned())
}

fn variables(table: &Section<'_>) -> Vec<(String, Secret)> {
    let mut variables = Vec::new();
    for (name, item) in table.items() {
        if name.is_empty() || name.contains(['=', '\0']) {
            item.mistake("the key is not a name of a variable; use letters, digits and _");
        } else if let Some(value) = argument(&item) {
            variables.push((name.to_owned(), Secret::new(value)));
        }
    }
    variables
}

fn globs(item: &Item<'_>) -> Option<Vec<Glob>> {
    let items = item.list("names of tools, * for any characters")?;
    Some(items.iter().filter_map(Item::text).map(Glob::new).collect())
}
