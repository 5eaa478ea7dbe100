//! What must survive between two requests of one turn: hidden rounds, parked calls, provider
//! fields. It travels with the caller, sealed into the id of a call (contract K1, K2).
//!
//! [`Carry`] is what travels, [`Sealer`] makes an id of it and opens one again. [`Ciphers`] are
//! the keys beneath, which also seal what a journal keeps.
//!
//! Invariant: no IO and no HTTP in this folder; what came back from a caller is believed only
//! once it has been opened with a key.

mod carry;
mod cipher;
mod ids;
mod seal;
pub mod settings;

pub use carry::{CARRY_VERSION, Carry};
pub use cipher::Ciphers;
pub use ids::is_sealed;
pub use seal::{Binding, Lost, Sealer, TooLarge};
