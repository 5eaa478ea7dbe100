//! What bounds a turn, and how strictly a model's arguments are taken.
//!
//! Every loop, list and wait of the engine names one of these, so a turn ends
//! whatever the model, a service or a caller does. A turn carries its limits with
//! it when it is stored: a later change of the configuration does not alter a turn
//! that is under way.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The bounds of one turn, section `[limits]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Rounds in which service tools are called. When the model calls one in the round after
    /// that, it is told so and gets one closing round without service tools. Rounds that only
    /// hand back do not count, since the caller decides whether they go on, nor do repairs, which
    /// have a bound of their own. At least 1, default 16.
    pub rounds: u32,
    /// Calls of service tools in the whole turn. Default 64; 0 allows none.
    pub service_calls: u32,
    /// Calls of service tools that may run at once. At least 1, default 8.
    pub parallel_service_calls: u32,
    /// Bytes of one service result that the model gets to see; the rest is cut
    /// off. At least 1, default 131,072 (128 KiB).
    pub service_result: usize,
    /// Time from the request to its answer. Default 10 minutes. Stored as whole
    /// milliseconds.
    #[serde(rename = "turn_time_ms", with = "milliseconds")]
    pub turn_time: Duration,
    /// Tools offered to the model, the caller's and the services' together. At
    /// least 1, default 128.
    pub tools: usize,
    /// Further rounds that a model gets to correct calls that failed the checks.
    /// Default 2; 0 allows none.
    pub repairs: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: 16,
            service_calls: 64,
            parallel_service_calls: 8,
            service_result: 128 * 1024,
            turn_time: Duration::from_mins(10),
            tools: 128,
            repairs: 2,
        }
    }
}

/// What happens when the arguments of a call do not fit the tool's `parameters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentPolicy {
    /// External calls are handed back as the model wrote them; only the calls of
    /// service tools are checked.
    Pass,
    /// The model is told and asked again, [`Limits::repairs`] times; then a call
    /// whose arguments are at least a JSON object is handed back. The default.
    #[default]
    Repair,
    /// As `Repair`, but what is still wrong in the end fails the turn.
    Strict,
}

/// A duration as whole milliseconds: stored turns are read by other versions, and
/// a bare number with its unit in the key is the form that stays readable.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_stored_with_the_unit_of_the_time_in_its_name() {
        let stored = serde_json::to_string(&Limits::default()).unwrap();
        assert_eq!(
            stored,
            r#"{"rounds":16,"service_calls":64,"parallel_service_calls":8,"service_result":131072,"turn_time_ms":600000,"tools":128,"repairs":2}"#
        );
        assert_eq!(
            serde_json::from_str::<Limits>(&stored).unwrap(),
            Limits::default()
        );
    }

    #[test]
    fn policies_are_stored_by_the_names_of_the_configuration() {
        assert_eq!(
            serde_json::to_string(&ArgumentPolicy::Repair).unwrap(),
            r#""repair""#
        );
    }
}
