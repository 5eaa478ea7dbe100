//! Everything that opens a socket: Handback as a process between a scripted upstream and a
//! strict caller.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says that something is wrong by panicking"
)]

mod harness;

mod strictness;

mod rewritings;
mod spellings;
mod wire;

mod requests;
mod resilience;

mod dialects;

mod mutations;

mod auth;
mod models;
mod request_ids;
mod sizes;

mod http_tools;

mod equivalence;
mod services;

mod repairs;
mod streams;

mod encodings;
mod upstream_errors;

mod faults;
mod hangups;

mod admin;
mod stopping;

mod sdk;
