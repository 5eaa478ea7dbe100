//! What of attempts at requests outlives the process, if the configuration names a folder for it
//! (contract K7).
//!
//! An attempt that comes to service calls has a file: first where it stands, then the reply of
//! each call as it comes. Nothing is called before the former is written, and nothing of a reply
//! goes on before that is. So whoever gets the same request next, in this process or in another
//! one that has the folder, takes it up there: calls that were answered are not made again, and
//! those that were under way are made with the same idempotency key. The file goes once a caller
//! has the answer; what broke off is kept for the retry window. The parked calls of a handback run once for
//! all its follow-ups, so their replies have files of their own.
//!
//! Invariant: what is kept is sealed, and goes with its answer or its age; a journal that fails
//! stops no request.
//!
//! It outlives the process, not the machine: nothing is forced to the disk.

mod files;
mod forms;
mod live;

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytestring::ByteString;
use futures_util::future::{BoxFuture, FutureExt, Shared};

use super::checkpoint::{Checkpoint, Standing};
use super::clock;
use super::identity::Origin;
use super::once::Replies;
use crate::continuation::settings::ContinuationSettings;
use crate::services::Reply;
use crate::turn::Say;

use files::Files;
use forms::{StoredAttempt, StoredReply};
use live::Live;
pub(super) use live::UnderWay;

/// The journal of one folder.
pub struct Journal {
    files: Arc<Files>,
    live: Live,
}

/// The file of an attempt.
pub(super) struct Entry {
    journal: Arc<Journal>,
    name: String,
    /// Writes down where the attempt stands, once somebody waits for that: a round whose calls are
    /// never begun is not worth it.
    stands: Shared<BoxFuture<'static, ()>>,
}

impl Journal {
    /// Opens a folder, which is made if it is not there, and forgets what is too old in it.
    pub fn open(folder: &Path, settings: &ContinuationSettings) -> io::Result<Journal> {
        let files = Files::open(folder, settings)?;
        files.sweep(clock::now_millis())?;
        let files = Arc::new(files);
        let live = Live::default();
        Ok(Journal { files, live })
    }

    /// Removes what is too old, again and again. What is under way is not, whatever its age.
    pub async fn tend(&self) -> Infallible {
        loop {
            tokio::time::sleep(self.files.pause()).await;
            let live = self.live.names();
            let sweep = move |files: &Files| {
                let now = clock::now();
                live.iter().try_for_each(|name| files.touch(name, now))?;
                files.sweep(clock::now_millis())
            };
            self.perform(sweep).await;
        }
    }

    /// An attempt is under way for as long as what this gives is there.
    pub(super) fn under_way(self: &Arc<Self>, request: &Origin) -> UnderWay {
        UnderWay::new(self, attempt(request))
    }

    /// Keeps where an attempt stands, in place of what is kept of it, before the first of its
    /// calls is made.
    pub(super) fn keep(
        self: &Arc<Self>,
        request: &Origin,
        said: &[Say],
        standing: &Standing,
    ) -> Entry {
        let name = attempt(request);
        let stored = StoredAttempt::of(said, standing);
        let (journal, at) = (Arc::clone(self), name.clone());
        let stands = async move {
            let write = move |files: &Files| files.replace(&at, &forms::text(&stored));
            journal.perform(write).await;
        };
        Entry {
            journal: Arc::clone(self),
            name,
            stands: stands.boxed().shared(),
        }
    }

    /// What is kept of a request.
    pub(super) async fn find(self: &Arc<Self>, request: &Origin) -> Option<(Vec<Say>, Checkpoint)> {
        let name = attempt(request);
        let at = name.clone();
        let find = move |files: &Files| files.read(&at, clock::now_millis());
        let mut texts = self.perform(find).await?.into_iter();
        let (said, standing) = StoredAttempt::read(&texts.next()?)?;
        let entry = Entry {
            journal: Arc::clone(self),
            name,
            stands: std::future::ready(()).boxed().shared(),
        };
        let replies = texts.filter_map(|text| StoredReply::read(&text));
        let replies = Replies::known(&standing.calls, replies.collect(), entry);
        let replies = Arc::new(replies);
        Some((said, Checkpoint { standing, replies }))
    }

    /// A request is answered: the same one is a new one from now on, so that this cannot wait.
    pub(super) fn forget(&self, request: &Origin) {
        if let Err(error) = self.files.remove(&attempt(request)) {
            say(&error);
        }
    }

    /// The reply of a parked call, whichever follow-up it was made for.
    pub(super) async fn parked(&self, idempotency_key: &str) -> Option<Reply> {
        let name = parked(idempotency_key);
        let find = move |files: &Files| files.read(&name, clock::now_millis());
        let texts = self.perform(find).await?;
        StoredReply::read(texts.first()?).map(|(_, reply)| reply)
    }

    /// Keeps the reply of a parked call.
    pub(super) async fn keep_parked(&self, idempotency_key: &str, reply: &Reply) {
        let name = parked(idempotency_key);
        let text = StoredReply::of(&ByteString::new(), reply);
        let keep = move |files: &Files| files.replace(&name, &forms::text(&text));
        self.perform(keep).await;
    }

    /// Begins to do something with the files, beside everything else; none if that fails.
    fn perform<T, Act>(&self, act: Act) -> impl Future<Output = Option<T>> + Send + use<T, Act>
    where
        T: Send + 'static,
        Act: FnOnce(&Files) -> io::Result<T> + Send + 'static,
    {
        let files = Arc::clone(&self.files);
        let acting = tokio::task::spawn_blocking(move || act(&files));
        async {
            match acting.await.ok()? {
                Ok(done) => Some(done),
                Err(error) => {
                    say(&error);
                    None
                }
            }
        }
    }
}

impl Entry {
    /// Waits until it is written down where the attempt stands.
    pub(super) async fn stands(&self) {
        self.stands.clone().await;
    }

    /// Keeps the reply of a call.
    pub(super) async fn add(&self, id: &ByteString, reply: &Reply) {
        let (name, text) = (self.name.clone(), StoredReply::of(id, reply));
        let add = move |files: &Files| files.append(&name, &forms::text(&text));
        self.journal.perform(add).await;
    }
}

fn say(error: &io::Error) {
    tracing::error!("the journal cannot be used: {error}");
}

/// The file of an attempt at a request.
fn attempt(request: &Origin) -> String {
    format!("attempt-{}", request.hex())
}

/// The file of a parked call.
fn parked(idempotency_key: &str) -> String {
    format!("parked-{idempotency_key}")
}
