//! The house's rules, read off the source text: who may import whom, what is never named where,
//! how long a file may be, what every file says of itself.
//!
//! [`layers::map`] says what each part of the crate may know, [`layers::rules`] everything else. A
//! rule that fails says what to do. [`every_rule_finds_what_breaks_it`] feeds each of them a
//! small wrong sample, so that none passes because it sees nothing.

#![expect(
    clippy::expect_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod layers {
    pub(crate) mod checks;
    pub(crate) mod map;
    pub(crate) mod rules;
    pub(crate) mod source;
}

use std::fs;
use std::path::Path;

use layers::rules::{RULES, Rule};
use layers::source::Source;

#[test]
fn the_house_is_as_it_says() {
    let sources = read_all(&["src", "tests", "benches", "fuzz"]);
    assert!(
        sources.len() > 50,
        "only {} files found: the test looks in the wrong place",
        sources.len()
    );
    let failures: Vec<String> = RULES
        .iter()
        .filter_map(|rule| failure(rule, &sources))
        .collect();
    assert!(failures.is_empty(), "\n\n{}\n", failures.join("\n\n"));
}

#[test]
fn every_rule_finds_what_breaks_it() {
    let clean = (layers::rules::CLEAN)();
    for rule in RULES {
        assert_eq!(
            failure(rule, &clean),
            None,
            "{} refuses clean code",
            rule.name
        );
        for wrong in (rule.wrong)() {
            let text: Vec<&str> = wrong.iter().map(|source| source.text.as_str()).collect();
            assert!(
                failure(rule, &wrong).is_some(),
                "{} sees nothing wrong in {text:?}",
                rule.name
            );
        }
    }
}

#[test]
fn words_in_comments_strings_and_tests_do_not_count() {
    let text = "//! tokio\n/* reqwest /* */ const A: char = '\"'; const B: &str = r#\"tracing \"x\" \"#;\n\
                fn f<'a>(b: u8) -> bool { b == b'\"' && \"rand \\\" Instant\".is_empty() }\n\
                #[cfg(test)]\nmod tests { use tokio::x; fn g() { async {} } }\nfn last() {}\n";
    let source = Source::new("src/wire/sample.rs", text);
    for word in layers::map::PURE {
        let found = layers::source::find_word(&source.code, word);
        assert_eq!(found, None, "{word} in {:?}", source.code);
    }
    assert!(source.code.contains("fn last"), "{:?}", source.code);
    assert!(source.tests.contains("use tokio::x"), "{:?}", source.tests);
}

#[test]
fn paths_are_read_from_every_form_of_import() {
    let text = "use crate::{wire::{self, Raw, chunk::DONE}, tools};\nuse super::super::drive::Drive;\n\
                pub(super) fn f(x: &crate::turn::Turn) {}\npub(in crate::doors) fn g() {}\n";
    let source = Source::new("src/doors/chat/stream.rs", text);
    let paths: Vec<String> = source
        .crate_paths()
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    let expected = [
        "wire",
        "wire::Raw",
        "wire::chunk::DONE",
        "tools",
        "turn::Turn",
        "doors",
        "doors::drive::Drive",
    ];
    assert_eq!(paths, expected);
}

/// What is wrong with the sources by one rule, and what to do.
fn failure(rule: &Rule, sources: &[Source]) -> Option<String> {
    let complaints = (rule.complaints)(sources);
    let list = complaints.join("\n  ");
    (!complaints.is_empty()).then(|| format!("{}\n  {list}\n  => {}", rule.name, rule.remedy))
}

fn read_all(folders: &[&str]) -> Vec<Source> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    let mut folders: Vec<_> = folders.iter().map(|folder| project.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        // A folder that is not there has no files: what must be there the rules say.
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("a folder can be read").path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() && name != "target" {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file is text");
                let below = path.strip_prefix(project).expect("it is below the project");
                let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
                sources.push(Source::new(&parts.join("/"), &text));
            }
        }
    }
    sources
}
