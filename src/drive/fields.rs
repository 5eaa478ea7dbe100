//! The fields of a request to the model that are not Handback's own.

use std::borrow::Cow;

use crate::wire::request::Field;

/// The caller's fields and, where it sent none, the agent's (contract R4).
pub(super) fn with_defaults<'a>(fields: &'a [Field], defaults: &[Field]) -> Cow<'a, [Field]> {
    let is_sent = |default: &&Field| {
        fields
            .iter()
            .any(|field| is_same_field(&field.key, &default.key))
    };
    let missing: Vec<Field> = defaults
        .iter()
        .filter(|default| !is_sent(default))
        .cloned()
        .collect();
    if missing.is_empty() {
        return Cow::Borrowed(fields);
    }
    Cow::Owned([fields, &missing].concat())
}

/// Whether two fields say the same: the reference has two names for one of them.
fn is_same_field(one: &str, other: &str) -> bool {
    const TOKENS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    one == other || (TOKENS.contains(&one) && TOKENS.contains(&other))
}
