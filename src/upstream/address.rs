//! Where an upstream's chat completions are.

use http::Uri;
use http::uri::InvalidUri;
use url::Url;

/// A URL of chat completions, one for all models or one for each.
///
/// Without a version that is `BASE/chat/completions`. With one it is the form of Azure's dated
/// APIs, `BASE/openai/deployments/MODEL/chat/completions?api-version=VERSION`, where the name of
/// the model is that of its deployment; a base that has a path of its own is taken for all that
/// stands before `/chat/completions`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// For all models.
    Fixed(Uri),
    /// Each model has its own below this one.
    PerModel(Url),
}

const COMPLETIONS: &str = "chat/completions";
const DEPLOYMENTS: &str = "openai/deployments";

impl Address {
    /// The address below a base URL.
    pub fn new(base: &Url, version: Option<&str>) -> Result<Address, InvalidUri> {
        let mut url = base.clone();
        if let Some(version) = version {
            url.query_pairs_mut().append_pair("api-version", version);
            if base.path().len() <= 1 {
                return Ok(Address::PerModel(url));
            }
        }
        url.set_path(&joined(base.path(), COMPLETIONS));
        Uri::try_from(url.as_str()).map(Address::Fixed)
    }

    /// The URL for a model.
    pub fn of(&self, model: &str) -> Result<Uri, InvalidUri> {
        match self {
            Address::Fixed(uri) => Ok(uri.clone()),
            Address::PerModel(url) => {
                let mut url = url.clone();
                // A base URL can always be appended to: it is http or https.
                if let Ok(mut path) = url.path_segments_mut() {
                    path.clear().extend(DEPLOYMENTS.split('/')).push(model);
                    path.extend(COMPLETIONS.split('/'));
                }
                Uri::try_from(url.as_str())
            }
        }
    }
}

fn joined(path: &str, more: &str) -> String {
    format!("{}/{more}", path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base: &str, version: Option<&str>, model: &str) -> String {
        let address = Address::new(&Url::parse(base).unwrap(), version).unwrap();
        address.of(model).unwrap().to_string()
    }

    #[test]
    fn every_form_of_address() {
        for (base, version, model, expected) in [
            (
                "https://a.example",
                None,
                "m",
                "https://a.example/chat/completions",
            ),
            (
                "https://a.example/v1",
                None,
                "m/n",
                "https://a.example/v1/chat/completions",
            ),
            (
                "https://desk.openai.azure.com/openai/v1",
                None,
                "m",
                "https://desk.openai.azure.com/openai/v1/chat/completions",
            ),
            (
                "https://desk.openai.azure.com",
                Some("2024-10-21"),
                "gpt 5/mini",
                "https://desk.openai.azure.com/openai/deployments/gpt%205%2Fmini/chat/completions?api-version=2024-10-21",
            ),
            (
                "https://desk.example/openai/deployments/mine",
                Some("2024-10-21"),
                "m",
                "https://desk.example/openai/deployments/mine/chat/completions?api-version=2024-10-21",
            ),
        ] {
            assert_eq!(url(base, version, model), expected);
        }
    }
}
