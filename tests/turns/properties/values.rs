//! Random texts and JSON values, spelled in every way that is allowed.

use proptest::prelude::*;
use proptest::test_runner::Config;

/// So many random cases, and no files with those that failed.
pub(super) fn cases(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

/// Spellings of one character inside a JSON string; none of them can be cut.
const UNITS: [&str; 14] = [
    "a",
    " ",
    "{",
    "}",
    ":",
    "\u{e9}",
    "\u{5317}",
    "\u{1f4a7}",
    "\\u00E9",
    "\\n",
    "\\\"",
    "\\\\",
    "\\/",
    "\\ud83d\\udca7",
];

/// The body of a JSON string, escapes and all.
pub(super) fn body() -> impl Strategy<Value = String> {
    let unit = proptest::sample::select(&UNITS[..]);
    proptest::collection::vec(unit, 0..6).prop_map(|units| units.concat())
}

/// The text of a JSON value, with white space where it may stand.
pub(super) fn json() -> impl Strategy<Value = String> {
    let numbers = proptest::sample::select(
        &[
            "0",
            "-1",
            "1.0",
            "1e-7",
            "1E+2",
            "-0.0",
            "12345678901234567890",
            "null",
            "true",
        ][..],
    );
    let leaf = prop_oneof![
        numbers.prop_map(str::to_owned),
        body().prop_map(|body| format!("\"{body}\"")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..4), space()).prop_map(
                |(items, space)| format!("[{space}{}]", items.join(&format!(",{space}")))
            ),
            members(inner).prop_map(|members| members.0),
        ]
    })
}

/// The text of a JSON object.
pub(super) fn object() -> impl Strategy<Value = String> {
    members(json()).prop_map(|members| members.0)
}

#[derive(Clone, Debug)]
struct Members(String);

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = Members> {
    let member = (body(), value).prop_map(|(key, value)| format!("\"{key}\": {value}"));
    (proptest::collection::vec(member, 0..4), space())
        .prop_map(|(members, space)| Members(format!("{{{space}{}{space}}}", members.join(","))))
}

fn space() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&["", " ", "\n\t "][..])
}
