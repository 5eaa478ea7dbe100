//! Event-stream framing, after the WHATWG HTML standard, section "Server-sent events".

use bytes::{Buf, Bytes, BytesMut};

use super::raw::is_object;

/// Cuts a byte stream into the `data` of its events.
///
/// Takes LF, CRLF and lone CR line ends, a byte-order mark at the start, comments, unknown
/// fields, and several `data` lines in one event. Beyond the standard it takes what some servers
/// write, and what would be an error otherwise:
///
/// - A line that begins with a brace is JSON without its `data:`, as servers write when they fail.
/// - A line that begins as no field can goes on with the data above it: JSON over several lines
///   behind one `data:`.
/// - Behind a line of data that is a whole JSON object another one begins the next event: events
///   with one line end between them.
///
/// An event that stands whole in one read leaves as a slice of it.
#[derive(Debug)]
pub struct Decoder {
    /// The beginning of a line that is not finished; it holds no line end.
    pending: BytesMut,
    /// The data of the event so far: one line mostly.
    data: Option<Data>,
    /// The event's name is `error`.
    is_error: bool,
    /// A CR ended the last line: an LF right behind it belongs to it.
    after_cr: bool,
    /// The first bytes of the stream have been looked at.
    started: bool,
    limit: usize,
}

#[derive(Debug)]
enum Data {
    One(Bytes),
    Joined(BytesMut),
}

/// An event that has data.
#[derive(Debug)]
pub struct Event {
    /// Its data.
    pub data: Bytes,
    /// Its name (`event:`) is `error`.
    pub is_error: bool,
}

/// An event longer than the limit, in bytes.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("an event of more than {0} bytes")]
pub struct TooLong(pub usize);

const MARK: &[u8] = b"\xef\xbb\xbf";

impl Decoder {
    /// A decoder of events of at most `limit` bytes.
    pub fn new(limit: usize) -> Decoder {
        Decoder {
            pending: BytesMut::new(),
            data: None,
            is_error: false,
            after_cr: false,
            started: false,
            limit,
        }
    }

    /// Feeds what was read; gives every event with data that it ends to `event`.
    pub fn feed(&mut self, read: Bytes, event: &mut dyn FnMut(Event)) -> Result<(), TooLong> {
        let Some(mut rest) = self.without_mark(read) else {
            return Ok(());
        };
        loop {
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                if rest[0] == b'\n' {
                    rest.advance(1);
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', &rest) else {
                break;
            };
            self.after_cr = rest[end] == b'\r';
            let line = rest.split_to(end);
            rest.advance(1);
            if self.pending.is_empty() {
                self.line(&line, event)?;
            } else {
                self.pending.extend_from_slice(&line);
                let line = self.pending.split().freeze();
                self.line(&line, event)?;
            }
        }
        if self.pending.len() + rest.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        self.pending.extend_from_slice(&rest);
        Ok(())
    }

    /// What was read, without a mark at the start of the stream; `None` while it cannot be told
    /// whether there is one.
    fn without_mark(&mut self, read: Bytes) -> Option<Bytes> {
        if self.started {
            return Some(read);
        }
        self.pending.extend_from_slice(&read);
        if self.pending.len() < MARK.len() && MARK.starts_with(&self.pending) {
            return None;
        }
        self.started = true;
        let mut read = self.pending.split().freeze();
        if read.starts_with(MARK) {
            read.advance(MARK.len());
        }
        Some(read)
    }

    /// Ends the stream: data that no blank line followed is still given, since some servers
    /// leave it out behind the last event.
    pub fn finish(&mut self, event: &mut dyn FnMut(Event)) -> Result<(), TooLong> {
        let rest = self.pending.split().freeze();
        if !rest.is_empty() {
            self.line(&rest, event)?;
        }
        self.dispatch(event);
        Ok(())
    }

    fn line(&mut self, line: &Bytes, event: &mut dyn FnMut(Event)) -> Result<(), TooLong> {
        if line.is_empty() {
            self.dispatch(event);
            return Ok(());
        }
        let (value, may_begin) = match kind(line) {
            Line::Data(at) => (line.slice(at..), true),
            Line::Bare if line[0] == b'{' => (line.clone(), true),
            Line::Bare if self.data.is_some() => (line.clone(), false),
            Line::Other if is_named_error(line) => {
                self.is_error = true;
                return Ok(());
            }
            Line::Bare | Line::Other => return Ok(()),
        };
        if may_begin {
            self.end_whole(event);
        }
        self.data = Some(match self.data.take() {
            None => Data::One(value),
            Some(Data::One(first)) => Data::Joined(append(BytesMut::from(&first[..]), &value)),
            Some(Data::Joined(lines)) => Data::Joined(append(lines, &value)),
        });
        match &self.data {
            Some(Data::One(data)) if data.len() > self.limit => Err(TooLong(self.limit)),
            Some(Data::Joined(data)) if data.len() > self.limit => Err(TooLong(self.limit)),
            _ => Ok(()),
        }
    }

    /// Gives away data of one line that is a whole object: nothing can follow it.
    fn end_whole(&mut self, event: &mut dyn FnMut(Event)) {
        let Some(Data::One(data)) = &self.data else {
            return;
        };
        if std::str::from_utf8(data).is_ok_and(is_object) {
            self.dispatch(event);
        }
    }

