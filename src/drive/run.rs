//! One turn under way.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use bytestring::ByteString;
use tokio::time::Sleep;

use super::agent::Agent;
use super::clock;
use crate::tools::{Catalogue, Choice};
use crate::turn::{Action, Answered, Ask, History, Input, Limits, Say, Setup, Stopped, Turn};
use crate::upstream::{self, Answer, Asked, Prompt};
use crate::wire::request::Field;
use crate::wire::{Message, Raw, Refusal, Tool};

/// What a caller asks of an agent.
pub struct Order {
    /// Who is asked.
    pub agent: Arc<Agent>,
    /// The model as the caller named it.
    pub model: ByteString,
    /// The conversation as it was sent.
    pub messages: Vec<Message>,
    /// The caller's tools.
    pub tools: Vec<Tool>,
    /// `tool_choice` as it was sent.
    pub tool_choice: Option<Raw>,
    /// Whether the caller's key allows strings there.
    pub tool_choice_strings: bool,
    /// Every other field that goes upstream.
    pub fields: Vec<Field>,
    /// The caller's `authorization`.
    pub authorization: Option<Vec<u8>>,
    /// The bounds.
    pub limits: Limits,
}

/// Something for the caller.
#[derive(Debug)]
pub enum Event {
    /// The end of the answer; nothing follows.
    Answered(Box<Answered>),
    /// A piece of it.
    Say(Say),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The engine gave up.
    #[error(transparent)]
    Stopped(Stopped),
    /// The model request failed.
    #[error(transparent)]
    Upstream(#[from] upstream::Error),
}

/// A turn and what it waits for.
pub struct Drive {
    turn: Turn,
    /// What the engine asked for last, still to be performed.
    actions: VecDeque<Action>,
    /// Where the engine writes; kept, so that a delta allocates nothing.
    fresh: Vec<Action>,
    model: Model,
    agent: Arc<Agent>,
    fields: Vec<Field>,
    named: ByteString,
    authorization: Option<Vec<u8>>,
    time: Pin<Box<Sleep>>,
    seed: u64,
    rounds: u32,
    /// Results that were dropped and placeholders that were put in.
    repaired_history: (usize, usize),
}

/// The model request under way.
enum Model {
    Answering(Box<Answer>),
    Asked(Asked),
    Silent,
}

impl Drive {
    /// Checks an order and opens its turn. A refusal costs no model request.
    pub fn start(order: Order) -> Result<Box<Drive>, Refusal> {
        let agent = order.agent;
        let strings = agent.tool_choice_strings || order.tool_choice_strings;
        let catalogue = Catalogue::merge(order.tools, Vec::new(), order.limits.tools)?;
        let choice = Choice::parse(order.tool_choice.as_ref(), catalogue.caller(), strings)?;
        let history = History::settle(order.messages)?;
        let time = Box::pin(tokio::time::sleep(order.limits.turn_time));
        let seed = rand::random();
        let setup = Setup {
            messages: history.messages,
            catalogue,
            choice,
            arguments: agent.arguments,
            limits: order.limits,
            now: clock::now_millis(),
            seed,
        };
        let mut fresh = Vec::new();
        let turn = Turn::open(setup, &mut fresh);
        Ok(Box::new(Drive {
            turn,
            actions: fresh.drain(..).collect(),
            fresh,
            model: Model::Silent,
            fields: with_defaults(order.fields, &agent.defaults),
            agent,
            named: order.model,
            authorization: order.authorization,
            time,
            seed,
            rounds: 0,
            repaired_history: (history.dropped, history.placeholders),
        }))
    }

    /// The next thing for the caller. Once it is the end or a failure, the drive is over.
    ///
    /// Can be dropped while it waits, and called again.
    pub async fn next(&mut self) -> Result<Event, Failure> {
        loop {
            while let Some(action) = self.actions.pop_front() {
                match action {
                    Action::Answer(answered) => return Ok(Event::Answered(answered)),
                    Action::AskModel(ask) => self.ask(&ask),
                    Action::Say(say) => return Ok(Event::Say(say)),
                    Action::Stop(stopped) => return Err(Failure::Stopped(stopped)),
                    // No agent has services yet, so the engine never asks for one.
                    Action::CallService(_) => {}
                }
            }
            let input = tokio::select! {
                biased;
                input = self.model.input() => input?,
                () = &mut self.time => Input::TimeUp,
            };
            self.feed(input);
        }
    }

    /// Model requests so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// How many results of the history were dropped, and how many placeholders put in.
    pub fn repaired_history(&self) -> (usize, usize) {
        self.repaired_history
    }

    fn feed(&mut self, input: Input) {
        let turn = std::mem::replace(&mut self.turn, Turn::Finished);
        self.turn = turn.handle(input, &mut self.fresh);
        self.actions.extend(self.fresh.drain(..));
    }

    fn ask(&mut self, ask: &Ask) {
        self.rounds = ask.round;
        let tools: Vec<&Raw> = match self.turn.catalogue() {
            Some(catalogue) => catalogue.offered(ask.offer).collect(),
            None => Vec::new(),
        };
        let prompt = Prompt {
            model: self.agent.model.as_deref().unwrap_or(&self.named),
            instructions: self.agent.instructions.as_deref(),
            messages: self.turn.messages(),
            tools: &tools,
            tool_choice: ask.choice.as_ref(),
            fields: &self.fields,
        };
        let request = upstream::Request {
            body: prompt.render(),
            authorization: self.authorization.clone(),
            seed: self.seed.wrapping_add(u64::from(ask.round)),
            created: clock::now_seconds(),
        };
        self.model = Model::Asked(self.agent.upstream.ask(request));
    }
}

impl Model {
    /// What the model does next. A request that failed is reported as such to the caller of the
    /// drive; the turn ends with it.
    async fn input(&mut self) -> Result<Input, upstream::Error> {
        loop {
            match self {
                Model::Asked(asked) => *self = Model::Answering(Box::new(asked.await?)),
                Model::Answering(answer) => {
                    if let Some(delta) = answer.next().await? {
                        return Ok(Input::Delta(delta));
                    }
                    *self = Model::Silent;
                    return Ok(Input::AnswerEnded);
                }
                Model::Silent => std::future::pending().await,
            }
        }
    }
}

/// The caller's fields and, where it sent none, the agent's (contract R4).
fn with_defaults(mut fields: Vec<Field>, defaults: &[Field]) -> Vec<Field> {
    for default in defaults {
        if !fields
            .iter()
            .any(|field| is_same_field(&field.key, &default.key))
        {
            fields.push(default.clone());
        }
    }
    fields
}

/// Whether two fields say the same: the reference has two names for one of them.
fn is_same_field(one: &str, other: &str) -> bool {
    const TOKENS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    one == other || (TOKENS.contains(&one) && TOKENS.contains(&other))
}
