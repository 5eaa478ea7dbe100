//! Call ids in a form that a server takes.

use std::collections::{HashMap, HashSet};

use bytestring::ByteString;
use sha2::{Digest, Sha256};

use super::CallIds;

/// The ids of one request and what they became.
pub(super) struct Ids {
    form: CallIds,
    new: HashMap<ByteString, ByteString>,
    taken: HashSet<ByteString>,
}

const LENGTH: usize = 9;
const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Ids {
    pub(super) fn new(form: CallIds) -> Ids {
        Ids {
            form,
            new: HashMap::new(),
            taken: HashSet::new(),
        }
    }

    /// The id to send; none if it is fit as it is. It follows from the id alone, unless another
    /// one of the request had it first.
    pub(super) fn replacement(&mut self, id: &ByteString) -> Option<ByteString> {
        if self.form != CallIds::NineAlphanumerics {
            return None;
        }
        if !self.new.contains_key(id) {
            let fit = Some(id.clone()).filter(|id| is_fit(id));
            let derived = (0_u64..).map(|attempt| derive(id, attempt));
            let new = fit
                .into_iter()
                .chain(derived)
                .find(|new| !self.taken.contains(new))?;
            self.taken.insert(new.clone());
            self.new.insert(id.clone(), new);
        }
        self.new.get(id).filter(|new| *new != id).cloned()
    }
}

fn is_fit(id: &str) -> bool {
    id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn derive(id: &str, attempt: u64) -> ByteString {
    let digest = Sha256::new()
        .chain_update(attempt.to_be_bytes())
        .chain_update(id.as_bytes())
        .finalize();
    let mut number = digest[..16]
        .iter()
        .fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let mut text = String::with_capacity(LENGTH);
    for _ in 0..LENGTH {
        let digit = usize::try_from(number % 62).unwrap_or_default();
        text.push(char::from(DIGITS[digit]));
        number /= 62;
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(ids: &mut Ids, id: &str) -> String {
        let id = ByteString::from(id);
        ids.replacement(&id).unwrap_or(id).to_string()
    }

    #[test]
    fn a_replacement_follows_from_the_id_and_is_fit() {
        for id in [
            "call_1",
            "",
            "list_dir:0",
            "abcdefghij",
            "abc_efghi",
            "ünïcödeid",
        ] {
            let one = sent(&mut Ids::new(CallIds::NineAlphanumerics), id);
            let mut later = Ids::new(CallIds::NineAlphanumerics);
            sent(&mut later, "call_before");
            assert!(is_fit(&one), "{one}");
            assert_eq!(sent(&mut later, id), one);
            assert_eq!(sent(&mut later, id), one);
        }
    }

    #[test]
    fn a_fit_id_stays_unless_another_had_it_first() {
        let mut ids = Ids::new(CallIds::NineAlphanumerics);
        assert_eq!(sent(&mut ids, "k7Qp2ZxWa"), "k7Qp2ZxWa");
        let derived = derive("call_1", 0);
        let mut ids = Ids::new(CallIds::NineAlphanumerics);
        assert_eq!(sent(&mut ids, "call_1"), *derived);
        let other = sent(&mut ids, &derived);
        assert_ne!(other, *derived);
        assert!(is_fit(&other), "{other}");
    }
}
