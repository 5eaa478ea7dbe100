//! What a turn knows in every state.

use std::borrow::Cow;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::hidden::Resume;
use super::ids::{self, Ids};
use super::input::{Millis, Provider};
use super::limits::{ArgumentPolicy, Limits};
use super::origins::Origins;
use super::pairing;
use crate::tools::{Catalogue, Choice, Offer, ServiceTool};
use crate::wire::{Message, Raw, Usage};

/// What a turn is opened with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The conversation, calls and results paired ([`super::History`]).
    pub messages: Vec<Message>,
    /// The tools, and who owns them.
    pub catalogue: Catalogue,
    /// What the caller says about them.
    pub choice: Choice,
    /// How strictly arguments are taken.
    pub arguments: ArgumentPolicy,
    /// The bounds.
    pub limits: Limits,
    /// When it begins.
    pub now: Millis,
    /// Where the ids of calls come from that have none; random.
    pub seed: u64,
    /// What the request goes on with, if it is a follow-up with something hidden.
    pub resume: Option<Resume>,
    /// Which upstream its messages are from.
    pub origins: Origins,
    /// Who serves the model. What the caller sends is taken to be from there.
    pub provider: Provider,
    /// The caller gets an answer at its end only: one that breaks off before can be asked for
    /// again, however much of it has come.
    pub patient: bool,
}

/// The state that outlives the states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Core {
    /// The turn, in all its requests and on every replica.
    #[serde(default)]
    pub(super) turn: u64,
    pub(super) messages: Vec<Message>,
    pub(super) catalogue: Catalogue,
    pub(super) arguments: ArgumentPolicy,
    pub(super) limits: Limits,
    pub(super) deadline: Millis,
    pub(super) rounds: u32,
    /// Those that called no service tool, or were only to be mended: [`Limits::rounds`] does not
    /// count them.
    #[serde(default)]
    pub(super) free_rounds: u32,
    pub(super) repairs: u32,
    pub(super) service_calls: u32,
    /// The choice that holds for the first round only (contract R7).
    pub(super) forced: Option<Raw>,
    /// The tools that the model is offered: fewer once the round limit is reached, none if the
    /// caller wants none.
    pub(super) offer: Offer,
    /// Something was said to the caller already.
    pub(super) opened: bool,
    /// All text that the caller was given in this request, escaped.
    #[serde(default)]
    pub(super) said: String,
    /// Where the messages of this request begin that the caller does not see.
    #[serde(default)]
    pub(super) request_start: usize,
    /// The replies of the parked calls that this request ran first.
    #[serde(default)]
    pub(super) parked: Vec<String>,
    /// A round of this request went unseen: its calls were run, or had to be mended.
    #[serde(default)]
    pub(super) unseen: bool,
    /// Which upstream the messages are from.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub(super) origins: Origins,
    /// The upstream that the caller's messages are taken to be from.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub(super) home: ByteString,
    /// Who serves the model.
    #[serde(default)]
    pub(super) provider: Provider,
    /// The caller gets an answer at its end only.
    #[serde(default)]
    pub(super) patient: bool,
    pub(super) usage: Option<Usage>,
    pub(super) system_fingerprint: Option<Raw>,
    pub(super) service_tier: Option<Raw>,
    pub(super) ids: Ids,
}

impl Core {
    pub(super) fn new(setup: Setup) -> Box<Core> {
        let offer = if setup.choice == Choice::NoTools {
            Offer::Nothing
        } else {
            Offer::All
        };
        let forced = if let Choice::Forced(choice) = setup.choice {
            Some(choice)
        } else {
            None
        };
        let resume = setup.resume.as_ref();
        let request_start = setup.messages.len();
        let mut catalogue = setup.catalogue;
        if resume.is_some() {
            catalogue.expect_further();
        }
        // What was withdrawn stays withdrawn for the rest of the turn.
        let rounds = resume.map_or(0, |resume| resume.rounds.saturating_sub(resume.free_rounds));
        let closing = rounds > setup.limits.rounds;
        let offer = if closing && offer == Offer::All {
            Offer::CallerOnly
        } else {
            offer
        };
        Box::new(Core {
            messages: setup.messages,
            catalogue,
            arguments: setup.arguments,
            deadline: deadline(setup.now, &setup.limits),
            limits: setup.limits,
            turn: resume.map_or(setup.seed, |resume| resume.turn),
            rounds: resume.map_or(0, |resume| resume.rounds),
            free_rounds: resume.map_or(0, |resume| resume.free_rounds),
            repairs: resume.map_or(0, |resume| resume.repairs),
            service_calls: resume.map_or(0, |resume| resume.service_calls),
            forced,
            offer,
            opened: false,
            said: String::new(),
            request_start,
            parked: Vec::new(),
            unseen: false,
            origins: setup.origins,
            home: setup.provider.upstream.clone(),
            provider: setup.provider,
            patient: setup.patient,
            usage: None,
            system_fingerprint: None,
            service_tier: None,
            ids: Ids::new(setup.seed),
        })
    }

