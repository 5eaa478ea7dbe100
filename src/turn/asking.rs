//! The state that waits for the model's answer.

use serde::{Deserialize, Serialize};

use super::Turn;
use super::action::{Action, Answered, Ask, Say};
use super::calling::Calling;
use super::core::Core;
use super::gather::{Gather, GatheredCall};
use super::handed_back::HandedBack;
use super::input::Provider;
use super::pieces::Pieces;
use super::round::{self, Round};
use super::stopped::Stopped;
use super::verdict::Verdict;
use crate::tools::Offer;
use crate::wire::chunk::FinishReason;
use crate::wire::delta::{Claim, is_blank};
use crate::wire::{Call, Delta, Message, Raw};

/// The model was asked and has not ended its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asking {
    pub(super) core: Box<Core>,
    gather: Gather,
    pieces: Pieces,
    /// The `tool_choice` that holds for this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choice: Option<Raw>,
    /// Something of the answer is with the caller.
    #[serde(default)]
    said: bool,
    /// What has come of it and is not with the caller: all of it if the caller gets an answer at
    /// its end only, else what says nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    held: Vec<Say>,
}

impl Asking {
    /// Asks the model for the next round.
    pub(super) fn ask(mut core: Box<Core>, actions: &mut Vec<Action>) -> Turn {
        core.rounds += 1;
        let choice = core.forced.take();
        Asking::make(core, choice, actions)
    }

    fn make(core: Box<Core>, choice: Option<Raw>, actions: &mut Vec<Action>) -> Turn {
        actions.push(Action::AskModel(Ask {
            round: core.rounds,
            offer: core.offer,
            choice: choice.clone(),
        }));
        let pieces = Pieces::new(&core);
        Turn::Asking(Box::new(Asking {
            core,
            gather: Gather::default(),
            pieces,
            choice,
            said: false,
            held: Vec::new(),
        }))
    }

    /// Whether something of the answer is with the caller. That the answer has begun does not
    /// count: it says nothing.
    pub(super) fn has_said(&self) -> bool {
        self.said
    }

    /// Forgets an answer that broke off and makes the same request again.
    pub(super) fn asked_again(
        self,
        provider: Provider,
        actions: &mut Vec<Action>,
    ) -> Result<Turn, Stopped> {
        if self.said {
            return Err(Stopped::ModelFailed);
        }
        let Asking {
            mut core, choice, ..
        } = self;
        core.provider = provider;
        Ok(Asking::make(core, choice, actions))
    }

    /// Takes a piece of the answer; passes on at once what is surely the caller's.
    pub(super) fn delta(
        mut self: Box<Self>,
        mut delta: Delta,
        actions: &mut Vec<Action>,
    ) -> Result<Turn, Stopped> {
        if delta.restates {
            self.gather.leave_out_said(&mut delta);
        }
        if !self.core.opened {
            self.core.opened = true;
            actions.push(Action::Say(Say::Opened {
                with_text: delta.text.is_some(),
            }));
        }
        self.gather.add(&delta)?;
        if !delta.calls.is_empty() {
            self.pieces
                .pass_on(&mut self.core, &self.gather.calls, actions);
            self.said = self.said || self.pieces.any_passed_on();
        }
        if delta.usage.is_some() {
            self.gather.usage = delta.usage;
        }
        let core = &mut self.core;
        core.system_fingerprint = delta.system_fingerprint.or(core.system_fingerprint.take());
        core.service_tier = delta.service_tier.or(core.service_tier.take());
        if !delta.fields.is_empty() {
            let blank = delta.fields.iter().all(|(_, value)| is_blank(value));
            self.say(Say::Fields(delta.fields), blank, actions);
        }
        let silent = |text: &Raw| text.body().is_empty();
        let logprobs = delta.logprobs;
        if let Some(text) = delta
            .text
            .filter(|text| !silent(text) || logprobs.is_some())
        {
            self.say(Say::Text { text, logprobs }, false, actions);
        }
        Ok(Turn::Asking(self))
    }

    /// Says something of the answer, or holds it: an answer of which nothing has been said can be
    /// asked for again. What is `blank` says nothing; servers begin with such fields.
    fn say(&mut self, say: Say, blank: bool, actions: &mut Vec<Action>) {
        if self.core.patient || blank && !self.said {
            self.held.push(say);
            return;
        }
        self.said = true;
        self.release(actions);
        self.pass_on(say, actions);
    }

    /// Says what was held.
    fn release(&mut self, actions: &mut Vec<Action>) {
        for say in std::mem::take(&mut self.held) {
            self.pass_on(say, actions);
        }
    }

    fn pass_on(&mut self, say: Say, actions: &mut Vec<Action>) {
        if let Say::Text { text, .. } = &say {
            self.core.said.push_str(text.body());
        }
        actions.push(Action::Say(say));
    }

