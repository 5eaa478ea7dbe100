//! Continuations as they were sealed, kept so that a release notices when it cannot open them.
//!
//! A file of `fixtures/continuation` is named for its version. It says for whom it was sealed and
//! with which key, and how the turn came to its handback (`turn`, `before`); `id` is what the
//! caller was given, `carry` what is in it. **For a new version** copy the last file without
//! these two, under the new name, and run the test: what is missing is written. What stands there
//! is never rewritten, not by `UPDATE=1` either.

use std::error::Error;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytestring::ByteString;
use handback::continuation::settings::{ContinuationSettings, SealingKey};
use handback::continuation::{Binding, CARRY_VERSION, Carry, Sealer};
use handback::turn::Millis;
use handback::wire::Raw;
use serde::{Deserialize, Serialize};

use super::case::Opening;
use super::play::Play;

/// A file.
#[derive(Deserialize, Serialize)]
struct File {
    /// What is at stake, in a sentence.
    why: String,
    /// The sealing key, as the configuration has it.
    key: String,
    /// The name of the caller's key.
    caller: String,
    /// The model as the caller named it.
    model: String,
    agent: String,
    sealed_at: Millis,
    /// The id of the call that is sealed, which does not travel.
    first: ByteString,
    turn: Raw,
    before: Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<Raw>,
}

/// Opens a stored continuation; gives its version.
pub(crate) fn check(path: &Path) -> Result<u32, Box<dyn Error>> {
    let mut file: File = serde_json::from_str(&fs::read_to_string(path)?)?;
    let key = <[u8; 32]>::try_from(STANDARD.decode(&file.key)?.as_slice())?;
    let settings = ContinuationSettings {
        keys: vec![SealingKey::new(key)],
        ..ContinuationSettings::default()
    };
    let sealer = Sealer::new(&settings, [0; 32]);
    let (caller, model) = (file.caller.clone(), file.model.clone());
    let binding = Binding {
        key: &caller,
        model: &model,
    };
    if file.id.is_none() || file.carry.is_none() {
        let carry = carry(&file)?;
        file.carry = Some(Raw::parse(&serde_json::to_string(&carry)?)?);
        file.id = Some(sealer.seal(&carry, binding, [7; 24])?);
        fs::write(path, format!("{}\n", serde_json::to_string_pretty(&file)?))?;
    }
    let id = file.id.as_deref().unwrap_or_default();
    let opened = sealer.open(id, binding, file.sealed_at)?;
    let kept = file.carry.as_ref().map_or("", Raw::get);
    if opened != serde_json::from_str::<Carry>(kept)? {
        return Err(format!("it opens to {}", serde_json::to_string(&opened)?).into());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if name != format!("v{}", opened.version) {
        return Err(format!("it has version {}", opened.version).into());
    }
    Ok(opened.version)
}

/// What the turn of a file carries.
fn carry(file: &File) -> Result<Carry, Box<dyn Error>> {
    let (turn, before) = (file.turn.get(), file.before.get());
    let mut play = Play::open(Opening::parse(turn)?, &format!("{turn}{before}"), false)?;
    play.feed(&serde_json::from_str::<Vec<Raw>>(before)?)?;
    let hidden = play.turn().hidden().ok_or("nothing is hidden")?;
    Ok(Carry {
        version: CARRY_VERSION,
        sealed_at: file.sealed_at,
        agent: file.agent.clone(),
        upstream: String::new(),
        hidden: hidden.with_sealed(&file.first),
    })
}
