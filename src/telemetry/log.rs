//! The form of log lines: one JSON object each.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, time::FormatTime};
use tracing_subscriber::registry::LookupSpan;

use super::lines::LogLines;
use crate::wire::write::ObjectWriter;

/// What is logged where nothing else is asked for: not the server library's own steps.
const FILTER: &str = "info,actix_server=warn,actix_http=off,rmcp=off";

/// Sets up logging. `filter` is a directive such as `info` or `handback=debug,warn`.
pub fn log(filter: Option<&str>) -> LogLines {
    let lines = LogLines::default();
    let writer = lines.clone();
    let filter = tracing_subscriber::EnvFilter::try_new(filter.unwrap_or(FILTER))
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(FILTER));
    let subscriber = tracing_subscriber::fmt()
        .event_format(Line)
        .with_env_filter(filter)
        .with_writer(move || writer.clone())
        .finish();
    // A second call, in a test, keeps the first subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
    lines.start();
    lines
}

/// Writes an event as one flat object. The library's own JSON form goes through a serialiser for
/// each field, at the price of a good part of a small request.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::with_capacity(384);
        let mut object = ObjectWriter::begin(&mut text);
        object.string("timestamp", &timestamp()?);
        object.string("level", event.metadata().level().as_str());
        let mut fields = Fields { object };
        event.record(&mut fields);
        fields.object.end();
        text.push('\n');
        writer.write_str(&text)
    }
}

/// RFC 3339 in UTC, with microseconds.
fn timestamp() -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(32);
    tracing_subscriber::fmt::time::SystemTime.format_time(&mut Writer::new(&mut text))?;
    Ok(text)
}

struct Fields<'a> {
    object: ObjectWriter<'a>,
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.object.string(field.name(), &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.object.string(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.object
            .member(field.name(), if value { "true" } else { "false" });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        // Writing to a string cannot fail.
        let _ = write!(self.object.key(field.name()), "{value}");
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let _ = write!(self.object.key(field.name()), "{value}");
    }
}
