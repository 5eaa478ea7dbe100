//! The tools of one request, the caller's and the services', under one roof (contract R6).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::name;
use crate::wire::refusal::excerpt;
use crate::wire::{Code, Raw, Refusal, Tool};

/// What a service tool does to the world beyond its result.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffect {
    /// It may change things outside: not known to be safe beside other calls.
    #[default]
    ExternalWrite,
    /// It changes nothing.
    None,
    /// It changes the agent's own workspace.
    WorkspaceWrite,
}

/// A tool that Handback runs.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ServiceTool {
    /// Its definition as the model sees it.
    pub tool: Tool,
    /// What it does to the world.
    #[serde(default)]
    pub side_effect: SideEffect,
}

/// Who runs a call.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// The caller: the call is external.
    Caller(&'a Tool),
    /// Handback: the call is internal.
    Service(&'a ServiceTool),
}

impl<'a> Owner<'a> {
    /// The tool's definition.
    pub fn tool(self) -> &'a Tool {
        match self {
            Owner::Caller(tool) => tool,
            Owner::Service(service) => &service.tool,
        }
    }
}

/// Which tools the model is offered in a round.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// The caller's and the services'.
    All,
    /// The caller's: the service tools are withdrawn (contract A7).
    CallerOnly,
    /// None.
    Nothing,
}

/// All tools of a request, each name once.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    caller: Vec<Tool>,
    services: Vec<ServiceTool>,
    /// The conversation may know further service tools: of an agent that handed over, or of an
    /// earlier request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    further: bool,
}

impl Catalogue {
    /// Merges the caller's tools with the agent's, at most `limit` in all.
    pub fn merge(
        caller: Vec<Tool>,
        services: Vec<ServiceTool>,
        limit: usize,
    ) -> Result<Catalogue, Refusal> {
        if caller.len() + services.len() > limit {
            let message = format!(
                "tools has {} entries and the agent has {} of its own, {} in all; at most {limit} are allowed: send fewer",
                caller.len(),
                services.len(),
                caller.len() + services.len()
            );
            return Err(Refusal::at(Code::TooManyTools, "tools", message));
        }
        let mut seen = HashMap::with_capacity(caller.len());
        for (at, tool) in caller.iter().enumerate() {
            check_name(at, &tool.name)?;
            if let Some(first) = seen.insert(&*tool.name, at) {
                let message = format!(
                    "tools[{first}] and tools[{at}] are both named {:?}; send each function once",
                    &*tool.name
                );
                return Err(Refusal::at(Code::DuplicateTool, place(at), message));
            }
            if services
                .iter()
                .any(|service| service.tool.name == tool.name)
            {
                let message = format!(
                    "the agent has a tool named {:?} of its own; give yours another name",
                    &*tool.name
                );
                return Err(Refusal::at(Code::ToolNameConflict, place(at), message));
            }
        }
        Ok(Catalogue {
            caller,
            services,
            further: false,
        })
    }

    /// Replaces the agent's tools. The caller's names have been checked against all that can come.
    pub fn set_services(&mut self, services: Vec<ServiceTool>) {
        self.further = self.further || !self.services.is_empty();
        self.services = services;
    }

    /// The conversation has seen service tools that need not be among these.
    pub fn expect_further(&mut self) {
        self.further = true;
    }

    /// Whether a name that is nobody's can still be one that the caller must not read.
    pub fn may_be_hidden(&self) -> bool {
        self.further || !self.services.is_empty()
    }

    /// Who runs the tool of that name, among those that are offered.
    pub fn owner(&self, name: &str, offer: Offer) -> Option<Owner<'_>> {
        let caller = || {
            self.caller
                .iter()
                .find(|tool| tool.name == name)
                .map(Owner::Caller)
        };
        let service = || {
            self.services
                .iter()
                .find(|service| service.tool.name == name)
                .map(Owner::Service)
        };
        match offer {
            Offer::All => caller().or_else(service),
            Offer::CallerOnly => caller(),
            Offer::Nothing => None,
        }
    }

    /// The definitions that the model is offered: the caller's first and in order.
    pub fn offered(&self, offer: Offer) -> impl Iterator<Item = &Raw> {
        let caller = if offer == Offer::Nothing {
            &[]
        } else {
            self.caller.as_slice()
        };
        let services = if offer == Offer::All {
            self.services.as_slice()
        } else {
            &[]
        };
        caller
            .iter()
            .chain(services.iter().map(|service| &service.tool))
            .map(|tool| &tool.raw)
    }

    /// The names that the model may use, for telling it.
    pub fn names(&self, offer: Offer) -> Vec<&str> {
        let all = self
            .caller
            .iter()
            .chain(self.services.iter().map(|service| &service.tool));
        all.map(|tool| &*tool.name)
            .filter(|name| self.owner(name, offer).is_some())
            .collect()
    }

    /// The caller's tools.
    pub fn caller(&self) -> &[Tool] {
        &self.caller
    }

    /// The agent's own tools.
    pub fn services(&self) -> &[ServiceTool] {
        &self.services
    }

    /// Whether the agent has tools of its own.
    pub fn has_services(&self) -> bool {
        !self.services.is_empty()
    }
}

fn place(at: usize) -> String {
    format!("tools[{at}].function.name")
}

fn check_name(at: usize, name: &str) -> Result<(), Refusal> {
    if name::is_valid(name) {
        return Ok(());
    }
    let message = format!(
        "{} is {:?}; a name has 1 to {} of the characters A-Z, a-z, 0-9, _ and -",
        place(at),
        excerpt(name),
        name::NAME_CHARS
    );
    Err(Refusal::at(Code::InvalidToolName, place(at), message))
}
