//! One turn under way.
//!
//! Invariant: whatever is said to the caller was asked for by the engine, or was said by an earlier
//! attempt at the same request.

mod again;
mod model;
mod retry;
mod services;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use bytestring::ByteString;
use tokio::time::Sleep;

use super::agent::{Agent, Bound};
use super::attempt::Attempt;
use super::attempts::Attempts;
use super::calls::Calls;
use super::clock;
use super::fields::with_defaults;
use super::identity::Origin;
use super::opened::Opened;
use super::order::{Event, Failure, Mended, Order};
use super::roster::Common;
use super::team::Team;
use super::watch::Rounds;
use crate::continuation::{Binding, CARRY_VERSION, Carry, TooLarge};
use crate::telemetry::RoundOutcome;
use crate::telemetry::traces::Trace;
use crate::tools::{Catalogue, Choice};
use crate::turn::{Action, Answered, Ask, Input, Say, Setup, Turn};
use crate::upstream::{self, Prompt};
use crate::wire::request::Field;
use crate::wire::{Raw, Refusal};

use again::Course;
use model::Model;
use services::offered;

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
    /// Where its model is asked.
    course: Course,
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
    watch: Rounds,
    /// The beginning of a call is with the caller already: its id cannot be changed any more.
    call_begun: bool,
    mended: Mended,
    /// The request, if service tools can come into play.
    request: Option<Origin>,
    /// The handback that it goes on with, if something was hidden in that.
    handback: Option<Origin>,
    /// The place at the request, if service tools can come into play, until it is answered and the
    /// answer is with the caller.
    attempt: Option<Attempt>,
}

impl Drive {
    /// Checks an order and opens its turn. A refusal costs no model request.
    pub async fn start(mut order: Order) -> Result<Box<Drive>, Refusal> {
        order.services_known().await;
        let strings = order.agent.tool_choice_strings || order.tool_choice_strings;
        order.check_team()?;
        let opened = Opened::read(&mut order)?;
        let limits = &order.common.limits;
        let agent = opened.agent.unwrap_or_else(|| Arc::clone(&order.agent));
        let bound = agent.tools();
        let catalogue = Catalogue::merge(
            std::mem::take(&mut order.tools),
            offered(&bound, order.team.as_deref(), &agent),
            limits.tools,
        )?;
        let choice = Choice::parse(order.tool_choice.as_ref(), catalogue.caller(), strings)?;
        let uses_services = catalogue.has_services() || !agent.services.is_empty();
        let request = uses_services.then(|| Origin::of_request(&order));
        let attempt = request.and_then(|request| Attempts::enter(&order.common, request));
        let history = opened.history;
        let time = Box::pin(tokio::time::sleep(limits.turn_time));
        let once = history.returned || order.idempotency_key.is_some();
        let own_turn = request.filter(|_| once).map(|request| request.turn());
        let seed = own_turn.unwrap_or_else(rand::random);
        let mended = Mended {
            dropped: history.dropped,
            placeholders: history.placeholders,
            lost: opened.lost,
        };
        let setup = Setup {
            messages: history.messages,
            origins: history.origins,
            catalogue,
            choice,
            arguments: agent.arguments,
            limits: limits.clone(),
            now: clock::now_millis(),
            seed,
            resume: history.resume,
            provider: agent.source.provider(),
            patient: order.patient,
        };
        let mut fresh = Vec::new();
        let turn = Turn::open(setup, &mut fresh);
        let watch = Rounds::of(turn.id());
        Ok(Box::new(Drive {
            turn,
            actions: fresh.drain(..).collect(),
            fresh,
            model: Model::Silent,
            agent,
            team: order.team,
            bound,
            course: Course::default(),
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
            watch,
            call_begun: false,
            mended,
            request,
            handback: opened.handback,
            attempt,
        }))
    }

    /// The next thing for the caller. Once it is the end or a failure, the drive is over.
    ///
    /// Can be dropped while it waits, and called again.
    pub async fn next(&mut self) -> Result<Event, Failure> {
        let event = self.go_on().await;
        if event.is_err() {
            // The same request can take it up at once.
            self.attempt = None;
        }
        event
    }

