//! An agent with everything that a turn of it needs.

use std::sync::Arc;

use super::settings::{AgentSettings, PassthroughSettings};
use crate::turn::ArgumentPolicy;
use crate::upstream::Upstream;
use crate::wire::Raw;
use crate::wire::request::Field;

/// What answers when a caller names a model.
pub struct Agent {
    /// Its name for people, logs and metrics. All models of the pass-through share one, since
    /// callers can make up as many as they like.
    pub name: String,
    /// The model as the upstream knows it; none for the pass-through, which passes the caller's
    /// word on.
    pub model: Option<String>,
    /// What the model is told first.
    pub instructions: Option<String>,
    /// Request fields that are used where the caller sent none.
    pub defaults: Vec<Field>,
    /// How strictly arguments are taken.
    pub arguments: ArgumentPolicy,
    /// Whether `tool_choice` may be a string (contract R7).
    pub tool_choice_strings: bool,
    /// Where its model is served.
    pub upstream: Arc<dyn Upstream>,
}

/// The name of the pass-through in logs and metrics.
const PASSTHROUGH: &str = "passthrough";

impl Agent {
    /// A configured agent.
    pub fn new(settings: &AgentSettings, upstream: Arc<dyn Upstream>) -> Agent {
        let defaults = settings.defaults.iter().filter_map(|(key, value)| {
            // The configuration wrote these texts as JSON; what cannot be read is not JSON.
            Some(Field {
                key: key.as_str().into(),
                value: Raw::parse(value).ok()?,
            })
        });
        Agent {
            name: settings.name.clone(),
            model: Some(settings.model.clone()),
            instructions: settings.instructions.clone(),
            defaults: defaults.collect(),
            arguments: settings.arguments,
            tool_choice_strings: settings.tool_choice_strings,
            upstream,
        }
    }

    /// What answers to every other name (contract R3).
    pub fn passthrough(settings: &PassthroughSettings, upstream: Arc<dyn Upstream>) -> Agent {
        Agent {
            name: PASSTHROUGH.to_owned(),
            model: None,
            instructions: None,
            defaults: Vec::new(),
            arguments: settings.arguments,
            tool_choice_strings: settings.tool_choice_strings,
            upstream,
        }
    }
}
