//! The sections `[server]` and `[admin]`.

use std::time::Duration;

use url::Url;

use crate::doors::settings::{AdminSettings, CorsSettings, ServerSettings, TlsSettings};

use super::item::Item;
use super::outside::Outside;
use super::section::Section;

/// Reads `[server]`.
pub(super) fn server(section: Option<Section<'_>>, outside: &Outside<'_>) -> ServerSettings {
    let default = ServerSettings::default();
    let Some(mut section) = section else {
        return default;
    };
    let settings = ServerSettings {
        listen: section
            .read("listen", Item::address)
            .unwrap_or(default.listen),
        max_body: section
            .read("max_body", Item::size)
            .unwrap_or(default.max_body),
        drain: section
            .read("drain", |item| item.duration(Duration::ZERO))
            .unwrap_or(default.drain),
        open: section.read("open", Item::flag).unwrap_or(default.open),
        tls: section.read("tls", |item| tls(item.section()?, outside)),
        cors: section.read("cors", |item| cors(item.section()?)),
        workers: section
            .read("workers", |item| item.number::<u32>(1))
            .and_then(|workers| usize::try_from(workers).ok()),
    };
    section.done();
    settings
}

/// Reads `[admin]`.
pub(super) fn admin(section: Option<Section<'_>>) -> AdminSettings {
    let default = AdminSettings::default();
    let Some(mut section) = section else {
        return default;
    };
    let listen = section.read("listen", Item::address);
    section.done();
    AdminSettings {
        listen: listen.unwrap_or(default.listen),
        explicit: listen.is_some(),
    }
}

fn tls(mut section: Section<'_>, outside: &Outside<'_>) -> Option<TlsSettings> {
    let cert = section.require("cert", "\"cert.pem\"", |item| outside.file(item));
    let key = section.require("key", "\"key.pem\"", |item| outside.file(item));
    section.done();
    Some(TlsSettings {
        cert: cert?,
        key: key?,
    })
}

fn cors(mut section: Section<'_>) -> Option<CorsSettings> {
    let origins = section.require("origins", "[\"https://app.example\"]", |item| {
        let items = item.list("origins")?;
        if items.is_empty() {
            return item.wrong("the list is empty; name an origin, or take cors out");
        }
        Some(
            items
                .iter()
                .filter_map(|item| origin(item, items.len()))
                .collect(),
        )
    });
    section.done();
    Some(CorsSettings { origins: origins? })
}

/// An origin, spelled as browsers send it: they never send a path, nor the port that
/// goes without saying, and servers compare the text as it is.
fn origin(item: &Item<'_>, among: usize) -> Option<String> {
    let text = item.text()?;
    if text == "*" {
        let alone = "the only origin; \"*\" allows every page, so leave the others out";
        return if among == 1 {
            Some(text.to_owned())
        } else {
            item.not(alone)
        };
    }
    let origin = Url::parse(text)
        .ok()
        .map(|url| url.origin())
        .filter(url::Origin::is_tuple);
    match origin.map(|origin| origin.ascii_serialization()) {
        Some(sent) if sent == text => Some(sent),
        Some(sent) => item.not(&format!("what browsers send; write \"{sent}\"")),
        None => item.not("an origin; write scheme and host, such as \"https://app.example\""),
    }
}
