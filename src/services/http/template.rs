//! The URL of a tool, with places for arguments.
//!
//! `{argument}` may stand in the path and in the query, any number of times. `fill` puts
//! arguments there.

use std::fmt;

use url::Url;

/// A URL with places for arguments. `Debug` shows its origin and the arguments only: the rest is
/// where keys are put.
#[derive(Clone, Eq, PartialEq)]
pub struct UrlTemplate {
    /// Scheme, host and port as they were written.
    pub(super) origin: Url,
    pub(super) path: Vec<Piece>,
    /// The pairs of the query; absent pairs are left out together with their `&`.
    pub(super) query: Vec<Vec<Piece>>,
}

/// A part of a template.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Piece {
    /// Goes into the URL as it is.
    Text(String),
    /// The name of an argument.
    Argument(String),
}

/// Why a text is no template. No message shows the text, which may hold a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// A brace without its counterpart, or within braces.
    #[error("a brace has no counterpart; write {{argument}}, or %7B and %7D for plain braces")]
    Braces,
    /// Arguments and credentials have their own places.
    #[error("the URL holds a user name or password; take it out and set a header")]
    Credentials,
    /// Nothing between the braces.
    #[error("there is nothing between two braces; write the name of an argument there")]
    Empty,
    /// Fragments are not sent.
    #[error("the URL holds a fragment, which is never sent; take out all from # on")]
    Fragment,
    /// The model would decide whom Handback talks to.
    #[error("an argument stands before the path; it may stand in path and query only")]
    Origin,
    /// Not http or https.
    #[error("the URL is neither http nor https")]
    Scheme,
    /// Not a URL.
    #[error(
        "the value is not a URL; write one such as \"https://kb.example/articles?q={{query}}\""
    )]
    Url,
}

impl UrlTemplate {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<UrlTemplate, TemplateError> {
        let pieces = pieces(text)?;
        let probe: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Argument(_) => "x",
            })
            .collect();
        let (origin, rest) = split_origin(pieces)?;
        let url = Url::parse(&probe).map_err(|_| TemplateError::Url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TemplateError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TemplateError::Credentials);
        }
        if url.fragment().is_some() {
            return Err(TemplateError::Fragment);
        }
        let (path, query) = split_query(rest);
        Ok(UrlTemplate {
            origin: Url::parse(&origin).map_err(|_| TemplateError::Url)?,
            path,
            query,
        })
    }

    /// The names of the arguments, in order; one may come several times.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        let all = self.path.iter().chain(self.query.iter().flatten());
        all.filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &Url {
        &self.origin
    }

    /// What the query says without any argument.
    pub(super) fn fixed_query(&self) -> impl Iterator<Item = &str> {
        self.query.iter().flatten().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.split_once('=').map_or(text.as_str(), |(_, v)| v)),
            Piece::Argument(_) => None,
        })
    }
}

impl fmt::Debug for UrlTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<&str> = self.arguments().collect();
        f.debug_struct("UrlTemplate")
            .field("origin", &self.origin.origin().ascii_serialization())
            .field("arguments", &arguments)
            .finish_non_exhaustive()
    }
}

/// Texts and arguments in turn.
fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        let (before, after) = rest.split_at(brace);
        let inside = after.strip_prefix('{').ok_or(TemplateError::Braces)?;
        let (name, after) = inside.split_once('}').ok_or(TemplateError::Braces)?;
        if name.contains('{') {
            return Err(TemplateError::Braces);
        }
        if name.is_empty() {
            return Err(TemplateError::Empty);
        }
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Argument(name.to_owned()));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    Ok(pieces)
}

/// Scheme and authority, and the pieces behind them.
fn split_origin(mut pieces: Vec<Piece>) -> Result<(String, Vec<Piece>), TemplateError> {
    let arguments = pieces.len() > 1;
    let Some(Piece::Text(first)) = pieces.first_mut() else {
        return Err(TemplateError::Origin);
    };
    let Some(authority) = first.find("://").map(|at| at + 3) else {
        return Err(if arguments && !first.contains('/') {
            TemplateError::Origin
        } else {
            TemplateError::Url
        });
    };
    let end = first[authority..].find(['/', '\\', '?', '#']);
    let Some(end) = end.map(|at| authority + at) else {
        return if arguments {
            Err(TemplateError::Origin)
        } else {
            Ok((std::mem::take(first), Vec::new()))
        };
    };
    let rest = first.split_off(end);
    let origin = std::mem::replace(first, rest);
    Ok((origin, pieces))
}

/// The pieces before the first question mark, and the pairs behind it.
fn split_query(pieces: Vec<Piece>) -> (Vec<Piece>, Vec<Vec<Piece>>) {
    let mut path = Vec::new();
    let mut pieces = pieces.into_iter();
    let mut rest = None;
    for piece in pieces.by_ref() {
        match &piece {
            Piece::Text(text) => {
                if let Some((before, after)) = text.split_once('?') {
                    path.push(Piece::Text(before.to_owned()));
                    rest = Some(Piece::Text(after.to_owned()));
                    break;
                }
                path.push(piece);
            }
            Piece::Argument(_) => path.push(piece),
        }
    }
    let mut pairs = vec![Vec::new()];
    for piece in rest.into_iter().chain(pieces) {
        let parts = match &piece {
            Piece::Text(text) => text.split('&').map(text_piece).collect(),
            Piece::Argument(_) => vec![Some(piece)],
        };
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                pairs.push(Vec::new());
            }
            if let Some(pair) = pairs.last_mut() {
                pair.extend(part);
            }
        }
    }
    pairs.retain(|pair| !pair.is_empty());
    (path, pairs)
}

fn text_piece(text: &str) -> Option<Piece> {
    (!text.is_empty()).then(|| Piece::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_template_is_refused() {
        for (text, error) in [
            ("", TemplateError::Origin),
            ("h/{a}", TemplateError::Url),
            ("http://", TemplateError::Url),
            ("ftp://h/{a}", TemplateError::Scheme),
            ("{a}://h/", TemplateError::Origin),
            ("http://{a}/", TemplateError::Origin),
            ("http://h{a}", TemplateError::Origin),
            ("http://h:{a}/", TemplateError::Origin),
            ("http://u:p@h/", TemplateError::Credentials),
            ("http://h/#x", TemplateError::Fragment),
            ("http://h/#{a}", TemplateError::Fragment),
            ("http://h/{", TemplateError::Braces),
            ("http://h/}", TemplateError::Braces),
            ("http://h/{a{b}}", TemplateError::Braces),
            ("http://h/{}", TemplateError::Empty),
        ] {
            assert_eq!(UrlTemplate::parse(text), Err(error), "{text}");
        }
        let template = UrlTemplate::parse("http://h/key/{a}?key=s3cret&b={b}").unwrap();
        assert!(!format!("{template:?}").contains("key"));
        assert_eq!(template.fixed_query().collect::<Vec<_>>(), ["s3cret", ""]);
    }
}
