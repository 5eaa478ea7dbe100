//! What a drive is started with, and what comes of it.

use std::sync::Arc;

use bytes::Bytes;
use bytestring::ByteString;

use super::agent::Agent;
use super::roster::Common;
use super::team::Team;
use crate::continuation::TooLarge;
use crate::tools::Catalogue;
use crate::turn::{Answered, Say, Stopped};
use crate::upstream;
use crate::wire::refusal::excerpt;
use crate::wire::request::Field;
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
    /// The caller's `idempotency-key`: requests with different ones are different requests.
    pub idempotency_key: Option<Vec<u8>>,
    /// The name of the caller's key: what is sealed for one does not open for another.
    pub key: String,
    /// The caller gets the answer at its end only, not as it comes.
    pub patient: bool,
    /// The request as it was sent: a retry is told by it.
    pub body: Bytes,
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

impl Order {
    /// Waits until it is known what the services offer of all who may come to be asked.
    pub(super) async fn services_known(&self) {
        let members = self.team.iter().flat_map(|team| &team.members);
        for agent in std::iter::once(&self.agent).chain(members) {
            agent.services_known().await;
        }
    }

    /// Checks what holds for teams alone: no choice, and no name of a tool that any member could
    /// use.
    pub(super) fn check_team(&self) -> Result<(), Refusal> {
        let Some(team) = &self.team else {
            return Ok(());
        };
        let choice = self.tool_choice.as_ref();
        if let Some(choice) = choice.filter(|choice| !choice.is_null()) {
            let message = format!(
                "tool_choice is {}; {:?} is a team, which takes none: leave it out",
                excerpt(choice.get()),
                &*self.model
            );
            return Err(Refusal::at(
                Code::ToolChoiceUnsupportedForTeams,
                "tool_choice",
                message,
            ));
        }
        Catalogue::merge(self.tools.clone(), team.all_tools(), usize::MAX).map(drop)
    }
}
