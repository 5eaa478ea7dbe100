//! Walks through JSON text and tells where its values stand.
//!
//! A request is one long document of which Handback looks at little: names, ids, roles. The rest
//! is kept as the range in which it stands. A cursor checks every byte once and decodes nothing,
//! which takes a fraction of the time of a reader that hands out values.
//!
//! It accepts exactly the texts that `serde_json` does; what is wrong with any other is left for
//! that reader to say, which then reads the text again.

use std::borrow::Cow;

use super::raw::Kind;

/// The text is not JSON there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NotJson;

/// A place in a JSON text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// The closing brackets that are due inside the value that is walked through.
    open: Vec<u8>,
}

impl<'a> Cursor<'a> {
    /// Stands before the first value of `text`.
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            at: 0,
            open: Vec::new(),
        }
    }

    /// What the next value is, as far as its first byte tells.
    pub(super) fn kind(&mut self) -> Result<Kind, NotJson> {
        Kind::begun_by(self.token()?).ok_or(NotJson)
    }

    /// Walks through the next value; gives its text.
    pub(super) fn value(&mut self) -> Result<&'a str, NotJson> {
        self.token()?;
        let start = self.at;
        self.walk()?;
        Ok(&self.text[start..self.at])
    }

    /// Walks into the next value, which is an object: `member` is given each key and must walk
    /// through the value behind it. Gives the text of the object.
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), NotJson>,
    ) -> Result<&'a str, NotJson> {
        self.take(b'{')?;
        let start = self.at - 1;
        if self.token()? == b'}' {
            self.at += 1;
            return Ok(&self.text[start..self.at]);
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            if !self.goes_on(b'}')? {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Walks into the next value, which is an array: `element` must walk through each of its
    /// elements.
    pub(super) fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), NotJson>,
    ) -> Result<&'a str, NotJson> {
        self.take(b'[')?;
        let start = self.at - 1;
        if self.token()? == b']' {
            self.at += 1;
            return Ok(&self.text[start..self.at]);
        }
        loop {
            element(self)?;
            if !self.goes_on(b']')? {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Nothing follows.
    pub(super) fn end(&mut self) -> Result<(), NotJson> {
        match self.token() {
            Ok(_) => Err(NotJson),
            Err(NotJson) => Ok(()),
        }
    }

    /// Walks through a value without recursion, however deep it is.
    fn walk(&mut self) -> Result<(), NotJson> {
        loop {
            match self.token()? {
                b'"' => drop(self.string()?),
                b'{' => {
                    self.at += 1;
                    if self.token()? != b'}' {
                        self.open.push(b'}');
                        self.name()?;
                        continue;
                    }
                    self.at += 1;
                }
                b'[' => {
                    self.at += 1;
                    if self.token()? != b']' {
                        self.open.push(b']');
                        continue;
                    }
                    self.at += 1;
                }
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            }
            // A value is complete: what is around it goes on, or is complete as well.
            loop {
                let Some(close) = self.open.last().copied() else {
                    return Ok(());
                };
                if self.goes_on(close)? {
                    if close == b'}' {
                        self.name()?;
                    }
                    break;
                }
                self.open.pop();
            }
        }
    }

    /// Whether another element follows in what `close` closes.
    fn goes_on(&mut self, close: u8) -> Result<bool, NotJson> {
        let found = self.token()?;
        self.at += 1;
        match found {
            b',' => Ok(true),
            _ if found == close => Ok(false),
            _ => Err(NotJson),
        }
    }

    /// A key that is read.
    fn key(&mut self) -> Result<Cow<'a, str>, NotJson> {
        self.token()?;
        let start = self.at;
        let plain = self.string()?;
        let quoted = &self.text[start..self.at];
        self.take(b':')?;
        if plain {
            return Ok(Cow::Borrowed(&quoted[1..quoted.len() - 1]));
        }
        let decoded: Result<String, _> = serde_json::from_str(quoted);
        decoded.map(Cow::Owned).map_err(|_| NotJson)
    }

    /// A key that is passed over.
    fn name(&mut self) -> Result<(), NotJson> {
        self.token()?;
        self.string()?;
        self.take(b':')
    }

    /// Walks through a string; whether it holds no escapes.
    fn string(&mut self) -> Result<bool, NotJson> {
        self.take(b'"')?;
        let mut plain = true;
        loop {
            self.at += plain_length(&self.bytes()[self.at..]);
            match self.next()? {
                b'"' => return Ok(plain),
                b'\\' => {
                    plain = false;
                    self.escape()?;
                }
                _ => return Err(NotJson),
            }
        }
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        match self.next()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = self.bytes().get(self.at..self.at + 4).ok_or(NotJson)?;
                self.at += 4;
                let hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
                hexadecimal.then_some(()).ok_or(NotJson)
            }
            _ => Err(NotJson),
        }
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return Err(NotJson),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), NotJson> {
        if !self.next()?.is_ascii_digit() {
            return Err(NotJson);
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> Result<(), NotJson> {
        let found = self.bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(()).ok_or(NotJson)
    }

    /// Takes the byte that must come next.
    fn take(&mut self, wanted: u8) -> Result<(), NotJson> {
        let found = self.token()?;
        self.at += 1;
        (found == wanted).then_some(()).ok_or(NotJson)
    }

    /// The first byte that is no white space; it is not taken.
    fn token(&mut self) -> Result<u8, NotJson> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(byte) => return Ok(byte),
                None => return Err(NotJson),
            }
        }
    }

    fn next(&mut self) -> Result<u8, NotJson> {
        let byte = self.peek().ok_or(NotJson)?;
        self.at += 1;
        Ok(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }
}

