//! The sections `[[upstreams]]`.

use std::sync::Arc;

use url::Url;

use crate::upstream::dialect::{Dialect, KeyHeader};
use crate::upstream::settings::{
    Auth, DEFAULT_RETRIES, HttpSettings, Source, Timeouts, UpstreamSettings,
};

use super::dialect::dialect;
use super::headers::{BODY_HEADERS, FRAMING_HEADERS, Reserved, header_value, headers};
use super::item::Item;
use super::names::Names;
use super::outside::Outside;
use super::section::Section;
use super::turns::ABOVE_ZERO;

/// What only endpoints have, not scripts.
const HTTP_KEYS: [&str; 8] = [
    "api_version",
    "api_key",
    "auth",
    "dialect",
    "overrides",
    "timeouts",
    "retries",
    "headers",
];

/// Reads one upstream and gives its name to `names`.
pub(super) fn upstream(
    mut section: Section<'_>,
    names: &mut Names,
    outside: &Outside<'_>,
) -> Option<UpstreamSettings> {
    let name = names.give(&mut section, "\"openai\"");
    let source = match (section.take("script"), section.take("base_url")) {
        (Some(script), None) => {
            for item in HTTP_KEYS.into_iter().filter_map(|key| section.take(key)) {
                item.mistake("a script has no use for this; take it out");
            }
            outside.file(&script).map(Source::Script)
        }
        (None, Some(url)) => http(&mut section, &url).map(Source::Http),
        (Some(_), Some(url)) => {
            http(&mut section, &url);
            url.wrong("there is a script as well; take one of the two out")
        }
        (None, None) => {
            section.mistake(
                "there is neither base_url nor script; add one, \
                 such as base_url = \"https://api.openai.com/v1\"",
            );
            for key in HTTP_KEYS {
                section.take(key);
            }
            None
        }
    };
    section.done();
    Some(UpstreamSettings {
        name: name?,
        source: source?,
    })
}

fn http(section: &mut Section<'_>, url: &Item<'_>) -> Option<HttpSettings> {
    let base_url = base_url(url);
    let api_version = section.read("api_version", |item| item.text().map(str::to_owned));
    let auths = [("key", Auth::Key), ("caller", Auth::Caller)];
    let auth = section
        .read("auth", |item| item.choice(&auths))
        .unwrap_or_default();
    let key = section.take("api_key").filter(|item| !item.left_out());
    if let (Some(item), Auth::Caller) = (&key, auth) {
        item.mistake("the caller's key is sent instead; take api_key or auth out");
    }
    let has_key = key.is_some();
    let api_key = key.and_then(|item| header_value(&item));
    let dialect = dialect(section);
    let timeouts = section.read("timeouts", |item| item.section().map(timeouts));
    let retries = section.read("retries", |item| item.number(0));
    let headers = section.read("headers", |item| {
        let reserved = reserved(auth, has_key, &dialect);
        item.section().map(|table| headers(&table, &reserved))
    });
    Some(HttpSettings {
        base_url: base_url?,
        api_version,
        api_key,
        auth,
        dialect: Arc::new(dialect),
        timeouts: timeouts.unwrap_or_default(),
        retries: retries.unwrap_or(DEFAULT_RETRIES),
        headers: headers.unwrap_or_default(),
    })
}

/// A URL to append paths to.
fn base_url(item: &Item<'_>) -> Option<Url> {
    let mut url = item.plain_url("https://api.openai.com/v1", "api_key")?;
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty();
    }
    match url.path().strip_suffix("/chat/completions") {
        Some(_) => {
            item.not("the base of the API; take out /chat/completions, which is added to it")
        }
        None => Some(url),
    }
}

fn timeouts(mut section: Section<'_>) -> Timeouts {
    let default = Timeouts::default();
    let mut timeout = |key| section.read(key, |item| item.duration(ABOVE_ZERO));
    let timeouts = Timeouts {
        connect: timeout("connect").unwrap_or(default.connect),
        first_byte: timeout("first_byte").unwrap_or(default.first_byte),
        idle: timeout("idle").unwrap_or(default.idle),
    };
    section.done();
    timeouts
}

/// The headers that cannot be set: those of the request itself, and of its credentials.
fn reserved(auth: Auth, key: bool, dialect: &Dialect) -> Vec<Reserved> {
    const TAKEN: &str = "api_key or auth sets this header; take one of the two out";

    let mut reserved = [FRAMING_HEADERS, BODY_HEADERS].concat();
    reserved.extend(key.then_some((dialect.key_header.word(), TAKEN)));
    reserved.extend((auth == Auth::Caller).then_some((KeyHeader::default().word(), TAKEN)));
    reserved
}
