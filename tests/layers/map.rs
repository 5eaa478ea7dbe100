//! Who may know whom: the directions of the house as a table.

/// What one folder or file below `src` may know of the others, and what it never names. The row
/// with the longest `of` that a file's path begins with holds.
pub(crate) struct Layer {
    /// A folder, or a file without `.rs`.
    pub(crate) of: &'static str,
    /// Paths of the crate that it may name, with everything below; its own are always allowed.
    /// Of several that fit the longest decides, and one that begins with `!` forbids.
    pub(crate) may: &'static [&'static str],
    /// Words that its code never holds.
    pub(crate) never: &'static [&'static str],
}

/// No IO, no waiting, no clock, no randomness, no environment, no log: what goes in is told, what
/// comes out is said.
pub(crate) const PURE: &[&str] = &[
    "tokio",
    "reqwest",
    "actix_web",
    "prometheus",
    "tracing",
    "rand",
    "SystemTime",
    "Instant",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "async",
    "await",
];

const NO_FACES: &[&str] = &["actix_web", "actix_cors", "HttpResponse", "HttpRequest"];

const NO_NET: &[&str] = &["tokio", "reqwest", "actix_web", "std::net::TcpStream"];

/// The directions of the house. A folder that is not here fails the test: give it a row.
pub(crate) const LAYERS: &[Layer] = &[
    Layer {
        of: "wire",
        may: &[],
        never: PURE,
    },
    Layer {
        of: "tools",
        may: &[
            "wire",
            "!wire::request",
            "!wire::answer",
            "!wire::chunk",
            "!wire::sse",
        ],
        never: PURE,
    },
    // Envelopes belong to the edges. `FinishReason` alone is more than an envelope's word: why an
    // answer ended is what the engine decides, and the envelope only spells it.
    Layer {
        of: "turn",
        may: &[
            "tools",
            "wire",
            "!wire::request",
            "!wire::answer",
            "!wire::chunk",
            "wire::chunk::FinishReason",
            "!wire::sse",
        ],
        never: PURE,
    },
    Layer {
        of: "continuation",
        may: &[
            "secret",
            "tools",
            "turn",
            "wire",
            "!wire::request",
            "!wire::answer",
            "!wire::sse",
        ],
        never: NO_NET,
    },
    Layer {
        of: "upstream",
        may: &["private", "secret", "wire"],
        never: NO_FACES,
    },
    Layer {
        of: "services",
        may: &[
            "glob",
            "private",
            "secret",
            "tools",
            "wire",
            "!wire::request",
            "!wire::answer",
            "!wire::sse",
        ],
        never: NO_FACES,
    },
    Layer {
        of: "drive",
        may: &[
            "continuation",
            "services",
            "telemetry",
            "tools",
            "turn",
            "upstream",
            "wire",
        ],
        never: NO_FACES,
    },
    // A door starts a drive and passes on what comes of it: of the engine it knows the words that
    // come out, never the engine.
    Layer {
        of: "doors",
        may: &[
            "access",
            "drive",
            "secret",
            "telemetry",
            "turn::Answered",
            "turn::Say",
            "wire",
        ],
        never: &["reqwest", "std::env", "std::process"],
    },
    // The one table of public errors knows every cause.
    Layer {
        of: "doors/problem",
        may: &[
            "continuation",
            "drive",
            "turn::Stopped",
            "upstream::Error",
            "wire",
        ],
        never: &["reqwest", "tokio", "async"],
    },
    Layer {
        of: "access",
        may: &["glob", "secret"],
        never: NO_NET,
    },
    Layer {
        of: "config",
        may: &[
            "access",
            "!access::Access",
            "continuation::settings",
            "doors::settings",
            "drive::settings",
            "secret",
            "services::settings",
            "telemetry::settings",
            "turn::limits",
            "upstream::dialect",
            "upstream::settings",
        ],
        never: &[
            "tokio",
            "reqwest",
            "actix_web",
            "std::env",
            "std::net::TcpStream",
            "async",
        ],
    },
    Layer {
        of: "glob",
        may: &[],
        never: PURE,
    },
    Layer {
        of: "keys",
        may: &["access"],
        never: NO_NET,
    },
    Layer {
        of: "private",
        may: &["secret"],
        never: PURE,
    },
    Layer {
        of: "secret",
        may: &[],
        never: PURE,
    },
    Layer {
        of: "telemetry",
        may: &["secret", "wire::write"],
        never: NO_NET,
    },
    // Spans leave by a client of their own, whatever the gateway's other traffic.
    Layer {
        of: "telemetry/traces/export",
        may: &["secret"],
        never: &["tokio", "actix_web"],
    },
    Layer {
        of: "cli",
        may: &["keys"],
        never: NO_NET,
    },
    // The assembly knows everything and does nothing itself.
    Layer {
        of: "lib",
        may: &[""],
        never: &["std::env", "reqwest", "HttpResponse"],
    },
    Layer {
        of: "main",
        may: &[""],
        never: &["reqwest", "HttpResponse", "async"],
    },
];
