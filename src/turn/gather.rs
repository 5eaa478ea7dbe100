//! Assembles the pieces of one answer.
//!
//! Servers disagree on how the pieces of a call are labelled. One set of rules reads them all:
//!
//! 1. Empty text and null mean absent (the wire sees to it). A piece with nothing in it says
//!    nothing.
//! 2. An index in use: another id together with a name opens a new call; everything else goes on
//!    with the call, whose first id stays.
//! 3. An unseen index: a known id without a name goes on with its call, as servers write that
//!    count fragments; else an id or a name opens a call. A bare fragment belongs to the only call
//!    there is, and is an error where there are several.
//! 4. No index: an unseen id opens a call, unless it brings arguments and no name; that and no id
//!    go on with the last one.
//! 5. A name equal to the name so far is a repeat, another one is its continuation.
//! 6. Arguments: an object becomes its compact text, `{}` or null at the start nothing, text is
//!    appended; nothing at the end is `{}`.
//! 7. A piece that says the whole answer once more adds only what none has said: text where there
//!    is none, calls where there are none, and fields of other names.
//!
//! One addition: where rules 2 and 4 would glue a name with arguments to a call whose arguments
//! are a whole JSON object already, they open a new call. Glued they could only be an error, and
//! servers without ids mean it so.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::stopped::Stopped;
use crate::wire::delta::CallDelta;
use crate::wire::fields::Fields;
use crate::wire::raw::is_object;
use crate::wire::write::{compact, quoted};
use crate::wire::{Delta, Kind, Raw, Usage, delta::Claim};

/// Calls of one answer; no server that means well sends more.
const CALLS: usize = 128;

/// One answer so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Gather {
    /// Its text, escaped.
    pub(super) text: Option<String>,
    /// Its other members.
    pub(super) fields: Fields,
    /// Its calls, in the order in which they were opened.
    pub(super) calls: Vec<OpenCall>,
    /// What the upstream claims about its end.
    pub(super) claim: Option<Claim>,
    /// Its token counts: the last ones that came (some servers send them with every chunk).
    pub(super) usage: Option<Usage>,
}

/// One call so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    index: Option<u64>,
    pub(super) id: Option<ByteString>,
    pub(super) name: String,
    /// The arguments as the body of a JSON string, escapes and all: pieces can be cut anywhere
    /// but inside an escape, so they are joined before anything is decoded.
    pub(super) arguments: String,
    extra: Vec<(ByteString, Raw)>,
}

/// One call of a settled answer, in the upstream's words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GatheredCall {
    pub(super) id: Option<ByteString>,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) extra: Vec<(ByteString, Raw)>,
}

impl Gather {
    /// Adds what a delta says of the message and its calls.
    pub(super) fn add(&mut self, delta: &Delta) -> Result<(), Stopped> {
        if let Some(text) = &delta.text {
            self.text.get_or_insert_default().push_str(text.body());
        }
        for (key, value) in &delta.fields {
            self.fields.add(key, value);
        }
        for call in delta.calls.iter().filter(|call| !call.is_blank()) {
            self.add_call(call)?;
        }
        if let Some(claim) = delta.finish {
            self.claim = Some(self.claim.map_or(claim, |earlier| earlier.and(claim)));
        }
        Ok(())
    }

    /// Takes out of a delta that says the whole answer once more what has been said of it.
    pub(super) fn leave_out_said(&self, delta: &mut Delta) {
        if self.text.as_ref().is_some_and(|text| !text.is_empty()) {
            delta.text = None;
            delta.logprobs = None;
        }
        if !self.calls.is_empty() {
            delta.calls.clear();
        }
        delta.fields.retain(|(key, _)| !self.fields.says(key));
    }

    /// The calls, once the answer is at its end.
    pub(super) fn settle(&mut self) -> Vec<GatheredCall> {
        self.calls.drain(..).map(OpenCall::settle).collect()
    }

