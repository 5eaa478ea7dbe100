//! The values that a dialect's fields can have, each with its word for the configuration.

use std::fmt;

/// Defines the values of a field and the word for each. The first is what the reference has.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident {
        $(#[$first_doc:meta])* $first:ident = $first_word:literal,
        $($(#[$other_doc:meta])* $other:ident = $other_word:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
        pub enum $name {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$other_doc])* $other,)+
        }

        impl $name {
            /// The values by their words.
            pub const CHOICES: &'static [(&'static str, Self)] =
                &[($first_word, Self::$first), $(($other_word, Self::$other),)+];

            /// The word for the value.
            pub fn word(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$other => $other_word,)+
                }
            }
        }
    };
}

choice! {
    /// The form of call ids, in calls and in results alike.
    CallIds {
        /// As the conversation has them: at most 40 characters.
        AsSent = "as_sent",
        /// As the server gave them, of any form and length: they carry something that it wants
        /// back. Where the caller cannot see such an id, it travels sealed.
        AsGiven = "as_given",
        /// Exactly nine letters and digits. Others are replaced by ones that follow from them.
        NineAlphanumerics = "nine_alphanumerics",
    }
}

choice! {
    /// `name` on tool messages.
    ResultName {
        /// As the caller sent it; the gateway's own tool messages have one.
        AsSent = "as_sent",
        /// The name of the function where the caller sent none.
        Filled = "filled",
    }
}

choice! {
    /// The content of tool messages. Arrays of nothing but text are one string for all upstreams.
    ResultContent {
        /// As the caller sent it.
        AsSent = "as_sent",
        /// Text only; a note stands where something else was.
        Text = "text",
    }
}

choice! {
    /// What may follow tool messages.
    AfterResults {
        /// Any message.
        AsSent = "as_sent",
        /// Only the model's: a short assistant message is put before any other.
        Bridged = "bridged",
    }
}

choice! {
    /// The role `developer`.
    DeveloperRole {
        /// As the caller sent it.
        AsSent = "as_sent",
        /// Unknown: the message is sent as `system`.
        System = "system",
    }
}

choice! {
    /// The content of assistant messages that say nothing beside their calls.
    EmptyContent {
        /// As the message has it.
        AsSent = "as_sent",
        /// `null`, also where it was an empty text.
        Null = "null",
        /// An empty text, also where it was `null` or absent.
        Text = "text",
    }
}

choice! {
    /// The model's reasoning in assistant messages: `reasoning_content`, `reasoning` and
    /// `reasoning_details`.
    Reasoning {
        /// As the message has it.
        AsSent = "as_sent",
        /// Sent back only behind the last user message; taken out of older turns.
        CurrentTurn = "current_turn",
        /// Messages with calls must have a `reasoning_content`: where it is lost, a blank stands
        /// in for it.
        Required = "required",
        /// Refused: taken out.
        Dropped = "dropped",
    }
}

choice! {
    /// Calls without the signature of the thought that led to them, as they come from another
    /// model or from a client that lost it.
    ThoughtSignature {
        /// As they are.
        AsSent = "as_sent",
        /// The first call of a message gets the signature that the provider documents for calls
        /// that have none.
        Filled = "filled",
    }
}

choice! {
    /// The name of the limit on the answer's tokens.
    TokenLimit {
        /// As the caller sent it.
        AsSent = "as_sent",
        /// `max_tokens`, also where the caller sent the newer name.
        MaxTokens = "max_tokens",
        /// `max_completion_tokens`, also where the caller sent the older name.
        MaxCompletionTokens = "max_completion_tokens",
    }
}

choice! {
    /// A `tool_choice` that names a function.
    NamedChoice {
        /// The reference's object.
        Object = "object",
        /// Not understood: the string `required`, and no tool but that one is offered.
        Required = "required",
    }
}

choice! {
    /// `parameters` of functions that take none.
    EmptyParameters {
        /// An object schema without properties.
        Object = "object",
        /// Refused: left out.
        Omitted = "omitted",
    }
}

choice! {
    /// References in the schemas of tools.
    SchemaRefs {
        /// As sent: `$ref` and `$defs`.
        AsSent = "as_sent",
        /// Not understood: what is referred to stands in their place. One that leads into itself
        /// becomes any object.
        Inlined = "inlined",
    }
}

choice! {
    /// Lists of types in the schemas of tools.
    SchemaTypes {
        /// As sent.
        AsSent = "as_sent",
        /// Not understood: the first type that is not null.
        Single = "single",
    }
}

choice! {
    /// The header that carries the key.
    KeyHeader {
        /// `authorization: Bearer KEY`.
        Authorization = "authorization",
        /// `api-key: KEY`.
        ApiKey = "api-key",
    }
}

/// The keys that a message may have. Where they are bound, calls and the parts of a content are
/// reduced to what the reference has in them, too.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum MessageKeys {
    /// Any.
    #[default]
    Any,
    /// These; a message with others is refused.
    Only(Words),
}

impl MessageKeys {
    /// How the configuration says that messages may have any key.
    pub const ANY: &'static str = "any";

    /// Whether a message may have that key.
    pub fn allow(&self, key: &str) -> bool {
        match self {
            MessageKeys::Any => true,
            MessageKeys::Only(keys) => keys.has(key),
        }
    }
}

impl fmt::Display for MessageKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageKeys::Any => f.write_str(MessageKeys::ANY),
            MessageKeys::Only(keys) => keys.fmt(f),
        }
    }
}

/// A list of words: of the table, or of the configuration.
#[derive(Clone, Debug)]
pub enum Words {
    /// From the table.
    Listed(&'static [&'static str]),
    /// From the configuration.
    Own(Vec<String>),
}

impl Words {
    /// Whether the word is among them.
    pub fn has(&self, word: &str) -> bool {
        self.iter().any(|own| own == word)
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let (listed, own): (&[&str], &[String]) = match self {
            Words::Listed(words) => (words, &[]),
            Words::Own(words) => (&[], words),
        };
        listed.iter().copied().chain(own.iter().map(String::as_str))
    }
}

impl Default for Words {
    fn default() -> Self {
        Words::Listed(&[])
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Words {}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, word) in self.iter().enumerate() {
            let comma = if nth > 0 { ", " } else { "" };
            write!(f, "{comma}{word}")?;
        }
        Ok(())
    }
}
