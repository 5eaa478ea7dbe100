//! The keys `dialect` and `overrides` of an upstream.

use crate::upstream::dialect::{
    AfterResults, CallIds, DEFAULT, DeveloperRole, Dialect, EmptyContent, EmptyParameters,
    KeyHeader, MessageKeys, NamedChoice, ROWS, Reasoning, ResultContent, ResultName, SchemaRefs,
    SchemaTypes, ThoughtSignature, TokenLimit, Words,
};

use super::item::Item;
use super::section::Section;
use super::tree::Value;

/// Reads the row of the upstream's family, and what is different with this one.
pub(super) fn dialect(section: &mut Section<'_>) -> Dialect {
    let rows: Vec<(&str, &Dialect)> = ROWS.iter().map(|(name, row)| (*name, row)).collect();
    let named = section.read("dialect", |item| item.choice(&rows));
    let default = || rows.iter().find(|(name, _)| *name == DEFAULT);
    let row = named.or_else(|| default().map(|(_, row)| *row));
    let mut dialect = row.cloned().unwrap_or_default();
    if let Some(own) = section.read("overrides", Item::section) {
        override_fields(own, &mut dialect);
    }
    dialect
}

fn override_fields(mut section: Section<'_>, dialect: &mut Dialect) {
    // Taken apart, so that a new field does not compile until it can be overridden.
    let Dialect {
        call_ids,
        result_name,
        result_content,
        after_results,
        developer_role,
        empty_content,
        reasoning,
        thought_signature,
        message_keys,
        refused_fields,
        token_limit,
        named_choice,
        empty_parameters,
        schema_refs,
        schema_types,
        key_header,
    } = dialect;
    let from = &mut section;
    choose(from, "call_ids", CallIds::CHOICES, call_ids);
    choose(from, "result_name", ResultName::CHOICES, result_name);
    choose(
        from,
        "result_content",
        ResultContent::CHOICES,
        result_content,
    );
    choose(from, "after_results", AfterResults::CHOICES, after_results);
    choose(
        from,
        "developer_role",
        DeveloperRole::CHOICES,
        developer_role,
    );
    choose(from, "empty_content", EmptyContent::CHOICES, empty_content);
    choose(from, "reasoning", Reasoning::CHOICES, reasoning);
    choose(
        from,
        "thought_signature",
        ThoughtSignature::CHOICES,
        thought_signature,
    );
    if let Some(keys) = from.read("message_keys", keys) {
        *message_keys = keys;
    }
    if let Some(fields) = from.read("refused_fields", words) {
        *refused_fields = fields;
    }
    choose(from, "token_limit", TokenLimit::CHOICES, token_limit);
    choose(from, "named_choice", NamedChoice::CHOICES, named_choice);
    choose(
        from,
        "empty_parameters",
        EmptyParameters::CHOICES,
        empty_parameters,
    );
    choose(from, "schema_refs", SchemaRefs::CHOICES, schema_refs);
    choose(from, "schema_types", SchemaTypes::CHOICES, schema_types);
    choose(from, "key_header", KeyHeader::CHOICES, key_header);
    section.done();
}

fn choose<T: Copy>(
    section: &mut Section<'_>,
    key: &'static str,
    choices: &[(&str, T)],
    field: &mut T,
) {
    if let Some(choice) = section.read(key, |item| item.choice(choices)) {
        *field = choice;
    }
}

/// `"any"`, or the keys that there may be. A message is none without these.
fn keys(item: &Item<'_>) -> Option<MessageKeys> {
    const NEEDED: [&str; 4] = ["role", "content", "tool_calls", "tool_call_id"];

    if let Value::Text { text, .. } = &item.node.value {
        if text == MessageKeys::ANY {
            return Some(MessageKeys::Any);
        }
        return item.not(&format!("\"{}\" or a list of keys", MessageKeys::ANY));
    }
    let keys = words(item)?;
    if let Some(missing) = NEEDED.iter().find(|key| !keys.has(key)) {
        return item.wrong(&format!(
            "{missing} is missing, without which there is no conversation; add it"
        ));
    }
    Some(MessageKeys::Only(keys))
}

/// Fields of a request that cannot be left out, since the gateway acts on them.
const OWN_FIELDS: [&str; 5] = ["messages", "model", "stream", "tool_choice", "tools"];

fn words(item: &Item<'_>) -> Option<Words> {
    let words = item.list("names")?;
    // All of them are looked at, so that one report has every mistake.
    let words: Vec<Option<String>> = words
        .iter()
        .map(|word| match word.text()? {
            own if OWN_FIELDS.contains(&own) => {
                word.wrong("the gateway writes this field itself; take it out")
            }
            pattern if pattern.contains('*') => {
                word.wrong("there are no patterns here; write each name")
            }
            other => Some(other.to_owned()),
        })
        .collect();
    let words: Option<Vec<String>> = words.into_iter().collect();
    words.map(Words::Own)
}
