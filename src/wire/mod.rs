//! The shapes of OpenAI's chat completions, as bytes and as values.
//!
//! Bytes come in once and are kept: a value names what Handback acts on and holds the rest as
//! slices of the bytes it arrived in ([`Raw`]), so that what was sent is what is passed on, and
//! nothing large is copied.
//!
//! The order of reading: [`raw`] and [`splice`] (how JSON text is held and written), [`message`],
//! [`tool`] and [`delta`] (shared by both edges), [`request`], [`answer`] and [`chunk`] (the
//! envelopes, known only at the edges), [`sse`] (event-stream framing), [`refusal`] (what is
//! wrong with a request, in the public vocabulary).
//!
//! Invariant: no IO, clock, randomness, environment or log in this folder, and no tree of JSON
//! values of a whole message, tool definition or answer.

pub mod answer;
pub mod chunk;
mod cursor;
pub mod delta;
mod failure;
pub mod fields;
pub mod message;
pub mod raw;
pub mod refusal;
pub mod request;
pub mod splice;
pub mod sse;
pub mod tool;
pub mod usage;
pub mod write;

pub use delta::Delta;
pub use message::{Call, Message, Role};
pub use raw::{Kind, Raw};
pub use refusal::{Code, Refusal};
pub use splice::Body;
pub use tool::Tool;
pub use usage::Usage;
