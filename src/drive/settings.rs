//! What one `[[agents]]` section says, one `[[teams]]` section, and `[passthrough]`.

use crate::services::settings::ServicePattern;
use crate::turn::limits::ArgumentPolicy;

/// A named model configuration that callers ask for, one `[[agents]]` section.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The name that callers put in `model`. Not empty, unique among agents and teams.
    pub name: String,
    /// The name of the upstream that serves the model; there is one of that name.
    pub upstream: String,
    /// The name of the model at the upstream. Not empty.
    pub model: String,
    /// What is asked instead when the upstream fails, in order. Empty by default.
    pub fallbacks: Vec<Fallback>,
    /// The first message of every request to the model, from `instructions` or the
    /// file `instructions_file`. Absent by default; never empty.
    pub instructions: Option<String>,
    /// The services and service tools that the agent may use: there is a service for each,
    /// and of services whose tools are known no two offer one of the same name. Empty by
    /// default.
    pub services: Vec<ServicePattern>,
    /// What happens to arguments that do not fit. Default [`ArgumentPolicy::Repair`].
    pub arguments: ArgumentPolicy,
    /// Whether `tool_choice` may be one of the strings that client libraries always
    /// send. Default false; a key can allow it too.
    pub tool_choice_strings: bool,
    /// Request fields used where the caller sent none: name and value as compact
    /// JSON, in the order of the file. Empty by default; never a field that Handback
    /// sets itself.
    pub defaults: Vec<(String, String)>,
}

/// A model that stands in for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The name of the upstream that serves the model; there is one of that name.
    pub upstream: String,
    /// The name of the model at the upstream. Not empty.
    pub model: String,
}

/// A named set of agents with a lead, one `[[teams]]` section.
#[derive(Clone, Debug)]
pub struct TeamSettings {
    /// The name that callers put in `model`. Not empty, unique among agents and teams.
    pub name: String,
    /// The name of the agent that begins; there is one of that name.
    pub lead: String,
    /// The names of the agents that the lead can transfer to, at least one: there is one of
    /// each name, none comes twice, none is the lead, and no two have the same
    /// [`transfer_tool`].
    pub members: Vec<String>,
}

/// The name of the tool that transfers to an agent: `transfer_to_` and what stands behind the
/// last dot of its name, or all of a name without dots.
pub fn transfer_tool(agent: &str) -> String {
    let last = agent.rsplit('.').next().unwrap_or(agent);
    format!("transfer_to_{last}")
}

/// Where model names that are no agent's go, section `[passthrough]`.
#[derive(Clone, Debug)]
pub struct PassthroughSettings {
    /// The name of the upstream; there is one of that name.
    pub upstream: String,
    /// As [`AgentSettings::tool_choice_strings`]. Default false.
    pub tool_choice_strings: bool,
    /// What happens to arguments that do not fit. Default [`ArgumentPolicy::Repair`].
    pub arguments: ArgumentPolicy,
}
