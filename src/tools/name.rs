//! The form of tool names.

/// Longest tool name, in characters (OpenAI reference, `tools[].function.name`).
pub const NAME_CHARS: usize = 64;

/// Whether chat completions takes `name` for a function: `^[A-Za-z0-9_-]{1,64}$` (contract R6).
pub fn is_valid(name: &str) -> bool {
    (1..=NAME_CHARS).contains(&name.len()) && name.bytes().all(is_valid_byte)
}

/// `name` in a form that upstreams take in a history: a model can call what it likes, and its
/// own words are shown to it again.
pub fn presentable(name: &str) -> String {
    let kept = name.chars().map(|c| {
        if c.is_ascii() && is_valid_byte(c as u8) {
            c
        } else {
            '_'
        }
    });
    let name: String = kept.take(NAME_CHARS).collect();
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}

fn is_valid_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ascii_words_of_up_to_64_characters() {
        assert!(is_valid("create_service-ticket2") && is_valid(&"a".repeat(64)));
        for name in ["", "a.b", "a b", "\u{5929}", &"a".repeat(65)] {
            assert!(!is_valid(name), "{name}");
        }
        assert_eq!(
            presentable("multi_tool_use.parallel"),
            "multi_tool_use_parallel"
        );
        assert!(is_valid(&presentable(&"\u{5929}".repeat(99))) && is_valid(&presentable("")));
    }
}
