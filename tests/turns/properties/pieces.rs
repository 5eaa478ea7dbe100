//! The calls of an answer as servers write them: cut into pieces, labelled and filled up with
//! what means nothing.

use handback::wire::write::{compact, quoted};
use proptest::prelude::*;
use proptest::sample::Index;

use super::values::object;

/// Names that begin alike, so that a piece of one can be another.
pub(super) const NAMES: [&str; 5] = ["a", "ab", "get", "get_weather", "get_weather_2"];

/// One call as the model means it.
#[derive(Clone, Debug)]
pub(super) struct Meant {
    pub(super) name: &'static str,
    pub(super) arguments: String,
    /// The server gives it no id, where it may.
    pub(super) without_id: bool,
}

/// How a server tells its calls apart.
#[derive(Clone, Copy, Debug)]
pub(super) enum Labels {
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
pub(super) struct Cuts {
    pub(super) labels: Labels,
    /// Where each call is cut, and which call goes on next.
    arguments: Vec<Index>,
    name: Vec<Index>,
    order: Vec<Index>,
    /// What stands on pieces that say nothing new: which absence, which repetition.
    habits: Vec<u8>,
    pub(super) as_object: bool,
    pub(super) all_zero: bool,
}

pub(super) fn meant() -> impl Strategy<Value = Vec<Meant>> {
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

pub(super) fn cuts() -> impl Strategy<Value = Cuts> {
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

/// The pieces of all calls in the order in which the server sends them.
pub(super) fn all_pieces(calls: &[Meant], cuts: &Cuts) -> Vec<String> {
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
    if interleaved && !calls.is_empty() {
        for turn in cuts.order.iter().cycle().take(64) {
            order.push(turn.index(calls.len()));
        }
    }
    for nth in order.into_iter().chain(0..calls.len()) {
        let mut budget = if interleaved { 1 } else { usize::MAX };
        while let Some(piece) = queues[nth].pop_front() {
            out.push(written(nth, &piece, cuts));
            budget -= 1;
            if budget == 0 {
                break;
            }
        }
    }
    for (nth, queue) in queues.iter_mut().enumerate() {
        out.extend(queue.drain(..).map(|piece| written(nth, &piece, cuts)));
    }
    out
}

fn written(nth: usize, [id, name, arguments]: &Piece, cuts: &Cuts) -> String {
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
    format!("{{{}}}", call.join(","))
}
