//! The built-in clock: one tool, which says what time it is.

use std::future::ready;
use std::sync::Arc;

use bytestring::ByteString;
use jiff::Timestamp;
use jiff::tz::{self, TimeZone};
use serde::Deserialize;

use super::{Called, Invocation, Offered, Reply, Service, reply};
use crate::tools::{ServiceTool, SideEffect};
use crate::wire::write::{ObjectWriter, quoted};
use crate::wire::{Raw, Tool};

/// The name of the one tool.
pub const TOOL: &str = "current_time";

const DEFINITION: &str = r#"{"type":"function","function":{"name":"current_time","description":"The current date and time, as RFC 3339 with the offset from UTC.","parameters":{"type":"object","properties":{"timezone":{"type":"string","description":"An IANA time zone such as Europe/Berlin; UTC if absent"}}}}}"#;

/// The clock. It knows the time zones as they were when it was built.
pub struct Clock {
    offered: Arc<[Offered]>,
}

impl Clock {
    /// A clock.
    pub fn new() -> Clock {
        let tool = ServiceTool {
            tool: Tool {
                name: ByteString::from_static(TOOL),
                raw: Raw::literal(DEFINITION),
            },
            side_effect: SideEffect::None,
        };
        let own_name = TOOL.to_owned();
        Clock {
            offered: Arc::from([Offered { tool, own_name }]),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Service for Clock {
    fn tools(&self) -> Arc<[Offered]> {
        Arc::clone(&self.offered)
    }

    fn call(&self, invocation: Invocation) -> Called {
        Box::pin(ready(tell(Timestamp::now(), &invocation)))
    }
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    timezone: Option<String>,
}

/// The reply to a call at the time `now`.
fn tell(now: Timestamp, invocation: &Invocation) -> Reply {
    let limit = invocation.reply_limit;
    if invocation.tool != TOOL {
        return reply::failed("the clock has no such tool", limit);
    }
    let Ok(arguments) = serde_json::from_str::<Arguments>(&invocation.arguments) else {
        return reply::failed("timezone is not a text", limit);
    };
    let asked = arguments.timezone.unwrap_or_default();
    let asked = asked.trim();
    let zone = if asked.is_empty() {
        Some(TimeZone::UTC)
    } else {
        tz::db().get(asked).ok()
    };
    let Some(zone) = zone else {
        return reply::failed(&unknown(asked), limit);
    };
    let there = now.to_zoned(zone);
    let mut text = String::with_capacity(80);
    let mut object = ObjectWriter::begin(&mut text);
    object.string("time", &there.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    object.string("timezone", there.time_zone().iana_name().unwrap_or("UTC"));
    object.end();
    reply::completed(text, false, limit)
}

/// What the model is told about a time zone that is not there.
fn unknown(asked: &str) -> String {
    // Longer than any name; what is near a name is not longer than this.
    const LONGEST: usize = 64;

    let shown = reply::start(asked, LONGEST);
    let word = shown.to_lowercase().replace(' ', "_");
    let near = tz::db()
        .available()
        .map(|name| {
            let name = name.as_str().to_owned();
            let city = name.rsplit('/').next().unwrap_or_default().to_lowercase();
            let whole = strsim::damerau_levenshtein(&word, &name.to_lowercase());
            // Models name the city alone, too.
            (whole.min(strsim::damerau_levenshtein(&word, &city)), name)
        })
        .filter(|(distance, _)| *distance <= word.chars().count() / 3)
        .min();
    let help = match near {
        Some((_, name)) => format!("did you mean {}?", quoted(&name)),
        None => "use an IANA name such as \"Europe/Berlin\"".to_owned(),
    };
    format!("there is no time zone {}; {help}", quoted(shown))
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;

    fn told(arguments: &str) -> Reply {
        let invocation = Invocation {
            tool: TOOL.to_owned(),
            arguments: arguments.to_owned(),
            idempotency_key: "k".to_owned(),
            traceparent: None,
            reply_limit: 1000,
        };
        tell("2026-11-30T19:15:00.5Z".parse().unwrap(), &invocation)
    }

    #[test]
    fn the_time_is_told_with_its_offset() {
        for (arguments, expected) in [
            (
                r#"{"timezone":"Europe/Berlin"}"#,
                r#"{"time":"2026-11-30T20:15:00+01:00","timezone":"Europe/Berlin"}"#,
            ),
            (
                r#"{"timezone":"asia/kolkata"}"#,
                r#"{"time":"2026-12-01T00:45:00+05:30","timezone":"Asia/Kolkata"}"#,
            ),
            (
                r#"{"timezone":"America/New_York","note":"x"}"#,
                r#"{"time":"2026-11-30T14:15:00-05:00","timezone":"America/New_York"}"#,
            ),
            (
                "{}",
                r#"{"time":"2026-11-30T19:15:00+00:00","timezone":"UTC"}"#,
            ),
            (
                r#"{"timezone":null}"#,
                r#"{"time":"2026-11-30T19:15:00+00:00","timezone":"UTC"}"#,
            ),
        ] {
            let reply = told(arguments);
            assert_eq!(
                (reply.text.as_str(), reply.outcome),
                (expected, Outcome::Completed)
            );
        }
    }

    #[test]
    fn an_unknown_zone_is_answered_with_a_near_one_or_an_example() {
        for (zone, help) in [
            ("Europe/Berln", r#"did you mean \"Europe/Berlin\"?"#),
            ("Berlin", r#"did you mean \"Europe/Berlin\"?"#),
            ("new york", r#"did you mean \"America/New_York\"?"#),
            (
                "Nowhere/Land/At/All",
                r#"use an IANA name such as \"Europe/Berlin\""#,
            ),
            (
                "../../etc/passwd",
                r#"use an IANA name such as \"Europe/Berlin\""#,
            ),
        ] {
            let reply = told(&format!("{{\"timezone\":\"{zone}\"}}"));
            assert_eq!(reply.outcome, Outcome::Failed, "{zone}");
            assert!(reply.text.contains(help), "{zone}: {}", reply.text);
            serde_json::from_str::<serde_json::Value>(&reply.text).unwrap();
        }
        assert_eq!(told(r#"{"timezone":5}"#).outcome, Outcome::Failed);
        assert!(
            told(&format!("{{\"timezone\":\"{}\"}}", "x".repeat(9999)))
                .text
                .len()
                < 300
        );
    }

    #[test]
    fn it_offers_one_tool_without_side_effects() {
        let tools = Clock::new().tools();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].own_name, TOOL);
        let read = serde_json::from_str::<Tool>(DEFINITION).unwrap();
        assert_eq!(tools[0].tool.tool, read);
        assert_eq!(tools[0].tool.side_effect, SideEffect::None);
    }
}
