//! Token counts, summed over the rounds of a request (contract A1).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

    /// The JSON text of `usage`, with zeros where there is none.
    pub fn text(usage: Option<&Usage>) -> &str {
        usage.map_or(NONE, |usage| usage.0.get())
    }

    /// Both together: numbers are added at every depth, other values are the later ones.
    #[must_use]
    pub fn plus(self, later: Usage) -> Usage {
        let parse = |usage: &Usage| serde_json::from_str::<Map<String, Value>>(usage.0.get()).ok();
        let (Some(mut sum), Some(more)) = (parse(&self), parse(&later)) else {
            return later;
        };
        add(&mut sum, more);
        Usage(Raw::written(Value::Object(sum).to_string()))
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

fn plus(old: &Value, new: &serde_json::Number) -> Value {
    match (old.as_u64(), new.as_u64()) {
        (Some(a), Some(b)) => Value::from(a.saturating_add(b)),
        _ => Value::from(old.as_f64().unwrap_or(0.0) + new.as_f64().unwrap_or(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_added_and_unknown_ones_kept() {
        let usage = |text: &str| Usage::new(Raw::parse(text).unwrap()).unwrap();
        let sum = usage(
            r#"{"prompt_tokens":10,"total_tokens":15,"d":{"cached":3},"cost":0.5,"x":null}"#,
        )
        .plus(usage(
            r#"{"prompt_tokens":1,"total_tokens":2,"d":{"cached":4,"new":1},"cost":0.25,"x":7}"#,
        ));
        let value: Value = serde_json::from_str(Usage::text(Some(&sum))).unwrap();
        let expected = serde_json::json!(
            {"prompt_tokens":11,"total_tokens":17,"d":{"cached":7,"new":1},"cost":0.75,"x":7});
        assert_eq!(value, expected);
        assert_eq!(sum.total(), 17);
    }
}
