//! TOML values that stand for JSON: the arguments of calls, the values wanted of results.
//!
//! Invariant: whatever can be written here is JSON, and the keys of arguments are in the order
//! of the file.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use toml::Spanned;

use super::conversation::Conversation;
use super::list::all;
use super::template::Template;

/// A value; `T` is what its texts are.
#[derive(Debug)]
pub(super) enum Tree<T> {
    Boolean(bool),
    Float(f64),
    Integer(i64),
    List(Vec<Tree<T>>),
    Table(Table<T>),
    Text(T),
}

/// Keys and values in the order of the file.
#[derive(Debug)]
pub(super) struct Table<T>(Vec<(String, Tree<T>)>);

impl Tree<String> {
    /// Whether `value` has what is asked for: a table asks for its keys only, a number for its
    /// value, however it is spelled.
    pub(super) fn is_in(&self, value: &Value) -> bool {
        match self {
            Self::Boolean(wanted) => value.as_bool() == Some(*wanted),
            Self::Float(wanted) => value.as_f64() == Some(*wanted),
            Self::Integer(wanted) => {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "only `2.0` for 2 is meant; integers are compared as such"
                )]
                let as_float = value.as_f64() == Some(*wanted as f64) && !value.is_i64();
                value.as_i64() == Some(*wanted) || as_float
            }
            Self::List(wanted) => value.as_array().is_some_and(|items| {
                items.len() == wanted.len()
                    && wanted
                        .iter()
                        .zip(items)
                        .all(|(wanted, item)| wanted.is_in(item))
            }),
            Self::Table(Table(wanted)) => wanted
                .iter()
                .all(|(key, wanted)| value.get(key).is_some_and(|value| wanted.is_in(value))),
            Self::Text(wanted) => value.as_str() == Some(wanted),
        }
    }
}

impl Tree<Template> {
    fn write(&self, conversation: &Conversation, out: &mut String) {
        match self {
            Self::Boolean(flag) => *out += if *flag { "true" } else { "false" },
            // A float keeps its point: `1.0` is another JSON text than `1`.
            Self::Float(number) => *out += &Value::from(*number).to_string(),
            Self::Integer(number) => *out += &number.to_string(),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    separate(index, out);
                    item.write(conversation, out);
                }
                out.push(']');
            }
            Self::Table(table) => table.write(conversation, out),
            Self::Text(template) => *out += &template.json(conversation),
        }
    }
}

impl Table<Template> {
    /// The table as a JSON text.
    pub(super) fn json(&self, conversation: &Conversation) -> String {
        let mut out = String::new();
        self.write(conversation, &mut out);
        out
    }

    fn write(&self, conversation: &Conversation, out: &mut String) {
        out.push('{');
        for (index, (key, value)) in self.0.iter().enumerate() {
            separate(index, out);
            *out += &Value::from(key.as_str()).to_string();
            out.push(':');
            value.write(conversation, out);
        }
        out.push('}');
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Tree<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Tree::deserialize(deserializer)? {
            Tree::Table(table) => Ok(table),
            _ => Err(D::Error::custom(
                "write a table, such as { title = \"Camera\" }",
            )),
        }
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
    type Value = Tree<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Tree::Boolean(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Tree::Integer(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        if number.is_finite() {
            return Ok(Tree::Float(number));
        }
        Err(E::custom(
            "JSON has neither inf nor nan; write a number, or a text in quotes",
        ))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(serde::de::value::StrDeserializer::new(text)).map(Tree::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        all(items).map(Tree::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut table: Vec<(usize, (String, Tree<T>))> = Vec::new();
        // The parser delivers a date as a table, whose key has no place in the file; the keys of
        // real tables have one.
        let date = |_| A::Error::custom("JSON has no dates; write the date in quotes");
        while let Some(key) = entries.next_key::<Spanned<String>>().map_err(date)? {
            table.push((key.span().start, (key.into_inner(), entries.next_value()?)));
        }
        // The parser sorts tables by key; people expect the order they wrote.
        table.sort_by_key(|(place, _)| *place);
        Ok(Tree::Table(Table(
            table.into_iter().map(|(_, entry)| entry).collect(),
        )))
    }
}
