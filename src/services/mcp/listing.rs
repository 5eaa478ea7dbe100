//! From a server's list of tools to what the model is offered.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, RequestMetaObject,
    ServerResult, Tool,
};
use rmcp::service::{Peer, ServiceError};
use serde_json::Value;
use tokio::runtime::Handle;

use super::failure::reason;
use super::names;
use super::request::ask;
use crate::services::settings::{McpSettings, SideEffect, is_tool_name};
use crate::services::{Offered, definition};

/// Pages of a list that are read; the rest is left out.
const PAGES: usize = 100;
/// Tools of a list that are used; the rest is left out.
const TOOLS: usize = 1000;
/// Bytes of a tool's schema; one with more is withheld.
const SCHEMA_BYTES: usize = 256 * 1024;

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    /// What came is no list.
    #[error("the server answered tools/list with something else than a list")]
    Form,
    /// A page did not come.
    #[error("{}", reason(.0))]
    Request(#[source] ServiceError),
    /// A page did not come in time.
    #[error("no list of tools within {0:?}")]
    TimedOut(Duration),
}

/// A tool as its server describes it.
#[derive(Debug)]
pub(super) struct Listed {
    name: String,
    description: Option<String>,
    schema: String,
    read_only: bool,
}

/// A list as the model gets it.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) offered: Vec<Offered>,
    /// The server's names of tools that cannot be offered, and why.
    pub(super) withheld: Vec<(String, &'static str)>,
}

/// Asks a server for all its tools, each page within `patience`.
pub(super) async fn fetch(
    peer: &Peer<RoleClient>,
    tasks: &Handle,
    patience: Duration,
) -> Result<Vec<Listed>, ListError> {
    let mut listed = Vec::new();
    let mut cursors = HashSet::new();
    let mut cursor = None;
    loop {
        let page = tokio::time::timeout(patience, page(peer, tasks, cursor)).await;
        let (tools, next) = match page.map_err(|_| ListError::TimedOut(patience))? {
            // A server without tools need not know the method.
            Err(ListError::Request(ServiceError::McpError(error)))
                if error.code == ErrorCode::METHOD_NOT_FOUND && cursors.is_empty() =>
            {
                return Ok(listed);
            }
            page => page?,
        };
        listed.extend(tools);
        match next {
            Some(next)
                if !next.is_empty()
                    && listed.len() < TOOLS
                    && cursors.len() + 1 < PAGES
                    && cursors.insert(next.clone()) =>
            {
                cursor = Some(next);
            }
            _ => break,
        }
    }
    listed.truncate(TOOLS);
    Ok(listed)
}

async fn page(
    peer: &Peer<RoleClient>,
    tasks: &Handle,
    cursor: Option<String>,
) -> Result<(Vec<Listed>, Option<String>), ListError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
    let answer = ask(peer, tasks, request, RequestMetaObject::new()).await;
    match answer.map_err(ListError::Request)? {
        ServerResult::ListToolsResult(page) => {
            let tools = page.tools.into_iter().map(Listed::from).collect();
            Ok((tools, page.next_cursor))
        }
        // One tool that is not as it should be must not cost the others.
        ServerResult::CustomResult(page) => {
            let tools = page.0.get("tools").and_then(Value::as_array);
            let tools = tools.ok_or(ListError::Form)?;
            let next = page.0.get("nextCursor").and_then(Value::as_str);
            let tools = tools.iter().filter_map(Listed::loose).collect();
            Ok((tools, next.map(str::to_owned)))
        }
        _ => Err(ListError::Form),
    }
}

impl From<Tool> for Listed {
    fn from(tool: Tool) -> Self {
        let hints = tool.annotations.unwrap_or_default();
        Self {
            name: tool.name.into_owned(),
            description: tool.description.map(std::borrow::Cow::into_owned),
            schema: text(&*tool.input_schema),
            read_only: hints.read_only_hint == Some(true),
        }
    }
}

impl Listed {
    /// What can be read of a tool that does not have the protocol's form; nothing without a name.
    fn loose(tool: &Value) -> Option<Listed> {
        let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
        let description = tool.get("description").and_then(Value::as_str);
        let hint = tool.pointer("/annotations/readOnlyHint");
        Some(Listed {
            name: tool.get("name")?.as_str()?.to_owned(),
            description: description.map(str::to_owned),
            schema: schema.map_or_else(|| "{}".to_owned(), text),
            read_only: hint == Some(&Value::Bool(true)),
        })
    }
}

fn text(schema: &impl serde::Serialize) -> String {
    serde_json::to_string(schema).unwrap_or_default()
}

