//! Which request it is, and which call: what makes an attempt the same as an earlier one.
//!
//! A request is told by who sends it and by its bytes, since client libraries send a retry byte
//! for byte, and by the `Idempotency-Key` that it bears, if it bears one. A call is told by where
//! it comes from, its turn, its round, and what the model wrote but for the id, since a model that
//! is asked again gives another. A parked call comes from its handback, whatever the follow-up
//! says; every other call comes from its request. So two follow-ups that differ share what was
//! parked and nothing else, and two handbacks that look alike share nothing: each has an id of its
//! own.
//!
//! The number of a turn is part of it. It follows from the request where that is one of a kind: a
//! follow-up names the calls that it answers, and a caller's key is used once. So a retry makes
//! the same calls in another process. Other requests can be meant twice: the number is random.

use super::order::Order;
use sha2::{Digest as _, Sha256};

use crate::turn::ServiceCall;
use crate::wire::write::hex_into;

/// What tells a request or a handback from every other.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Origin([u8; 32]);

impl Origin {
    /// The request: the name of the caller's key, its `authorization`, which can go upstream, the
    /// key that it gave the request, and the body.
    pub(super) fn of_request(order: &Order) -> Origin {
        Origin(digest(&[
            order.key.as_bytes(),
            order.authorization.as_deref().unwrap_or_default(),
            order.idempotency_key.as_deref().unwrap_or_default(),
            &order.body,
        ]))
    }

    /// As text, for names.
    pub(super) fn hex(&self) -> String {
        let mut hex = String::with_capacity(2 * self.0.len());
        hex_into(&mut hex, &self.0);
        hex
    }

    /// The number of the turn that the request begins, where it is one of a kind.
    pub(super) fn turn(&self) -> u64 {
        let first = self.0.first_chunk::<8>().copied();
        u64::from_be_bytes(first.unwrap_or_default())
    }

    /// The handback whose hidden part was sealed into this id. No two are the same: each seal has
    /// a nonce of its own.
    pub(super) fn of_handback(sealed_id: &str) -> Origin {
        Origin(digest(&[sealed_id.as_bytes()]))
    }

    /// The same for every attempt at the same call (contract V3).
    pub(super) fn idempotency_key(&self, turn: u64, round: u32, call: &ServiceCall) -> String {
        let digest = digest(&[
            &self.0,
            &turn.to_be_bytes(),
            &round.to_be_bytes(),
            &call.alike.to_be_bytes(),
            call.call.name.as_bytes(),
            call.call.arguments.as_bytes(),
        ]);
        let mut key = String::from("hb-");
        hex_into(&mut key, &digest[..16]);
        key
    }
}

/// The digest of several texts, each with its length, so that none runs into another.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}
