//! How much work a schema can make.
//!
//! A validator that is compiled from a schema holds a copy of every definition for each place
//! that refers to it, and looks into every branch of an `anyOf`: a few lines of schema can ask for
//! more memory and time than there is. So before anything is compiled or checked the work is
//! counted, branch by branch and without doing it, and what costs more than a fixed number of
//! steps is not checked at all.
//!
//! Members of `properties` are names, not keywords: only what stands where a schema stands is
//! read as one.

use serde_json::{Map, Value};

/// Steps that compiling one schema may take.
const COMPILE_STEPS: u32 = 20_000;
/// Steps that checking one value may take.
const CHECK_STEPS: u32 = 20_000;
/// How deep schemas may refer to each other, and values nest.
const DEPTH: u32 = 128;

/// Keywords whose value is one schema for the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords whose value is a list of schemas for the same value.
const SAME_EACH: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is one schema for parts of the value.
const PARTS: [&str; 7] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "items",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value names schemas for parts of the value.
const PARTS_EACH: [&str; 3] = ["dependentSchemas", "patternProperties", "properties"];

/// Whether a schema can be compiled within the budget.
pub(super) fn can_compile(schema: &Value) -> bool {
    let mut walk = Walk {
        root: schema,
        left: COMPILE_STEPS,
    };
    walk.expand(schema, &mut Vec::new()).is_some()
}

/// Whether a value can be checked against a schema within the budget.
pub(super) fn can_check(schema: &Value, value: &Value) -> bool {
    let mut walk = Walk {
        root: schema,
        left: CHECK_STEPS,
    };
    walk.check(schema, value, DEPTH).is_some()
}

struct Walk<'a> {
    root: &'a Value,
    left: u32,
}

impl<'a> Walk<'a> {
    fn step(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    /// Counts the nodes of a schema with its references put in place. A reference to something
    /// that is being expanded is where a compiler stops, too.
    fn expand(&mut self, schema: &'a Value, path: &mut Vec<*const Value>) -> Option<()> {
        self.step()?;
        let Value::Object(keywords) = schema else {
            return Some(());
        };
        if path.len() as u64 > u64::from(DEPTH) {
            return None;
        }
        path.push(std::ptr::from_ref(schema));
        if let Some(target) = self
            .target(keywords)
            .filter(|target| !path.contains(&std::ptr::from_ref(*target)))
        {
            self.expand(target, path)?;
        }
        for part in same(keywords)
            .chain(parts(keywords))
            .chain(definitions(keywords))
        {
            self.expand(part, path)?;
        }
        path.pop();
        Some(())
    }

    /// Counts the pairs of schema and value that a check of every branch looks at.
    fn check(&mut self, schema: &'a Value, value: &Value, depth: u32) -> Option<()> {
        self.step()?;
        let Value::Object(keywords) = schema else {
            return Some(());
        };
        let depth = depth.checked_sub(1)?;
        if let Some(target) = self.target(keywords) {
            self.check(target, value, depth)?;
        }
        for other in same(keywords) {
            self.check(other, value, depth)?;
        }
        match value {
            Value::Object(members) => self.check_members(keywords, members, depth),
            Value::Array(elements) => {
                for part in list(keywords, "items")
                    .chain(list(keywords, "prefixItems"))
                    .chain(parts_of(keywords))
                {
                    for element in elements {
                        self.check(part, element, depth)?;
                    }
                }
                Some(())
            }
            _ => Some(()),
        }
    }

    fn check_members(
        &mut self,
        keywords: &'a Map<String, Value>,
        members: &Map<String, Value>,
        depth: u32,
    ) -> Option<()> {
        let named = keywords.get("properties").and_then(Value::as_object);
        for (name, member) in members {
            if let Some(schema) = named.and_then(|named| named.get(name)) {
                self.check(schema, member, depth)?;
            }
            for part in parts_of(keywords).chain(each(keywords, "patternProperties")) {
                self.check(part, member, depth)?;
            }
        }
        let whole = Value::Null;
        for part in each(keywords, "dependentSchemas") {
            self.check(part, &whole, depth)?;
        }
        Some(())
    }

    /// What a local reference points to.
    fn target(&self, keywords: &Map<String, Value>) -> Option<&'a Value> {
        let reference = ["$ref", "$dynamicRef", "$recursiveRef"]
            .iter()
            .find_map(|key| keywords.get(*key)?.as_str())?;
        let pointer = reference.strip_prefix('#')?;
        self.root
            .pointer(&percent_encoding::percent_decode_str(pointer).decode_utf8_lossy())
    }
}

fn list<'a>(keywords: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    keywords
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn each<'a>(keywords: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    keywords
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::values)
}

fn same(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let one = SAME.iter().filter_map(|key| keywords.get(*key));
    one.chain(SAME_EACH.iter().flat_map(|key| list(keywords, key)))
}

fn parts_of(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    PARTS.iter().filter_map(|key| keywords.get(*key))
}

fn parts(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let lists = list(keywords, "items").chain(list(keywords, "prefixItems"));
    parts_of(keywords)
        .chain(lists)
        .chain(PARTS_EACH.iter().flat_map(|key| each(keywords, key)))
}

/// Definitions are compiled where they are referred to; the validator may also look at each.
fn definitions(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    each(keywords, "$defs").chain(each(keywords, "definitions"))
}
