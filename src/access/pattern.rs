//! Patterns over model names.

use std::fmt;

use crate::glob;

/// A pattern over model names, such as `support-ticket.*`: `*` stands for any
/// characters, slashes included, or none; everything else for itself, in the same
/// case.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Any text is a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `name` as a whole fits.
    pub fn matches(&self, name: &str) -> bool {
        glob::matches(&self.0, name)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.0)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, fits, fits_not) in [
            ("*", &["", "gpt-5", "a/b"][..], &[][..]),
            ("gpt-5", &["gpt-5"], &["gpt-5-mini", "GPT-5", ""]),
            ("a.*", &["a.", "a.b", "a.b.c"], &["a", "b.a."]),
            ("*-mini", &["-mini", "gpt-mini"], &["mini", "gpt-mini-2"]),
            ("a*b*c", &["abc", "a1b2c", "abbcc"], &["ab", "acb", "abcd"]),
            ("ab*ba", &["abba", "abcba"], &["aba", "ab"]),
            ("*a*a*", &["aa", "xaxax"], &["a", "xax"]),
            ("**", &["", "a"], &[]),
            ("", &[""], &["a"]),
        ] {
            let compiled = Pattern::new(pattern);
            for name in fits {
                assert!(compiled.matches(name), "{pattern} should fit {name}");
            }
            for name in fits_not {
                assert!(!compiled.matches(name), "{pattern} should not fit {name}");
            }
        }
    }
}