    /// A request of the caller goes on with the turn: what is counted per request starts anew.
    pub(super) fn begin_request(&mut self, now: Millis) {
        self.deadline = deadline(now, &self.limits);
        self.usage = None;
        self.system_fingerprint = None;
        self.service_tier = None;
        self.opened = false;
        self.said.clear();
        self.parked.clear();
        self.unseen = false;
    }

    /// Another agent goes on with the conversation.
    pub(super) fn transfer(
        &mut self,
        services: Vec<ServiceTool>,
        arguments: ArgumentPolicy,
        provider: Provider,
    ) {
        self.catalogue.set_services(services);
        self.arguments = arguments;
        self.provider = provider;
    }

    /// Adds messages of an upstream; of the caller if there is none.
    pub(super) fn extend(
        &mut self,
        upstream: Option<&ByteString>,
        messages: impl IntoIterator<Item = Message>,
    ) {
        self.origins.begin(self.messages.len(), upstream);
        self.messages.extend(messages);
    }

    /// The conversation as whoever serves the model is to see it.
    pub(super) fn shown(&self) -> Cow<'_, [Message]> {
        self.origins
            .shown(&self.messages, &self.provider.upstream, &self.home)
    }

    /// Whether service tools are withdrawn.
    pub(super) fn is_closing(&self) -> bool {
        self.offer == Offer::CallerOnly
    }

    /// Whether the rounds whose service calls are run are used up, if this one calls any.
    pub(super) fn is_over_round_limit(&self) -> bool {
        self.rounds.saturating_sub(self.free_rounds) > self.limits.rounds
    }

    /// Adds the usage of a round.
    pub(super) fn add_usage(&mut self, usage: Option<Usage>) {
        self.usage = match (self.usage.take(), usage) {
            (Some(sum), Some(more)) => Some(sum.plus(more)),
            (sum, more) => sum.or(more),
        };
    }

    /// An id under which a call can be handed back: the upstream's own if it is plain and new to
    /// the conversation (contract K1).
    pub(super) fn visible_id(&mut self, upstream: &ByteString, taken: &[ByteString]) -> ByteString {
        if ids::is_plain(upstream) && !self.is_taken(upstream, taken) {
            return upstream.clone();
        }
        self.fresh_id(taken)
    }

    /// An id of the upstream's as the conversation keeps it: a longer one than servers take in general
    /// stays as it is only if the upstream wants it back.
    pub(super) fn kept_id(&self, upstream: ByteString) -> ByteString {
        if self.provider.ids_bind {
            upstream
        } else {
            pairing::short_id(&upstream)
        }
    }

    /// An id that no call of the conversation bears.
    pub(super) fn fresh_id(&mut self, taken: &[ByteString]) -> ByteString {
        loop {
            let id = self.ids.fresh();
            if !self.is_taken(&id, taken) {
                return id;
            }
        }
    }

    fn is_taken(&self, id: &ByteString, taken: &[ByteString]) -> bool {
        taken.contains(id)
            || self
                .messages
                .iter()
                .any(|message| message.calls.iter().any(|call| call.id == id))
    }
}

fn deadline(now: Millis, limits: &Limits) -> Millis {
    let time = u64::try_from(limits.turn_time.as_millis()).unwrap_or(u64::MAX);
    Millis(now.0.saturating_add(time))
}
