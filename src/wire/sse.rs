//! Event-stream framing, after the WHATWG HTML standard, section "Server-sent events".

use bytes::{Buf, Bytes, BytesMut};

/// Cuts a byte stream into the `data` of its events.
///
/// Takes LF, CRLF and lone CR line ends, a byte-order mark at the start, comments, unknown
/// fields, several `data` lines in one event, and JSON that some servers put on a bare line when
/// they fail. An event that stands whole in one read leaves as a slice of it.
#[derive(Debug)]
pub struct Decoder {
    /// The beginning of a line that is not finished; it holds no line end.
    pending: BytesMut,
    /// The data of the event so far: one line mostly.
    data: Option<Data>,
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
            after_cr: false,
            started: false,
            limit,
        }
    }

    /// Feeds what was read; gives the data of every event that it ends to `event`.
    pub fn feed(&mut self, read: Bytes, event: &mut dyn FnMut(Bytes)) -> Result<(), TooLong> {
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
    pub fn finish(&mut self, event: &mut dyn FnMut(Bytes)) -> Result<(), TooLong> {
        let rest = self.pending.split().freeze();
        if !rest.is_empty() {
            self.line(&rest, event)?;
        }
        self.dispatch(event);
        Ok(())
    }

    fn line(&mut self, line: &Bytes, event: &mut dyn FnMut(Bytes)) -> Result<(), TooLong> {
        if line.is_empty() {
            self.dispatch(event);
            return Ok(());
        }
        let Some(value) = data_of(line) else {
            return Ok(());
        };
        let value = line.slice(value..);
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

    fn dispatch(&mut self, event: &mut dyn FnMut(Bytes)) {
        match self.data.take() {
            None => {}
            Some(Data::One(data)) => event(data),
            Some(Data::Joined(data)) => event(data.freeze()),
        }
    }
}

/// Where the value of a `data` line begins; `None` for comments and other fields. No field's name
/// begins with a brace: what does is JSON without its `data:`.
fn data_of(line: &[u8]) -> Option<usize> {
    if line.first() == Some(&b'{') {
        return Some(0);
    }
    let rest = line.strip_prefix(b"data")?;
    match rest {
        [] => Some(line.len()),
        [b':', b' ', ..] => Some(6),
        [b':', ..] => Some(5),
        _ => None,
    }
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
        let mut push = |data: Bytes| events.push(String::from_utf8(data.to_vec()).unwrap());
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
