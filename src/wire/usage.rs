//! Token counts, summed over the rounds of a request (contract A1).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::raw::Raw;

/// The usage of one or more rounds, in the upstream's own words: with every detail it gave.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Usage(Raw);

/// What stands where the upstream gave no usage, since clients need the key.
const NONE: &str = "{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}";

impl Usage {
    /// Takes an upstream's `usage`; `None` if it is no object.
    pub fn new(raw: Raw) -> Option<Usage> {
        (raw.kind() == super::Kind::Object).then_some(Usage(raw))
    }

    /// The JSON text of `usage`, with zeros where there is none. The counts that the reference
    /// promises are there, whatever the upstream left out.
    pub fn text(usage: Option<&Usage>) -> Cow<'_, str> {
        let Some(Usage(raw)) = usage else {
            return Cow::Borrowed(NONE);
        };
        let is_whole = serde_json::from_str::<Counts>(raw.get()).is_ok();
        if is_whole && !raw.get().contains("null") {
            return Cow::Borrowed(raw.get());
        }
        let members = usage.and_then(Usage::members).map(completed);
        Cow::Owned(members.map_or_else(|| NONE.to_owned(), |all| Value::Object(all).to_string()))
    }

    /// Both together: numbers are added at every depth, other values are the later ones.
    #[must_use]
    pub fn plus(self, later: Usage) -> Usage {
        let (Some(sum), Some(more)) = (self.members(), later.members()) else {
            return later;
        };
        let mut sum = completed(sum);
        add(&mut sum, completed(more));
        Usage(Raw::written(Value::Object(sum).to_string()))
    }

    fn members(&self) -> Option<Map<String, Value>> {
        serde_json::from_str(self.0.get()).ok()
    }

    /// `prompt_tokens` and `completion_tokens`, as far as they are whole numbers.
    pub fn tokens(&self) -> [Option<u64>; 2] {
        let members = self.members().unwrap_or_default();
        ["prompt_tokens", "completion_tokens"]
            .map(|key| whole_number(members.get(key)?.as_number()?))
    }

    /// `total_tokens`, 0 if there is none.
    pub fn total(&self) -> u64 {
        #[derive(Deserialize)]
        struct Total {
            #[serde(default)]
            total_tokens: u64,
        }
        serde_json::from_str::<Total>(self.0.get()).map_or(0, |total| total.total_tokens)
    }
}

/// A count, also if it is written with a point.
fn whole_number(count: &Number) -> Option<u64> {
    let spelled = || count.to_string().strip_suffix(".0")?.parse().ok();
    count.as_u64().or_else(spelled)
}

/// What the reference promises of every usage.
#[derive(Deserialize)]
#[expect(dead_code, reason = "that they can be read is all that matters")]
struct Counts {
    #[serde(rename = "prompt_tokens")]
    prompt: u64,
    #[serde(rename = "completion_tokens")]
    completion: u64,
    #[serde(rename = "total_tokens")]
    total: u64,
}

/// The members with the counts that were missing, in front: zero, or the sum for the total. Counts
/// that a server writes with a point are written without, and what is null is left out, since typed
/// clients stumble over both.
fn completed(mut members: Map<String, Value>) -> Map<String, Value> {
    let mut whole = Map::new();
    let mut sum = Value::from(0);
    for key in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        let given = members.shift_remove(key);
        let count = match given {
            Some(Value::Number(count)) => whole_number(&count).map_or(count, Into::into),
            _ if key == "total_tokens" => {
                whole.insert(key.to_owned(), sum);
                break;
            }
            _ => 0.into(),
        };
        sum = plus(&sum, &count);
        whole.insert(key.to_owned(), Value::Number(count));
    }
    for details in members.values_mut().filter_map(Value::as_object_mut) {
        details.retain(|_, value| !value.is_null());
    }
    whole.extend(members.into_iter().filter(|(_, value)| !value.is_null()));
    whole
}

/// Usage is small and shallow; deeper than this an upstream is playing games.
const DEPTH: usize = 8;

fn add(sum: &mut Map<String, Value>, more: Map<String, Value>) {
    add_to(sum, more, DEPTH);
}

fn add_to(sum: &mut Map<String, Value>, more: Map<String, Value>, depth: usize) {
    for (key, value) in more {
        match (sum.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if depth > 0 => {
                add_to(old, new, depth - 1);
            }
            (Some(old @ Value::Number(_)), Value::Number(new)) => *old = plus(old, &new),
            (Some(old), new) if !new.is_null() => *old = new,
            (Some(_), _) => {}
            (None, new) => {
                sum.insert(key, new);
            }
        }
    }
}

fn plus(old: &Value, new: &Number) -> Value {
    match (old.as_u64(), new.as_u64()) {
        (Some(a), Some(b)) => Value::from(a.saturating_add(b)),
        _ => Value::from(old.as_f64().unwrap_or(0.0) + new.as_f64().unwrap_or(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(text: &str) -> Usage {
        Usage::new(Raw::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn details_are_added_and_unknown_ones_kept() {
        let sum = usage(
            r#"{"prompt_tokens":10,"total_tokens":15,"d":{"cached":3},"cost":0.5,"x":null}"#,
        )
        .plus(usage(
            r#"{"prompt_tokens":1,"total_tokens":2,"d":{"cached":4,"new":1},"cost":0.25,"x":7}"#,
        ));
        let value: Value = serde_json::from_str(&Usage::text(Some(&sum))).unwrap();
        let expected = serde_json::json!(
            {"prompt_tokens":11,"completion_tokens":0,"total_tokens":17,
             "d":{"cached":7,"new":1},"cost":0.75,"x":7});
        assert_eq!(value, expected);
        assert_eq!(sum.total(), 17);
    }

    #[test]
    fn counts_that_are_missing_are_filled_in_and_complete_ones_not_touched() {
        let text = |given: &str| Usage::text(Some(&usage(given))).into_owned();
        let whole =
            r#"{"x":1,  "total_tokens":3,"prompt_tokens":1,"completion_tokens":2,"cost":0.5}"#;
        assert_eq!(text(whole), whole);
        assert_eq!(
            text(
                r#"{"total_tokens":3.0,"prompt_tokens":1.0,"completion_tokens":2,"d":{"a":null,"b":1},"e":null}"#
            ),
            r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"d":{"b":1}}"#
        );
        assert_eq!(
            text(r#"{"completion_tokens":2,"prompt_tokens":5,"d":{}}"#),
            r#"{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,"d":{}}"#
        );
        assert_eq!(
            text(r#"{"total_tokens":4,"prompt_tokens":null}"#),
            r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":4}"#
        );
        assert_eq!(text("{}"), NONE);
    }

    #[test]
    fn tokens_are_whole_numbers() {
        let tokens = |given: &str| usage(given).tokens();
        let whole = r#"{"prompt_tokens":5,"completion_tokens":2.0}"#;
        assert_eq!(tokens(whole), [Some(5), Some(2)]);
        let others = r#"{"prompt_tokens":-1,"completion_tokens":"2"}"#;
        assert_eq!(tokens(others), [None, None]);
        assert_eq!(tokens("{}"), [None, None]);
    }

    #[test]
    fn the_sum_of_rounds_has_the_total_of_both() {
        let sum = usage(r#"{"prompt_tokens":5,"completion_tokens":2}"#).plus(usage(
            r#"{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}"#,
        ));
        assert_eq!(sum.total(), 9);
    }
}
