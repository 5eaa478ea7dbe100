//! The rules beside the directions: one list, each with what to do about it and samples that
//! break it.

use super::checks::{
    FILE_LINES, MAIN_LINES, MEDIAN_LINES, complain, each, error_texts, exceptions, family_names,
    imports, in_code, in_tests, median, panics, sibling_doors, too_long, without_invariant,
    without_row, words,
};
use super::map::{LAYERS, Layer};
use super::source::Source;

/// One rule of the house.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    /// The places that break it.
    pub(crate) complaints: fn(&[Source]) -> Vec<String>,
    /// What to do about one.
    pub(crate) remedy: &'static str,
    /// Sets of sources, each of which breaks it.
    pub(crate) wrong: fn() -> Vec<Vec<Source>>,
}

/// Sources that break no rule.
pub(crate) const CLEAN: fn() -> Vec<Source> = || {
    vec![
        Source::new("src/wire/mod.rs", "//! A.\n//!\n//! Invariant: b.\n"),
        Source::new(
            "src/turn/a.rs",
            "//! A.\nuse crate::wire::chunk::FinishReason;\n",
        ),
        Source::new(
            "src/doors/problem.rs",
            "//! A.\nuse actix_web::http::StatusCode;\n#[error(\"a {b} c\")]\nstruct D;\n",
        ),
        Source::new("tests/a.rs", "//! A.\n#[test]\nfn b() { c().unwrap(); }\n"),
    ]
};

pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "every part of the crate has a row in LAYERS",
        complaints: |sources| each(sources, without_row),
        remedy: "say in LAYERS of tests/layers.rs what the new part may know",
        wrong: || samples("src/cellar/mod.rs", &["//! Invariant: a.\n"]),
    },
    Rule {
        name: "imports go one way",
        complaints: |sources| each(sources, imports),
        remedy: "move what is shared down a layer, or pass it in; LAYERS in tests/layers.rs is the map",
        wrong: wrong_imports,
    },
    Rule {
        name: "what a layer never names",
        complaints: |sources| each(sources, words),
        remedy: "take it in as an input or do it a layer above; LAYERS in tests/layers.rs says why",
        wrong: wrong_words,
    },
    Rule {
        name: "the families of upstreams have their names in the table of dialects",
        complaints: |sources| each(sources, family_names),
        remedy: "read a field of the dialect, and add one for what has none; the name of a new family goes into the list too",
        wrong: || {
            samples(
                "src/drive/run.rs",
                &[
                    "fn f(a: &str) -> bool { a == \"mistral\" }",
                    "enum Family { Openai, DeepSeek }",
                    "fn is_gemini() {}",
                ],
            )
        },
    },
    Rule {
        name: "no door knows another",
        complaints: |sources| each(sources, sibling_doors),
        remedy: "move what both need into problem, exchange or body",
        wrong: || samples("src/doors/chat/mod.rs", &["use super::{body, models};"]),
    },
    Rule {
        name: "status codes stand in one table",
        complaints: |sources| {
            let elsewhere = |source: &Source| source.path != "src/doors/problem.rs";
            in_code(sources, elsewhere, &["StatusCode"])
        },
        remedy: "name a public error in doors/problem.rs and answer with that",
        wrong: || {
            samples(
                "src/doors/chat/mod.rs",
                &["use actix_web::http::StatusCode;"],
            )
        },
    },
    Rule {
        name: "every file says what it is",
        complaints: |sources| {
            let says = |source: &Source| source.text.starts_with("//! ");
            each(sources, |source| {
                complain(source, !says(source), "has no module docs")
            })
        },
        remedy: "begin the file with `//!` and a sentence",
        wrong: || samples("tests/a.rs", &["use std::fs;\n//! Late.\n", "// A.\n", ""]),
    },
    Rule {
        name: "every folder states its invariants",
        complaints: |sources| each(sources, without_invariant),
        remedy: "say in the mod.rs what always holds, as `//! Invariant: ...`",
        wrong: || samples("src/turn/mod.rs", &["//! A.\n\nmod b; // Invariant: c.\n"]),
    },
    Rule {
        name: "no file is too long",
        complaints: |sources| each(sources, too_long),
        remedy: "cut it where its story has a joint",
        wrong: || {
            let long = |path, lines| vec![Source::new(path, &"//! A.\n".repeat(lines))];
            vec![
                long("src/turn/a.rs", FILE_LINES + 1),
                long("src/main.rs", MAIN_LINES + 1),
            ]
        },
    },
    Rule {
        name: "most files are short",
        complaints: median,
        remedy: "cut the longest files of src until the median is in its bound again",
        wrong: || samples("src/a.rs", &[&"\n".repeat(MEDIAN_LINES + 1)]),
    },
    Rule {
        name: "tests run, and each says what it expects",
        complaints: |sources| in_tests(sources, &["#[ignore", "#[should_panic"]),
        remedy: "assert today's answer and say why it is wrong, or take the test out",
        wrong: || {
            let ignored = samples("tests/a.rs", &["#[test]\n#[ignore]\nfn f() {}"]);
            let inside = "#[cfg(test)]\nmod tests {\n#[test]\n#[should_panic]\nfn f() {}\n}";
            [ignored, samples("src/wire/a.rs", &[inside])].concat()
        },
    },
    Rule {
        name: "no test sleeps",
        complaints: |sources| in_tests(sources, &["sleep", "sleep_until"]),
        remedy: "wait for the event itself, within a patience that fails the test",
        wrong: || {
            samples(
                "tests/gateway/a.rs",
                &["async fn f() { tokio::time::sleep(A).await; }"],
            )
        },
    },
    Rule {
        name: "errors are lower case and have no full stop",
        complaints: |sources| each(sources, error_texts),
        remedy: "write it as a part of a sentence that others can put behind a colon",
        wrong: || {
            let texts = [
                "#[error(\"The a\")]",
                "#[error(\"a.\")]",
                "#[error(\n  \"A {b}\",\n c)]",
            ];
            samples("src/turn/a.rs", &texts)
        },
    },
    Rule {
        name: "no panic outside tests without its reason",
        complaints: |sources| each(sources, panics),
        remedy: "return an error, or put #[expect(clippy::unwrap_used, reason = \"...\")] right above",
        wrong: || {
            samples(
                "src/turn/a.rs",
                &["fn f() { a.unwrap(); }", "fn f() { a.expect(\"b\"); }"],
            )
        },
    },
    Rule {
        name: "exceptions carry a reason",
        complaints: |sources| each(sources, exceptions),
        remedy: "write #[expect(lint, reason = \"...\")]: it goes away when the lint no longer fires",
        wrong: || {
            samples(
                "src/a.rs",
                &[
                    "#[allow(dead_code)]",
                    "#[expect(\n    dead_code\n)]\nfn f() {}",
                ],
            )
        },
    },
];

