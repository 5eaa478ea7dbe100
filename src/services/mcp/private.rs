//! What a model must not be told: headers, keys and the address of a server.

use crate::services::settings::{McpSettings, McpTransport};

/// A shorter text is a word like any other, in bytes: taking it out would spoil results and hide
/// nothing.
const SHORTEST_SECRET: usize = 12;

/// The same in a failure, where little is lost with a word too many.
const SHORTEST_ADDRESS: usize = 4;

/// Stands for what was taken out.
const REDACTED: &str = "[redacted]";

/// What is private about a server. (Not the environment of a process: a result may well name a
/// folder that was given to it there.)
pub(super) struct Private {
    secrets: Vec<String>,
    addresses: Vec<String>,
}

impl Private {
    /// What is private by the settings.
    pub(super) fn of(settings: &McpSettings) -> Private {
        let mut secrets = Vec::new();
        for (_, value) in &settings.headers {
            let value = value.expose();
            // `Bearer KEY`: an echo of the key alone is one too.
            secrets.extend(value.split_once(' ').map(|(_, key)| key.trim().to_owned()));
            secrets.push(value.to_owned());
        }
        let mut addresses = secrets.clone();
        if let McpTransport::Http(url) = &settings.transport {
            addresses.push(url.as_str().to_owned());
            addresses.extend(url.host_str().map(str::to_owned));
            addresses.extend(url.query().map(str::to_owned));
        }
        Private {
            secrets: longest_first(secrets, SHORTEST_SECRET),
            addresses: longest_first(addresses, SHORTEST_ADDRESS),
        }
    }

    /// A result without secrets.
    pub(super) fn result(&self, text: String) -> String {
        without(text, &self.secrets)
    }

    /// A failure without secrets and without the server's address.
    pub(super) fn failure(&self, text: String) -> String {
        without(text, &self.addresses)
    }
}

fn longest_first(mut texts: Vec<String>, shortest: usize) -> Vec<String> {
    texts.retain(|text| text.len() >= shortest);
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
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