    async fn go_on(&mut self) -> Result<Event, Failure> {
        if self.attempt.as_ref().is_some_and(Attempt::is_new) {
            self.begin().await?;
        }
        loop {
            while let Some(action) = self.actions.pop_front() {
                match action {
                    Action::Answer(mut answered) => {
                        self.seal(&mut answered)?;
                        if let Some(attempt) = &mut self.attempt {
                            attempt.answer(&answered);
                        }
                        return Ok(Event::Answered(answered));
                    }
                    Action::AskModel(ask) => self.ask(&ask),
                    Action::Say(say) => {
                        self.call_begun = self.call_begun || matches!(say, Say::CallHead { .. });
                        if let Some(attempt) = &mut self.attempt {
                            attempt.say(&say);
                        }
                        return Ok(Event::Say(say));
                    }
                    Action::Stop(stopped) => return Err(Failure::Stopped(stopped)),
                    Action::CallService(call) => {
                        self.remember(&call);
                        self.call(call);
                    }
                }
            }
            if !self.calls.is_idle() {
                self.calls.start(&self.common);
            }
            let input = tokio::select! {
                biased;
                input = self.model.input() => match input {
                    Ok(input) => input,
                    Err(error) => {
                        self.failed(error)?;
                        continue;
                    }
                },
                reply = self.calls.next(), if !self.calls.is_idle() => reply,
                () = &mut self.time => Input::TimeUp,
            };
            match &input {
                Input::Delta(delta) => {
                    self.answers();
                    if let Some(usage) = &delta.usage {
                        self.watch.used(usage);
                    }
                }
                Input::AnswerEnded => {
                    self.watch.end(RoundOutcome::Answered);
                    self.course.arrived();
                }
                _ => {}
            }
            self.feed(input);
        }
    }

    /// Whether the answer counts only once the caller has it ([`Drive::sent`],
    /// [`Drive::delivered`]): a caller who goes away before that, and comes back, is to find it.
    pub fn awaits_delivery(&self) -> bool {
        self.attempt.as_ref().is_some_and(Attempt::awaits_delivery)
    }

    /// All of the answer is about to be sent: the same request is a new one from now on.
    pub fn sent(&self) {
        if let Some(attempt) = &self.attempt {
            attempt.sent();
        }
    }

    /// The caller has the answer: nothing of it is kept any more.
    pub fn delivered(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            attempt.delivered();
        }
    }

    /// Model requests so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The turn that it is a request of, for the log.
    pub fn turn(&self) -> u64 {
        self.watch.turn()
    }

    /// From here on its rounds and calls are part of a trace.
    pub fn trace(&mut self, trace: Trace) {
        self.watch.trace(trace);
    }

    /// What had to be done to the history.
    pub fn mended(&self) -> Mended {
        self.mended
    }

    /// Whether a tool with side effects has been run for the request, or may have been by an attempt
    /// that this one has waited for.
    pub fn wrote(&self) -> bool {
        self.calls.wrote
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
            upstream: String::new(),
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
        let source = self.agent.source(self.course.source);
        let model = source.model.as_ref().unwrap_or(&self.named);
        let traceparent = self.watch.begin(ask.round, &self.agent, source, model);
        if let Err(rest) = source.health.admit() {
            let seconds = rest.as_secs();
            let resting = std::future::ready(Err(upstream::Error::Resting { seconds }));
            self.model = Model::Asked(Box::pin(resting));
            return;
        }
        let tools: Vec<&Raw> = match self.turn.catalogue() {
            Some(catalogue) => catalogue.offered(ask.offer).collect(),
            None => Vec::new(),
        };
        let fields = with_defaults(&self.fields, &self.agent.defaults);
        let messages = self.turn.shown();
        let prompt = Prompt {
            model,
            instructions: self.agent.instructions.as_deref(),
            messages: &messages,
            tools: &tools,
            tool_choice: ask.choice.as_ref(),
            fields: &fields,
            dialect: source.upstream.dialect(),
        };
        let request = upstream::Request {
            model: model.clone(),
            body: prompt.render(),
            authorization: self.authorization.clone(),
            traceparent,
            seed: self.seed.wrapping_add(u64::from(ask.round)),
            created: clock::now_seconds(),
        };
        self.model = Model::Asked(source.upstream.ask(request));
    }
}
