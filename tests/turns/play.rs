//! Plays a case and writes down what the turn does.

use std::error::Error;

use handback::turn::{Action, Setup, Snapshot, Turn};
use handback::wire::Raw;
use handback::wire::write::ObjectWriter;

use super::case::Happening;
use super::compact::{self, Seen};

/// A turn under way, and what is written down of it.
pub(crate) struct Play {
    turn: Turn,
    steps: Vec<String>,
    seen: Seen,
    /// Every text of the case: an id that stands in it was not made up by the turn.
    given: String,
    /// Ids that the turn made up, in the order in which they came. Expectations and inputs know
    /// them as `new-1`, `new-2` and so on.
    made_up: Vec<String>,
    /// Store the turn and read it back before every input.
    stored: bool,
}

impl Play {
    /// Opens a turn.
    pub(crate) fn open(setup: Setup, given: &str, stored: bool) -> Result<Play, Box<dyn Error>> {
        let mut actions = Vec::new();
        let turn = Turn::open(setup, &mut actions);
        let mut play = Play::resume(turn, given, Vec::new());
        play.stored = stored;
        play.write_down("open", &actions)?;
        Ok(play)
    }

    /// Goes on with a turn that was stored, and that knows some ids already.
    pub(crate) fn resume(turn: Turn, given: &str, made_up: Vec<String>) -> Play {
        Play {
            turn,
            steps: Vec::new(),
            seen: Seen::default(),
            given: given.to_owned(),
            made_up,
            stored: false,
        }
    }

    /// Feeds the inputs.
    pub(crate) fn feed(&mut self, inputs: &[Raw]) -> Result<(), Box<dyn Error>> {
        for input in inputs {
            let mut text = input.get().to_owned();
            for (at, id) in self.made_up.iter().enumerate().rev() {
                text = text.replace(&format!("new-{}", at + 1), id);
            }
            let happening: Happening =
                serde_json::from_str(&text).map_err(|error| format!("{error} in {text}"))?;
            let input = happening
                .input()
                .map_err(|error| format!("{error} in {text}"))?;
            if self.stored {
                self.turn = stored_and_read(self.turn.clone())?;
            }
            let mut actions = Vec::new();
            self.turn = self.turn.clone().handle(input, &mut actions);
            self.write_down(&kind(&text), &actions)?;
        }
        Ok(())
    }

    /// The turn as it stands.
    pub(crate) fn turn(&self) -> &Turn {
        &self.turn
    }

    /// What was written down, as JSON text.
    pub(crate) fn record(&self) -> String {
        format!(
            r#"{{"steps":[{}],"ends":"{}"}}"#,
            self.steps.join(","),
            state(&self.turn)
        )
    }

    fn write_down(&mut self, after: &str, actions: &[Action]) -> Result<(), Box<dyn Error>> {
        let done: Result<Vec<String>, _> = actions
            .iter()
            .map(|action| compact::action(action, &self.turn.shown(), &mut self.seen))
            .collect();
        let mut step = String::new();
        let mut object = ObjectWriter::begin(&mut step);
        object.string("after", after);
        object.string("is", state(&self.turn));
        if let Some(deadline) = self.turn.deadline() {
            object.member("until", &deadline.0.to_string());
        }
        object.member("does", &format!("[{}]", done?.join(",")));
        object.end();
        for id in ids_in(&step) {
            if !self.given.contains(&id) && !self.made_up.contains(&id) {
                self.made_up.push(id);
            }
        }
        for (at, id) in self.made_up.iter().enumerate() {
            step = step.replace(id, &format!("new-{}", at + 1));
        }
        self.steps.push(step);
        Ok(())
    }
}

/// The turn after it was stored as text and read again.
fn stored_and_read(turn: Turn) -> Result<Turn, Box<dyn Error>> {
    let snapshot = Snapshot::of(turn);
    let read: Snapshot = serde_json::from_str(&serde_json::to_string(&snapshot)?)?;
    if read != snapshot {
        return Err(format!("stored {snapshot:?} and read {read:?}").into());
    }
    Ok(read.turn)
}

/// The name of the state.
pub(crate) fn state(turn: &Turn) -> &'static str {
    match turn {
        Turn::Asking(_) => "asking",
        Turn::Calling(_) => "calling",
        Turn::HandedBack(_) => "handed_back",
        Turn::Finished => "finished",
        Turn::Stopped(_) => "stopped",
    }
}

/// The first word of an input.
fn kind(input: &str) -> String {
    input.split('"').nth(1).unwrap_or("nothing").to_owned()
}

/// Ids in the form that the engine makes: `call_` and 24 letters and digits.
pub(crate) fn ids_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| {
            word.strip_prefix("call_")
                .is_some_and(|rest| rest.len() == 24 && !rest.contains('_'))
        })
        .map(str::to_owned)
        .collect()
}
