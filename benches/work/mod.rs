//! The work that the benchmarks measure: what the gateway does between a socket and a socket, by
//! way of the crate's public functions.

pub(crate) mod payload;
pub(crate) mod request;
pub(crate) mod stream;
