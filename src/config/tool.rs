//! The sections `[[services.tools]]`: tools behind HTTP.

use crate::services::settings::{
    DEFAULT_HTTP_TIMEOUT, HttpTool, Method, NAME_CHARS, NO_PARAMETERS, SideEffect, UrlTemplate,
    is_tool_name,
};

use super::item::Item;
use super::json::json;
use super::names::Names;
use super::report::instead;
use super::section::Section;
use super::tree::Value;
use super::turns::ABOVE_ZERO;

const SIDE_EFFECTS: [(&str, SideEffect); 3] = [
    ("none", SideEffect::None),
    ("workspace_write", SideEffect::WorkspaceWrite),
    ("external_write", SideEffect::ExternalWrite),
];

/// What is known about the parameters of a tool.
struct Parameters {
    json: String,
    properties: Vec<String>,
}

/// Reads one tool and gives its name to `names`, those of its service.
pub(super) fn tool(mut section: Section<'_>, prefix: &str, names: &mut Names) -> Option<HttpTool> {
    let name = names.give(&mut section, "\"search_articles\"");
    if let (Some(name), Some(item)) = (&name, section.find("name"))
        && !is_tool_name(&format!("{prefix}{name}"))
    {
        let with = if prefix.is_empty() {
            ""
        } else {
            ", prefix included"
        };
        item.not::<()>(&format!(
            "a name of a tool; use 1 to {NAME_CHARS} of the characters A-Z, a-z, 0-9, _ and -{with}"
        ));
    }
    let description = section.read("description", |item| item.text().map(str::to_owned));
    let parameters = match section.take("parameters") {
        Some(item) => parameters(&item),
        None => Some(Parameters {
            json: NO_PARAMETERS.to_owned(),
            properties: Vec::new(),
        }),
    };
    let method = section.require("method", "\"GET\"", |item| item.choice(&Method::ALL));
    let url = section.require("url", "\"https://kb.example/articles?q={query}\"", |item| {
        url(item, parameters.as_ref())
    });
    let timeout = section.read("timeout", |item| item.duration(ABOVE_ZERO));
    let result_limit = section.read("result_limit", Item::size);
    let side_effect = section.read("side_effect", |item| item.choice(&SIDE_EFFECTS));
    section.done();
    Some(HttpTool {
        name: name?,
        description,
        parameters: parameters?.json,
        method: method?,
        url: url?,
        timeout: timeout.unwrap_or(DEFAULT_HTTP_TIMEOUT),
        result_limit,
        side_effect: side_effect.unwrap_or_default(),
    })
}

/// A JSON Schema of an object.
fn parameters(item: &Item<'_>) -> Option<Parameters> {
    let schema = item.section()?;
    if let Some(kind) = schema.find("type")
        && !matches!(&kind.node.value, Value::Text { text, .. } if text == "object")
    {
        return kind.not("\"object\", which arguments always are");
    }
    let properties = match schema.find("properties") {
        Some(properties) => {
            let table = properties.section()?;
            let names = table.items().into_iter().map(|(name, _)| name.to_owned());
            names.collect()
        }
        None => Vec::new(),
    };
    let mut json = json(item)?;
    if schema.find("type").is_none() {
        // Arguments are objects whether the file says so or not; most upstreams want it said.
        let rest = json.trim_start_matches('{');
        let comma = if rest == "}" { "" } else { "," };
        json = format!("{{\"type\":\"object\"{comma}{rest}");
    }
    Some(Parameters { json, properties })
}

/// A URL whose arguments are properties of the parameters, if those could be read.
fn url(item: &Item<'_>, parameters: Option<&Parameters>) -> Option<UrlTemplate> {
    let template = match UrlTemplate::parse(item.text()?) {
        Ok(template) => template,
        Err(error) => return item.wrong(&error.to_string()),
    };
    let known = || parameters.into_iter().flat_map(|known| &known.properties);
    let mut unknown = template
        .arguments()
        .filter(|name| known().all(|own| own != name));
    if parameters.is_some()
        && let Some(name) = unknown.next()
    {
        let shown = item.shown_part(name)?;
        let names: Vec<&str> = known().map(String::as_str).collect();
        let help = match names.len() {
            0 => "; there are none".to_owned(),
            _ => instead(name, names, '"'),
        };
        return item.wrong(&format!("{shown} is no property of the parameters{help}"));
    }
    drop(unknown);
    Some(template)
}
