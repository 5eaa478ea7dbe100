//! Who answers to which name (contract R3).

use std::collections::HashMap;
use std::sync::Arc;

use super::agent::Agent;
use super::attempts::Attempts;
use super::journal::Journal;
use super::once::Once;
use super::team::Team;
use crate::continuation::Sealer;
use crate::continuation::settings::OnLost;
use crate::turn::Limits;

/// The agents and teams of one worker, with its own connections to their upstreams.
pub struct Roster {
    answering: HashMap<String, Found>,
    /// The names in the order of the configuration.
    names: Vec<String>,
    passthrough: Option<Found>,
    /// What every turn of this process shares.
    common: Arc<Common>,
}

/// What the turns of all workers share.
pub struct Common {
    /// What bounds a turn.
    pub limits: Limits,
    /// Makes ids of what is hidden.
    pub sealer: Sealer,
    /// What happens to one that does not open.
    pub on_lost: OnLost,
    /// Sees to it that the parked calls of a continuation run once.
    pub once: Once,
    /// Requests that are worked on, and those that broke off after a service was called.
    pub attempts: Attempts,
    /// Where these outlive the process, if they do.
    pub journal: Option<Arc<Journal>>,
}

/// Who answers to a name.
#[derive(Clone)]
pub struct Found {
    /// The name for logs and metrics.
    pub label: Arc<str>,
    /// Who is asked first.
    pub agent: Arc<Agent>,
    /// The team, if the name is a team's.
    pub team: Option<Arc<Team>>,
}

/// Builds a roster name by name.
pub struct Builder(Roster);

impl Roster {
    /// A roster without names.
    pub fn builder(common: Arc<Common>) -> Builder {
        Builder(Roster {
            answering: HashMap::new(),
            names: Vec::new(),
            passthrough: None,
            common,
        })
    }

    /// Who answers to that name: an agent or a team, or else the pass-through.
    pub fn find(&self, model: &str) -> Option<&Found> {
        self.answering.get(model).or(self.passthrough.as_ref())
    }

    /// The names of the agents and teams, in the order of the configuration.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What every turn shares.
    pub fn common(&self) -> &Arc<Common> {
        &self.common
    }
}

impl Builder {
    /// Adds an agent.
    pub fn agent(&mut self, agent: Agent) {
        let name = agent.name.clone();
        self.add(name, Arc::new(agent), None);
    }

    /// Adds a team of agents that have been added; false if one of them has not.
    pub fn team(&mut self, name: &str, lead: &str, members: &[String]) -> bool {
        let agent = |name: &str| Some(Arc::clone(&self.0.answering.get(name)?.agent));
        let Some(lead) = agent(lead) else {
            return false;
        };
        let Some(members) = members.iter().map(|member| agent(member)).collect() else {
            return false;
        };
        let team = Team {
            lead: Arc::clone(&lead),
            members,
        };
        self.add(name.to_owned(), lead, Some(Arc::new(team)));
        true
    }

    /// Says who answers to every other name.
    pub fn passthrough(&mut self, agent: Agent) {
        let label = Arc::from(agent.name.as_str());
        self.0.passthrough = Some(Found {
            label,
            agent: Arc::new(agent),
            team: None,
        });
    }

    /// The finished roster.
    pub fn build(self) -> Roster {
        self.0
    }

    fn add(&mut self, name: String, agent: Arc<Agent>, team: Option<Arc<Team>>) {
        let found = Found {
            label: Arc::from(name.as_str()),
            agent,
            team,
        };
        self.0.names.push(name.clone());
        self.0.answering.insert(name, found);
    }
}
