//! The request fields beside the messages and tools.

use super::{Dialect, TokenLimit};
use crate::wire::request::Field;

const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

impl Dialect {
    /// The key under which a field of a request is sent; none if it is not sent. `all` are the
    /// fields of the request.
    pub(in crate::upstream) fn key<'a>(&self, field: &'a Field, all: &[Field]) -> Option<&'a str> {
        let key = &*field.key;
        if self.refused_fields.has(key) {
            return None;
        }
        let (own, other) = match self.token_limit {
            TokenLimit::AsSent => return Some(key),
            TokenLimit::MaxTokens => (MAX_TOKENS, MAX_COMPLETION_TOKENS),
            TokenLimit::MaxCompletionTokens => (MAX_COMPLETION_TOKENS, MAX_TOKENS),
        };
        if key != other {
            return Some(key);
        }
        // A caller who sent both said it under the right name, too.
        let both = all.iter().any(|field| field.key == own);
        (!both).then_some(own)
    }
}
