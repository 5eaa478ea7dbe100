//! One turn under way.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use bytestring::ByteString;
use sha2::{Digest, Sha256};
use tokio::time::Sleep;

use super::agent::{Agent, Bound};
use super::calls::{Calls, Done, Job};
use super::clock;
use super::opened::Opened;
use super::roster::Common;
use super::team::Team;
use crate::continuation::{Binding, CARRY_VERSION, Carry, TooLarge};
use crate::tools::{Catalogue, Choice, ServiceTool};
use crate::turn::{Action, Answered, Ask, Input, Say, ServiceCall, Setup, Stopped, Turn};
use crate::upstream::{self, Answer, Asked, Prompt};
use crate::wire::refusal::excerpt;
use crate::wire::request::Field;
use crate::wire::write::{hex_into, quoted};
use crate::wire::{Code, Message, Raw, Refusal, Tool};

/// What a caller asks of an agent.
pub struct Order {
    /// Who is asked first.
    pub agent: Arc<Agent>,
    /// The team, if a team is asked.
    pub team: Option<Arc<Team>>,
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
    /// The name of the caller's key: what is sealed for one does not open for another.
    pub key: String,
    /// What every turn shares.
    pub common: Arc<Common>,
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
    /// More is hidden than may travel (contract K8).
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
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
    /// The agent that is asked now.
    agent: Arc<Agent>,
    team: Option<Arc<Team>>,
    /// Its tools, as they were offered last.
    bound: Vec<Bound>,
    /// Those of the agent that handed over in this round.
    former: Vec<Bound>,
    calls: Calls,
    common: Arc<Common>,
    key: String,
    /// The caller's fields, without any agent's defaults.
    fields: Vec<Field>,
    named: ByteString,
    authorization: Option<Vec<u8>>,
    time: Pin<Box<Sleep>>,
    seed: u64,
    rounds: u32,
    /// The beginning of a call is with the caller already: its id cannot be changed any more.
    call_begun: bool,
    mended: Mended,
}

/// What had to be done to a history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mended {
    /// Results that were dropped, since nothing bears their id.
    pub dropped: usize,
    /// Placeholders that were put in.
    pub placeholders: usize,
    /// The hidden part of the turn is lost, and it goes on without it.
    pub lost: bool,
}

/// The model request under way.
enum Model {
    Answering(Box<Answer>),
    Asked(Asked),
    Silent,
}

impl Drive {
    /// Checks an order and opens its turn. A refusal costs no model request.
    pub fn start(mut order: Order) -> Result<Box<Drive>, Refusal> {
        let strings = order.agent.tool_choice_strings || order.tool_choice_strings;
        check_team(order.team.as_deref(), &order)?;
        let opened = Opened::read(&mut order)?;
        let limits = &order.common.limits;
        let agent = opened.agent.unwrap_or(order.agent);
        let bound = agent.tools();
        let catalogue = Catalogue::merge(
            order.tools,
            offered(&bound, order.team.as_deref(), &agent),
            limits.tools,
        )?;
        let choice = Choice::parse(order.tool_choice.as_ref(), catalogue.caller(), strings)?;
        let history = opened.history;
        let time = Box::pin(tokio::time::sleep(limits.turn_time));
        let seed = rand::random();
        let mended = Mended {
            dropped: history.dropped,
            placeholders: history.placeholders,
            lost: opened.lost,
        };
        let setup = Setup {
            messages: history.messages,
            catalogue,
            choice,
            arguments: agent.arguments,
            limits: limits.clone(),
            now: clock::now_millis(),
            seed,
            resume: history.resume,
        };
        let mut fresh = Vec::new();
        let turn = Turn::open(setup, &mut fresh);
        Ok(Box::new(Drive {
            turn,
            actions: fresh.drain(..).collect(),
            fresh,
            model: Model::Silent,
            agent,
            team: order.team,
            bound,
            former: Vec::new(),
            calls: Calls::default(),
            common: order.common,
            key: order.key,
            fields: order.fields,
            named: order.model,
            authorization: order.authorization,
            time,
            seed,
            rounds: 0,
            call_begun: false,
            mended,
        }))
    }

