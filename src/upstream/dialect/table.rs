//! The table of dialects: one row per family of servers, and what was observed of it.
//!
//! A field that a row leaves out is as in the reference. Each deviation says where it was seen;
//! one that is no longer true is taken out here, or overridden in the configuration until then.

use super::{
    AfterResults, CallIds, DeveloperRole, Dialect, EmptyContent, EmptyParameters, KeyHeader,
    MessageKeys, NamedChoice, Reasoning, ResultContent, ResultName, SchemaRefs, SchemaTypes,
    ThoughtSignature, TokenLimit, Words,
};

/// The family of an upstream that names none.
pub const DEFAULT: &str = "openai";

/// The families by the name that `dialect` gives them, in alphabetical order.
pub static ROWS: &[(&str, Dialect)] = &[
    ("anthropic-compat", ANTHROPIC_COMPAT),
    ("azure", AZURE),
    ("deepseek", DEEPSEEK),
    ("gemini", GEMINI),
    ("groq", GROQ),
    ("kimi", KIMI),
    ("llamacpp", LLAMACPP),
    ("mistral", MISTRAL),
    ("ollama", OLLAMA),
    ("openai", OPENAI),
    ("openrouter", OPENROUTER),
    ("vllm", VLLM),
];

/// Claude behind the OpenAI format: Anthropic's own compatibility layer, and gateways in front of
/// Bedrock.
///
/// - `empty_content`: the Messages API refuses empty text blocks, and an empty text beside calls
///   becomes one (reported of Bedrock-routed gateways, 2025 and 2026). Null becomes none.
const ANTHROPIC_COMPAT: Dialect = Dialect {
    empty_content: EmptyContent::Null,
    ..Dialect::REFERENCE
};

/// Azure OpenAI, by its dated and its v1 addresses. Its models speak the reference.
///
/// - `key_header`: keys go into `api-key` (the service's reference for both addresses).
const AZURE: Dialect = Dialect {
    key_header: KeyHeader::ApiKey,
    ..Dialect::REFERENCE
};

/// The API of `DeepSeek`.
///
/// - `result_content`, `empty_content`: its reader takes strings only, and says "invalid type:
///   sequence, expected a string" of an array; a message with calls but without content is
///   refused (reported 2025).
/// - `developer_role`: refused as an unknown variant; it knows system, user, assistant and tool
///   (reported from 2025 to 2026).
/// - `reasoning`: since V3.2 a message with calls must bring its `reasoning_content` back in all
///   later requests, else 400; V3.2 took an empty one for a missing one (its guide to the thinking
///   mode, and reports of 2026). The first reasoner wanted the opposite, for which there is
///   `current_turn`.
/// - `token_limit`: its reference knows `max_tokens` only.
const DEEPSEEK: Dialect = Dialect {
    result_content: ResultContent::Text,
    empty_content: EmptyContent::Text,
    developer_role: DeveloperRole::System,
    reasoning: Reasoning::Required,
    token_limit: TokenLimit::MaxTokens,
    ..Dialect::REFERENCE
};

/// Gemini's OpenAI-compatible endpoint.
///
/// - `result_name`: a tool message becomes a function response, which must have a name; without
///   one it is refused as an empty name (reported 2026).
/// - `empty_parameters`: an object schema with empty properties is refused, "should be non-empty
///   for OBJECT type" (reported from 2024 to 2026); without `parameters` it is taken.
/// - `thought_signature`: since Gemini 3 the first call of an answer bears a signature, and is
///   refused without it. Google documents one for histories that come from elsewhere.
/// - `schema_refs`, `schema_types`: a declaration knows neither `$ref` nor `$defs`, and has one type
///   in `type`; others are refused as unknown names or as lists (reported 2025).
const GEMINI: Dialect = Dialect {
    result_name: ResultName::Filled,
    empty_parameters: EmptyParameters::Omitted,
    thought_signature: ThoughtSignature::Filled,
    schema_refs: SchemaRefs::Inlined,
    schema_types: SchemaTypes::Single,
    ..Dialect::REFERENCE
};

