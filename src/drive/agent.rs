//! An agent with everything that a turn of it needs.

use std::sync::Arc;

use super::settings::{AgentSettings, PassthroughSettings};
use super::source::Source;
use crate::services::Service;
use crate::services::settings::{Glob, ServicePattern};
use crate::telemetry::{AgentMetrics, Metrics};
use crate::tools::ServiceTool;
use crate::turn::ArgumentPolicy;
use crate::wire::Raw;
use crate::wire::request::Field;

/// What answers when a caller names a model.
pub struct Agent {
    /// Its name for people, logs and metrics. All models of the pass-through share one, since
    /// callers can make up as many as they like.
    pub name: String,
    /// What the model is told first.
    pub instructions: Option<String>,
    /// Request fields that are used where the caller sent none.
    pub defaults: Vec<Field>,
    /// How strictly arguments are taken.
    pub arguments: ArgumentPolicy,
    /// Whether `tool_choice` may be a string (contract R7).
    pub tool_choice_strings: bool,
    /// Where its model is served.
    pub source: Source,
    /// What is asked instead while that fails, in order (contract U5).
    pub fallbacks: Vec<Source>,
    /// The services whose tools it may use.
    pub services: Vec<Use>,
    /// Where what it does is counted.
    pub metrics: AgentMetrics,
}

/// A service, and which of its tools an agent may use.
pub struct Use {
    /// Which of its tools.
    pub pattern: ServicePattern,
    /// The service.
    pub service: Arc<dyn Service>,
}

/// A tool that an agent can use now, and where it runs.
#[derive(Clone)]
pub struct Bound {
    /// The tool as the model sees it.
    pub tool: ServiceTool,
    /// The service's own name for it.
    pub own_name: String,
    /// The name of the service, for logs and metrics.
    pub service_name: String,
    /// The service.
    pub service: Arc<dyn Service>,
    /// Whose tool it is.
    pub(super) agent: Arc<Agent>,
    /// Which of the agent's [`Use`]s it is of.
    used: usize,
}

impl Bound {
    /// The tool's name in metrics: what the operator has written of it. A server that lists its
    /// tools itself could make up a series with every name.
    pub(super) fn series(&self) -> &str {
        if self.service.names_are_configured() {
            return &self.own_name;
        }
        let pattern = self.agent.services.get(self.used);
        let tool = pattern.and_then(|used| used.pattern.tool.as_ref());
        tool.map_or("*", Glob::as_str)
    }
}

/// The name of the pass-through in logs and metrics.
const PASSTHROUGH: &str = "passthrough";

impl Agent {
    /// A configured agent.
    pub fn new(
        settings: &AgentSettings,
        source: Source,
        fallbacks: Vec<Source>,
        services: Vec<Use>,
        metrics: &Metrics,
    ) -> Agent {
        let defaults = settings.defaults.iter().filter_map(|(key, value)| {
            // The configuration wrote these texts as JSON; what cannot be read is not JSON.
            Some(Field {
                key: key.as_str().into(),
                value: Raw::parse(value).ok()?,
            })
        });
        Agent {
            name: settings.name.clone(),
            instructions: settings.instructions.clone(),
            defaults: defaults.collect(),
            arguments: settings.arguments,
            tool_choice_strings: settings.tool_choice_strings,
            source,
            fallbacks,
            services,
            metrics: metrics.agent(&settings.name),
        }
    }

    /// Its own source, 0, or one of its fallbacks.
    pub(super) fn source(&self, nth: usize) -> &Source {
        let fallback = nth.checked_sub(1).and_then(|nth| self.fallbacks.get(nth));
        fallback.unwrap_or(&self.source)
    }

    /// Waits until it is known what its services offer, which takes a moment behind the start of
    /// the process. They are waited for at once.
    pub(super) async fn services_known(&self) {
        let services = self.services.iter();
        let unknown: Vec<_> = services.filter_map(|used| used.service.known()).collect();
        if !unknown.is_empty() {
            futures_util::future::join_all(unknown).await;
        }
    }

    /// The tools that its services offer now. Of two that have the same name for the model the
    /// first counts (contract V2).
    pub fn tools(self: &Arc<Self>) -> Vec<Bound> {
        let mut tools: Vec<Bound> = Vec::new();
        for (at, used) in self.services.iter().enumerate() {
            for offered in used.service.tools().iter() {
                let name = &used.pattern.service;
                if !used.pattern.selects(name, &offered.own_name) {
                    continue;
                }
                if let Some(first) = tools
                    .iter()
                    .find(|bound| bound.tool.tool.name == offered.tool.tool.name)
                {
                    if first.service_name != *name {
                        tracing::warn!(
                            agent = self.name,
                            service = name,
                            "a tool is withheld: another service has its name"
                        );
                    }
                    continue;
                }
                tools.push(Bound {
                    tool: offered.tool.clone(),
                    own_name: offered.own_name.clone(),
                    service_name: name.clone(),
                    service: Arc::clone(&used.service),
                    agent: Arc::clone(self),
                    used: at,
                });
            }
        }
        tools
    }

    /// What answers to every other name (contract R3).
    pub fn passthrough(settings: &PassthroughSettings, source: Source, metrics: &Metrics) -> Agent {
        Agent {
            name: PASSTHROUGH.to_owned(),
            instructions: None,
            defaults: Vec::new(),
            arguments: settings.arguments,
            tool_choice_strings: settings.tool_choice_strings,
            source,
            fallbacks: Vec::new(),
            services: Vec::new(),
            metrics: metrics.agent(PASSTHROUGH),
        }
    }
}
