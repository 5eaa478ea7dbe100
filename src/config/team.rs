//! The sections `[[teams]]`.

use crate::drive::settings::{AgentSettings, TeamSettings, transfer_tool};
use crate::services::settings::{NAME_CHARS, is_tool_name};

use super::item::Item;
use super::names::Names;
use super::offer::Services;
use super::section::Section;

/// What a team refers to.
pub(super) struct Agents<'a> {
    /// All their names, those of agents with mistakes too.
    pub(super) names: &'a Names,
    /// The agents without mistakes.
    pub(super) read: &'a [AgentSettings],
    pub(super) services: &'a Services,
}

/// A member and where it is named.
struct Member<'a> {
    item: Item<'a>,
    name: String,
    /// The tool that transfers to it.
    tool: String,
}

/// Reads one team and gives its name to `teams`.
pub(super) fn team(
    mut section: Section<'_>,
    teams: &mut Names,
    agents: &Agents<'_>,
) -> Option<TeamSettings> {
    let name = teams.give_beside(&mut section, "\"support-ticket.team\"", Some(agents.names));
    let lead = section.require("lead", "\"support-ticket.triage\"", |item| {
        agents.refer(item, teams)
    });
    let members = section.require("members", "[\"support-ticket.agent\"]", |item| {
        let items = item.list("names of agents")?;
        if items.is_empty() {
            return item.wrong("the list is empty; name an agent that the lead can transfer to");
        }
        Some(members(items, lead.as_deref(), teams, agents))
    });
    if let (Some(lead), Some(members)) = (&lead, &members) {
        agents.check_tools(&section, lead, members);
    }
    section.done();
    let members = members?.into_iter().map(|member| member.name);
    Some(TeamSettings {
        name: name?,
        lead: lead?,
        members: members.collect(),
    })
}

/// The agents that a list names, each once and each with a tool of its own.
fn members<'a>(
    items: Vec<Item<'a>>,
    lead: Option<&str>,
    teams: &Names,
    agents: &Agents<'_>,
) -> Vec<Member<'a>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    for item in items {
        let Some(name) = agents.refer(&item, teams) else {
            continue;
        };
        let tool = transfer_tool(&name);
        if lead == Some(&name) {
            item.mistake("this agent is the lead; take it out of the members");
        } else if members.iter().any(|other| other.name == name) {
            item.mistake("this agent is a member already; take one of the two out");
        } else if let Some(other) = members.iter().find(|other| other.tool == tool) {
            item.mistake(&format!(
                "the lead's tool {tool} would stand for \"{}\" as well; \
                 rename one of the agents behind its last dot",
                other.name
            ));
        } else if !is_tool_name(&tool) {
            item.mistake(&format!(
                "{tool} is no name that a tool can have; rename the agent behind its last dot: \
                 A-Z, a-z, 0-9, _ and -, with transfer_to_ at most {NAME_CHARS} characters"
            ));
        }
        members.push(Member { item, name, tool });
    }
    members
}

impl Agents<'_> {
    /// Reads the name of an agent.
    fn refer(&self, item: &Item<'_>, teams: &Names) -> Option<String> {
        let name = item.text()?;
        let shown = item.shown()?;
        if teams.has(name) && !self.names.has(name) {
            return item.wrong(&format!("{shown} is a team; only agents can be in a team"));
        }
        self.names.refer_as(item, name, &shown)
    }

    /// No service tool of a team's agents may be named like one that transfers.
    fn check_tools(&self, section: &Section<'_>, lead: &str, members: &[Member<'_>]) {
        let names = members.iter().map(|member| member.name.as_str());
        let names = names.filter(|name| *name != lead);
        for name in names.chain([lead]) {
            let Some(agent) = self.read.iter().find(|agent| agent.name == name) else {
                continue;
            };
            for tool in self.services.selected(&agent.services) {
                let Some(member) = members.iter().find(|member| member.tool == tool.name) else {
                    continue;
                };
                section.findings.mistake(
                    Some(member.item.line),
                    &member.item.path,
                    format!(
                        "the tool {} that transfers to this agent is named like one that \
                         \"{name}\" has of the service \"{}\"; rename one of them",
                        tool.name, tool.service.name
                    ),
                );
            }
        }
    }
}
