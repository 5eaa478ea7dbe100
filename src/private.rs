//! Takes out of a text what its reader must not be told: headers, keys and addresses.

use crate::secret::Secret;

/// A shorter text is a word like any other, in bytes: taking it out would spoil results and hide
/// nothing.
const SHORTEST_SECRET: usize = 12;

/// The same in a failure, where little is lost with a word too many.
const SHORTEST_ADDRESS: usize = 4;

/// Stands for what was taken out.
const REDACTED: &str = "[redacted]";

/// What is private about something that Handback talks to.
#[derive(Default)]
pub(crate) struct Private {
    /// What no text may repeat: longest first, so that none hides a part of another.
    secrets: Vec<String>,
    /// What failures must not name either.
    addresses: Vec<String>,
}

impl Private {
    /// The values of headers.
    pub(crate) fn of_headers(headers: &[(String, Secret)]) -> Private {
        let mut private = Private::default();
        for (_, value) in headers {
            private = private.secret(value);
        }
        private
    }

    /// A key or the value of a header as well.
    pub(crate) fn secret(self, value: &Secret) -> Private {
        let value = value.expose();
        // `Bearer KEY`: an echo of the key alone is one too.
        let key = value.split_once(' ').map(|(_, key)| key.trim());
        let texts: Vec<String> = key.into_iter().chain([value]).map(str::to_owned).collect();
        self.addresses(texts.clone()).secrets(texts)
    }

    /// Further secrets.
    pub(crate) fn secrets(mut self, texts: impl IntoIterator<Item = String>) -> Private {
        self.secrets.extend(texts);
        self.secrets = longest_first(self.secrets, SHORTEST_SECRET);
        self
    }

    /// Further texts that failures must not name.
    pub(crate) fn addresses(mut self, texts: impl IntoIterator<Item = String>) -> Private {
        self.addresses.extend(texts);
        self.addresses = longest_first(self.addresses, SHORTEST_ADDRESS);
        self
    }

    /// Length of the longest secret, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }

    /// A result without secrets.
    pub(crate) fn result(&self, text: String) -> String {
        without(text, &self.secrets)
    }

    /// The words of a failure, without secrets and addresses.
    pub(crate) fn failure(&self, text: String) -> String {
        self.failure_at(text, Vec::new())
    }

    /// The same, and without `own`, the forms of the one address that failed.
    pub(crate) fn failure_at(&self, text: String, own: Vec<String>) -> String {
        let own = longest_first(own, SHORTEST_ADDRESS);
        let text = without(without(text, &self.secrets), &own);
        without(text, &self.addresses)
    }
}

fn longest_first(mut texts: Vec<String>, shortest: usize) -> Vec<String> {
    texts.retain(|text| text.len() >= shortest);
    texts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    texts.dedup();
    texts
}

fn without(mut text: String, private: &[String]) -> String {
    for private in private {
        if text.contains(private.as_str()) {
            text = text.replace(private.as_str(), REDACTED);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> Private {
        let header = (
            "authorization".to_owned(),
            Secret::new("Bearer s3cr3t-k3y-1"),
        );
        Private::of_headers(&[header])
            .secret(&Secret::new("short"))
            .addresses(["https://a.example/v1".to_owned(), "a.example".to_owned()])
    }

    #[test]
    fn results_lose_secrets_alone() {
        let text = "s3cr3t-k3y-1 short a.example Bearer s3cr3t-k3y-1";
        let shown = private().result(text.to_owned());
        assert_eq!(shown, "[redacted] short a.example [redacted]");
        assert_eq!(private().longest(), "Bearer s3cr3t-k3y-1".len());
    }

    #[test]
    fn failures_lose_addresses_as_well_the_longest_first() {
        let text = "short: no https://a.example/v1 at a.example/x?y";
        let shown = private().failure(text.to_owned());
        assert_eq!(shown, "[redacted]: no [redacted] at [redacted]/x?y");
        let shown = private().failure_at(text.to_owned(), vec!["/x?y".to_owned(), "no".to_owned()]);
        assert_eq!(shown, "[redacted]: no [redacted] at [redacted][redacted]");
    }
}
