//! What is private about an HTTP service: headers, keys in URLs, addresses.

use percent_encoding::percent_decode_str;
use url::{Position, Url};

use super::super::settings::{HttpServiceSettings, UrlTemplate};
use crate::private::Private;

/// What is private by the settings.
pub(super) fn of(settings: &HttpServiceSettings) -> Private {
    let urls = || settings.tools.iter().map(|tool| &tool.url);
    let hosts = urls().filter_map(|url| url.origin().host_str());
    let fixed = urls().flat_map(UrlTemplate::fixed_query);
    Private::of_headers(&settings.headers)
        .addresses(hosts.map(str::to_owned))
        .secrets(fixed.flat_map(in_both_forms))
}

/// The forms in which an endpoint may name the URL that it was asked at.
pub(super) fn forms_of(asked: &Url) -> Vec<String> {
    let behind = &asked[Position::BeforePath..];
    let own = [asked.as_str(), behind, asked.path()];
    own.into_iter().flat_map(in_both_forms).collect()
}

fn in_both_forms(text: &str) -> [String; 2] {
    let decoded = percent_decode_str(text).decode_utf8_lossy().into_owned();
    [text.to_owned(), decoded]
}
