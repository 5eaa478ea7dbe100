//! What one `[[agents]]` section says, and `[passthrough]`.

use crate::turn::limits::ArgumentPolicy;

/// A named model configuration that callers ask for, one `[[agents]]` section.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The name that callers put in `model`. Not empty, unique among the agents.
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
    /// The services and service tools that the agent may use. Empty by default.
    pub services: Vec<String>,
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
