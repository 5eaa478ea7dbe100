//! Who owns which tool name: the caller or a service of the agent.
//!
//! A request's tools are merged with the agent's ([`catalogue`]), a forced choice is read
//! ([`choice`]), and the arguments of a model's call are checked ([`arguments`]).
//!
//! Invariant: no IO, clock, randomness, environment or log; a name stands for one owner only;
//! a `$ref` of a schema never leaves its document.

pub mod arguments;
mod budget;
pub mod catalogue;
pub mod choice;
pub mod name;

pub use catalogue::{Catalogue, Offer, Owner, ServiceTool, SideEffect};
pub use choice::Choice;
