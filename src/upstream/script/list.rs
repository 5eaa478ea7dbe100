//! Lists of the form, first of all one value or several, as conditions take them.
//!
//! Invariant: a list of a condition is never empty, and neither is a text in it: a condition that always or
//! never holds is a slip.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{I64Deserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// At least one value, written alone or in a list.
#[derive(Debug)]
pub(super) struct List<T>(Vec<T>);

impl<T> List<T> {
    pub(super) fn any(&self, holds: impl Fn(&T) -> bool) -> bool {
        self.0.iter().any(holds)
    }

    pub(super) fn all(&self, holds: impl Fn(&T) -> bool) -> bool {
        self.0.iter().all(holds)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(OneOrMany(PhantomData))
            .map(List)
    }
}

/// Each way to write a list, rather than an untagged enum: that would lose what is wrong with
/// the value in it.
struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of values in [ ]")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(I64Deserializer::new(number)).map(|value| vec![value])
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(StrDeserializer::new(text)).map(|value| vec![value])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        let values = all(items)?;
        if values.is_empty() {
            return Err(A::Error::custom(
                "the list is empty; name at least one value, or leave the key out",
            ));
        }
        Ok(values)
    }
}

/// Reads a list of tables, which is easily written as one table.
pub(super) fn tables<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(Tables(PhantomData))
}

struct Tables<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tables: [[key]] above each of them, or [{ ... }, { ... }]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        all(items)
    }
}

/// All items of a list.
pub(super) fn all<'de, T, A>(mut items: A) -> Result<Vec<T>, A::Error>
where
    T: Deserialize<'de>,
    A: SeqAccess<'de>,
{
    let mut values = Vec::new();
    while let Some(value) = items.next_element()? {
        values.push(value);
    }
    Ok(values)
}

/// A text that is looked for in messages, without regard to case.
#[derive(Debug, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Phrase {
    lower: String,
}

impl Phrase {
    /// Whether `text` contains the phrase.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.lower)
    }
}

impl TryFrom<String> for Phrase {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() {
            return Err("the text is empty, so every message contains it; leave the key out");
        }
        Ok(Self {
            lower: text.to_lowercase(),
        })
    }
}

/// The name of a tool: any, since scripts may play models that invent names.
#[derive(Debug, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(String);

impl Name {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() {
            return Err("the name is empty; write the name of a tool");
        }
        Ok(Self(text))
    }
}