    /// The next thing for the caller. Once it is the end or a failure, the drive is over.
    ///
    /// Can be dropped while it waits, and called again.
    pub async fn next(&mut self) -> Result<Event, Failure> {
        loop {
            while let Some(action) = self.actions.pop_front() {
                match action {
                    Action::Answer(mut answered) => {
                        self.seal(&mut answered)?;
                        return Ok(Event::Answered(answered));
                    }
                    Action::AskModel(ask) => self.ask(&ask),
                    Action::Say(say) => {
                        self.call_begun = self.call_begun || matches!(say, Say::CallHead { .. });
                        return Ok(Event::Say(say));
                    }
                    Action::Stop(stopped) => return Err(Failure::Stopped(stopped)),
                    Action::CallService(call) => self.call(call),
                }
            }
            if !self.calls.is_idle() {
                self.calls.start(&self.common);
            }
            let input = tokio::select! {
                biased;
                input = self.model.input() => input?,
                done = self.calls.next(), if !self.calls.is_idle() => self.replied(done),
                () = &mut self.time => Input::TimeUp,
            };
            self.feed(input);
        }
    }

    /// Model requests so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// What had to be done to the history.
    pub fn mended(&self) -> Mended {
        self.mended
    }

    /// Whether a tool with side effects has been run: the same request again may run it twice.
    pub fn wrote(&self) -> bool {
        self.calls.wrote
    }

    /// Runs an internal call, or hands the conversation over.
    fn call(&mut self, call: ServiceCall) {
        let name = &call.call.name;
        let target = self
            .team
            .as_ref()
            .and_then(|team| team.target(name))
            .cloned();
        if let Some(target) = target {
            self.transfer(&call, target);
            return;
        }
        // A call beside a transfer belongs to whoever made it.
        let known = if self.former.is_empty() {
            &self.bound
        } else {
            &self.former
        };
        let bound = known
            .iter()
            .find(|bound| bound.tool.tool.name == *name)
            .cloned();
        let idempotency_key = idempotency_key(self.turn.id(), self.turn.rounds(), &call);
        let parked = call.parked;
        self.calls.push(Job {
            call,
            bound,
            idempotency_key,
            parked,
        });
    }

    /// Hands the conversation to a member of the team: whoever is asked next is another.
    fn transfer(&mut self, call: &ServiceCall, target: Arc<Agent>) {
        let other_upstream = target.upstream_name != self.agent.upstream_name;
        let bound = std::mem::replace(&mut self.bound, target.tools());
        if self.former.is_empty() {
            self.former = bound;
        }
        let services = offered(&self.bound, self.team.as_deref(), &target);
        let arguments = target.arguments;
        let result = format!(
            "{{\"status\":\"transferred\",\"to\":{}}}",
            quoted(&target.name)
        );
        tracing::info!(
            from = self.agent.name,
            to = target.name,
            "conversation transferred"
        );
        self.agent = target;
        self.feed(Input::Transferred {
            services,
            arguments,
            other_upstream,
        });
        self.feed(Input::ServiceReplied {
            id: call.call.id.clone(),
            result,
        });
    }

    fn replied(&self, done: Done) -> Input {
        if let Some((service, outcome, duration)) = &done.seen {
            let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(
                agent = self.agent.name,
                service,
                outcome = outcome.as_str(),
                round = self.rounds,
                duration_ms,
                "service call"
            );
        }
        Input::ServiceReplied {
            id: done.id,
            result: done.text,
        }
    }

