//! Teams: a lead that can transfer the conversation to a member.
//!
//! For each member the active agent is offered a tool of the team's own. Calling it is an
//! internal call like any other; what comes of it is that another agent is asked next, with its
//! instructions, its model and its services.

use std::sync::Arc;

use super::agent::Agent;
use super::settings::transfer_tool;
use crate::tools::{ServiceTool, SideEffect};
use crate::wire::write::ObjectWriter;

/// A lead and its members.
pub struct Team {
    /// Who begins.
    pub lead: Arc<Agent>,
    /// Who can take over.
    pub members: Vec<Arc<Agent>>,
}

impl Team {
    /// Whoever has that name in the team.
    pub fn agent(&self, name: &str) -> Option<&Arc<Agent>> {
        std::iter::once(&self.lead)
            .chain(&self.members)
            .find(|agent| agent.name == name)
    }

    /// The member that a tool transfers to.
    pub fn target(&self, tool: &str) -> Option<&Arc<Agent>> {
        self.members
            .iter()
            .find(|member| transfer_tool(&member.name) == tool)
    }

    /// The transfer tools that the active agent is offered: for every member but itself.
    pub fn tools(&self, active: &Agent) -> Vec<ServiceTool> {
        let others = self
            .members
            .iter()
            .filter(|member| member.name != active.name);
        others.filter_map(|member| tool(&member.name)).collect()
    }

    /// Every service tool that can come into play.
    pub fn all_tools(&self) -> Vec<ServiceTool> {
        let agents = std::iter::once(&self.lead).chain(&self.members);
        let own = agents.flat_map(Agent::tools).map(|bound| bound.tool);
        own.chain(self.members.iter().filter_map(|member| tool(&member.name)))
            .collect()
    }
}

/// The definition of a transfer tool; the configuration has made sure of its name.
fn tool(member: &str) -> Option<ServiceTool> {
    let mut text = String::new();
    let mut object = ObjectWriter::begin(&mut text);
    object.string("type", "function");
    let mut function = ObjectWriter::begin(object.key("function"));
    function.string("name", &transfer_tool(member));
    function.string(
        "description",
        &format!("Hands the conversation over to {member}, who goes on with it."),
    );
    function.member("parameters", "{\"type\":\"object\",\"properties\":{}}");
    function.end();
    object.end();
    let tool = serde_json::from_str(&text).ok()?;
    Some(ServiceTool {
        tool,
        side_effect: SideEffect::WorkspaceWrite,
    })
}
