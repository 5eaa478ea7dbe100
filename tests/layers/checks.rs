//! How each rule is checked.

use super::map::{LAYERS, Layer};
use super::source::{Source, find_word};

/// Longest file, in lines.
pub(crate) const FILE_LINES: usize = 500;
/// Longest median of the files of `src`, in lines.
pub(crate) const MEDIAN_LINES: usize = 200;
/// Longest `main.rs`, in lines: the command line has three branches, each with its exit code.
pub(crate) const MAIN_LINES: usize = 80;

/// The faces in `src/doors`. None knows another.
const DOORS: [&str; 5] = ["admin", "chat", "models", "runs", "sessions"];

/// The table of dialects.
const TABLE: &str = "src/upstream/dialect/table.rs";
/// The families in it.
const FAMILIES: &[&str] = &[
    "anthropic-compat",
    "azure",
    "deepseek",
    "gemini",
    "groq",
    "kimi",
    "llamacpp",
    "mistral",
    "ollama",
    "openai",
    "openrouter",
    "vllm",
];

/// Checks file by file.
pub(crate) fn each(sources: &[Source], check: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    sources.iter().flat_map(check).collect()
}

/// One complaint about a whole file, if it is due.
pub(crate) fn complain(source: &Source, due: bool, what: &str) -> Vec<String> {
    let complaint = || format!("{} {what}", source.path);
    Vec::from_iter(due.then(complaint))
}

/// Words outside tests, in some files.
pub(crate) fn in_code(
    sources: &[Source],
    which: impl Fn(&Source) -> bool,
    words: &[&str],
) -> Vec<String> {
    each(sources, |source| {
        let words = if which(source) { words } else { &[] };
        found(source, &source.code, words)
    })
}

/// Families of upstreams named outside their table: as a text of their own, or in a word of the
/// code. Comments and longer texts may speak of them.
pub(crate) fn family_names(source: &Source) -> Vec<String> {
    if !source.is_product() || source.path == TABLE {
        return missing_families(source);
    }
    let code = source.code.to_lowercase();
    let product = code.lines().zip(source.text.lines()).enumerate();
    let of_line = |(nth, (code, text)): (usize, (&str, &str))| {
        let word = code.replace('_', "");
        let names = |family: &&&str| {
            let literal = !code.trim().is_empty() && text.contains(&format!("\"{family}\""));
            literal || word.contains(&family.replace('-', ""))
        };
        let family = FAMILIES.iter().find(names)?;
        Some(format!("{}:{} names {family}", source.path, nth + 1))
    };
    product.filter_map(of_line).collect()
}

/// Rows of the table that this test does not know.
fn missing_families(source: &Source) -> Vec<String> {
    if source.path != TABLE {
        return Vec::new();
    }
    let rows = source
        .text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("(\""));
    let names = rows.filter_map(|row| row.split('"').next());
    let unknown = names.filter(|name| !FAMILIES.contains(name));
    unknown
        .map(|name| format!("{TABLE} has {name}, which FAMILIES in tests/layers/checks.rs has not"))
        .collect()
}

/// Words in tests.
pub(crate) fn in_tests(sources: &[Source], words: &[&str]) -> Vec<String> {
    each(sources, |source| found(source, &source.tests, words))
}

fn found(source: &Source, view: &str, words: &[&str]) -> Vec<String> {
    let place = |word: &&str| {
        let at = find_word(view, word)?;
        Some(format!("{} names `{word}`", source.place(view, at)))
    };
    words.iter().filter_map(place).collect()
}

/// The row that holds for a file.
fn row(source: &Source) -> Option<&'static Layer> {
    let below = source.path.strip_prefix("src/")?;
    let below = below.trim_end_matches(".rs");
    let covers = |layer: &&Layer| {
        let rest = below.strip_prefix(layer.of);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let rows = LAYERS.iter().filter(covers);
    rows.max_by_key(|layer| layer.of.len())
}

pub(crate) fn without_row(source: &Source) -> Vec<String> {
    let missing = source.layer().is_some() && row(source).is_none();
    complain(source, missing, "has no row")
}

pub(crate) fn imports(source: &Source) -> Vec<String> {
    let Some(layer) = row(source) else {
        return Vec::new();
    };
    let wrong = source.crate_paths().into_iter().filter(|(_, path)| {
        let own = path.split("::").next() == source.layer();
        !own && !path.is_empty() && !may(layer, path)
    });
    let tell = |(at, path)| {
        let place = source.place(&source.code, at);
        format!("{place} names crate::{path}, which {} may not", layer.of)
    };
    wrong.map(tell).collect()
}

