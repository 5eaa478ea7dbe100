//! What a model must not be told: headers, keys and addresses.

use percent_encoding::percent_decode_str;
use url::{Position, Url};

use super::super::settings::{HttpServiceSettings, UrlTemplate};

/// A shorter text is a word like any other, in bytes: taking it out would spoil results and hide
/// nothing.
const SHORTEST_SECRET: usize = 12;

/// The same in a failure, where little is lost with a word too many.
const SHORTEST_ADDRESS: usize = 4;

/// Stands for what was taken out.
const REDACTED: &str = "[redacted]";

/// What is private about a service.
pub(super) struct Private {
    /// Values that results must not repeat: longest first, so that none hides a part of another.
    secrets: Vec<String>,
    /// What failures must not name either.
    addresses: Vec<String>,
}

impl Private {
    /// What is private by the settings.
    pub(super) fn of(settings: &HttpServiceSettings) -> Private {
        let mut secrets = Vec::new();
        for (_, value) in &settings.headers {
            let value = value.expose();
            // `Bearer KEY`: an echo of the key alone is one too.
            secrets.extend(value.split_once(' ').map(|(_, key)| key.trim().to_owned()));
            secrets.push(value.to_owned());
        }
        let urls = || settings.tools.iter().map(|tool| &tool.url);
        let mut addresses = secrets.clone();
        addresses.extend(
            urls()
                .filter_map(|url| url.origin().host_str())
                .map(str::to_owned),
        );
        let fixed = urls().flat_map(UrlTemplate::fixed_query);
        secrets.extend(fixed.flat_map(|text| [text.to_owned(), decoded(text)]));
        Private {
            secrets: longest_first(secrets, SHORTEST_SECRET),
            addresses: longest_first(addresses, SHORTEST_ADDRESS),
        }
    }

    /// Length of the longest secret, in bytes.
    pub(super) fn longest(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }

    /// A result without secrets.
    pub(super) fn result(&self, text: String) -> String {
        without(text, &self.secrets)
    }

    /// The words of an endpoint that failed, without secrets and without its address. `asked` is
    /// the URL that it answered at.
    pub(super) fn failure(&self, text: String, asked: &Url) -> String {
        let behind = &asked[Position::BeforePath..];
        let own = [asked.as_str(), behind, asked.path()];
        let own = own
            .into_iter()
            .flat_map(|text| [text.to_owned(), decoded(text)]);
        let own = longest_first(own.collect(), SHORTEST_ADDRESS);
        without(without(without(text, &self.secrets), &own), &self.addresses)
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
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
