//! Runs turns: performs the engine's actions and feeds it what comes of them.
//!
//! A door makes an [`Order`] of a request, starts a [`Drive`] with it and pulls [`Event`]s until
//! the answer is there. There is no task and no channel in between: a door that is dropped, since
//! its caller is gone, takes the drive and the model request with it (contract S4).
//!
//! Invariant: the only caller of the engine. Waiting for the next event can be broken off and
//! taken up again without losing anything.
//!
//! Client libraries send a request again when it fails; what it did is not done again
//! ([`Attempts`], [`Once`]; contract K7), not by the next process either if there is a
//! [`Journal`].
//!
//! Invariant: nothing here knows whether the caller wants a stream.

mod agent;
mod attempt;
mod attempts;
mod calls;
mod checkpoint;
mod clock;
mod fields;
mod identity;
mod journal;
mod once;
mod opened;
mod order;
mod roster;
mod run;
pub mod settings;
mod source;
mod team;
mod watch;

pub use agent::{Agent, Use};
pub use attempts::Attempts;
pub use clock::{now, now_millis, now_seconds};
pub use journal::Journal;
pub use once::Once;
pub use order::{Event, Failure, Mended, Order};
pub use roster::{Common, Found, Roster};
pub use run::Drive;
pub use source::Source;
pub use watch::TurnName;
