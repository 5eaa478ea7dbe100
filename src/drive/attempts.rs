//! Attempts at requests: the same request again takes up what failed or was abandoned, and waits
//! for what still runs (contract K7).
//!
//! Client libraries send a whole request again when it failed or its connection dropped, and say
//! nothing that would tell the retry from a new request. So the request itself tells it: same
//! caller, same bytes. Only one of those who send it works on it at a time; the others wait for
//! their turn at its [`Record`], in order.
//!
//! - It ends with an answer: everyone who waits gets the same. Once a caller has it the record is
//!   forgotten, so that whoever sends it later begins anew; a caller who went away before that and
//!   comes back gets it.
//! - It fails, or its caller goes away, after a service was called: the next goes on from the
//!   checkpoint, be it waiting already or sent within the window.
//! - It fails before that: the next begins from the start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::attempt::Attempt;
use super::checkpoint::Record;
use super::clock;
use super::identity::Origin;
use super::roster::Common;
use crate::turn::Millis;

/// Broken attempts that are remembered; when there are more, the oldest are forgotten first.
const ATTEMPTS: usize = 1_000;
/// Bytes of what is kept of them; when there are more, the oldest are forgotten first.
const BYTES: usize = 64 * 1024 * 1024;

/// Held by the one who works on a request; the others wait.
pub(super) type Slot = Arc<tokio::sync::Mutex<Record>>;

/// The attempts of this process.
pub struct Attempts {
    entries: Mutex<HashMap<Origin, Entry>>,
    window: Duration,
}

struct Entry {
    slot: Slot,
    /// When the last who worked on it left.
    left: Millis,
    /// What is kept of it, once nobody works on it.
    bytes: usize,
    /// The answer is on its way to a caller and cannot be taken back.
    sent: bool,
}

impl Attempts {
    /// Remembers each attempt for `window`; without one nothing is remembered.
    pub fn new(window: Duration) -> Attempts {
        Attempts {
            entries: Mutex::default(),
            window,
        }
    }

    /// A place at a request, behind those who have one already.
    pub(super) fn enter(common: &Arc<Common>, request: Origin) -> Option<Attempt> {
        let attempts = &common.attempts;
        if attempts.window.is_zero() {
            return None;
        }
        let (slot, was_sent) = attempts.slot(request, clock::now_millis());
        if let Some(journal) = common.journal.as_ref().filter(|_| was_sent) {
            journal.forget(&request);
        }
        Some(Attempt::at(Arc::clone(common), request, slot))
    }

    /// The slot of a request: a new one if what is kept of it is too old, or if its answer is with
    /// a caller, which is told too.
    fn slot(&self, request: Origin, now: Millis) -> (Slot, bool) {
        let mut entries = self.lock();
        let entry = entries.entry(request).or_insert_with(|| Entry::new(now));
        let was_sent = entry.sent;
        if was_sent || entry.is_idle() && !now.is_within(entry.left, self.window) {
            *entry = Entry::new(now);
        }
        (Arc::clone(&entry.slot), was_sent)
    }

    /// Somebody gives up its place. Nobody is left: what can be taken up is kept for a while.
    pub(super) fn leave(&self, request: Origin, slot: Slot, now: Millis, reply_limit: usize) {
        let mut entries = self.lock();
        let own = entries.get_mut(&request);
        let own = own.filter(|entry| Arc::ptr_eq(&entry.slot, &slot));
        // Under the lock, so that of several who leave at once one is the last.
        drop(slot);
        let Some(entry) = own.filter(|entry| entry.is_idle()) else {
            return;
        };
        let kept = entry.slot.try_lock().ok();
        let kept = kept.filter(|record| record.checkpoint.is_some());
        let Some(bytes) = kept.map(|record| record.bytes(reply_limit)) else {
            entries.remove(&request);
            return;
        };
        entry.left = now;
        entry.bytes = bytes;
        entries.retain(|_, entry| !entry.is_idle() || now.is_within(entry.left, self.window));
        forget_oldest(&mut entries);
    }

    /// The answer is about to be with a caller: whoever sends the request from now on begins anew.
    pub(super) fn sent(&self, request: Origin, slot: &Slot) {
        let mut entries = self.lock();
        let entry = entries.get_mut(&request);
        if let Some(entry) = entry.filter(|entry| Arc::ptr_eq(&entry.slot, slot)) {
            entry.sent = true;
        }
    }

    /// The answer is with a caller. False if somebody else has begun anew already.
    pub(super) fn forget(&self, request: Origin, slot: &Slot) -> bool {
        let mut entries = self.lock();
        let entry = entries.get(&request);
        let is_own = entry.is_some_and(|entry| Arc::ptr_eq(&entry.slot, slot));
        if is_own {
            entries.remove(&request);
        }
        is_own
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn new(now: Millis) -> Entry {
        Entry {
            slot: Slot::default(),
            left: now,
            bytes: 0,
            sent: false,
        }
    }

    /// Nobody has a place at it. Holds only as long as the entries are locked.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.slot) == 1
    }
}

