//! The sections `[[agents]]` and `[passthrough]`.

use crate::drive::settings::{AgentSettings, Fallback, PassthroughSettings};

use super::item::Item;
use super::json::json;
use super::names::Names;
use super::offer::Services;
use super::outside::Outside;
use super::section::Section;
use super::turns::arguments;

/// Request fields that Handback sets or refuses, so that a default for them would
/// never be used or break every request.
const OWN_FIELDS: [&str; 9] = [
    "model",
    "messages",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "n",
    "functions",
    "function_call",
];

/// What an agent refers to.
pub(super) struct Known<'a> {
    pub(super) upstreams: &'a Names,
    pub(super) services: &'a Services,
}

/// Reads one agent and gives its name to `agents`.
pub(super) fn agent(
    mut section: Section<'_>,
    agents: &mut Names,
    known: &Known<'_>,
    outside: &Outside<'_>,
) -> Option<AgentSettings> {
    let Known {
        upstreams,
        services,
    } = known;
    let name = agents.give(&mut section, "\"support-ticket.agent\"");
    let upstream = section.require("upstream", "\"openai\"", |item| upstreams.refer(item));
    let model = section.require("model", "\"gpt-5-mini\"", Item::name);
    let fallbacks = section.read("fallbacks", |item| fallbacks(item, upstreams));
    let instructions = instructions(&mut section, outside);
    let services = section.read("services", |item| services.refer(item));
    let arguments = arguments(&mut section);
    let tool_choice_strings = section.read("tool_choice_strings", Item::flag);
    let defaults = section.read("defaults", |item| {
        item.section().map(|table| defaults(&table))
    });
    section.done();
    Some(AgentSettings {
        name: name?,
        upstream: upstream?,
        model: model?,
        fallbacks: fallbacks.unwrap_or_default(),
        instructions,
        services: services.unwrap_or_default(),
        arguments,
        tool_choice_strings: tool_choice_strings.unwrap_or(false),
        defaults: defaults.unwrap_or_default(),
    })
}

/// Reads `[passthrough]`.
pub(super) fn passthrough(
    mut section: Section<'_>,
    upstreams: &Names,
) -> Option<PassthroughSettings> {
    let upstream = section.require("upstream", "\"openai\"", |item| upstreams.refer(item));
    let tool_choice_strings = section
        .read("tool_choice_strings", Item::flag)
        .unwrap_or(false);
    let arguments = arguments(&mut section);
    section.done();
    Some(PassthroughSettings {
        upstream: upstream?,
        tool_choice_strings,
        arguments,
    })
}

fn fallbacks(item: &Item<'_>, upstreams: &Names) -> Option<Vec<Fallback>> {
    let items = item.list("{ upstream = \"...\", model = \"...\" }")?;
    let fallback = |item: &Item<'_>| {
        let mut section = item.section()?;
        let upstream = section.require("upstream", "\"openai\"", |item| upstreams.refer(item));
        let model = section.require("model", "\"gpt-5-mini\"", Item::name);
        section.done();
        Some(Fallback {
            upstream: upstream?,
            model: model?,
        })
    };
    Some(items.iter().filter_map(fallback).collect())
}

fn instructions(section: &mut Section<'_>, outside: &Outside<'_>) -> Option<String> {
    let text = section.take("instructions");
    let file = section.take("instructions_file");
    match (text, file) {
        (Some(_), Some(file)) => {
            file.wrong("there are instructions as well; take one of the two out")
        }
        (Some(text), None) => text.text().map(str::to_owned),
        (None, Some(file)) => outside.text(&file),
        (None, None) => None,
    }
}

fn defaults(section: &Section<'_>) -> Vec<(String, String)> {
    let mut defaults = Vec::new();
    for (field, item) in section.items() {
        if OWN_FIELDS.contains(&field) {
            item.mistake("no default can be given for this field; take it out");
        } else if let Some(value) = json(&item) {
            defaults.push((field.to_owned(), value));
        }
    }
    defaults
}
