//! The words of a case: what a turn is opened with, and what happens to it.

use std::error::Error;

use bytestring::ByteString;
use handback::tools::{Catalogue, Choice, ServiceTool};
use handback::turn::{
    ArgumentPolicy, CallerResult, History, Input, Limits, Millis, Provider, Setup,
};
use handback::wire::answer::{self, Part};
use handback::wire::write::compact;
use handback::wire::{Delta, Message, Raw, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// `turn.json`. What is left out is as in [`Opening::default`]: a question, two tools of the
/// caller and two of services.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Opening {
    /// What is at stake, in a sentence.
    why: String,
    /// The conversation as the caller sends it.
    messages: Vec<Message>,
    /// The caller's tools.
    tools: Vec<Tool>,
    /// The tools of services, `{"tool": ..., "side_effect": ...}`.
    services: Vec<ServiceTool>,
    /// `tool_choice`; `"none"` is taken too.
    choice: Option<Raw>,
    /// `repair`, `strict` or `pass`.
    arguments: ArgumentPolicy,
    /// Limits other than the default ones.
    limits: Map<String, Value>,
    /// Milliseconds since the epoch.
    now: u64,
    seed: u64,
    /// Who serves the model.
    provider: Provider,
    /// The caller gets an answer at its end only.
    patient: bool,
}

const QUESTION: &str = r#"[{"role":"user","content":"Is it raining in Lisbon?"}]"#;

const CALLER_TOOLS: &str = r#"[
    {"type":"function","function":{"name":"get_weather","parameters":
        {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},
    {"type":"function","function":{"name":"print_label","parameters":
        {"type":"object","properties":{"copies":{"type":"integer"}},"required":["copies"]}}}]"#;

const SERVICE_TOOLS: &str = r#"[
    {"side_effect":"none","tool":{"type":"function","function":{"name":"search_articles","parameters":
        {"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}}},
    {"side_effect":"external_write","tool":{"type":"function","function":{"name":"note_down","parameters":
        {"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}}]"#;

impl Default for Opening {
    fn default() -> Opening {
        Opening {
            why: String::new(),
            messages: usual(QUESTION),
            tools: usual(CALLER_TOOLS),
            services: usual(SERVICE_TOOLS),
            choice: None,
            arguments: ArgumentPolicy::default(),
            limits: Map::new(),
            now: 1_000,
            seed: 7,
            provider: Provider::default(),
            patient: false,
        }
    }
}

fn usual<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(&compact(text)).unwrap_or_default()
}

impl Opening {
    /// Reads a `turn.json`.
    pub(crate) fn parse(text: &str) -> Result<Setup, Box<dyn Error>> {
        let opening: Opening = serde_json::from_str(text)?;
        if opening.why.is_empty() {
            return Err("why is missing: say what is at stake".into());
        }
        opening.setup()
    }

    fn setup(self) -> Result<Setup, Box<dyn Error>> {
        let refused = |refusal: handback::wire::Refusal| refusal.message;
        let mut limits = serde_json::to_value(Limits::default())?;
        for (name, value) in self.limits {
            limits[name] = value;
        }
        let limits: Limits = serde_json::from_value(limits)?;
        let catalogue =
            Catalogue::merge(self.tools, self.services, limits.tools).map_err(refused)?;
        let history = History::settle(self.messages).map_err(refused)?;
        Ok(Setup {
            messages: history.messages,
            origins: history.origins,
            choice: Choice::parse(self.choice.as_ref(), catalogue.caller(), true)
                .map_err(refused)?,
            catalogue,
            arguments: self.arguments,
            limits,
            now: Millis(self.now),
            seed: self.seed,
            resume: None,
            provider: self.provider,
            patient: self.patient,
        })
    }
}

/// One element of `inputs.json`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Happening {
    /// The model request failed.
    AnswerFailed,
    /// It failed, and is made again; `{}` for the same upstream.
    AskedAgain(Provider),
    /// The caller is gone.
    Cancelled,
    /// A chunk of the upstream's stream.
    Chunk(Raw),
    /// A chunk, only its delta.
    Delta(Raw),
    /// The model's answer is complete.
    Ended(bool),
    /// A chunk that says nothing but why the answer ends.
    Finish(Raw),
    /// A whole answer, only its message.
    Message(Raw),
    /// A service replied.
    Reply { id: ByteString, result: String },
    /// The caller came back, with tool messages and others.
    Returned {
        results: Vec<Message>,
        #[serde(default)]
        messages: Vec<Message>,
        now: u64,
    },
    /// The time of the turn is up.
    TimeUp,
    /// A chunk that says nothing but the usage.
    Usage(Raw),
    /// A whole answer of the upstream.
    Whole(Raw),
}

impl Happening {
    /// What the turn is told.
    pub(crate) fn input(self) -> Result<Input, Box<dyn Error>> {
        Ok(match self {
            Happening::AnswerFailed => Input::AnswerFailed,
            Happening::AskedAgain(provider) => Input::AskedAgain { provider },
            Happening::Cancelled => Input::Cancelled,
            Happening::Chunk(chunk) => Input::Delta(streamed(chunk.get())?),
            Happening::Delta(delta) => {
                let delta = delta.get();
                let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
                Input::Delta(streamed(&chunk)?)
            }
            Happening::Ended(true) => Input::AnswerEnded,
            Happening::Ended(false) => return Err("ended is true or not there".into()),
            Happening::Finish(reason) => {
                let reason = reason.get();
                let chunk = format!(
                    r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#
                );
                Input::Delta(streamed(&chunk)?)
            }
            Happening::Message(message) => {
                let message = message.get();
                let answer = format!(r#"{{"choices":[{{"index":0,"message":{message}}}]}}"#);
                Input::Delta(whole(&answer)?)
            }
            Happening::Reply { id, result } => Input::ServiceReplied { id, result },
            Happening::Returned {
                results,
                messages,
                now,
            } => Input::CallerReturned {
                results: results.into_iter().map(result).collect::<Result<_, _>>()?,
                messages,
                now: Millis(now),
            },
            Happening::TimeUp => Input::TimeUp,
            Happening::Usage(usage) => {
                let usage = usage.get();
                Input::Delta(streamed(&format!(r#"{{"choices":[],"usage":{usage}}}"#))?)
            }
            Happening::Whole(answer) => Input::Delta(whole(answer.get())?),
        })
    }
}

fn streamed(chunk: &str) -> Result<Delta, Box<dyn Error>> {
    delta(answer::event(chunk.to_owned().into())?)
}

fn whole(answer: &str) -> Result<Delta, Box<dyn Error>> {
    delta(answer::whole(answer.to_owned().into())?)
}

fn delta(part: Part) -> Result<Delta, Box<dyn Error>> {
    match part {
        Part::Delta(delta) => Ok(delta),
        other => Err(format!("no delta: {other:?}").into()),
    }
}

fn result(message: Message) -> Result<CallerResult, Box<dyn Error>> {
    let id = message
        .answers
        .clone()
        .ok_or("a result is a tool message")?;
    Ok(CallerResult { id, message })
}
