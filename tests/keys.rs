//! `handback key`: what it prints goes into a configuration as it stands.

#![expect(
    clippy::expect_used,
    reason = "a test says that something is wrong by panicking"
)]

use std::process::{Command, Output};

use handback::access::KeyDigest;

/// A configuration that lacks nothing.
const REST: &str = r#"
[[upstreams]]
name = "local"
base_url = "http://127.0.0.1:11434"
[[agents]]
name = "a"
upstream = "local"
model = "m"
"#;

fn handback(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_handback"));
    command
        .args(arguments)
        .output()
        .expect("the handback binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Has a configuration checked; nothing may be wrong with it, nor worth a warning.
fn assert_checks(config: &str) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), config).expect("the configuration is written");
    let path = file.path().display().to_string();
    let checked = handback(&["check", "--config", &path]);
    let said = text(&checked.stdout) + &text(&checked.stderr);
    assert_eq!(said, "the configuration can be used\n", "{config}");
    assert_eq!(checked.status.code(), Some(0));
}

#[test]
fn a_callers_key_goes_into_the_configuration() {
    let seal = text(&handback(&["key", "--continuation"]).stdout);
    for name in ["support-desk", "a \"b\" \\c", "${HOME}", "ü.*"] {
        let made = handback(&["key", name]);
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
        let lines = text(&made.stdout);
        assert_checks(&format!(
            "{lines}{REST}[continuation]\nkeys = [\"{}\"]\n",
            seal.trim()
        ));
        let note = text(&made.stderr);
        let key = note.split_whitespace().last().expect("the key");
        assert!(lines.contains(&KeyDigest::of(key.as_bytes()).to_hex()));
        assert!(!lines.contains(key), "{lines}");
        // A key says nothing about the next one.
        assert_ne!(text(&handback(&["key", name]).stdout), lines);
    }
}

#[test]
fn a_continuation_key_goes_into_the_configuration() {
    let made = handback(&["key", "--continuation"]);
    assert_eq!(made.status.code(), Some(0));
    let new = text(&made.stdout);
    let note = text(&made.stderr);
    assert!(note.contains("continuation.keys"), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    let old = text(&handback(&["key", "--continuation"]).stdout);
    assert_ne!(new, old);
    let keys = [new.trim(), old.trim()];
    assert_checks(&format!("[continuation]\nkeys = {keys:?}\n{REST}"));
}

#[test]
fn a_name_that_no_key_can_have_is_refused() {
    for name in ["", "anonymous", " a"] {
        let refused = handback(&["key", name]);
        assert_eq!(refused.status.code(), Some(64), "{name:?}");
        assert!(refused.stdout.is_empty());
        assert!(!refused.stderr.is_empty());
    }
}
