//! Who answers to which name (contract R3).

use std::collections::HashMap;
use std::sync::Arc;

use super::agent::Agent;
use crate::turn::Limits;

/// The agents of one worker, with its own connections to their upstreams.
pub struct Roster {
    agents: HashMap<String, Arc<Agent>>,
    /// The names in the order of the configuration.
    names: Vec<String>,
    passthrough: Option<Arc<Agent>>,
    limits: Limits,
}

impl Roster {
    /// The agents in the order of the configuration, what answers to every other name, and what
    /// bounds their turns.
    pub fn new(agents: Vec<Agent>, passthrough: Option<Agent>, limits: Limits) -> Roster {
        Roster {
            names: agents.iter().map(|agent| agent.name.clone()).collect(),
            agents: agents
                .into_iter()
                .map(|agent| (agent.name.clone(), Arc::new(agent)))
                .collect(),
            passthrough: passthrough.map(Arc::new),
            limits,
        }
    }

    /// The agent of that name, or else the pass-through.
    pub fn find(&self, model: &str) -> Option<&Arc<Agent>> {
        self.agents.get(model).or(self.passthrough.as_ref())
    }

    /// The names of the agents, in the order of the configuration.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What bounds a turn.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
