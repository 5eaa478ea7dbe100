//! Sealed ids: nothing but what was sealed opens, and nothing breaks (contract K2, K3).

use std::sync::LazyLock;

use handback::continuation::settings::ContinuationSettings;
use handback::continuation::{Binding, Carry, Sealer, is_sealed};
use handback::turn::Millis;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::values::cases;

const OWN: Binding<'static> = Binding {
    key: "one",
    model: "m",
};

/// A sealer, and two ids of it.
static SEALED: LazyLock<(Sealer, [String; 2])> = LazyLock::new(|| {
    let stored = include_str!("../../../fixtures/continuation/v1.json");
    let stored: Value = serde_json::from_str(stored).expect("JSON");
    // Through its text: what a message holds is kept as it is written.
    let carry: Carry = serde_json::from_str(&stored["carry"].to_string()).expect("a carry");
    let sealer = Sealer::new(&ContinuationSettings::default(), [3; 32]);
    let seal = |nonce| sealer.seal(&carry, OWN, [nonce; 24]).expect("it is small");
    let ids = [seal(1), seal(2)];
    (sealer, ids)
});

/// What is done to an id.
#[derive(Clone, Debug)]
enum Change {
    Flip(Index, u8),
    Cut(Index),
    Drop(Index),
    Splice(Index, Index),
    Repeat(Index),
    Strip,
    Lower,
    Insert(Index, char),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        8 => (at(), 0_u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        3 => at().prop_map(Change::Cut),
        3 => at().prop_map(Change::Drop),
        3 => (at(), at()).prop_map(|(one, other)| Change::Splice(one, other)),
        1 => at().prop_map(Change::Repeat),
        1 => Just(Change::Strip),
        1 => Just(Change::Lower),
        2 => (at(), any::<char>()).prop_map(|(at, put)| Change::Insert(at, put)),
    ]
}

fn changed(id: &str, other: &str, change: &Change) -> String {
    match change {
        Change::Flip(at, bit) => {
            let mut bytes = id.as_bytes().to_vec();
            bytes[at.index(id.len())] ^= 1 << bit;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Change::Cut(at) => id[..at.index(id.len())].to_owned(),
        Change::Drop(at) => {
            let mut id = id.to_owned();
            id.remove(at.index(id.len()));
            id
        }
        Change::Splice(from, to) => {
            format!(
                "{}{}",
                &id[..from.index(id.len())],
                &other[to.index(other.len())..]
            )
        }
        Change::Repeat(at) => format!("{id}{}", &id[at.index(id.len())..]),
        Change::Strip => id.replace(['_', '-'], ""),
        Change::Lower => id.to_lowercase(),
        Change::Insert(at, put) => {
            let mut id = id.to_owned();
            id.insert(at.index(id.len()), *put);
            id
        }
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_changed_id_does_not_open(change in change()) {
        let (sealer, [id, other]) = &*SEALED;
        let changed = changed(id, other, &change);
        let opens = sealer.open(&changed, OWN, Millis(0)).is_ok();
        prop_assert_eq!(opens, changed == *id || changed == *other, "{}", changed);
    }

    #[test]
    fn a_made_up_id_does_not_open(
        id in prop_oneof![any::<String>(), "call_hbc1[A-Za-z0-9_-]{0,900}"],
    ) {
        let (sealer, _) = &*SEALED;
        prop_assert!(sealer.open(&id, OWN, Millis(0)).is_err());
        prop_assert!(!id.starts_with("call_hbc1") || is_sealed(&id));
    }

    #[test]
    fn nobody_else_opens_it(key in "[a-z]{0,5}", model in "[a-z]{0,5}") {
        let (sealer, [id, _]) = &*SEALED;
        let binding = Binding { key: &key, model: &model };
        let opens = sealer.open(id, binding, Millis(0)).is_ok();
        prop_assert_eq!(opens, key == OWN.key && model == OWN.model);
    }
}
