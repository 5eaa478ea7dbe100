//! The scripted model: a file of answers, played as an OpenAI-compatible server would.
//!
//! It is for trying Handback without a network and a key, and for tests: a script says what
//! the model does, so a test can say what Handback makes of it. The bytes of a reply are what
//! a server writes on the wire, error bodies and event streams included, and whoever reads a
//! server's answers reads these the same way.
//!
//! # The form
//!
//! A script is a TOML file with a list of `[[answers]]`. For each model request the first
//! answer that fits is given; a script remembers nothing between two requests.
//! `fixtures/demo/support-ticket.toml` is a commented example.
//!
//! ```toml
//! [[answers]]
//! when.result = "open_ticket"                      # a result of this tool is in
//! say = "The ticket is {{result.open_ticket.id}}." # quote it
//!
//! [[answers]]
//! when.last_role = "user"
//! when.user_says = ["camera", "conveyor"]          # either of them
//! say = "I open a ticket."
//! calls = [
//!     { name = "open_ticket", arguments = { title = "{{last_user}}" } },
//!     { name = "current_time", if_not_offered = "skip" },
//! ]
//!
//! [[answers]]                                      # no conditions: fits always
//! say = "What can I do for you?"
//! ```
//!
//! ## `when`: the conditions, all of which must hold
//!
//! | key | holds if |
//! |---|---|
//! | `last_role` | the last message is of this role (or one of these): `user`, `tool`, `assistant` |
//! | `user_says` | the last user message contains this text (or one of these) |
//! | `anyone_says` | some message contains this text (or one of these) |
//! | `offered` | the request offers this tool (or all of these) |
//! | `forced` | `tool_choice` names this tool (or one of these) |
//! | `result` | this turn has a result of this tool (of all of these) |
//! | `no_result` | this turn has no result of this tool (of none of these) |
//! | `result_says.TOOL` | the tool's last result of this turn contains this text (or one of these) |
//! | `result_has.TOOL` | the tool's last result of this turn is JSON that has these values: `result_has.open_ticket.status = "failed"` |
//! | `rounds` | the model has answered this often in this turn (or one of these numbers); 0 is its first answer |
//!
//! Texts are compared without regard to case. System and developer messages never count, so
//! instructions do not disturb a script. *This turn* is everything behind the last answer of
//! the model that had no calls: a user message that comes before the model has answered the
//! results it asked for belongs to the same turn, and so do those results. With the
//! `tool_choice` `"none"` no tool counts as offered.
//!
//! ## The answer: `say`, `calls` or both, or `error`
//!
//! | key | meaning |
//! |---|---|
//! | `say` | the text; may be empty |
//! | `calls` | a list of calls: `name`; `arguments`, a table, or `arguments_json`, a text that is sent as it is, valid or not (also the way to say `null`, which TOML lacks); absent means `{}` |
//! | `calls.if_not_offered` | what happens if the request does not offer the tool: `"no_match"`, the default: the answer does not fit; `"skip"`: the call is left out (an answer of which nothing is left does not fit); `"call"`: it is called all the same |
//! | `finish` | the `finish_reason`; otherwise `tool_calls` with calls and `stop` without |
//! | `error` | an error instead of an answer: `status` (400 to 599), `message`, and if wanted `code` and `type` |
//!
//! ## References
//!
//! `say`, `error.message`, `arguments_json` and every text in `arguments` may hold them:
//!
//! - `{{last_user}}`: the text of the last user message.
//! - `{{result.TOOL}}`: the tool's last result of this turn, as it came.
//! - `{{result.TOOL.path.to.value}}`: a value of that result, which must be JSON then; a
//!   number counts into a list, from 0. A text is put in without its quotes. An argument that is
//!   nothing but such a reference gets the value with its type.
//!
//! Where there is no such result or value, the text is `(missing: result.TOOL.path)`. There is
//! no way to say `{{` itself.
//!
//! # Usage
//!
//! Tokens are estimated at one for 4 bytes, begun ones counted: `prompt_tokens` from the JSON
//! text of `messages` and `tools`, `completion_tokens` from the text, the names and the
//! arguments of the answer.
//!
//! Deliberately absent: faults of the transport (cut streams, stalls, garbage), state.
//!
//! Invariant: no clock, randomness, environment or network; the same script, request and
//! [`Moment`] give the same bytes. A file is read by [`Script::load`] only.