/// Keeps what nobody works on within its bounds.
fn forget_oldest(entries: &mut HashMap<Origin, Entry>) {
    loop {
        let idle = || entries.iter().filter(|(_, entry)| entry.is_idle());
        let bytes: usize = idle().map(|(_, entry)| entry.bytes).sum();
        if idle().count() <= ATTEMPTS && bytes <= BYTES {
            return;
        }
        let oldest = idle().min_by_key(|(_, entry)| entry.left);
        let Some(oldest) = oldest.map(|(request, _)| *request) else {
            return;
        };
        entries.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::checkpoint::{Checkpoint, Standing};
    use crate::drive::once::Replies;
    use crate::turn::Turn;

    /// A request, of which the window is one second.
    fn attempts() -> (Attempts, Origin) {
        let attempts = Attempts::new(Duration::from_secs(1));
        (attempts, Origin::of_handback("a"))
    }

    /// Somebody comes to a service call and fails.
    fn breaks_off(attempts: &Attempts, request: Origin, now: u64) {
        let slot = attempts.slot(request, Millis(now)).0;
        let standing = Standing {
            turn: Turn::Finished,
            calls: Vec::new(),
            said: 0,
            agent: String::new(),
            rounds: 1,
            seed: 0,
            wrote: false,
        };
        let replies = Arc::new(Replies::of(&[], None));
        slot.try_lock().unwrap().checkpoint = Some(Checkpoint { standing, replies });
        attempts.leave(request, slot, Millis(now), 1);
    }

    fn can_be_taken_up(slot: &Slot) -> bool {
        slot.try_lock().unwrap().checkpoint.is_some()
    }

    #[test]
    fn what_broke_off_is_kept_for_the_window() {
        let (attempts, request) = attempts();
        breaks_off(&attempts, request, 500);
        let again = attempts.slot(request, Millis(1_500)).0;
        assert!(can_be_taken_up(&again));
        // The window begins when the last one leaves.
        attempts.leave(request, again, Millis(9_000), 1);
        assert!(can_be_taken_up(&attempts.slot(request, Millis(10_000)).0));
        assert!(!can_be_taken_up(&attempts.slot(request, Millis(10_001)).0));
    }

    #[test]
    fn what_ran_nothing_is_not_kept() {
        let (attempts, request) = attempts();
        let one = attempts.slot(request, Millis(0)).0;
        let other = attempts.slot(request, Millis(0)).0;
        assert!(Arc::ptr_eq(&one, &other));
        attempts.leave(request, one, Millis(0), 1);
        assert_eq!(attempts.lock().len(), 1);
        attempts.leave(request, other, Millis(0), 1);
        assert!(attempts.lock().is_empty());
    }

    #[test]
    fn what_is_answered_is_a_new_request_the_next_time() {
        let (attempts, request) = attempts();
        let one = attempts.slot(request, Millis(0)).0;
        attempts.forget(request, &one);
        let next = attempts.slot(request, Millis(0)).0;
        assert!(!Arc::ptr_eq(&one, &next));
        // Whoever is late takes nothing away from the new one.
        assert!(!attempts.forget(request, &one));
        attempts.leave(request, one, Millis(0), 1);
        assert!(Arc::ptr_eq(&next, &attempts.slot(request, Millis(0)).0));
    }

    #[test]
    fn what_is_on_its_way_to_a_caller_is_a_new_request_too() {
        let (attempts, request) = attempts();
        let (one, _) = attempts.slot(request, Millis(0));
        attempts.sent(request, &one);
        let (next, was_sent) = attempts.slot(request, Millis(0));
        assert!(was_sent && !Arc::ptr_eq(&one, &next));
        attempts.sent(request, &one);
        assert!(!attempts.forget(request, &one));
        let (same, was_sent) = attempts.slot(request, Millis(0));
        assert!(!was_sent && Arc::ptr_eq(&next, &same));
    }

    #[test]
    fn what_is_too_old_makes_room() {
        let (attempts, request) = attempts();
        breaks_off(&attempts, request, 0);
        breaks_off(&attempts, Origin::of_handback("b"), 1_000);
        assert_eq!(attempts.lock().len(), 2);
        breaks_off(&attempts, Origin::of_handback("c"), 1_001);
        assert_eq!(attempts.lock().len(), 2);
    }

    /// Entries that were left one after another.
    fn left(count: usize, bytes: usize) -> HashMap<Origin, Entry> {
        let entry = |nth: usize| {
            let mut entry = Entry::new(Millis(nth as u64));
            entry.bytes = bytes;
            (Origin::of_handback(&nth.to_string()), entry)
        };
        (0..count).map(entry).collect()
    }

    fn is_kept(entries: &HashMap<Origin, Entry>, nth: usize) -> bool {
        entries.contains_key(&Origin::of_handback(&nth.to_string()))
    }

    #[test]
    fn the_oldest_attempts_make_room() {
        let mut entries = left(ATTEMPTS + 2, 0);
        forget_oldest(&mut entries);
        assert_eq!(entries.len(), ATTEMPTS);
        assert!(!is_kept(&entries, 0) && !is_kept(&entries, 1));
    }

    #[test]
    fn the_largest_attempts_make_room() {
        let mut entries = left(3, BYTES / 2);
        forget_oldest(&mut entries);
        assert_eq!(entries.len(), 2);
        assert!(!is_kept(&entries, 0));
        let mut entries = left(1, BYTES + 1);
        forget_oldest(&mut entries);
        assert!(entries.is_empty());
    }

    #[test]
    fn attempts_under_way_are_not_counted() {
        let mut entries = left(3, BYTES);
        let places: Vec<Slot> = entries
            .values()
            .map(|entry| Arc::clone(&entry.slot))
            .collect();
        forget_oldest(&mut entries);
        assert_eq!(entries.len(), places.len());
    }
}