/// Each text as the only file.
fn samples(path: &str, texts: &[&str]) -> Vec<Vec<Source>> {
    let sample = |text: &&str| vec![Source::new(path, text)];
    texts.iter().map(sample).collect()
}

/// A file of each row that names what the row leaves out.
fn wrong_imports() -> Vec<Vec<Source>> {
    let forbidden = |layer: &Layer| {
        let own = layer.of.split('/').next().unwrap_or(layer.of);
        let others = LAYERS.iter().filter(|other| {
            let known = |may: &&str| may.starts_with(other.of) || other.of.starts_with(*may);
            !other.of.starts_with(own) && !layer.may.iter().any(known)
        });
        let outright = layer.may.iter().filter_map(|may| may.strip_prefix('!'));
        let outright = outright.map(str::to_owned);
        let others = others.map(|other| other.of.replace('/', "::"));
        let paths: Vec<String> = outright.chain(others).collect();
        let path = format!("src/{}.rs", layer.of);
        let file = move |named: String| {
            let text = format!("use std::fmt;\nuse crate::{{{named}::A}};\n");
            vec![Source::new(&path, &text)]
        };
        paths.into_iter().map(file).collect::<Vec<_>>()
    };
    let engine = samples("src/doors/chat/mod.rs", &["use crate::turn::{Say, Turn};"]);
    let upwards = samples(
        "src/wire/message/mod.rs",
        &["fn f() { super::super::turn::g() }"],
    );
    let mut wrong: Vec<_> = LAYERS.iter().flat_map(forbidden).collect();
    wrong.extend(engine.into_iter().chain(upwards));
    wrong
}

/// A file of each row for each word that it forbids.
fn wrong_words() -> Vec<Vec<Source>> {
    let forbidden = |layer: &Layer| {
        let path = format!("src/{}.rs", layer.of);
        let file = move |word: &&str| vec![Source::new(&path, &format!("fn f() {{ {word}; }}"))];
        layer.never.iter().map(file).collect::<Vec<_>>()
    };
    LAYERS.iter().flat_map(forbidden).collect()
}
