//! One attempt at a request: its place among those who send the same, and what it leaves to the
//! next ([`super::attempts`]).

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::attempts::Slot;
use super::checkpoint::{Checkpoint, Record, Standing};
use super::clock;
use super::identity::Origin;
use super::journal::UnderWay;
use super::once::Replies;
use super::roster::Common;
use crate::turn::{Answered, Say};

/// A place at one request. Dropped without an answer, it leaves the request to the next.
pub(super) struct Attempt {
    common: Arc<Common>,
    request: Origin,
    /// Present until this is dropped.
    slot: Option<Slot>,
    /// The record, once it is this one's turn.
    record: Option<OwnedMutexGuard<Record>>,
    /// It is known how to begin.
    begun: bool,
    /// How much of what is said is said again, and on record already.
    again: usize,
    /// It is answered, and the answer is not with the caller yet.
    awaits_delivery: bool,
    /// What is kept of it in the journal does not grow old.
    under_way: Option<UnderWay>,
}

/// How to go about a request.
pub(super) enum Beginning {
    /// Somebody else has answered it: what was said, and the end.
    Answered(Vec<Say>, Box<Answered>),
    /// From the start.
    Anew,
    /// From where it stood: what was said until then.
    Resumed(Vec<Say>, Box<Standing>),
}

impl Attempt {
    /// A place at the request that has this slot.
    pub(super) fn at(common: Arc<Common>, request: Origin, slot: Slot) -> Attempt {
        Attempt {
            common,
            request,
            record: Arc::clone(&slot).try_lock_owned().ok(),
            slot: Some(slot),
            begun: false,
            again: 0,
            awaits_delivery: false,
            under_way: None,
        }
    }

    /// Whether it is still to be found out how to begin.
    pub(super) fn is_new(&self) -> bool {
        !self.begun
    }

    /// Whether somebody else works on the request.
    pub(super) fn has_to_wait(&self) -> bool {
        self.record.is_none()
    }

    /// Waits until nobody else works on the request, and says how to go about it. Waiting can be
    /// broken off and taken up again; that costs the place in the queue.
    pub(super) async fn begin(&mut self) -> Beginning {
        if let (None, Some(slot)) = (&self.record, &self.slot) {
            self.record = Some(Arc::clone(slot).lock_owned().await);
        }
        if let (Some(record), Some(journal)) = (&mut self.record, &self.common.journal) {
            if record.is_blank()
                && let Some((said, checkpoint)) = journal.find(&self.request).await
            {
                record.said = said;
                record.checkpoint = Some(checkpoint);
            }
            // Whether it is from there or from memory, it stands in the journal.
            let stands = record.checkpoint.is_some();
            self.under_way = stands.then(|| journal.under_way(&self.request));
        }
        self.begun = true;
        self.beginning()
    }

    fn beginning(&mut self) -> Beginning {
        let Some(record) = &mut self.record else {
            return Beginning::Anew;
        };
        if let Some(answer) = &record.answer {
            let answered = Beginning::Answered(record.said.clone(), answer.clone());
            self.awaits_delivery = record.checkpoint.is_some();
            // The next who waits can have it at once.
            self.record = None;
            return answered;
        }
        // What was said behind the checkpoint was the end of a failed attempt.
        let kept = record.checkpoint.as_ref().map_or(0, |at| at.standing.said);
        record.said.truncate(kept);
        self.again = kept;
        match &record.checkpoint {
            Some(checkpoint) => {
                let standing = checkpoint.standing.clone();
                Beginning::Resumed(record.said.clone(), Box::new(standing))
            }
            None => Beginning::Anew,
        }
    }

    /// Something is said to the caller.
    pub(super) fn say(&mut self, say: &Say) {
        if self.again > 0 {
            self.again -= 1;
        } else if let Some(record) = &mut self.record {
            record.said.push(say.clone());
        }
    }

    /// How much has been said.
    pub(super) fn said(&self) -> usize {
        self.record.as_ref().map_or(0, |record| record.said.len())
    }

    /// From here on the request can be taken up at this point.
    pub(super) fn stand(&mut self, standing: Standing) {
        let Some(record) = &mut self.record else {
            return;
        };
        let entry = self.common.journal.as_ref().map(|journal| {
            let under_way = || journal.under_way(&self.request);
            self.under_way.get_or_insert_with(under_way);
            journal.keep(&self.request, &record.said, &standing)
        });
        let replies = Arc::new(Replies::of(&standing.calls, entry));
        record.checkpoint = Some(Checkpoint { standing, replies });
    }

    /// Whether it can be taken up at the calls of this round.
    pub(super) fn stands_at(&self, round: u32) -> bool {
        let record = self.record.as_deref();
        let checkpoint = record.and_then(|record| record.checkpoint.as_ref());
        checkpoint.is_some_and(|checkpoint| checkpoint.standing.turn.rounds() == round)
    }

    /// The replies of the round at which it can be taken up.
    pub(super) fn replies(&self) -> Option<Arc<Replies>> {
        let checkpoint = self.record.as_ref()?.checkpoint.as_ref()?;
        Some(Arc::clone(&checkpoint.replies))
    }

    /// It ends with this answer, for everyone who waits.
    pub(super) fn answer(&mut self, answered: &Answered) {
        if let Some(record) = &mut self.record {
            self.awaits_delivery = record.checkpoint.is_some();
            record.answer = Some(Box::new(answered.clone()));
        }
        // Whoever waits can have it at once.
        self.record = None;
        if !self.awaits_delivery {
            self.forget();
        }
    }

    /// Whether the answer counts only once a caller has it, since a service was called for it.
    pub(super) fn awaits_delivery(&self) -> bool {
        self.awaits_delivery
    }

    /// The answer is about to be with a caller.
    pub(super) fn sent(&self) {
        if let Some(slot) = &self.slot {
            self.common.attempts.sent(self.request, slot);
        }
    }

    /// The answer is with a caller.
    pub(super) fn delivered(self) {
        if let (true, Some(journal)) = (self.forget(), &self.common.journal) {
            journal.forget(&self.request);
        }
    }

    fn forget(&self) -> bool {
        let slot = self.slot.as_ref();
        slot.is_some_and(|slot| self.common.attempts.forget(self.request, slot))
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // The next who waits can begin at once.
        self.record = None;
        if let Some(slot) = self.slot.take() {
            let (now, reply_limit) = (clock::now_millis(), self.common.limits.service_result);
            self.common
                .attempts
                .leave(self.request, slot, now, reply_limit);
        }
    }
}
