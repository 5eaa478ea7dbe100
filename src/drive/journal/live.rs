//! The attempts of this process that are under way: their files do not grow old.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Journal;

/// The names of their files, and how many work on each. There are no more than requests.
#[derive(Default)]
pub(super) struct Live(Mutex<HashMap<String, usize>>);

/// One of those who work on an attempt.
pub(in crate::drive) struct UnderWay {
    journal: Arc<Journal>,
    name: String,
}

impl Live {
    pub(super) fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    pub(super) fn new(journal: &Arc<Journal>, name: String) -> UnderWay {
        *journal.live.lock().entry(name.clone()).or_default() += 1;
        let journal = Arc::clone(journal);
        UnderWay { journal, name }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut live = self.journal.live.lock();
        if let Some(count) = live.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                live.remove(&self.name);
            }
        }
    }
}
