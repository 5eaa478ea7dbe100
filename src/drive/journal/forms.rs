//! What stands in the files of a journal.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use crate::drive::checkpoint::Standing;
use crate::services::{Outcome, Reply};
use crate::turn::Say;

/// The version of the stored forms. What has another one is not taken up: it is of no use for
/// longer than a retry window, anyway.
const VERSION: u32 = 1;

/// Where an attempt stands.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredAttempt {
    version: u32,
    said: Vec<Say>,
    standing: Standing,
}

/// The reply of a call.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredReply {
    version: u32,
    /// The call's; empty where its file says which it is.
    id: ByteString,
    text: String,
    outcome: Outcome,
}

/// The text of a stored form.
pub(super) fn text(form: &impl Serialize) -> Vec<u8> {
    // Nothing in them can fail to be written.
    serde_json::to_vec(form).unwrap_or_default()
}

impl StoredAttempt {
    pub(super) fn of(said: &[Say], standing: &Standing) -> StoredAttempt {
        StoredAttempt {
            version: VERSION,
            said: said.to_vec(),
            standing: standing.clone(),
        }
    }

    pub(super) fn read(text: &[u8]) -> Option<(Vec<Say>, Standing)> {
        let stored: StoredAttempt = serde_json::from_slice(text).ok()?;
        (stored.version == VERSION).then_some((stored.said, stored.standing))
    }
}

impl StoredReply {
    pub(super) fn of(id: &ByteString, reply: &Reply) -> StoredReply {
        StoredReply {
            version: VERSION,
            id: id.clone(),
            text: reply.text.clone(),
            outcome: reply.outcome,
        }
    }

    pub(super) fn read(text: &[u8]) -> Option<(ByteString, Reply)> {
        let stored: StoredReply = serde_json::from_slice(text).ok()?;
        let reply = Reply {
            text: stored.text,
            outcome: stored.outcome,
        };
        (stored.version == VERSION).then_some((stored.id, reply))
    }
}
