//! Members of a message that arrive in pieces.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::raw::{Kind, Raw};

/// Members in the order in which they first came. Pieces of text and of arrays are put behind
/// each other; of other values the last one stays.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Fields(Vec<(ByteString, Piece)>);

/// The value so far: for text and arrays, what stands between the quotes or brackets.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Array(String),
    Text(String),
    Value(Raw),
}

impl Fields {
    /// Adds a piece.
    pub fn add(&mut self, key: &ByteString, value: &Raw) {
        let inner = value
            .get()
            .get(1..value.get().len().saturating_sub(1))
            .unwrap_or("");
        let Some((_, piece)) = self.0.iter_mut().find(|(name, _)| name == key) else {
            let piece = match value.kind() {
                Kind::Array => Piece::Array(inner.trim().to_owned()),
                Kind::String => Piece::Text(inner.to_owned()),
                _ => Piece::Value(value.clone()),
            };
            self.0.push((key.clone(), piece));
            return;
        };
        match (piece, value.kind()) {
            (Piece::Text(text), Kind::String) => text.push_str(inner),
            (Piece::Array(elements), Kind::Array) => {
                if !elements.is_empty() && !inner.trim().is_empty() {
                    elements.push(',');
                }
                elements.push_str(inner.trim());
            }
            (piece, _) => *piece = Piece::Value(value.clone()),
        }
    }

    /// Whether anything stands under a key.
    pub fn says(&self, key: &str) -> bool {
        let piece = self.0.iter().find(|(name, _)| name == key);
        piece.is_some_and(|(_, piece)| match piece {
            Piece::Array(inner) | Piece::Text(inner) => !inner.is_empty(),
            Piece::Value(_) => true,
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members as they stand now.
    pub fn values(&self) -> Vec<(ByteString, Raw)> {
        let value = |piece: &Piece| match piece {
            Piece::Array(inner) => Raw::written(format!("[{inner}]")),
            Piece::Text(inner) => Raw::written(format!("\"{inner}\"")),
            Piece::Value(value) => value.clone(),
        };
        self.0
            .iter()
            .map(|(key, piece)| (key.clone(), value(piece)))
            .collect()
    }
}
