//! Calls that are passed on while they arrive (contract S5).

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::action::{Action, Say};
use super::core::Core;
use super::gather::OpenCall;
use super::limits::ArgumentPolicy;
use crate::tools::Owner;
use crate::wire::Raw;

/// What has been passed on of the calls of an answer.
///
/// Only with `arguments = "pass"`, without service tools and with ids that carry nothing is a
/// piece of a call surely the caller's. A call is begun when its name is complete, which the first
/// argument tells, and known; calls behind one that is not begun wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pieces {
    allowed: bool,
    begun: Vec<Begun>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Begun {
    id: ByteString,
    /// Bytes of the escaped arguments that the caller has.
    passed: usize,
}

impl Pieces {
    pub(super) fn new(core: &Core) -> Pieces {
        // An id that carries something is sealed once the answer is complete.
        let allowed = core.arguments == ArgumentPolicy::Pass
            && !core.catalogue.has_services()
            && !core.provider.ids_bind;
        Pieces {
            allowed,
            begun: Vec::new(),
        }
    }

    /// Whether the caller has seen a part of a call, so that nothing can be taken back.
    pub(super) fn any_passed_on(&self) -> bool {
        !self.begun.is_empty()
    }

    /// The id under which the caller knows the call already.
    pub(super) fn visible_id(&self, at: usize) -> Option<ByteString> {
        self.begun.get(at).map(|begun| begun.id.clone())
    }

    /// Passes on what is new in the calls.
    pub(super) fn pass_on(
        &mut self,
        core: &mut Core,
        calls: &[OpenCall],
        actions: &mut Vec<Action>,
    ) {
        if !self.allowed {
            return;
        }
        for (index, call) in calls.iter().enumerate() {
            if index == self.begun.len() && !self.begin(core, index, call, actions) {
                return;
            }
            let begun = &mut self.begun[index];
            let new = &call.arguments[begun.passed..];
            if !new.is_empty() {
                begun.passed = call.arguments.len();
                actions.push(Action::Say(Say::CallArguments {
                    index,
                    piece: Raw::written(format!("\"{new}\"")),
                }));
            }
        }
    }

    /// Begins a call if it can be told whose it is, and that it has arguments at all.
    fn begin(
        &mut self,
        core: &mut Core,
        index: usize,
        call: &OpenCall,
        actions: &mut Vec<Action>,
    ) -> bool {
        let nothing_yet = call
            .decoded()
            .is_none_or(|text| "null".starts_with(text.trim()));
        if nothing_yet
            || !matches!(
                core.catalogue.owner(&call.name, core.offer),
                Some(Owner::Caller(_))
            )
        {
            return false;
        }
        let taken: Vec<ByteString> = self.begun.iter().map(|begun| begun.id.clone()).collect();
        let id = match &call.id {
            Some(id) => core.visible_id(id, &taken),
            None => core.fresh_id(&taken),
        };
        let name = ByteString::from(call.name.as_str());
        actions.push(Action::Say(Say::CallHead {
            index,
            id: id.clone(),
            name,
        }));
        self.begun.push(Begun { id, passed: 0 });
        true
    }
}
