//! Event-stream framing, after the WHATWG HTML standard, section "Server-sent events".

use bytes::{Buf, Bytes, BytesMut};

/// Cuts a byte stream into the `data` of its events.
///
/// Takes LF, CRLF and lone CR line ends, a byte-order mark at the start, comments, unknown
/// fields, and several `data` lines in one event. An event that stands whole in one read leaves
/// as a slice of it.
#[derive(Debug)]
pub struct Decoder {
    /// Bytes of a line that is not finished, and what follows it.
    pending: BytesMut,
    /// How much of `pending` is known to hold no line end.
    searched: usize,
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
            searched: 0,
            data: None,
            after_cr: false,
            started: false,
            limit,
        }
    }

    /// Feeds what was read; gives the data of every event that it ends to `event`.
    pub fn feed(&mut self, read: Bytes, event: &mut dyn FnMut(Bytes)) -> Result<(), TooLong> {
        let mut rest = self.joined(read);
        if !self.started {
            if rest.len() < MARK.len() && MARK.starts_with(&rest) {
                self.keep(rest, 0);
                return Ok(());
            }
            self.started = true;
            if rest.starts_with(MARK) {
                rest.advance(MARK.len());
            }
        }
        let mut from = std::mem::take(&mut self.searched).min(rest.len());
        loop {
            if self.after_cr && rest.first() == Some(&b'\n') {
                rest.advance(1);
                from = from.saturating_sub(1);
                self.after_cr = false;
            }
            self.after_cr = self.after_cr && rest.is_empty();
            let Some(end) = memchr::memchr2(b'\n', b'\r', &rest[from..]).map(|at| from + at) else {
                break;
            };
            self.after_cr = rest[end] == b'\r';
            let line = rest.split_to(end);
            rest.advance(1);
            from = 0;
            self.line(&line, event)?;
        }
        if rest.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        let searched = rest.len();
        self.keep(rest, searched);
        Ok(())
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

    /// What is pending and what was read, as one; no copy where nothing is pending.
    fn joined(&mut self, read: Bytes) -> Bytes {
        if self.pending.is_empty() {
            return read;
        }
        self.pending.extend_from_slice(&read);
        self.pending.split().freeze()
    }

    fn keep(&mut self, rest: Bytes, searched: usize) {
        self.searched = searched;
        if rest.is_empty() {
            return;
        }
        // The slice is the only owner of a buffer that grew by `joined`: it is taken back, so
        // that a long event is not copied anew for every read.
        self.pending = rest
            .try_into_mut()
            .unwrap_or_else(|rest| BytesMut::from(&rest[..]));
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

/// Where the value of a `data` line begins; `None` for comments and other fields.
fn data_of(line: &[u8]) -> Option<usize> {
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
