//! Whether a model's call can be run or handed back (contract A6).

use super::core::Core;
use super::gather::GatheredCall;
use super::limits::ArgumentPolicy;
use super::notes;
use crate::tools::arguments::{self, Wrong};
use crate::tools::{Offer, Owner, SideEffect};

/// What the checks say of one call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// It can be handed back.
    External,
    /// It can be run.
    Internal(SideEffect),
    /// Its arguments are wrong.
    Unfit {
        /// Handback would run it.
        internal: bool,
        /// What is wrong.
        wrong: Wrong,
    },
    /// Nobody has a tool of that name.
    Unowned,
    /// It is internal, but service tools are withdrawn.
    Withdrawn,
}

impl Verdict {
    pub(super) fn of(core: &Core, call: &GatheredCall) -> Verdict {
        match core.catalogue.owner(&call.name, core.offer) {
            None if core.is_closing() && core.catalogue.owner(&call.name, Offer::All).is_some() => {
                Verdict::Withdrawn
            }
            None => Verdict::Unowned,
            Some(owner) => Verdict::of_owned(owner, core.arguments, &call.arguments),
        }
    }

    fn of_owned(owner: Owner<'_>, policy: ArgumentPolicy, text: &str) -> Verdict {
        let passed = matches!(owner, Owner::Caller(_)) && policy == ArgumentPolicy::Pass;
        let checked = if passed {
            // The caller checks for itself; but what is no JSON was cut short on the way.
            arguments::is_object(text).or_else(|wrong| {
                if wrong == Wrong::NotObject {
                    Ok(())
                } else {
                    Err(wrong)
                }
            })
        } else {
            arguments::check(text, owner.tool().parameters())
        };
        match (checked, owner) {
            (Ok(()), Owner::Caller(_)) => Verdict::External,
            (Ok(()), Owner::Service(service)) => Verdict::Internal(service.side_effect),
            (Err(wrong), owner) => Verdict::Unfit {
                internal: matches!(owner, Owner::Service(_)),
                wrong,
            },
        }
    }

    /// Whether the call is the caller's.
    pub(super) fn is_external(&self) -> bool {
        matches!(
            self,
            Verdict::External
                | Verdict::Unfit {
                    internal: false,
                    ..
                }
        )
    }

    /// What an internal call that can be run does to the world.
    pub(super) fn side_effect(&self) -> SideEffect {
        if let Verdict::Internal(side_effect) = self {
            *side_effect
        } else {
            SideEffect::default()
        }
    }

    /// Whether the model must be told.
    pub(super) fn is_bad(&self) -> bool {
        matches!(self, Verdict::Unfit { .. } | Verdict::Unowned)
    }

    /// Whether the call cannot be used even when the repairs are used up.
    pub(super) fn is_hopeless(&self, policy: ArgumentPolicy) -> bool {
        match self {
            Verdict::Unowned => true,
            Verdict::Unfit { internal: true, .. } => policy == ArgumentPolicy::Strict,
            Verdict::Unfit { wrong, .. } => {
                policy == ArgumentPolicy::Strict || !matches!(wrong, Wrong::Mismatch(_))
            }
            _ => false,
        }
    }

    /// What the model is told of the call in a repair round.
    pub(super) fn note(&self, core: &Core, call: &GatheredCall) -> String {
        match self {
            Verdict::Unowned => {
                let names = core.catalogue.names(core.offer).join(", ");
                let names = if names.is_empty() { "none" } else { &names };
                notes::failed(&format!(
                    "there is no tool named {:?}; the tools are: {names}",
                    excerpt(&call.name)
                ))
            }
            Verdict::Unfit {
                wrong: wrong @ Wrong::Mismatch(_),
                ..
            } => notes::failed(&wrong.to_string()),
            Verdict::Unfit { wrong, .. } => notes::failed(&format!(
                "{wrong}; send one JSON object; you sent: {}",
                excerpt(&call.arguments)
            )),
            _ => notes::NOT_RUN_BESIDE_INVALID.to_owned(),
        }
    }

    /// What the caller is told when the turn fails over the call.
    pub(super) fn complaint(&self, core: &Core, call: &GatheredCall) -> Option<String> {
        match self {
            // The names of internal tools are nobody's business. A name that is not among them
            // now can still be one: of an agent that handed over, or of a server that is gone.
            Verdict::Unowned
                if core.catalogue.owner(&call.name, Offer::All).is_some()
                    || core.catalogue.may_be_hidden() =>
            {
                Some("it called a tool that was not offered to it".to_owned())
            }
            Verdict::Unowned => Some(format!(
                "it called {:?}, and no tool has that name",
                excerpt(&call.name)
            )),
            Verdict::Unfit {
                internal: true,
                wrong,
            } if !matches!(wrong, Wrong::Mismatch(_)) => Some(wrong.to_string()),
            Verdict::Unfit { internal: true, .. } => {
                Some("arguments do not fit their schema".to_owned())
            }
            Verdict::Unfit { wrong, .. } => {
                Some(format!("in its call of {:?} {wrong}", excerpt(&call.name)))
            }
            _ => None,
        }
    }
}

/// Longest excerpt of a model's words in a note, in characters.
const EXCERPT_CHARS: usize = 200;

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT_CHARS).collect()
}
