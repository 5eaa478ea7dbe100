//! What must survive between two requests of one turn: hidden rounds, parked calls, provider
//! fields. So far only its settings are here: without service tools nothing is hidden.
//!
//! Invariant: no IO and no HTTP in this folder.

pub mod settings;
