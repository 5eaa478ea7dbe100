//! Which service tools an agent has, as far as the file says it.

use crate::services::settings::{Glob, Kind, ServicePattern, ServiceSettings};

use super::item::Item;
use super::names::Names;
use super::report::{instead, listed};

/// The services of a file.
pub(super) struct Services {
    /// All their names, those of services with mistakes too.
    pub(super) names: Names,
    /// The services without mistakes.
    pub(super) read: Vec<ServiceSettings>,
}

/// A tool that an agent offers to its model.
pub(super) struct Tool<'s> {
    pub(super) service: &'s ServiceSettings,
    /// The name that the model sees.
    pub(super) name: String,
}

impl Services {
    /// Reads the key `services` of an agent: each entry has to meet a service and, where its
    /// tools are known, a tool; no two of those may have the same name.
    pub(super) fn refer(&self, item: &Item<'_>) -> Option<Vec<ServicePattern>> {
        let items = item.list("services, such as [\"clock\", \"kb.search_*\"]")?;
        let patterns: Vec<ServicePattern> =
            items.iter().filter_map(|item| self.pattern(item)).collect();
        self.check_names(item, &patterns);
        Some(patterns)
    }

    /// The tools that are known and that any of `patterns` selects.
    pub(super) fn selected(&self, patterns: &[ServicePattern]) -> Vec<Tool<'_>> {
        let mut selected = Vec::new();
        for service in &self.read {
            for (own_name, name) in service.known_tools().unwrap_or_default() {
                let chosen = |pattern: &ServicePattern| pattern.selects(&service.name, own_name);
                if patterns.iter().any(chosen) {
                    selected.push(Tool { service, name });
                }
            }
        }
        selected
    }

    fn pattern(&self, item: &Item<'_>) -> Option<ServicePattern> {
        let text = item.text()?;
        let (service, tool) = match text.split_once('.') {
            Some((service, tool)) => (service, Some(tool)),
            None => (text, None),
        };
        if service.is_empty() || service.contains('*') || tool == Some("") {
            return item.not("a service; write SERVICE, SERVICE.TOOL or SERVICE.*");
        }
        let service = self
            .names
            .refer_as(item, service, &item.shown_part(service)?)?;
        let tool = tool.map(Glob::new);
        let settings = self.read.iter().find(|settings| settings.name == service);
        if let (Some(settings), Some(glob)) = (settings, &tool) {
            check_tool(item, settings, glob)?;
        }
        Some(ServicePattern { service, tool })
    }

    /// Two tools of one agent cannot have the same name.
    fn check_names(&self, item: &Item<'_>, patterns: &[ServicePattern]) {
        let tools = self.selected(patterns);
        for (at, tool) in tools.iter().enumerate() {
            let before = tools.iter().take(at);
            let Some(other) = before.rev().find(|other| other.name == tool.name) else {
                continue;
            };
            let name = &tool.name;
            let (one, two) = (&other.service.name, &tool.service.name);
            let both = [one.as_str(), two.as_str()];
            let both = listed(both, '"');
            let remedy = match (&other.service.kind, &tool.service.kind) {
                (_, Kind::Http(_)) => format!("give the service \"{two}\" a prefix"),
                (Kind::Http(_), _) => format!("give the service \"{one}\" a prefix"),
                _ => "take one of the two out".to_owned(),
            };
            item.mistake(&format!(
                "the services {both} both offer a tool named \"{name}\"; {remedy}"
            ));
        }
    }
}

/// Records a mistake if `glob` meets no tool of the service, as far as its tools are known.
fn check_tool(item: &Item<'_>, service: &ServiceSettings, glob: &Glob) -> Option<()> {
    let name = &service.name;
    let pattern = glob.as_str();
    if let Kind::Mcp(mcp) = &service.kind {
        if !pattern.contains('*') && !mcp.uses(pattern) {
            let shown = item.shown_part(pattern)?;
            return item.wrong(&format!(
                "the service \"{name}\" leaves {shown} out; change its tools or deny"
            ));
        }
        return Some(());
    }
    let known = service.known_tools().unwrap_or_default();
    if known.iter().any(|(own_name, _)| glob.matches(own_name)) {
        return Some(());
    }
    let shown = item.shown_part(pattern)?;
    let names: Vec<&str> = known.iter().map(|(own_name, _)| *own_name).collect();
    let help = instead(pattern, names, '"');
    item.wrong(&format!(
        "no tool of the service \"{name}\" is named {shown}{help}"
    ))
}