    fn add_call(&mut self, delta: &CallDelta) -> Result<(), Stopped> {
        let at = match self.place(delta)? {
            Some(at) => at,
            None if self.calls.len() == CALLS => {
                return Err(Stopped::invalid(format!(
                    "more than {CALLS} calls in one answer"
                )));
            }
            None => {
                self.calls.push(OpenCall {
                    index: delta.index,
                    ..OpenCall::default()
                });
                self.calls.len() - 1
            }
        };
        self.calls[at].add(delta);
        Ok(())
    }

    /// The call that a piece belongs to; `None` opens a new one.
    fn place(&self, delta: &CallDelta) -> Result<Option<usize>, Stopped> {
        let names = delta.id.is_some() || delta.name.is_some();
        let of_id = || {
            let id = delta.id.as_ref()?;
            self.calls
                .iter()
                .rposition(|call| call.id.as_ref() == Some(id))
        };
        let known = match (delta.index, &delta.id) {
            (Some(index), _) => self
                .calls
                .iter()
                .rposition(|call| call.index == Some(index)),
            (None, Some(_)) if of_id().is_some() => return Ok(of_id()),
            (None, Some(_)) if delta.name.is_some() || !brings_arguments(delta) => return Ok(None),
            (None, _) => self.calls.len().checked_sub(1),
        };
        match known {
            None if delta.name.is_none() && of_id().is_some() => Ok(of_id()),
            Some(at) if self.calls[at].is_followed_by(delta) => Ok(None),
            Some(at) => Ok(Some(at)),
            None if names => Ok(None),
            None if self.calls.len() == 1 => Ok(Some(0)),
            None => Err(Stopped::Garbled {
                detail: "a piece of arguments belongs to no call or to several".to_owned(),
            }),
        }
    }
}

/// Whether there is anything of arguments in a piece.
fn brings_arguments(delta: &CallDelta) -> bool {
    let arguments = delta.arguments.as_ref();
    arguments.is_some_and(|some| !some.is_null() && some.get() != "\"\"")
}

impl OpenCall {
    /// Whether a piece with this call's index belongs to a new call.
    fn is_followed_by(&self, delta: &CallDelta) -> bool {
        if delta.name.is_none() {
            return false;
        }
        let other_id = delta
            .id
            .as_ref()
            .is_some_and(|id| self.id.as_ref().is_some_and(|own| own != id));
        other_id
            || (delta.id.is_none()
                && brings_arguments(delta)
                && self.arguments.ends_with('}')
                && self
                    .decoded()
                    .is_some_and(|arguments| is_object(&arguments)))
    }

    fn add(&mut self, delta: &CallDelta) {
        if self.id.is_none() {
            self.id.clone_from(&delta.id);
        }
        if let Some(name) = delta.name.as_deref().filter(|name| *name != self.name) {
            self.name.push_str(name);
        }
        if let Some(arguments) = &delta.arguments {
            self.add_arguments(arguments);
        }
        for (key, value) in &delta.extra {
            match self.extra.iter_mut().find(|(name, _)| name == key) {
                Some((_, old)) => *old = value.clone(),
                None => self.extra.push((key.clone(), value.clone())),
            }
        }
    }

    fn add_arguments(&mut self, arguments: &Raw) {
        match arguments.kind() {
            Kind::String => self.arguments.push_str(arguments.body()),
            Kind::Null => {}
            _ => {
                let text = compact(arguments.get());
                if text != "{}" || !self.arguments.is_empty() {
                    let escaped = quoted(&text);
                    self.arguments.push_str(&escaped[1..escaped.len() - 1]);
                }
            }
        }
    }

    /// The arguments so far, decoded; `None` where they end in the middle of a character.
    pub(super) fn decoded(&self) -> Option<String> {
        serde_json::from_str(&format!("\"{}\"", self.arguments)).ok()
    }

    fn settle(self) -> GatheredCall {
        // What cannot be decoded (half a surrogate pair) is no JSON either: it fails the checks.
        let arguments = self.decoded().unwrap_or_else(|| self.arguments.clone());
        let nothing = matches!(arguments.trim(), "" | "null");
        let arguments = if nothing { "{}".to_owned() } else { arguments };
        GatheredCall {
            id: self.id,
            name: self.name,
            arguments,
            extra: self.extra,
        }
    }
}
