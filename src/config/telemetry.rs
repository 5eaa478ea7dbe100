//! The section `[telemetry]`.

use url::Url;

use crate::telemetry::settings::{EVERY_TURN, SERVICE, TelemetrySettings, TracesSettings};

use super::headers::{BODY_HEADERS, EXPORT_HEADERS, FRAMING_HEADERS, headers};
use super::item::Item;
use super::section::Section;

/// What says something about traces, wherever they go.
const TRACES_KEYS: [&str; 3] = ["headers", "sample", "service"];

/// Reads `[telemetry]`.
pub(super) fn telemetry(section: Option<Section<'_>>) -> TelemetrySettings {
    let Some(mut section) = section else {
        return TelemetrySettings::default();
    };
    let traces = if let Some(item) = section.take("traces") {
        traces(&mut section, &item)
    } else {
        for item in TRACES_KEYS.into_iter().filter_map(|key| section.take(key)) {
            item.mistake("there is no `traces` that this is for; add it, or take this out");
        }
        None
    };
    section.done();
    TelemetrySettings { traces }
}

fn traces(section: &mut Section<'_>, item: &Item<'_>) -> Option<TracesSettings> {
    let reserved = [FRAMING_HEADERS, BODY_HEADERS, EXPORT_HEADERS].concat();
    let headers = section.read("headers", |item| {
        item.section().map(|table| headers(&table, &reserved))
    });
    let sample = section.read("sample", Item::share);
    let service = section.read("service", Item::name);
    if item.left_out() {
        return None;
    }
    Some(TracesSettings {
        endpoint: endpoint(item)?,
        headers: headers.unwrap_or_default(),
        sample: sample.unwrap_or(EVERY_TURN),
        service: service.unwrap_or_else(|| SERVICE.to_owned()),
    })
}

/// An address that spans are posted to.
fn endpoint(item: &Item<'_>) -> Option<Url> {
    const EXAMPLE: &str = "http://127.0.0.1:4318/v1/traces";

    let url = item.plain_url(EXAMPLE, "headers")?;
    if url.path() == "/" {
        return item.not(&format!(
            "the whole address, which has a path, most often /v1/traces; write one such as \"{EXAMPLE}\""
        ));
    }
    Some(url)
}
