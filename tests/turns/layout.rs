//! Lays JSON text out for people: what fits on a line stays on one. Numbers, strings and the
//! order of members are kept as they stand.

use handback::wire::raw::Members;
use handback::wire::write::{compact, quoted};
use serde_json::value::RawValue;

/// Longest line that is not broken, in characters.
const WIDTH: usize = 110;

/// The text laid out, with a line end behind it.
pub(crate) fn laid_out(text: &str) -> String {
    let mut out = String::new();
    lay_out(&mut out, text, 0, 0);
    out.push('\n');
    out
}

/// Appends `text`, which begins `column` characters into a line that is indented by `indent`.
fn lay_out(out: &mut String, text: &str, indent: usize, column: usize) {
    let short = compact(text);
    let fits = column + spaced(&short).chars().count() <= WIDTH;
    let members = Members::parse(&short).map(|members| members.0);
    let elements = serde_json::from_str::<Vec<&RawValue>>(&short);
    match (members, elements) {
        (Ok(members), _) if !fits && !members.is_empty() => {
            let lines = members.iter().map(|(key, value)| {
                let key = format!("{}: ", quoted(key));
                (key, value.get())
            });
            lines_into(out, ('{', '}'), lines, indent);
        }
        (_, Ok(elements)) if !fits && !elements.is_empty() => {
            let lines = elements.iter().map(|value| (String::new(), value.get()));
            lines_into(out, ('[', ']'), lines, indent);
        }
        _ => out.push_str(&spaced(&short)),
    }
}

fn lines_into<'a>(
    out: &mut String,
    (open, close): (char, char),
    lines: impl Iterator<Item = (String, &'a str)>,
    indent: usize,
) {
    out.push(open);
    for (nth, (key, value)) in lines.enumerate() {
        out.push_str(if nth > 0 { ",\n" } else { "\n" });
        out.push_str(&" ".repeat(indent + 2));
        out.push_str(&key);
        lay_out(out, value, indent + 2, indent + 2 + key.chars().count());
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(close);
}

/// Compact text with a space behind the commas and colons between its tokens.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        out.push(c);
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            quoted = c == '"';
            if matches!(c, ',' | ':') {
                out.push(' ');
            }
        }
    }
    out
}
