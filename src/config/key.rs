//! The sections `[[keys]]`.

use crate::access::{ANONYMOUS, KeyDigest, KeySettings, Pattern};

use super::item::Item;
use super::names::Names;
use super::section::Section;

/// Reads all keys: no two may have the same name or be the same key. `served` are
/// all models that there are; absent if there is a pass-through, since then nobody
/// can tell.
pub(super) fn keys(sections: Vec<Section<'_>>, served: Option<[&Names; 2]>) -> Vec<KeySettings> {
    let mut names = Names::new("key");
    let mut digests = Vec::new();
    let mut keys = Vec::new();
    for section in sections {
        keys.extend(key(section, served, &mut names, &mut digests));
    }
    keys
}

/// Reads one key. `digests` are those of the keys before it, with their paths.
fn key(
    mut section: Section<'_>,
    served: Option<[&Names; 2]>,
    names: &mut Names,
    digests: &mut Vec<(KeyDigest, String)>,
) -> Option<KeySettings> {
    let name = names.give(&mut section, "\"support-desk\"");
    if name.as_deref() == Some(ANONYMOUS) {
        section.mistake("the name \"anonymous\" is taken by callers without a key; choose another");
    }
    let digest = digest(&mut section);
    if let Some(digest) = digest {
        match digests.iter().find(|(other, _)| *other == digest) {
            Some((_, path)) => {
                section.mistake(&format!(
                    "this is the same key as {path}; each needs its own"
                ));
            }
            None => digests.push((digest, section.path.clone())),
        }
    }
    let models = section.read("models", |item| models(item, served));
    let tool_choice_strings = section.read("tool_choice_strings", Item::flag);
    let concurrent = section.read("concurrent", idle_bound);
    let requests_per_minute = section.read("requests_per_minute", idle_bound);
    let tokens_per_minute = section.read("tokens_per_minute", idle_bound);
    section.done();
    Some(KeySettings {
        name: name?,
        digest: digest?,
        models: models.unwrap_or_else(|| vec![Pattern::new("*")]),
        tool_choice_strings: tool_choice_strings.unwrap_or(false),
        concurrent,
        requests_per_minute,
        tokens_per_minute,
    })
}

/// The key itself or its digest, of which there must be one.
fn digest(section: &mut Section<'_>) -> Option<KeyDigest> {
    match (section.take("key"), section.take("sha256")) {
        (Some(key), None) => plain(&key),
        (None, Some(sha256)) => {
            let text = sha256.secret()?;
            KeyDigest::from_hex(text).or_else(|| {
                sha256.wrong(
                    "the value is not 64 hexadecimal digits; \
                     make them with: printf %s \"$KEY\" | sha256sum, or a new key with: handback key NAME",
                )
            })
        }
        (Some(_), Some(sha256)) => sha256.wrong("there is a key as well; take one of the two out"),
        (None, None) => {
            section.mistake(
                "there is neither key nor sha256; add one, such as key = \"${SUPPORT_DESK_KEY}\"",
            );
            None
        }
    }
}

/// A key as callers send it. It has to survive the header it comes in.
fn plain(item: &Item<'_>) -> Option<KeyDigest> {
    let key = item.secret()?;
    if key.is_empty() {
        return item.wrong("the key is empty; set it, or take this section out");
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return item.wrong(
            "no client can send this key; take out spaces, line breaks \
             and characters that are not ASCII",
        );
    }
    Some(KeyDigest::of(key.as_bytes()))
}

fn models(item: &Item<'_>, served: Option<[&Names; 2]>) -> Option<Vec<Pattern>> {
    let items = item.list("model names")?;
    if items.is_empty() {
        return item.wrong("the list is empty; name a model, or take models out to allow all");
    }
    let mut patterns = Vec::new();
    for item in items {
        let Some(pattern) = item.text().map(Pattern::new) else {
            continue;
        };
        if served.is_some_and(|served| {
            !served
                .iter()
                .any(|names| names.any(|name| pattern.matches(name)))
        }) {
            item.findings
                .warning(item.line, &item.path, "no agent or team has such a name");
        }
        patterns.push(pattern);
    }
    Some(patterns)
}

/// A bound that is read but not kept yet.
fn idle_bound<N: TryFrom<i64>>(item: &Item<'_>) -> Option<N> {
    let bound = item.number(1)?;
    item.idle();
    Some(bound)
}
