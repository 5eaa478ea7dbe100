//! Schemas of tools for servers that do not know all of JSON Schema.
//!
//! A schema is rewritten as text, keyword by keyword, so that names in it stay names (a property
//! may be called `type` or `$ref`) and what is not touched keeps its spelling.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{SchemaRefs, SchemaTypes};
use crate::wire::raw::{Members, says};
use crate::wire::write::ObjectWriter;

/// How deep schemas are followed, in schemas within each other: far deeper than models fill in.
const DEPTH: usize = 48;
/// How long a schema may become, in bytes: references within references can multiply.
const LENGTH: usize = 64 * 1024;

/// What stands where a reference leads nowhere, into itself, or too far.
const ANYTHING: &str = "{\"type\":\"object\"}";

/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 15] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value gives schemas by names.
const NAMED: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];
/// Those that only references use.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema in the form that is sent; none if that is as it stands.
pub(super) fn rewritten(schema: &str, refs: SchemaRefs, types: SchemaTypes) -> Option<String> {
    let inline = refs == SchemaRefs::Inlined && schema.contains("$ref");
    let single = types == SchemaTypes::Single;
    if !inline && !single {
        return None;
    }
    let mut rewriter = Rewriter {
        root: schema,
        inline,
        single,
        open: Vec::new(),
        written: 0,
    };
    let new = rewriter.schema(schema, 0);
    (new != schema).then(|| new.into_owned())
}

struct Rewriter<'a> {
    root: &'a str,
    inline: bool,
    single: bool,
    /// The references that are being followed.
    open: Vec<String>,
    /// Bytes that references have led to.
    written: usize,
}

impl<'a> Rewriter<'a> {
    fn schema(&mut self, text: &'a str, depth: usize) -> Cow<'a, str> {
        let Ok(members) = Members::parse(text) else {
            return Cow::Borrowed(text);
        };
        if depth > DEPTH {
            let unresolved = self.inline && text.contains("$ref");
            return Cow::Borrowed(if unresolved { ANYTHING } else { text });
        }
        if let Some(reference) = self.reference(&members) {
            return Cow::Owned(self.resolved(&reference, &members, depth));
        }
        let mut out = String::with_capacity(text.len());
        let mut object = ObjectWriter::begin(&mut out);
        for (key, value) in &members.0 {
            if self.inline && DEFINITIONS.contains(&key.as_ref()) {
                continue;
            }
            object.member(key, &self.member(key, value.get(), depth));
        }
        object.end();
        Cow::Owned(out)
    }

    fn member(&mut self, key: &str, value: &'a str, depth: usize) -> Cow<'a, str> {
        match key {
            "type" if self.single => single(value),
            _ if NAMED.contains(&key) || DEFINITIONS.contains(&key) => self.named(value, depth),
            _ if SCHEMAS.contains(&key) => self.one_or_many(value, depth),
            _ => Cow::Borrowed(value),
        }
    }

    fn named(&mut self, value: &'a str, depth: usize) -> Cow<'a, str> {
        let Ok(schemas) = Members::parse(value) else {
            return Cow::Borrowed(value);
        };
        let mut out = String::with_capacity(value.len());
        let mut object = ObjectWriter::begin(&mut out);
        for (name, schema) in &schemas.0 {
            object.member(name, &self.schema(schema.get(), depth + 1));
        }
        object.end();
        Cow::Owned(out)
    }

    fn one_or_many(&mut self, value: &'a str, depth: usize) -> Cow<'a, str> {
        if !value.starts_with('[') {
            return self.schema(value, depth + 1);
        }
        let schemas: Vec<&'a RawValue> = serde_json::from_str(value).unwrap_or_default();
        let written: Vec<Cow<'a, str>> = schemas
            .into_iter()
            .map(|schema| self.schema(schema.get(), depth + 1))
            .collect();
        Cow::Owned(format!("[{}]", written.join(",")))
    }

    fn reference(&self, members: &Members<'a>) -> Option<String> {
        let reference = members.get("$ref").filter(|_| self.inline)?;
        serde_json::from_str(reference.get()).ok()
    }

    /// What a reference leads to, with the keywords beside it put over it.
    fn resolved(&mut self, reference: &str, beside: &Members<'a>, depth: usize) -> String {
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| at(self.root, pointer))
            .filter(|_| !self.open.iter().any(|open| open == reference));
        let target = match target {
            Some(target) if self.written + target.len() <= LENGTH => {
                self.written += target.len();
                self.open.push(reference.to_owned());
                let target = self.schema(target, depth + 1).into_owned();
                self.open.pop();
                target
            }
            _ => ANYTHING.to_owned(),
        };
        let own: Vec<_> = beside
            .0
            .iter()
            .filter(|(key, _)| key != "$ref" && !DEFINITIONS.contains(&key.as_ref()))
            .collect();
        let mut out = String::with_capacity(target.len());
        let mut object = ObjectWriter::begin(&mut out);
        for (key, value) in Members::of(&target) {
            if own.iter().all(|(other, _)| *other != key) {
                object.member(&key, value.get());
            }
        }
        for (key, value) in own {
            object.member(key, &self.member(key, value.get(), depth));
        }
        object.end();
        out
    }
}

/// The first type of a list that is not null.
fn single(value: &str) -> Cow<'_, str> {
    let types: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
    let first = types.into_iter().find(|one| !says(one.get(), "null"));
    Cow::Borrowed(first.map_or(value, RawValue::get))
}

/// The value at a JSON pointer (RFC 6901). Only objects are walked: definitions stand in no list.
fn at<'a>(root: &'a str, pointer: &str) -> Option<&'a str> {
    let mut value = root;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        value = Members::parse(value).ok()?.get(&step)?.get();
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(schema: &str) -> String {
        let new = rewritten(schema, SchemaRefs::Inlined, SchemaTypes::Single);
        new.unwrap_or_else(|| schema.to_owned())
    }

    #[test]
    fn what_cannot_end_is_cut() {
        let tree = r##"{"$defs":{"N":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/N"}}}}},"properties":{"root":{"$ref":"#/$defs/N"}}}"##;
        assert_eq!(
            inlined(tree),
            r#"{"properties":{"root":{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object"}}}}}}"#
        );
        let itself = r##"{"properties":{"me":{"$ref":"#"},"gone":{"$ref":"#/$defs/x"},"far":{"$ref":"http://a/b"}}}"##;
        let cut = inlined(itself);
        assert!(!cut.contains("$ref"), "{cut}");
        assert!(cut.len() < 4096, "{cut}");
    }

    #[test]
    fn what_multiplies_is_bounded() {
        let mut defs = vec![r#""d0":{"type":"string"}"#.to_owned()];
        for n in 1..40 {
            let one = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n - 1);
            defs.push(format!(r#""d{n}":{{"anyOf":[{one},{one},{one}]}}"#));
        }
        let schema = format!(
            r##"{{"$defs":{{{}}},"properties":{{"p":{{"$ref":"#/$defs/d39"}}}}}}"##,
            defs.join(",")
        );
        let new = inlined(&schema);
        assert!(new.len() < 2 * LENGTH, "{}", new.len());
        assert!(!new.contains("$ref"));
        let deep = format!(
            "{}{}",
            r#"{"items":"#.repeat(10_000),
            "{}".to_owned() + &"}".repeat(10_000)
        );
        assert_eq!(inlined(&deep), deep);
    }
}
