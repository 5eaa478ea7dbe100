//! Values that trip parsers, and how to put them where JSON's own writers would not.

use fastrand::Rng;

/// JSON texts of every type, odd ones among them, and texts that are no JSON.
const TOKENS: [&str; 46] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "1.0",
    "-1",
    "1e400",
    "-1e-400",
    "123456789012345678901234567890",
    "9223372036854775808",
    "0.1e+0000000000000000000001",
    "\"\"",
    "\"x\"",
    "\"null\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\u{7f}\u{feff}\u{202e}\"",
    "\"auto\"",
    "\"none\"",
    "\"required\"",
    "\"function\"",
    "\"assistant\"",
    "\"tool\"",
    "\"call_a\"",
    "\"get_weather\"",
    "[]",
    "[[]]",
    "[null]",
    "[{}]",
    "{}",
    "{\"\":{}}",
    "{\"type\":\"function\"}",
    "{\"type\":\"function\",\"function\":{\"name\":\"get_weather\"}}",
    "{\"$ref\":\"#\"}",
    // No JSON.
    "NaN",
    "01",
    "+1",
    "'x'",
    "tru",
    "\"\\x\"",
    "\"a\nb\"",
    "",
];

/// What can open a nest: the more the deeper.
const NESTS: [(&str, &str); 4] = [
    ("[", "]"),
    ("{\"a\":", "}"),
    ("[{\"properties\":", "}]"),
    ("{\"type\":\"object\",\"properties\":{\"city\":", "}}"),
];

const DEPTHS: [usize; 5] = [2, 40, 127, 129, 20_000];

/// Bytes that no text has, or that texts should not have.
const BYTES: [&[u8]; 10] = [
    b"\0",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"\"",
    b"}",
    b"\\",
];

/// One of a list.
pub(super) fn pick<T: Copy>(of: &[T], rng: &mut Rng) -> T {
    of[rng.usize(..of.len())]
}

/// A text to stand where a JSON value is expected.
pub(super) fn value(rng: &mut Rng) -> String {
    if rng.u8(..20) == 0 {
        return nest(rng);
    }
    if rng.u8(..60) == 0 {
        return format!("\"{}\"", "x".repeat(rng.usize(..400_000)));
    }
    pick(&TOKENS, rng).to_owned()
}

/// A value within a value, often deeper than any stack, sometimes not closed.
fn nest(rng: &mut Rng) -> String {
    let (open, close) = pick(&NESTS, rng);
    let depth = pick(&DEPTHS, rng).min(120_000 / open.len());
    let closed = if rng.u8(..4) == 0 { depth - 1 } else { depth };
    format!("{}1{}", open.repeat(depth), close.repeat(closed))
}

/// Bytes to put into the middle of a text.
pub(super) fn bytes(rng: &mut Rng) -> &'static [u8] {
    pick(&BYTES, rng)
}