mod answer;
mod call;
mod condition;
mod conversation;
mod error;
mod ids;
mod list;
mod reply;
mod request;
mod template;
mod tree;
mod wire;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use answer::Answer;
use conversation::Conversation;

pub use error::ScriptError;
pub use reply::Reply;

/// A scripted model.
///
/// ```
/// use handback::upstream::script::{Moment, Script};
///
/// let script = Script::parse("[[answers]]\nsay = 'You said: {{last_user}}'", "echo")?;
/// let request = br#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;
/// let reply = script.answer(request, Moment { seed: 1, created: 1_764_500_000 });
/// assert_eq!(reply.status, 200);
/// assert!(String::from_utf8_lossy(&reply.body[0]).contains("You said: Hi"));
/// # Ok::<(), handback::upstream::script::ScriptError>(())
/// ```
#[derive(Debug)]
pub struct Script {
    /// What the script is called in its own error answers, which callers may get to see.
    name: String,
    answers: Vec<Answer>,
}

/// What a reply needs from outside the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Makes the ids of the answer and of its calls: other seeds, other ids.
    pub seed: u64,
    /// The time of the answer, in seconds since 1970.
    pub created: u64,
}

/// A script as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, deserialize_with = "list::tables")]
    answers: Vec<Spanned<Answer>>,
}

impl Script {
    /// Reads the script from a file. It is called like the file, without folder and extension.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or [`Script::parse`] refuses it.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut script = Self::parse(&text, &path.display().to_string())?;
        // The full path is for the operator; callers need not learn about folders.
        if let Some(stem) = path.file_stem() {
            script.name = stem.to_string_lossy().into_owned();
        }
        Ok(script)
    }

    /// Reads the script `name` from its text.
    ///
    /// # Errors
    ///
    /// The first mistake, with its line, the number of the answer and the key.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScriptError> {
        let file: File = toml::from_str(text)
            .map_err(|error| ScriptError::wrong(text, name, error.span(), error.message()))?;
        if file.answers.is_empty() {
            let message = "there are no answers; add one, such as\n[[answers]]\nsay = \"Hello.\"";
            return Err(ScriptError::wrong(text, name, None, message));
        }
        let always = file
            .answers
            .iter()
            .position(|answer| answer.get_ref().fits_always());
        if let Some(always) = always
            && let Some(dead) = file.answers.get(always + 1)
        {
            let message = format!(
                "this answer is never given, since answer {} before it fits always; move that \
                 one to the end, or give it conditions",
                always + 1
            );
            return Err(ScriptError::wrong(text, name, Some(dead.span()), &message));
        }
        let answers = file.answers.into_iter().map(Spanned::into_inner).collect();
        Ok(Self {
            name: name.to_owned(),
            answers,
        })
    }

    /// Answers the body of a chat-completions request.
    ///
    /// A request that cannot be read and one that no answer fits get an error reply with
    /// status 400.
    pub fn answer(&self, request: &[u8], moment: Moment) -> Reply {
        let conversation = match Conversation::read(request) {
            Ok(conversation) => conversation,
            Err(malformed) => return reply::malformed(&self.name, &malformed),
        };
        match self
            .answers
            .iter()
            .find_map(|answer| answer.play(&conversation))
        {
            Some(played) => reply::played(&played, &conversation, moment),
            None => reply::unmatched(&self.name, &conversation, self.lacks_tools(&conversation)),
        }
    }

    /// The number of the first answer that would fit if its tools were offered.
    fn lacks_tools(&self, conversation: &Conversation) -> Option<usize> {
        let lacking = |answer: &Answer| answer.when.holds(conversation);
        self.answers.iter().position(lacking).map(|index| index + 1)
    }
}
