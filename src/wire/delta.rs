//! A piece of a model's answer. A whole answer is one piece.

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::raw::Raw;
use super::usage::Usage;

/// What one chunk of an answer adds to it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Delta {
    /// Text of the message: a JSON string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Raw>,
    /// `logprobs` of the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Raw>,
    /// Pieces of calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallDelta>,
    /// Other members of the message (`reasoning_content`, `refusal`, ...), none of them null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(ByteString, Raw)>,
    /// What the upstream claims about the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<Claim>,
    /// Token counts: those of a later piece replace those of an earlier one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// `system_fingerprint`, a JSON string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<Raw>,
    /// `service_tier`, a JSON string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<Raw>,
    /// It says the whole answer once more: of its text, each of its fields and its calls, only
    /// what no piece before it has said anything of is new.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restates: bool,
}

impl Delta {
    /// Whether it says anything of the answer, be it that its text is empty or that it is over.
    pub fn says_something(&self) -> bool {
        self.text.is_some()
            || self.finish.is_some()
            || !self.calls.is_empty()
            || !self.fields.is_empty()
    }

    /// Whether it says what is more than empty text, empty fields and pieces of calls with nothing
    /// in them.
    pub fn has_news(&self) -> bool {
        let text = self.text.as_ref();
        text.is_some_and(|text| !text.body().is_empty())
            || self.finish.is_some()
            || self.calls.iter().any(|call| !call.is_blank())
            || self.fields.iter().any(|(_, value)| !is_blank(value))
    }
}

/// Whether a value is empty, of whatever type. Servers begin an answer with such fields.
pub fn is_blank(value: &Raw) -> bool {
    matches!(value.get(), "\"\"" | "[]" | "{}")
}

impl CallDelta {
    /// Whether there is nothing in it but an index.
    pub fn is_blank(&self) -> bool {
        let silent = |arguments: &Raw| arguments.is_null() || arguments.get() == "\"\"";
        self.id.is_none()
            && self.name.is_none()
            && self.extra.is_empty()
            && self.arguments.as_ref().is_none_or(silent)
    }
}

/// What an upstream says about why an answer ended. All but two claims say nothing that the
/// calls themselves do not (contract A3).
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Withheld by a filter.
    ContentFilter,
    /// Cut at the token limit.
    Length,
    /// Anything else.
    Stop,
}

impl Claim {
    /// Reads `finish_reason`; empty text is none.
    pub fn parse(text: &str) -> Option<Claim> {
        Some(match text {
            "" => return None,
            "content_filter" => Claim::ContentFilter,
            "length" => Claim::Length,
            _ => Claim::Stop,
        })
    }

    /// Of two claims about one answer, the one that says more.
    #[must_use]
    pub fn and(self, later: Claim) -> Claim {
        if self == Claim::Stop { later } else { self }
    }
}

/// A piece of a call. Empty text, null and absence are one and the same.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallDelta {
    /// The place of the call among the calls of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<ByteString>,
    /// The name or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<ByteString>,
    /// A piece of the arguments: a JSON string, or the arguments themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Raw>,
    /// Other members of the call, none of them null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<(ByteString, Raw)>,
}