    /// The answer is complete: decides what becomes of its calls.
    pub(super) fn ended(mut self, actions: &mut Vec<Action>) -> Result<Turn, Stopped> {
        self.release(actions);
        let usage = self.gather.usage.take();
        self.core.add_usage(usage);
        // An answer cut short or withheld has no calls that could be trusted (contract A3).
        match self.gather.claim {
            Some(Claim::Length) => return Ok(self.answer(FinishReason::Length, actions)),
            Some(Claim::ContentFilter) => {
                return Ok(self.answer(FinishReason::ContentFilter, actions));
            }
            Some(Claim::Stop) | None => {}
        }
        let calls = self.gather.settle();
        if calls.is_empty() {
            return Ok(self.answer(FinishReason::Stop, actions));
        }
        let verdicts: Vec<Verdict> = calls
            .iter()
            .map(|call| Verdict::of(&self.core, call))
            .collect();
        if verdicts.iter().any(Verdict::is_bad) {
            if self.may_repair() {
                return Ok(self.repair(calls, &verdicts, actions));
            }
            self.check_usable(&calls, &verdicts)?;
        }
        self.settled(calls, &verdicts, actions)
    }

    fn may_repair(&self) -> bool {
        let left = self.core.repairs < self.core.limits.repairs;
        left && !self.core.is_closing() && !self.pieces.any_passed_on()
    }

    /// With the repairs used up: whether what is left can be handed back or answered.
    fn check_usable(&self, calls: &[GatheredCall], verdicts: &[Verdict]) -> Result<(), Stopped> {
        let hopeless = calls
            .iter()
            .zip(verdicts)
            .find(|(_, verdict)| verdict.is_hopeless(self.core.arguments));
        match hopeless.and_then(|(call, verdict)| verdict.complaint(&self.core, call)) {
            Some(complaint) => Err(Stopped::invalid(complaint)),
            None => Ok(()),
        }
    }

    /// Tells the model what is wrong with its calls and asks again; none of them is run.
    fn repair(
        self,
        calls: Vec<GatheredCall>,
        verdicts: &[Verdict],
        actions: &mut Vec<Action>,
    ) -> Turn {
        let Asking {
            mut core, gather, ..
        } = self;
        core.repairs += 1;
        core.unseen = true;
        core.free_rounds += 1;
        let notes: Vec<String> = calls
            .iter()
            .zip(verdicts)
            .map(|(call, verdict)| verdict.note(&core, call))
            .collect();
        let calls: Vec<Call> = round::with_ids(&mut core, calls)
            .into_iter()
            .map(round::presentable)
            .collect();
        let message = round::message(&gather, &calls);
        let told = calls.iter().zip(notes);
        let told = told.map(|(call, note)| Message::tool(&call.id, &call.name, &note));
        let upstream = core.provider.upstream.clone();
        core.extend(Some(&upstream), std::iter::once(message).chain(told));
        Asking::ask(core, actions)
    }

    /// The calls are checked: hands back what is the caller's, runs the rest.
    fn settled(
        self,
        calls: Vec<GatheredCall>,
        verdicts: &[Verdict],
        actions: &mut Vec<Action>,
    ) -> Result<Turn, Stopped> {
        let external = verdicts.iter().any(Verdict::is_external);
        if self.core.is_closing() && !external {
            return self.closed(actions);
        }
        let Asking {
            mut core,
            gather,
            pieces,
            ..
        } = self;
        let round = Round::settle(&mut core, &gather, &pieces, calls, verdicts);
        if verdicts.iter().all(Verdict::is_external) {
            core.free_rounds += 1;
        } else if core.is_over_round_limit() && core.offer == Offer::All {
            core.offer = Offer::CallerOnly;
        }
        if external {
            let unrepaired = verdicts
                .iter()
                .any(|verdict| verdict.is_external() && verdict.is_bad());
            return Ok(HandedBack::hand_back(core, round, unrepaired, actions));
        }
        Ok(Calling::start(core, round, actions))
    }

    /// The closing round called service tools again. What it said is the answer; it said nothing,
    /// and there is none.
    fn closed(&self, actions: &mut Vec<Action>) -> Result<Turn, Stopped> {
        if !self.core.said.is_empty() {
            return Ok(self.answer(FinishReason::Stop, actions));
        }
        Err(Stopped::invalid(
            "it kept calling tools after the last round that it was given",
        ))
    }

    fn answer(&self, finish: FinishReason, actions: &mut Vec<Action>) -> Turn {
        actions.push(Action::Answer(Box::new(answered(
            &self.core,
            finish,
            Vec::new(),
            false,
        ))));
        Turn::Finished
    }
}

/// The end of an answer.
pub(super) fn answered(
    core: &Core,
    finish: FinishReason,
    calls: Vec<Call>,
    unrepaired: bool,
) -> Answered {
    Answered {
        finish,
        calls,
        usage: core.usage.clone(),
        system_fingerprint: core.system_fingerprint.clone(),
        service_tier: core.service_tier.clone(),
        unrepaired,
    }
}
