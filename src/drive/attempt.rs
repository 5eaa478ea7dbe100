//! One attempt at a request: its place among those who send the same, and what it leaves to the
//! next ([`super::attempts`]).

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::attempts::Slot;
use super::checkpoint::{Checkpoint, Record, Standing};
use super::clock;
use super::identity::Origin;
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
        if let (Some(record), Some(journal)) = (&mut self.record, &self.common.journal)
            && record.is_blank()
            && let Some((said, checkpoint)) = journal.find(&self.request).await
        {
            record.said = said;
            record.checkpoint = Some(checkpoint);
        }
        self.begun = true;
        self.beginning()
    }

    fn beginning(&mut self) -> Beginning {
        let Some(record) = &mut self.record else {
            return Beginning::Anew;
        };
        if let Some(answer) = &record.answer {
            return Beginning::Answered(record.said.clone(), answer.clone());
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
        let journal = self.common.journal.as_ref();
        let entry = journal.map(|journal| journal.keep(&self.request, &record.said, &standing));
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

    /// It is about to end with an answer: no other process is to take it up. Can be broken off
    /// and begun again.
    pub(super) async fn close(&self) {
        let record = self.record.as_deref();
        let stood = record.is_some_and(|record| record.checkpoint.is_some());
        if let Some(journal) = self.common.journal.as_ref().filter(|_| stood) {
            journal.forget(&self.request).await;
        }
    }

    /// It ends with this answer, for everyone who waits.
    pub(super) fn answer(mut self, answered: &Answered) {
        if let Some(slot) = &self.slot {
            self.common.attempts.forget(self.request, slot);
        }
        if let Some(record) = &mut self.record {
            record.checkpoint = None;
            record.answer = Some(Box::new(answered.clone()));
        }
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
