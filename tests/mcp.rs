//! Tools behind MCP servers, over real sockets and pipes: a server of the official SDK, one that
//! does what a test tells it to, and a process.
//!
//! `HANDBACK_MCP_PEERS` names a folder with servers that others wrote; `tests/peers/run` installs
//! them and sets it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says that something is wrong by panicking"
)]

mod mcp {
    pub(crate) mod host;
    pub(crate) mod scripted;
    pub(crate) mod sdk;
    pub(crate) mod service;

    mod connecting;
    mod failing;
    mod listing;
    mod peers;
    mod processes;
    mod results;
    mod sessions;
}
