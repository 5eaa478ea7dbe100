//! The sections `[limits]` and `[continuation]`: what a turn may take, and how it
//! waits for the caller.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::continuation::settings::{ContinuationSettings, OnLost, SealingKey};
use crate::turn::limits::{ArgumentPolicy, Limits};

use super::item::Item;
use super::outside::Outside;
use super::section::Section;

/// The least duration where zero makes no sense.
pub(super) const ABOVE_ZERO: Duration = Duration::from_nanos(1);

/// Reads `[limits]`.
pub(super) fn limits(section: Option<Section<'_>>) -> Limits {
    let default = Limits::default();
    let Some(mut section) = section else {
        return default;
    };
    let limits = Limits {
        rounds: section
            .read("rounds", |item| item.number(1))
            .unwrap_or(default.rounds),
        service_calls: section
            .read("service_calls", |item| item.number(0))
            .unwrap_or(default.service_calls),
        parallel_service_calls: section
            .read("parallel_service_calls", |item| item.number(1))
            .unwrap_or(default.parallel_service_calls),
        service_result: section
            .read("service_result", Item::size)
            .unwrap_or(default.service_result),
        turn_time: section
            .read("turn_time", |item| item.duration(ABOVE_ZERO))
            .unwrap_or(default.turn_time),
        tools: section
            .read("tools", |item| item.number(1))
            .unwrap_or(default.tools),
        repairs: section
            .read("repairs", |item| item.number(0))
            .unwrap_or(default.repairs),
    };
    section.done();
    limits
}

/// Reads the key `arguments` of an agent or of the pass-through.
pub(super) fn arguments(section: &mut Section<'_>) -> ArgumentPolicy {
    let choices = [
        ("repair", ArgumentPolicy::Repair),
        ("strict", ArgumentPolicy::Strict),
        ("pass", ArgumentPolicy::Pass),
    ];
    section
        .read("arguments", |item| item.choice(&choices))
        .unwrap_or_default()
}

/// Reads `[continuation]`.
pub(super) fn continuation(
    section: Option<Section<'_>>,
    outside: &Outside<'_>,
) -> ContinuationSettings {
    let default = ContinuationSettings::default();
    let Some(mut section) = section else {
        return default;
    };
    let on_lost = [("fail", OnLost::Fail), ("degrade", OnLost::Degrade)];
    let settings = ContinuationSettings {
        keys: section
            .take("keys")
            .map(|item| sealing_keys(&item))
            .unwrap_or_default(),
        max_age: section
            .read("max_age", |item| item.duration(ABOVE_ZERO))
            .unwrap_or(default.max_age),
        max_size: section
            .read("max_size", Item::size)
            .unwrap_or(default.max_size),
        on_lost: section
            .read("on_lost", |item| item.choice(&on_lost))
            .unwrap_or(default.on_lost),
        retry_window: section
            .read("retry_window", |item| item.duration(Duration::ZERO))
            .unwrap_or(default.retry_window),
        journal: None,
    };
    let journal = section.take("journal");
    section.done();
    let journal = journal.and_then(|item| journal_folder(&item, &settings, outside));
    ContinuationSettings {
        journal,
        ..settings
    }
}

/// The folder of the journal, if what is kept in it can be of use.
fn journal_folder(
    item: &Item<'_>,
    settings: &ContinuationSettings,
    outside: &Outside<'_>,
) -> Option<PathBuf> {
    if settings.keys.is_empty() {
        return item.wrong(
            "there is no key in keys, and what a random key seals no other process can open; print one with `handback key --continuation`",
        );
    }
    if settings.retry_window.is_zero() {
        return item.wrong("retry_window is zero, so nothing is kept; take one of the two out");
    }
    outside.folder(item)
}

fn sealing_keys(item: &Item<'_>) -> Vec<SealingKey> {
    let items = item.list("texts").unwrap_or_default();
    items
        .iter()
        .filter(|item| !item.left_out())
        .filter_map(sealing_key)
        .collect()
}

/// 32 bytes in base64, of either alphabet and with or without padding: whatever the
/// operator's tool prints.
fn sealing_key(item: &Item<'_>) -> Option<SealingKey> {
    const ANY_PADDING: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const PLAIN: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
    const URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);
    const REMEDY: &str = "make a key with: handback key --continuation";

    let text = item.secret()?.trim();
    let Ok(bytes) = PLAIN.decode(text).or_else(|_| URL.decode(text)) else {
        return item.wrong(&format!("the key is not base64; {REMEDY}"));
    };
    match <[u8; 32]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Some(SealingKey::new(bytes)),
        Err(_) => item.wrong(&format!(
            "the key has {} bytes, not 32; {REMEDY}",
            bytes.len()
        )),
    }
}
