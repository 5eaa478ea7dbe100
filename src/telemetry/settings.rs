//! What the section `[telemetry]` says.

use url::Url;

use crate::secret::Secret;

/// What the operator sees beside metrics and log, section `[telemetry]`.
#[derive(Clone, Debug, Default)]
pub struct TelemetrySettings {
    /// The traces of turns. Absent: none, the default.
    pub traces: Option<TracesSettings>,
}

/// Where the spans of traces go, and which.
#[derive(Clone, Debug)]
pub struct TracesSettings {
    /// Where they are posted to, as OTLP over HTTP: http or https, with a path, without user
    /// information, query and fragment.
    pub endpoint: Url,
    /// Further headers of each request there, in the order of the file: valid names in lower
    /// case, each once, none that the request sets itself. Empty by default.
    pub headers: Vec<(String, Secret)>,
    /// The share of turns that is traced, from 0 to 1. Default [`EVERY_TURN`]. Where a caller
    /// has a trace of its own, that decides.
    pub sample: f64,
    /// What the process is called in them, `service.name`. Default [`SERVICE`].
    pub service: String,
}

/// All turns are traced.
pub const EVERY_TURN: f64 = 1.0;

/// What the process is called in traces where nothing else is said.
pub const SERVICE: &str = "handback";
