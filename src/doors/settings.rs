//! What the sections `[server]` and `[admin]` say.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The listener that callers talk to, section `[server]`.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Address and port; port 0 takes a free one. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// Largest request body in bytes. At least 1, default 20,971,520 (20 MiB).
    pub max_body: usize,
    /// How long requests under way may go on once the process is told to stop.
    /// Default 30 seconds; zero cuts them off at once.
    pub drain: Duration,
    /// Whether a public address may be served without any key. Default false.
    pub open: bool,
    /// Certificate and key; absent means plain HTTP, the default.
    pub tls: Option<TlsSettings>,
    /// Which web pages may call; absent means none, the default.
    pub cors: Option<CorsSettings>,
    /// Worker threads, at least 1. Absent means one per core, the default.
    pub workers: Option<usize>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            max_body: 20 * 1024 * 1024,
            drain: Duration::from_secs(30),
            open: false,
            tls: None,
            cors: None,
            workers: None,
        }
    }
}

/// Where the server's certificate and key are, as PEM files. Relative paths have
/// been joined to the folder of the configuration.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The certificate chain, the server's own first.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Which web pages may call from a browser.
#[derive(Clone, Debug)]
pub struct CorsSettings {
    /// Origins as browsers send them (`https://app.example`), or the one entry `*`
    /// for every page. Never empty.
    pub origins: Vec<String>,
}

/// The listener of the operator: `/healthz`, `/readyz`, `/metrics`; section
/// `[admin]`.
#[derive(Clone, Debug)]
pub struct AdminSettings {
    /// Address and port; port 0 takes a free one. Default `127.0.0.1:9090`.
    pub listen: SocketAddr,
    /// Whether the file names the address. A default port that is taken is worth a
    /// warning only: nobody asked for this listener.
    pub explicit: bool,
}

impl Default for AdminSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9090),
            explicit: false,
        }
    }
}
