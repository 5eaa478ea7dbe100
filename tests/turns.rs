//! The engine, by cases that are data.
//!
//! A folder of `fixtures/turns` is a case: `turn.json` is what the turn is opened with,
//! `inputs.json` what happens to it, `expect.json` what it does at each step and what the model
//! is shown whenever it is asked. Ids that the turn makes up are called `new-1`, `new-2` and so
//! on, in inputs as well. A missing expectation is written; `UPDATE=1` rewrites all of them.
//!
//! `fixtures/snapshots` holds turns as a release stored them ([`turns::stored`]),
//! `fixtures/continuation` what a release sealed ([`turns::carried`]).

mod turns {
    pub(crate) mod carried;
    pub(crate) mod case;
    pub(crate) mod compact;
    pub(crate) mod layout;
    pub(crate) mod play;
    pub(crate) mod stored;
}

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use handback::wire::Raw;
use turns::case::Opening;
use turns::layout::laid_out;
use turns::play::Play;

/// The entries of a folder under `fixtures`, sorted.
fn entries(folder: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(folder);
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    assert!(!paths.is_empty(), "no cases in {}", folder.display());
    Ok(paths)
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the tests says so in the environment"
)]
fn update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Plays the case in a folder; gives the record laid out.
fn played(folder: &Path, stored: bool) -> Result<String, Box<dyn Error>> {
    let turn = fs::read_to_string(folder.join("turn.json"))?;
    let inputs = fs::read_to_string(folder.join("inputs.json"))?;
    let mut play = Play::open(Opening::parse(&turn)?, &format!("{turn}{inputs}"), stored)?;
    play.feed(&serde_json::from_str::<Vec<Raw>>(&inputs)?)?;
    Ok(laid_out(&play.record()))
}

/// What is wrong with the case in a folder, if anything.
fn complaint(folder: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let actual = played(folder, false)?;
    let expected = folder.join("expect.json");
    if update() || !expected.exists() {
        fs::write(&expected, &actual)?;
    }
    let wanted = fs::read_to_string(&expected)?;
    let differs = || {
        format!(
            "{}\n--- expected\n{wanted}--- actual\n{actual}",
            folder.display()
        )
    };
    Ok((wanted != actual).then(differs))
}

#[test]
fn every_case_goes_as_expected() -> Result<(), Box<dyn Error>> {
    let mut complaints = Vec::new();
    for folder in entries("turns")? {
        let complaint =
            complaint(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        complaints.extend(complaint);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

#[test]
fn every_case_goes_the_same_when_it_is_stored_between_every_two_inputs()
-> Result<(), Box<dyn Error>> {
    for folder in entries("turns")? {
        let (through, stored) = (played(&folder, false)?, played(&folder, true)?);
        assert_eq!(through, stored, "{}", folder.display());
    }
    Ok(())
}

#[test]
fn turns_that_a_release_stored_go_on_to_their_end() -> Result<(), Box<dyn Error>> {
    let mut states = Vec::new();
    for path in entries("snapshots")? {
        let state =
            turns::stored::check(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        states.push(state);
    }
    for waiting in ["asking", "calling", "handed_back"] {
        assert!(states.contains(&waiting), "no stored turn is {waiting}");
    }
    Ok(())
}

#[test]
fn continuations_that_a_release_sealed_still_open() -> Result<(), Box<dyn Error>> {
    let mut versions = Vec::new();
    for path in entries("continuation")? {
        let version =
            turns::carried::check(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        versions.push(version);
    }
    versions.sort_unstable();
    let all: Vec<u32> = (1..=handback::continuation::CARRY_VERSION).collect();
    assert_eq!(versions, all, "one file for each version");
    Ok(())
}
