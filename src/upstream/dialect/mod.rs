//! Dialects: in what the families of OpenAI-compatible servers differ, as data (contract U2).
//!
//! A [`Dialect`] has one field per known deviation, [`ROWS`] one row per family. A request is
//! written in the reference's form wherever the row says nothing else, and such a request takes
//! the same path as if there were no dialects ([`super::prompt`]). What the operator knows better
//! about a server it overrides field by field in the configuration.
//!
//! It lies below `upstream`, since only what is sent to an upstream differs by family: answers
//! are read by one set of rules that fits all of them, and the engine knows no families.
//!
//! Invariant: code reads the fields; the name of a family stands in the table alone.
//!
//! Invariant: what becomes of a message follows from the conversation up to it and from the
//! dialect, so that it is the same bytes in every later request (contract K4). The one exception
//! is [`Reasoning::CurrentTurn`], which exists to send less in later turns.
//!
//! Deliberately absent: what a *model* of a family can do. Whether it takes images or a
//! temperature is the caller's and the operator's business.

mod choice;
mod fields;
mod ids;
mod messages;
mod parts;
mod schemas;
mod table;
mod tools;

pub use choice::{
    AfterResults, CallIds, DeveloperRole, EmptyContent, EmptyParameters, KeyHeader, MessageKeys,
    NamedChoice, Reasoning, ResultContent, ResultName, SchemaRefs, SchemaTypes, ThoughtSignature,
    TokenLimit, Words,
};
pub use table::{DEFAULT, ROWS};

/// In what a server differs from the reference. The names of the fields are the keys of
/// `[upstreams.overrides]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Dialect {
    /// The form of call ids.
    pub call_ids: CallIds,
    /// `name` on tool messages.
    pub result_name: ResultName,
    /// The content of tool messages.
    pub result_content: ResultContent,
    /// What may follow tool messages.
    pub after_results: AfterResults,
    /// The role `developer`.
    pub developer_role: DeveloperRole,
    /// The content of assistant messages that say nothing beside their calls.
    pub empty_content: EmptyContent,
    /// The model's reasoning in assistant messages.
    pub reasoning: Reasoning,
    /// Calls without the signature of the thought that led to them.
    pub thought_signature: ThoughtSignature,
    /// The keys that a message may have.
    pub message_keys: MessageKeys,
    /// Request fields that the server refuses and that can be left out without changing what the
    /// caller gets.
    pub refused_fields: Words,
    /// The name of the limit on the answer's tokens.
    pub token_limit: TokenLimit,
    /// A `tool_choice` that names a function.
    pub named_choice: NamedChoice,
    /// `parameters` of functions that take none.
    pub empty_parameters: EmptyParameters,
    /// References in the schemas of tools.
    pub schema_refs: SchemaRefs,
    /// Lists of types in the schemas of tools.
    pub schema_types: SchemaTypes,
    /// The header that carries the key.
    pub key_header: KeyHeader,
}

impl Dialect {
    /// The reference's own: nothing differs.
    pub const REFERENCE: Dialect = Dialect {
        call_ids: CallIds::AsSent,
        result_name: ResultName::AsSent,
        result_content: ResultContent::AsSent,
        after_results: AfterResults::AsSent,
        developer_role: DeveloperRole::AsSent,
        empty_content: EmptyContent::AsSent,
        reasoning: Reasoning::AsSent,
        thought_signature: ThoughtSignature::AsSent,
        message_keys: MessageKeys::Any,
        refused_fields: Words::Listed(&[]),
        token_limit: TokenLimit::AsSent,
        named_choice: NamedChoice::Object,
        empty_parameters: EmptyParameters::Object,
        schema_refs: SchemaRefs::AsSent,
        schema_types: SchemaTypes::AsSent,
        key_header: KeyHeader::Authorization,
    };

    /// Every field by its name, with its value as the configuration and the documentation write
    /// it.
    pub fn fields(&self) -> [(&'static str, String); 16] {
        // Taken apart, so that a new field does not compile until it stands here.
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
        } = self;
        [
            ("call_ids", call_ids.word().to_owned()),
            ("result_name", result_name.word().to_owned()),
            ("result_content", result_content.word().to_owned()),
            ("after_results", after_results.word().to_owned()),
            ("developer_role", developer_role.word().to_owned()),
            ("empty_content", empty_content.word().to_owned()),
            ("reasoning", reasoning.word().to_owned()),
            ("thought_signature", thought_signature.word().to_owned()),
            ("message_keys", message_keys.to_string()),
            ("refused_fields", refused_fields.to_string()),
            ("token_limit", token_limit.word().to_owned()),
            ("named_choice", named_choice.word().to_owned()),
            ("empty_parameters", empty_parameters.word().to_owned()),
            ("schema_refs", schema_refs.word().to_owned()),
            ("schema_types", schema_types.word().to_owned()),
            ("key_header", key_header.word().to_owned()),
        ]
    }
}
