//! Calls in pieces: however a server cuts and labels one answer, the calls are the same.

use handback::turn::ArgumentPolicy;
use proptest::prelude::*;

use super::pieces::{Labels, all_pieces, cuts, meant};
use super::settling::{folded, settled};
use super::values::cases;

/// The piece of a call as a chunk.
fn chunk(piece: &str) -> String {
    format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#)
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn pieces_of_every_cut_settle_to_the_calls_that_were_meant(calls in meant(), cuts in cuts()) {
        // All at index zero, a call without an id cannot be told from the one before.
        let mut calls = calls;
        if cuts.all_zero {
            for call in &mut calls {
                call.without_id = false;
            }
        }
        let chunks: Vec<String> =
            all_pieces(&calls, &cuts).iter().map(|piece| chunk(piece)).collect();
        let wanted: Vec<(&str, &str)> =
            calls.iter().map(|call| (call.name, &*call.arguments)).collect();
        for policy in [ArgumentPolicy::Repair, ArgumentPolicy::Pass] {
            let (settled, said) = settled(&chunks, policy);
            let got: Vec<(&str, &str)> =
                settled.iter().map(|call| (&*call.name, &*call.arguments)).collect();
            prop_assert_eq!(&got, &wanted, "{:#?}", chunks);
            let ids = settled.iter().enumerate().all(|(nth, call)| {
                let own = !matches!(cuts.labels, Labels::None)
                    && (!calls[nth].without_id || matches!(cuts.labels, Labels::Ids | Labels::Order));
                !own || call.id == format!("id{nth}")
            });
            prop_assert!(ids, "{:?} of {:#?}", settled, chunks);
            let begun = folded(&said);
            let whole: Vec<(String, String, String)> = settled
                .iter()
                .take(begun.len())
                .map(|call| (call.id.to_string(), call.name.to_string(), call.arguments.to_string()))
                .collect();
            prop_assert_eq!(begun, whole, "{:#?}", chunks);
        }
    }
}
