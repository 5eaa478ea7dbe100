//! The request fields beside the messages and tools.

use super::{Dialect, TokenLimit};
use crate::wire::request::Field;

const MAX_TOKENS: &str = "max_tokens";
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

impl Dialect {
    /// The key under which a field of a request is sent; none if it is not sent. `all` are the
    /// fields of the request.
    pub(in crate::upstream) fn key<'a>(&self, field: &'a Field, all: &[Field]) -> Option<&'a str> {
        let sent = self.name(field, all)?;
        (!self.refused_fields.has(sent)).then_some(sent)
    }

    /// The name of a field with this server, whether it takes it or not.
    fn name<'a>(&self, field: &'a Field, all: &[Field]) -> Option<&'a str> {
        let key = &*field.key;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::dialect::Words;
    use crate::wire::Raw;

    #[test]
    fn what_is_refused_goes_by_the_name_that_would_be_sent() {
        let dialect = |refused: &'static [&'static str]| Dialect {
            token_limit: TokenLimit::MaxTokens,
            refused_fields: Words::Listed(refused),
            ..Dialect::REFERENCE
        };
        let field = Field {
            key: MAX_COMPLETION_TOKENS.into(),
            value: Raw::written("50".to_owned()),
        };
        let sent = |dialect: &Dialect| dialect.key(&field, &[]).map(str::to_owned);
        let renamed = sent(&dialect(&[MAX_COMPLETION_TOKENS]));
        assert_eq!(renamed.as_deref(), Some(MAX_TOKENS));
        assert_eq!(sent(&dialect(&[MAX_TOKENS])), None);
    }
}
