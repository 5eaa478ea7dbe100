//! The HTTP faces of the engine. actix-web is known only here.
//!
//! - [`chat`]: `POST /v1/chat/completions`, whole and streamed (contract R, A, S)
//! - [`models`]: what a key may ask for (contract O1)
//! - [`admin`]: health and metrics, on a listener of their own (contract O2)
//!
//! [`problem`] is the one table of public errors with their status; [`exchange`] is what every
//! request has: an id, a log line, a count; [`server`] listens.
//!
//! Invariant: a door never calls the engine; it starts a drive and passes on what comes of it.
//! No door knows another.

pub mod admin;
pub mod body;
pub mod chat;
pub mod exchange;
pub mod models;
pub mod problem;
pub mod server;
pub mod settings;
pub mod tls;
