//! Turns as they were stored, kept so that a release notices when it cannot read them.
//!
//! A file of `fixtures/snapshots` is named for its version and tells how it came to be: a turn
//! was opened (`turn`) and some things happened (`before`); then it was stored (`snapshot`). What
//! follows (`then`) has to end as stated (`expect`). A missing `snapshot` or `expect` is written;
//! what stands there is never rewritten, not by `UPDATE=1` either.

use std::error::Error;
use std::fs;
use std::path::Path;

use handback::turn::Snapshot;
use handback::wire::Raw;
use handback::wire::raw::Members;
use serde_json::value::RawValue;

use super::case::Opening;
use super::layout::laid_out;
use super::play::{self, Play};

/// Goes on with a stored turn; gives the name of the state in which it waited.
pub(crate) fn check(path: &Path) -> Result<&'static str, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let members = Members::parse(&text)?;
    let part = |key: &str| members.get(key).map(RawValue::get);
    let (Some(turn), Some(before), Some(then)) = (part("turn"), part("before"), part("then"))
    else {
        return Err("turn, before or then is missing".into());
    };
    let snapshot = match part("snapshot") {
        Some(snapshot) => snapshot.to_owned(),
        None => store(turn, before)?,
    };
    let read: Snapshot = serde_json::from_str(&snapshot)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with(&format!("v{}-", read.version)) {
        return Err(format!("the snapshot has version {}", read.version).into());
    }
    let state = play::state(&read.turn);
    let given = format!("{turn}{before}{then}");
    let mut made_up = play::ids_in(&snapshot);
    made_up.dedup();
    made_up.retain(|id| !given.contains(id));
    let mut play = Play::resume(read.turn, &given, made_up);
    play.feed(&serde_json::from_str::<Vec<Raw>>(then)?)?;
    let actual = laid_out(&play.record());
    let expected = part("expect").map(laid_out);
    if part("snapshot").is_none() || expected.is_none() {
        let expect = expected.as_deref().unwrap_or(&actual);
        fs::write(path, file(&members, &snapshot, expect))?;
    }
    match expected {
        Some(expected) if expected != actual => {
            Err(format!("\n--- expected\n{expected}--- actual\n{actual}").into())
        }
        _ => Ok(state),
    }
}

/// Plays what came before and stores the turn.
fn store(turn: &str, before: &str) -> Result<String, Box<dyn Error>> {
    let given = format!("{turn}{before}");
    let mut play = Play::open(Opening::parse(turn)?, &given, false)?;
    play.feed(&serde_json::from_str::<Vec<Raw>>(before)?)?;
    Ok(serde_json::to_string(&Snapshot::of(play.turn().clone()))?)
}

/// The file with its snapshot, which stays on one line as it was written.
fn file(members: &Members<'_>, snapshot: &str, expect: &str) -> String {
    let part = |key: &str| members.get(key).map_or("null", RawValue::get);
    let [turn, before, then] = ["turn", "before", "then"].map(|key| laid_out(part(key)));
    let (turn, before, then) = (turn.trim_end(), before.trim_end(), then.trim_end());
    format!(
        "{{\n\"turn\": {turn},\n\"before\": {before},\n\"snapshot\": {snapshot},\n\"then\": {then},\n\"expect\": {expect}}}\n"
    )
}