/// Groq.
///
/// - `message_keys`, `reasoning`: every unknown member of a message is refused, `reasoning_content`
///   among them (reported from 2024 to 2026); `name` is documented as refused.
/// - `refused_fields`: `store` was refused (reported 2024).
const GROQ: Dialect = Dialect {
    message_keys: MessageKeys::Only(Words::Listed(&[
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
    ])),
    reasoning: Reasoning::Dropped,
    refused_fields: Words::Listed(&["store"]),
    ..Dialect::REFERENCE
};

/// Kimi, the Moonshot API.
///
/// - `developer_role`: its reference knows system, user, assistant and tool.
/// - `reasoning`: with thinking on, a message with calls is refused without `reasoning_content`;
///   since K2.6 an empty one counts as missing, a blank does not (reported 2026).
const KIMI: Dialect = Dialect {
    developer_role: DeveloperRole::System,
    reasoning: Reasoning::Required,
    ..Dialect::REFERENCE
};

/// llama.cpp's server.
///
/// - `developer_role`: most chat templates refuse or skip a role that they do not know.
/// - `named_choice`: `tool_choice` is read as a string; an object is passed over and the model
///   decides.
/// - `schema_types`: chat templates that print a type as a text fail on a list (reported 2026).
const LLAMACPP: Dialect = Dialect {
    developer_role: DeveloperRole::System,
    named_choice: NamedChoice::Required,
    schema_types: SchemaTypes::Single,
    ..Dialect::REFERENCE
};

/// Mistral's API.
///
/// - `call_ids`: an id must be nine of a-z, A-Z and 0-9, else 400 (reported since 2024); the
///   templates of its open models say the same.
/// - `after_results`: a user or system message right behind a tool message is refused as an
///   unexpected role (reported 2024).
/// - `developer_role`: its reference knows system, user, assistant and tool.
/// - `message_keys`, `reasoning`: members that it does not know are refused with 422, in messages,
///   calls and parts: `reasoning_content`, `metadata`, `name` of a user (reported from 2024 to
///   2026). `prefix` is its own.
/// - `refused_fields`, `token_limit`: the same of `stream_options` (usage comes unasked), `store`,
///   `metadata` and `max_completion_tokens` (reported 2025 and 2026).
const MISTRAL: Dialect = Dialect {
    call_ids: CallIds::NineAlphanumerics,
    after_results: AfterResults::Bridged,
    developer_role: DeveloperRole::System,
    message_keys: MessageKeys::Only(Words::Listed(&[
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "prefix",
    ])),
    reasoning: Reasoning::Dropped,
    refused_fields: Words::Listed(&["stream_options", "store", "metadata"]),
    token_limit: TokenLimit::MaxTokens,
    ..Dialect::REFERENCE
};

/// Ollama's OpenAI-compatible endpoint.
///
/// - `developer_role`: as with llama.cpp, the template decides, and most know no such role.
/// - `empty_content`: null was refused as an invalid content type (reported 2026).
/// - `named_choice`: it passes over `tool_choice`; offered one tool only, the model can call no
///   other.
/// - `schema_types`: as with llama.cpp.
/// - `token_limit`: its list of fields has `max_tokens` only, and others are passed over.
const OLLAMA: Dialect = Dialect {
    developer_role: DeveloperRole::System,
    empty_content: EmptyContent::Text,
    named_choice: NamedChoice::Required,
    schema_types: SchemaTypes::Single,
    token_limit: TokenLimit::MaxTokens,
    ..Dialect::REFERENCE
};

/// OpenAI, and servers about which nothing is known.
const OPENAI: Dialect = Dialect::REFERENCE;

/// `OpenRouter`. It translates for the providers behind it, and takes `reasoning` and
/// `reasoning_details` back as it gave them (its guide to reasoning tokens).
const OPENROUTER: Dialect = Dialect::REFERENCE;

/// vLLM.
///
/// - `developer_role`: passed to the chat template, and those of Qwen and others refuse it as an
///   unexpected role (reported 2026).
const VLLM: Dialect = Dialect {
    developer_role: DeveloperRole::System,
    ..Dialect::REFERENCE
};