/// Chooses, renames and defines the tools of a list.
pub(super) fn offer(settings: &McpSettings, listed: Vec<Listed>) -> Listing {
    let mut listing = Listing::default();
    let mut names = HashSet::new();
    for tool in listed {
        if !settings.uses(&tool.name) {
            continue;
        }
        match define(settings, &tool) {
            Ok(offered) if names.insert(offered.tool.tool.name.clone()) => {
                listing.offered.push(offered);
            }
            Ok(_) => {
                let why = "another tool has the same name for the model";
                listing.withheld.push((tool.name, why));
            }
            Err(why) => listing.withheld.push((tool.name, why)),
        }
    }
    listing
}

fn define(settings: &McpSettings, tool: &Listed) -> Result<Offered, &'static str> {
    let name = names::seen(&settings.prefix, &tool.name);
    if !is_tool_name(&name) {
        return Err("its name cannot be made one that the model takes");
    }
    if tool.schema.len() > SCHEMA_BYTES {
        return Err("its schema is too large");
    }
    let description = tool.description.as_deref().map(|text| {
        let end = settings
            .description_limit
            .and_then(|limit| text.char_indices().nth(limit));
        &text[..end.map_or(text.len(), |(end, _)| end)]
    });
    let side_effect = if tool.read_only {
        SideEffect::None
    } else {
        SideEffect::ExternalWrite
    };
    let tool_for_model = definition::define(&name, description, &tool.schema, side_effect)
        .map_err(|_| "its schema cannot be used")?;
    Ok(Offered {
        tool: tool_for_model,
        own_name: tool.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::settings::{Glob, McpTransport};

    fn settings() -> McpSettings {
        McpSettings {
            transport: McpTransport::Http(url::Url::parse("http://127.0.0.1/mcp").unwrap()),
            headers: Vec::new(),
            tools: vec![Glob::new("*")],
            deny: vec![Glob::new("delete_*")],
            prefix: String::new(),
            timeout: Duration::from_secs(1),
            description_limit: Some(3),
        }
    }

    fn offered(settings: &McpSettings, tools: &str) -> Listing {
        let tools: Vec<Value> = serde_json::from_str(tools).unwrap();
        offer(settings, tools.iter().filter_map(Listed::loose).collect())
    }

    #[test]
    fn definitions_are_completed_and_cut_on_a_character() {
        let tools = "[{\"name\":\"look\",\"description\":\"\u{5929}\u{6c14}\u{67e5}\u{8be2}\",\
                     \"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}},\
                     {\"name\":\"act\"}]";
        let listing = offered(&settings(), tools);
        let raw: Vec<&str> = listing
            .offered
            .iter()
            .map(|o| o.tool.tool.raw.get())
            .collect();
        assert_eq!(
            raw,
            [
                "{\"type\":\"function\",\"function\":{\"name\":\"look\",\"description\":\"\u{5929}\u{6c14}\u{67e5}\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}",
                r#"{"type":"function","function":{"name":"act","parameters":{"type":"object","properties":{}}}}"#,
            ]
        );
        let effects: Vec<SideEffect> = listing.offered.iter().map(|o| o.tool.side_effect).collect();
        assert_eq!(effects, [SideEffect::None, SideEffect::ExternalWrite]);
    }

    #[test]
    fn tools_are_chosen_by_the_servers_names_and_the_later_of_two_is_withheld() {
        let tools = r#"[{"name":"a.b"},{"name":"delete_all"},{"name":"a.b"},{"name":7}]"#;
        let listing = offered(&settings(), tools);
        let own: Vec<&str> = listing
            .offered
            .iter()
            .map(|o| o.own_name.as_str())
            .collect();
        assert_eq!(own, ["a.b"]);
        assert_eq!(listing.withheld.len(), 1);
        let prefixed = McpSettings {
            prefix: "crm_".to_owned(),
            tools: vec![Glob::new("find")],
            ..settings()
        };
        let listing = offered(&prefixed, r#"[{"name":"find"},{"name":"crm_find"}]"#);
        assert_eq!(listing.offered.len(), 1);
        assert_eq!(listing.offered[0].tool.tool.name, "crm_find");
    }

    #[test]
    fn property_order_is_the_servers() {
        let tools = r#"[{"name":"a","inputSchema":{"type":"object","properties":{"z":{},"a":{}},"required":["z"]}}]"#;
        let raw = offered(&settings(), tools).offered[0].tool.tool.raw.clone();
        assert!(
            raw.get().contains(r#""properties":{"z":{},"a":{}}"#),
            "{}",
            raw.get()
        );
    }
}
