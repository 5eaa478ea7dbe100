//! Calls in pieces: however a server cuts and labels one answer, the calls are the same.

use handback::turn::ArgumentPolicy;
use handback::wire::write::{compact, quoted};
use proptest::prelude::*;
use proptest::sample::Index;

use super::settling::{folded, settled};
use super::values::{cases, object};

/// Names that begin alike, so that a piece of one can be another.
pub(super) const NAMES: [&str; 5] = ["a", "ab", "get", "get_weather", "get_weather_2"];

/// One call as the model means it.
#[derive(Clone, Debug)]
struct Meant {
    name: &'static str,
    arguments: String,
    /// The server gives it no id, where it may.
    without_id: bool,
}

/// How a server tells its calls apart.
#[derive(Clone, Copy, Debug)]
enum Labels {
    /// No index and no id: each call is whole.
    None,
    /// No index: an id that is repeated on every piece.
    Ids,
    /// No index: an id on the first piece; the calls come one after the other.
    Order,
    /// An index, and an id at least on the first piece.
    Indices,
}

/// How one answer is cut.
#[derive(Clone, Debug)]
struct Cuts {
    labels: Labels,
    /// Where each call is cut, and which call goes on next.
    arguments: Vec<Index>,
    name: Vec<Index>,
    order: Vec<Index>,
    /// What stands on pieces that say nothing new: which absence, which repetition.
    habits: Vec<u8>,
    as_object: bool,
    all_zero: bool,
}

fn meant() -> impl Strategy<Value = Vec<Meant>> {
    let call = (
        proptest::sample::select(&NAMES[..]),
        object(),
        any::<bool>(),
    );
    proptest::collection::vec(
        call.prop_map(|(name, arguments, without_id)| Meant {
            name,
            arguments: compact(&arguments),
            without_id,
        }),
        1..4,
    )
}

fn cuts() -> impl Strategy<Value = Cuts> {
    let labels = proptest::sample::select(
        &[
            Labels::None,
            Labels::Ids,
            Labels::Order,
            Labels::Indices,
            Labels::Indices,
        ][..],
    );
    let indices = |size| proptest::collection::vec(any::<Index>(), size);
    let habits = proptest::collection::vec(0_u8..5, 8);
    (
        labels,
        indices(3),
        indices(4),
        indices(16),
        habits,
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(labels, arguments, name, order, habits, (as_object, all_zero))| Cuts {
                labels,
                arguments,
                name,
                order,
                habits,
                as_object,
                all_zero,
            },
        )
}

/// The pieces of one call: `(id, name, arguments)`, each as JSON text or absent.
type Piece = [Option<String>; 3];

/// Cuts the escaped body of a string, but not inside an escape.
fn cut_body(body: &str, at: &[Index]) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => first.len_utf8(),
        };
        units.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    let mut places: Vec<usize> = at.iter().map(|at| at.index(units.len() + 1)).collect();
    places.extend([0, units.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| units[pair[0]..pair[1]].concat())
        .collect()
}

fn pieces(nth: usize, call: &Meant, cuts: &Cuts) -> Vec<Piece> {
    let id = (!call.without_id || matches!(cuts.labels, Labels::Ids | Labels::Order))
        .then(|| format!("\"id{nth}\""))
        .filter(|_| !matches!(cuts.labels, Labels::None));
    let whole = quoted(&call.arguments);
    if matches!(cuts.labels, Labels::None) {
        return vec![[id, Some(quoted(call.name)), Some(whole)]];
    }
    let habit = |at: usize| cuts.habits[(nth + at) % cuts.habits.len()];
    let absent = |at: usize| match habit(at) {
        0 => Some("null".to_owned()),
        1 => Some("\"\"".to_owned()),
        _ => None,
    };
    let same = |at: usize| match (cuts.labels, habit(at)) {
        (Labels::Ids, _) | (_, 2) => id.clone(),
        _ => absent(at),
    };
    // Where there is an index, another id goes on with the call, as long as no name is beside it.
    let repeated = |at: usize| match (cuts.labels, habit(at)) {
        (Labels::Indices, 3) if id.is_some() && !cuts.all_zero => Some(format!("\"other{at}\"")),
        _ => same(at),
    };
    // A piece of a name that equals the name so far would be a repetition.
    let cut = cuts.name[nth].index(call.name.len());
    let (first, second) = call.name.split_at(cut);
    let mut out = if first.is_empty() || first == second {
        vec![[id.clone(), Some(quoted(call.name)), absent(1)]]
    } else {
        vec![
            [id.clone(), Some(quoted(first)), absent(1)],
            [same(0), Some(quoted(second)), absent(2)],
        ]
    };
    if cuts.as_object {
        out.push([repeated(3), absent(4), Some(call.arguments.clone())]);
        return out;
    }
    let body = &whole[1..whole.len() - 1];
    for (at, piece) in cut_body(body, &cuts.arguments).into_iter().enumerate() {
        out.push([repeated(at), absent(at + 1), Some(format!("\"{piece}\""))]);
    }
    out
}

/// The chunks of the answer in the order in which the server sends them.
fn chunks(calls: &[Meant], cuts: &Cuts) -> Vec<String> {
    let mut queues: Vec<std::collections::VecDeque<Piece>> = calls
        .iter()
        .enumerate()
        .map(|(nth, call)| pieces(nth, call, cuts).into())
        .collect();
    let interleaved = matches!(cuts.labels, Labels::Ids)
        || (matches!(cuts.labels, Labels::Indices) && !cuts.all_zero);
    // Calls are opened in their order; behind that, any may go on.
    let mut order: Vec<usize> = (0..calls.len()).collect();
    let mut out = Vec::new();
    if interleaved {
        for turn in cuts.order.iter().cycle().take(64) {
            order.push(turn.index(calls.len()));
        }
    }
    for nth in order.into_iter().chain(0..calls.len()) {
        let mut budget = if interleaved { 1 } else { usize::MAX };
        while let Some(piece) = queues[nth].pop_front() {
            out.push(chunk(nth, &piece, cuts));
            budget -= 1;
            if budget == 0 {
                break;
            }
        }
    }
    for (nth, queue) in queues.iter_mut().enumerate() {
        out.extend(queue.drain(..).map(|piece| chunk(nth, &piece, cuts)));
    }
    out
}

fn chunk(nth: usize, [id, name, arguments]: &Piece, cuts: &Cuts) -> String {
    let member = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!("\"{key}\":{value}"))
    };
    let index = matches!(cuts.labels, Labels::Indices)
        .then(|| (if cuts.all_zero { 0 } else { nth }).to_string());
    let function: Vec<String> = [member("name", name), member("arguments", arguments)]
        .into_iter()
        .flatten()
        .collect();
    let function = Some(format!("{{{}}}", function.join(",")));
    let call: Vec<String> = [
        member("index", &index),
        member("id", id),
        member("function", &function),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{{}}}]}}}}]}}"#,
        call.join(",")
    )
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
        let chunks = chunks(&calls, &cuts);
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