/// Whether a row lets its files name `path`: the longest entry that fits decides.
fn may(layer: &Layer, path: &str) -> bool {
    let fits = |entry: &&&str| {
        let prefix = entry.trim_start_matches('!');
        let rest = path.strip_prefix(prefix);
        rest.is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with("::"))
    };
    let fitting = layer.may.iter().filter(fits);
    let decisive = fitting.max_by_key(|entry| entry.trim_start_matches('!').len());
    decisive.is_some_and(|entry| !entry.starts_with('!'))
}

pub(crate) fn words(source: &Source) -> Vec<String> {
    let words = row(source).map_or(&[][..], |layer| layer.never);
    found(source, &source.code, words)
}

pub(crate) fn sibling_doors(source: &Source) -> Vec<String> {
    let door = source.path.strip_prefix("src/doors/").unwrap_or("");
    let door = door.split(['/', '.']).next().unwrap_or("");
    if !DOORS.contains(&door) {
        return Vec::new();
    }
    let paths = source.crate_paths().into_iter();
    let wrong = paths.filter(|(_, path)| {
        let other = path.strip_prefix("doors::").unwrap_or("");
        let other = other.split("::").next().unwrap_or("");
        DOORS.contains(&other) && other != door
    });
    let tell = |(at, path)| format!("{} names {path}", source.place(&source.code, at));
    wrong.map(tell).collect()
}

pub(crate) fn without_invariant(source: &Source) -> Vec<String> {
    let docs = source
        .text
        .lines()
        .take_while(|line| line.starts_with("//!"));
    let stated = docs.into_iter().any(|line| line.contains("Invariant:"));
    let folder = source.is_product() && source.path.ends_with("/mod.rs");
    complain(source, folder && !stated, "states no invariant")
}

pub(crate) fn too_long(source: &Source) -> Vec<String> {
    let limit = if source.path == "src/main.rs" {
        MAIN_LINES
    } else {
        FILE_LINES
    };
    let lines = source.lines();
    let what = format!("has {lines} lines; the limit is {limit}");
    complain(source, lines > limit, &what)
}

pub(crate) fn median(sources: &[Source]) -> Vec<String> {
    let product = sources.iter().filter(|source| source.is_product());
    let mut lines: Vec<usize> = product.map(Source::lines).collect();
    lines.sort_unstable();
    let median = lines.get(lines.len() / 2).copied().unwrap_or(0);
    let complaint = || format!("half of src is longer than {MEDIAN_LINES} lines: {median}");
    Vec::from_iter((median > MEDIAN_LINES).then(complaint))
}

pub(crate) fn error_texts(source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, mark) in source.text.match_indices("#[error(") {
        let rest = source.text[at + mark.len()..].trim_start();
        let Some(text) = rest.strip_prefix('"') else {
            continue;
        };
        let end = text
            .match_indices('"')
            .map(|(at, _)| at)
            .find(|&at| !text[..at].ends_with('\\'));
        let text = &text[..end.unwrap_or(text.len())];
        if text.starts_with(char::is_uppercase) || text.ends_with('.') {
            wrong.push(format!("{} says {text:?}", source.place(&source.text, at)));
        }
    }
    wrong
}

/// How far above a panic its exception may stand, in lines: rustfmt spreads a long one.
const NEAR: usize = 8;

pub(crate) fn panics(source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    for (call, lint) in [(".unwrap()", "unwrap_used"), (".expect(", "expect_used")] {
        for (at, _) in source.code.match_indices(call) {
            let above = source.code[..at].lines().rev().take(NEAR);
            if !above.into_iter().any(|line| line.contains(lint)) {
                wrong.push(format!("{} calls {call}", source.place(&source.code, at)));
            }
        }
    }
    wrong
}

pub(crate) fn exceptions(source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    for view in [&source.code, &source.tests] {
        for mark in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
            for (at, _) in view.match_indices(mark) {
                let attribute = view[at..].split(")]").next().unwrap_or("");
                if mark.contains("allow") || find_word(attribute, "reason").is_none() {
                    wrong.push(format!("{} has {mark}...)]", source.place(view, at)));
                }
            }
        }
    }
    wrong
}
