//! What is wrong with a request, in the words that the caller will read.

/// The public error codes. Their HTTP status and OpenAI `type` are one table in the doors.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Code {
    /// A continuation does not open (contract K3).
    ContinuationLost,
    /// Two calls of one message have the same id (contract P6).
    DuplicateToolCallId,
    /// Two different results for one id (contract P5).
    DuplicateToolResult,
    /// Twice the same tool name (contract R6).
    DuplicateTool,
    /// A key that Handback acts on stands twice.
    DuplicateKey,
    /// An array that must not be empty.
    EmptyArray,
    /// The body is not JSON (contract R2).
    InvalidJson,
    /// A tool name that chat completions forbids (contract R6).
    InvalidToolName,
    /// A value of the wrong JSON type.
    InvalidType,
    /// A value outside its set.
    InvalidValue,
    /// A required key is missing.
    MissingRequiredParameter,
    /// Some results of the frontier are missing (contract P2).
    PartialToolResults,
    /// A choice, which a team does not take (contract R7).
    ToolChoiceUnsupportedForTeams,
    /// A forced function that is not among the caller's tools (contract R7).
    ToolChoiceUnknownFunction,
    /// A caller's tool is named like a service tool (contract R6).
    ToolNameConflict,
    /// More tools than the limit (contract R6).
    TooManyTools,
    /// A result for an id that no call bears (contract P4).
    UnknownToolCallId,
    /// `functions`, `function_call` and their messages (contract R5).
    UnsupportedParameter,
    /// A `tool_choice` of another form (contract R7).
    UnsupportedToolChoice,
    /// A tool that is no function (contract R6).
    UnsupportedToolType,
    /// `n` other than 1 (contract R5).
    UnsupportedValue,
}

impl Code {
    /// The code as the caller reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::ContinuationLost => "continuation_lost",
            Code::DuplicateToolCallId => "duplicate_tool_call_id",
            Code::DuplicateToolResult => "duplicate_tool_result",
            Code::DuplicateTool => "duplicate_tool",
            Code::DuplicateKey => "duplicate_key",
            Code::EmptyArray => "empty_array",
            Code::InvalidJson => "invalid_json",
            Code::InvalidToolName => "invalid_tool_name",
            Code::InvalidType => "invalid_type",
            Code::InvalidValue => "invalid_value",
            Code::MissingRequiredParameter => "missing_required_parameter",
            Code::PartialToolResults => "partial_tool_results",
            Code::ToolChoiceUnsupportedForTeams => "tool_choice_unsupported_for_teams",
            Code::ToolChoiceUnknownFunction => "tool_choice_unknown_function",
            Code::ToolNameConflict => "tool_name_conflict",
            Code::TooManyTools => "too_many_tools",
            Code::UnknownToolCallId => "unknown_tool_call_id",
            Code::UnsupportedParameter => "unsupported_parameter",
            Code::UnsupportedToolChoice => "unsupported_tool_choice",
            Code::UnsupportedToolType => "unsupported_tool_type",
            Code::UnsupportedValue => "unsupported_value",
        }
    }
}

/// A request that is turned down before any model is asked: always the caller's to mend.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Which rule it breaks.
    pub code: Code,
    /// Where in the request, as a path such as `tools[3].function.name`.
    pub param: Option<String>,
    /// The offending value and what to send instead, for people.
    pub message: String,
}

impl Refusal {
    /// A refusal that points at a place in the request.
    pub fn at(code: Code, param: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            param: Some(param.into()),
            message: message.into(),
        }
    }

    /// A value of another JSON type than the one that is needed.
    pub fn wrong_type(param: impl Into<String>, found: &str, wanted: &str) -> Refusal {
        let param = param.into();
        let message = format!("{param} is {}; send {wanted}", excerpt(found));
        Refusal::at(Code::InvalidType, param, message)
    }
}

/// Longest excerpt of a caller's value in a message, in characters.
const EXCERPT_CHARS: usize = 80;

/// A value short enough to stand in a message: cut on a character, with a mark where it was cut.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
