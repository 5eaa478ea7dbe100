//! The recognisable start of a sealed id (contract K3).

use crate::turn::begins_like;

/// What every sealed id begins with: the common start of call ids, a mark, the version of the
/// form.
pub(super) const START: &str = "call_hbc1";

/// Whether an id is a sealed one, be it cut, stripped of its punctuation, or written in one case:
/// then it does not open, and the loss is noticed. An id that a client made up itself does not
/// show.
pub fn is_sealed(id: &str) -> bool {
    begins_like(id, START)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::CARRIER;

    #[test]
    fn the_engine_takes_no_such_id_from_an_upstream() {
        assert!(START.starts_with(CARRIER));
    }

    #[test]
    fn a_mangled_id_is_still_recognised() {
        for id in [
            "call_hbc1AAAA",
            "callhbc1AAAA",
            "CALL_HBC1aaaa",
            "call-hbc1",
        ] {
            assert!(is_sealed(id), "{id}");
        }
        for id in ["call_abc123", "", "call_", "xcall_hbc1"] {
            assert!(!is_sealed(id), "{id}");
        }
    }
}
