//! Ids for calls that have none of their own.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

/// Makes ids from a seed: the same seed gives the same ids in the same order.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(super) struct Ids {
    seed: u64,
    made: u64,
}

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Ids {
    pub(super) fn new(seed: u64) -> Ids {
        Ids { seed, made: 0 }
    }

    /// A fresh id in the form of OpenAI's: `call_` and 24 letters and digits.
    pub(super) fn fresh(&mut self) -> ByteString {
        let mut id = String::with_capacity(29);
        id.push_str("call_");
        for part in 0..3 {
            let mut bits = mix(self.seed ^ mix(self.made.wrapping_mul(3).wrapping_add(part)));
            for _ in 0..8 {
                let letter = usize::try_from(bits % 62).unwrap_or_default();
                id.push(char::from(ALPHABET[letter]));
                bits /= 62;
            }
        }
        self.made += 1;
        ByteString::from(id)
    }
}

/// The finaliser of `SplitMix64`: a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// How an id begins that carries something (contract K3).
pub const CARRIER: &str = "call_hbc";

/// Whether an upstream's id can stand in the caller's sight (contract K1): 1 to 40 characters of
/// `[A-Za-z0-9_-]`. One that looks like a carrier would be taken for one when it comes back.
pub(super) fn is_plain(id: &str) -> bool {
    (1..=40).contains(&id.len())
        && !begins_like(id, CARRIER)
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether an id begins so, be it stripped of its punctuation or written in one case.
pub fn begins_like(id: &str, start: &str) -> bool {
    let mut own = letters(id);
    letters(start).all(|wanted| own.next() == Some(wanted))
}

fn letters(text: &str) -> impl Iterator<Item = u8> {
    let letters = text.bytes().filter(u8::is_ascii_alphanumeric);
    letters.map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_carrier_is_not_plain() {
        for id in ["call_hbc1abcd", "CALL-HBC1", "callhbc2"] {
            assert!(!is_plain(id), "{id}");
        }
        for id in ["call_hb", "call_abc", "x"] {
            assert!(is_plain(id), "{id}");
        }
    }

    #[test]
    fn ids_are_plain_and_differ() {
        let mut ids = Ids::new(7);
        let made: std::collections::HashSet<_> = (0..1000).map(|_| ids.fresh()).collect();
        assert_eq!(made.len(), 1000);
        assert!(made.iter().all(|id| is_plain(id)));
        assert_eq!(Ids::new(7).fresh(), Ids::new(7).fresh());
        assert_ne!(Ids::new(7).fresh(), Ids::new(8).fresh());
    }
}
