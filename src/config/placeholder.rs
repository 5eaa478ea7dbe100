//! `${NAME}` in texts.
//!
//! Placeholders are replaced in the texts of a file that has been parsed already: a
//! value from the environment is a value, and never becomes a line of the file.

use thiserror::Error;

/// A text with its placeholders replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filled {
    pub(super) text: String,
    /// Whether there was any placeholder.
    pub(super) replaced: bool,
}

/// Why a placeholder cannot be replaced.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Fault {
    /// What stands between the braces is no name of a variable.
    #[error(
        "${{{inside}}} is not a placeholder; write ${{NAME}} or ${{NAME:-default}}, \
         or $${{ for a plain ${{"
    )]
    Name { inside: String },
    /// The variable is not set and the placeholder has no default.
    #[error(
        "the environment variable {name} is not set; set it, \
         or write ${{{name}:-default}} for a default"
    )]
    Unset { name: String },
    /// There is no closing brace.
    #[error("a ${{ has no closing brace; write $${{ for a plain ${{")]
    Unclosed,
}

/// Replaces every `${NAME}` in `text` by what `env` says, and `${NAME:-default}` by
/// the default where the variable is unset or empty; `$${` becomes `${`. A default
/// holds no placeholder and no closing brace.
///
/// # Errors
///
/// All faults of the text, in their order.
pub(super) fn fill(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Filled, Vec<Fault>> {
    let mut filled = Filled {
        text: String::with_capacity(text.len()),
        replaced: false,
    };
    let mut faults = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            filled.text += before;
            filled.text += "${";
            rest = after;
            continue;
        }
        filled.text += before;
        filled.replaced = true;
        let Some((inside, after)) = after.split_once('}') else {
            faults.push(Fault::Unclosed);
            rest = "";
            break;
        };
        match value(inside, env) {
            Ok(value) => filled.text += &value,
            Err(fault) => faults.push(fault),
        }
        rest = after;
    }
    filled.text += rest;
    if faults.is_empty() {
        Ok(filled)
    } else {
        Err(faults)
    }
}

/// What stands for `${inside}`.
fn value(inside: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, Fault> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_name(name) {
        return Err(Fault::Name {
            inside: inside.to_owned(),
        });
    }
    match (env(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Fault::Unset {
            name: name.to_owned(),
        }),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "KEY" => Some("k${KEY}\"".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn placeholders_are_replaced_once() {
        for (text, filled, replaced) in [
            ("plain $1 {x}", "plain $1 {x}", false),
            ("a ${KEY} b", "a k${KEY}\" b", true),
            ("${EMPTY}", "", true),
            ("${EMPTY:-x}${UNSET:-y:-z}${UNSET:-}", "xy:-z", true),
            ("$${KEY} $$", "${KEY} $$", false),
            ("$$${KEY}", "$${KEY}", false),
        ] {
            let expected = Filled {
                text: filled.to_owned(),
                replaced,
            };
            assert_eq!(fill(text, &env), Ok(expected), "{text}");
        }
    }

    #[test]
    fn all_faults_are_found() {
        let faults = fill("${UNSET} ${1x} ${} ${EMPTY", &env).unwrap_err();
        assert_eq!(
            faults,
            [
                Fault::Unset {
                    name: "UNSET".to_owned()
                },
                Fault::Name {
                    inside: "1x".to_owned()
                },
                Fault::Name {
                    inside: String::new()
                },
                Fault::Unclosed,
            ]
        );
    }
}