    fn dispatch(&mut self, event: &mut dyn FnMut(Event)) {
        let is_error = std::mem::take(&mut self.is_error);
        let data = match self.data.take() {
            None => return,
            Some(Data::One(data)) => data,
            Some(Data::Joined(data)) => data.freeze(),
        };
        event(Event { data, is_error });
    }
}

/// A line by its beginning.
enum Line {
    /// No field begins like that, and no comment: JSON without its `data:`.
    Bare,
    /// A field `data`; its value begins there.
    Data(usize),
    /// A comment or another field.
    Other,
}

fn kind(line: &[u8]) -> Line {
    match line.strip_prefix(b"data") {
        Some([]) => Line::Data(line.len()),
        Some([b':', b' ', ..]) => Line::Data(6),
        Some([b':', ..]) => Line::Data(5),
        Some(_) => Line::Other,
        None if line[0].is_ascii_alphabetic() || line[0] == b':' => Line::Other,
        None if line.trim_ascii().is_empty() => Line::Other,
        None => Line::Bare,
    }
}

fn is_named_error(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"event:");
    name.is_some_and(|name| name.trim_ascii() == b"error")
}

fn append(mut lines: BytesMut, line: &[u8]) -> BytesMut {
    lines.extend_from_slice(b"\n");
    lines.extend_from_slice(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(reads: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::new(1000);
        let mut events = Vec::new();
        let mut push = |event: Event| events.push(String::from_utf8(event.data.to_vec()).unwrap());
        for read in reads {
            decoder
                .feed(Bytes::copy_from_slice(read), &mut push)
                .unwrap();
        }
        decoder.finish(&mut push).unwrap();
        events
    }

    const STREAM: &[u8] = b"\xef\xbb\xbf: hello\r\n\r\ndata: a\r\n\r\ndata:b\rdata: c\r\n\ndata: c2\r\revent: x\nid: 7\ndata:  d \xe5\x8c\x97\n\ndata\n\n\n\nretry: 5\ndata: e";

    #[test]
    fn every_kind_of_line_end_and_field() {
        assert_eq!(
            decode(&[STREAM]),
            ["a", "b\nc", "c2", " d \u{5317}", "", "e"]
        );
    }

    #[test]
    fn a_stream_cut_at_every_byte_gives_the_same_events() {
        let whole = decode(&[STREAM]);
        for at in 0..=STREAM.len() {
            let (a, b) = STREAM.split_at(at);
            assert_eq!(decode(&[a, b]), whole, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = STREAM.chunks(1).collect();
        assert_eq!(decode(&bytes), whole);
    }

    #[test]
    fn an_event_is_an_error_by_its_own_name_only() {
        let stream = "event: error\ndata: a\n\ndata: b\n\nevent:error\n\ndata: c\n\nevent: errors\ndata: d\n\ndata: e\nevent: error\n\n";
        let mut events = Vec::new();
        let mut push = |event: Event| events.push((event.data, event.is_error));
        let fed = Decoder::new(1000).feed(Bytes::from(stream), &mut push);
        fed.unwrap();
        let expected = [
            ("a", true),
            ("b", false),
            ("c", false),
            ("d", false),
            ("e", true),
        ];
        assert_eq!(
            events,
            expected.map(|(data, is_error)| (Bytes::from(data), is_error))
        );
    }

    #[test]
    fn what_the_standard_does_not_know_is_read_as_it_was_meant() {
        for (stream, events) in [
            // One line end between events.
            (
                "data: {\"a\":1}\ndata: {\"b\":{}}\ndata: [DONE]\n",
                &["{\"a\":1}", "{\"b\":{}}", "[DONE]"][..],
            ),
            (
                "data: {\"a\":1}\nid: 1\ndata:\ndata: x\n\n",
                &["{\"a\":1}", "\nx"],
            ),
            ("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]),
            (
                "data: {\"a\":1}\n{\"error\":\"x\"}\n",
                &["{\"a\":1}", "{\"error\":\"x\"}"],
            ),
            // JSON over several lines, with and without their fields.
            (
                "data: {\ndata: \"a\": {}\ndata: }\n\n",
                &["{\n\"a\": {}\n}"],
            ),
            (
                "data: {\n  \"a\": [\n    {}\n  ]\n}\n\ndata: c\n\n",
                &["{\n  \"a\": [\n    {}\n  ]\n}", "c"],
            ),
            ("data: [\n{\"a\":1}\n]\n\n", &["[\n{\"a\":1}\n]"]),
            // Nothing to go on with.
            ("  \"a\": 1\n}\n\ndata: c\n\n", &["c"]),
            ("data: {\"a\":1}\n \t\ndata: c\n\n", &["{\"a\":1}", "c"]),
            ("data: a\nunknown\n: comment\ndata: b\n\n", &["a\nb"]),
            // What is garbage stays so.
            ("data: {\"a\":1}\n}\n\n", &["{\"a\":1}\n}"]),
            ("data: {\"a\":\n<html>\n\n", &["{\"a\":\n<html>"]),
        ] {
            assert_eq!(decode(&[stream.as_bytes()]), events, "{stream}");
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(decode(&bytes), events, "{stream}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_an_error_in_one_read_or_many() {
        let long = [b"data: ".as_slice(), &[b'x'; 1001], b"\n\n"].concat();
        for size in [1, 7, 5000] {
            let mut decoder = Decoder::new(1000);
            let result = long
                .chunks(size)
                .try_for_each(|read| decoder.feed(Bytes::copy_from_slice(read), &mut |_| {}));
            assert_eq!(result, Err(TooLong(1000)), "reads of {size}");
        }
    }
}