    /// Puts what the caller cannot bring into the id of the first call (contract K1).
    fn seal(&self, answered: &mut Answered) -> Result<(), TooLarge> {
        let (Some(first), false) = (answered.calls.first_mut(), self.call_begun) else {
            return Ok(());
        };
        let Some(hidden) = self.turn.hidden() else {
            return Ok(());
        };
        let carry = Carry {
            version: CARRY_VERSION,
            sealed_at: clock::now_millis(),
            agent: self.agent.name.clone(),
            upstream: self.agent.upstream_name.clone(),
            hidden: hidden.with_sealed(&first.id),
        };
        let binding = Binding {
            key: &self.key,
            model: &self.named,
        };
        first.id = self
            .common
            .sealer
            .seal(&carry, binding, rand::random())?
            .into();
        Ok(())
    }

    fn feed(&mut self, input: Input) {
        let turn = std::mem::replace(&mut self.turn, Turn::Finished);
        self.turn = turn.handle(input, &mut self.fresh);
        self.actions.extend(self.fresh.drain(..));
    }

    fn ask(&mut self, ask: &Ask) {
        self.rounds = ask.round;
        self.former.clear();
        let tools: Vec<&Raw> = match self.turn.catalogue() {
            Some(catalogue) => catalogue.offered(ask.offer).collect(),
            None => Vec::new(),
        };
        let fields = with_defaults(&self.fields, &self.agent.defaults);
        let prompt = Prompt {
            model: self.agent.model.as_deref().unwrap_or(&self.named),
            instructions: self.agent.instructions.as_deref(),
            messages: self.turn.messages(),
            tools: &tools,
            tool_choice: ask.choice.as_ref(),
            fields: &fields,
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

/// The service tools that an agent is offered: its own, and its team's.
fn offered(bound: &[Bound], team: Option<&Team>, agent: &Agent) -> Vec<ServiceTool> {
    let own = bound.iter().map(|bound| bound.tool.clone());
    own.chain(team.map(|team| team.tools(agent)).unwrap_or_default())
        .collect()
}

/// What holds for teams alone: no choice, and no name of a tool that any member could use.
fn check_team(team: Option<&Team>, order: &Order) -> Result<(), Refusal> {
    let Some(team) = team else { return Ok(()) };
    if let Some(choice) = order
        .tool_choice
        .as_ref()
        .filter(|choice| !choice.is_null())
    {
        let message = format!(
            "tool_choice is {}; {:?} is a team, which takes none: leave it out",
            excerpt(choice.get()),
            &*order.model
        );
        return Err(Refusal::at(
            Code::ToolChoiceUnsupportedForTeams,
            "tool_choice",
            message,
        ));
    }
    Catalogue::merge(order.tools.clone(), team.all_tools(), usize::MAX).map(drop)
}

/// The same for every attempt at the same call (contract V3).
fn idempotency_key(turn: u64, round: u32, call: &ServiceCall) -> String {
    let mut digest = Sha256::new();
    for part in [&*call.call.id, &*call.call.name, &*call.call.arguments] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    digest.update(turn.to_be_bytes());
    digest.update(round.to_be_bytes());
    let mut key = String::from("hb-");
    hex_into(&mut key, &digest.finalize()[..16]);
    key
}

/// The caller's fields and, where it sent none, the agent's (contract R4).
fn with_defaults<'a>(fields: &'a [Field], defaults: &[Field]) -> Cow<'a, [Field]> {
    let is_sent = |default: &&Field| {
        fields
            .iter()
            .any(|field| is_same_field(&field.key, &default.key))
    };
    let missing: Vec<Field> = defaults
        .iter()
        .filter(|default| !is_sent(default))
        .cloned()
        .collect();
    if missing.is_empty() {
        return Cow::Borrowed(fields);
    }
    Cow::Owned([fields, &missing].concat())
}

/// Whether two fields say the same: the reference has two names for one of them.
fn is_same_field(one: &str, other: &str) -> bool {
    const TOKENS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    one == other || (TOKENS.contains(&one) && TOKENS.contains(&other))
}