/// Strings longer than this are worth the start of a vectorised search.
const SHORT: usize = 32;

/// How many bytes of a string stand before its first quote, backslash or control character.
fn plain_length(rest: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let mut length = 0;
    // Eight bytes at a time: a byte's high bit is set where it is what is looked for. A borrow
    // can set further bits only behind the first.
    for word in rest.as_chunks::<8>().0.iter().take(SHORT / 8) {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * u64::from(b'"'));
        let escape = word ^ (ONES * u64::from(b'\\'));
        let found = (quote.wrapping_sub(ONES) & !quote)
            | (escape.wrapping_sub(ONES) & !escape)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        if found & HIGH != 0 {
            return length + (found & HIGH).trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = &rest[length..];
    let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    let plain = &rest[..end];
    // No early way out: the whole run is compared sixteen bytes and more at a time.
    let control = plain.iter().copied().fold(u8::MAX, u8::min) < 0x20;
    if control {
        let before = plain.iter().position(|byte| *byte < 0x20);
        return length + before.unwrap_or(end);
    }
    length + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn value(text: &str) -> Result<&str, NotJson> {
        let mut cursor = Cursor::new(text);
        let value = cursor.value()?;
        cursor.end()?;
        Ok(value)
    }

    fn agrees(text: &str) {
        let other: Option<&RawValue> = serde_json::from_str(text).ok();
        assert_eq!(value(text).ok(), other.map(RawValue::get), "{text:?}");
    }

    #[test]
    fn what_json_is_serde_json_decides() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "]",
            "}",
            "{]",
            "[}",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":}",
            "{\"a\" 1}",
            "{1:2}",
            "[1 2]",
            "1 2",
            "nul",
            "nulll",
            "true",
            " false ",
            "truefalse",
            "-",
            "-0",
            "01",
            "0.",
            ".5",
            "1.5e",
            "1e+",
            "1E-7",
            "1e400",
            "-1.0e+05",
            "+1",
            "0x1",
            "NaN",
            "\"",
            "\"a",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\u1234\"",
            "\"\\ud800\"",
            "\"a\nb\"",
            "\"\u{7f}\"",
            "\"\u{0}\"",
            "'a'",
            "\"a\"\"b\"",
            "[\"a\", {\"b\": [[], {}, [null]]}]",
            "\u{feff}1",
            "{\"\\u\":1}",
            "{\"\\u0061\":1}",
            "[1]]",
            "{}{}",
            "// a\n1",
            "\u{a0}1",
            "[\u{b}1]",
        ] {
            agrees(text);
        }
    }

    #[test]
    fn every_length_of_a_string_and_every_byte_in_it() {
        for length in 0..100 {
            let run = "x".repeat(length);
            for inside in [
                "", "\"", "\\", "\\n", "\n", "\u{1f}", " ", "\u{e9}", "\u{2028}", "\u{7f}",
            ] {
                agrees(&format!("\"{run}{inside}{run}\""));
                agrees(&format!("[\"{run}{inside}\",\"{inside}{run}\"]"));
            }
        }
    }

    #[test]
    fn mutated_documents() {
        let document = r#"{"a":[1.5e-7,"x\u00e9\\",{"b c":null,"d":[[],{}]}],"e":"a long text that is longer than a word","f":-0.0,"g":true}"#;
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let mut bytes = document.as_bytes().to_vec();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                match random.u8(..3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes.insert(at, *random.choice(br#"{}[],:"\ 0-.eEu"#).unwrap()),
                    _ => bytes[at] = random.u8(..128),
                }
            }
            agrees(std::str::from_utf8(&bytes).unwrap_or(""));
        }
    }

    #[test]
    fn members_and_elements_are_given_with_their_places() {
        let text = " { \"a\" : [ 1 , {} ] , \"\\u0062\" : \"x\" } ";
        let mut seen = Vec::new();
        let mut cursor = Cursor::new(text);
        let object = cursor
            .object(|cursor, key| {
                if cursor.kind()? == Kind::Array {
                    let whole = cursor.array(|cursor| {
                        seen.push(("element".into(), cursor.value()?));
                        Ok(())
                    })?;
                    seen.push((key, whole));
                } else {
                    seen.push((key, cursor.value()?));
                }
                Ok(())
            })
            .unwrap();
        cursor.end().unwrap();
        assert_eq!(object, text.trim());
        let expected = [
            ("element", "1"),
            ("element", "{}"),
            ("a", "[ 1 , {} ]"),
            ("b", "\"x\""),
        ];
        assert_eq!(seen, expected.map(|(key, value)| (Cow::from(key), value)));
    }

    #[test]
    fn deep_nesting_is_no_recursion() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(value(&deep), Ok(&*deep));
    }
}
