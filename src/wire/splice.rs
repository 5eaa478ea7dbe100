//! Writes JSON out of pieces that mostly stand in other documents already.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};

use super::raw::Raw;

/// A run of this many bytes is shared; a shorter one is copied, since a segment costs more than
/// the copy of a few cache lines.
const SHARE_FROM: usize = 2048;

/// A finished body: segments of a known total length, cheap to clone (for a retry).
#[derive(Clone, Debug, Default)]
pub struct Body {
    segments: std::collections::VecDeque<Bytes>,
    length: usize,
}

impl Body {
    /// The length of all segments, in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of it in one buffer; copies unless it is a single segment.
    pub fn into_bytes(mut self) -> Bytes {
        if self.segments.len() == 1 {
            return self.segments.pop_front().unwrap_or_default();
        }
        let mut out = BytesMut::with_capacity(self.length);
        for segment in &self.segments {
            out.extend_from_slice(segment);
        }
        out.freeze()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let segment = self.segments.pop_front();
        self.length -= segment.as_ref().map_or(0, Bytes::len);
        Poll::Ready(segment.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.segments.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length as u64)
    }
}

/// Collects text and values into a [`Body`], sharing long runs of a document.
#[derive(Default)]
pub struct Splice {
    body: Body,
    copied: BytesMut,
    run: Option<Run>,
}

/// Neighbours of one document that are written as one slice.
struct Run {
    first: Raw,
    end: usize,
}

impl Splice {
    /// An empty splice with room for `capacity` bytes of its own text.
    pub fn with_capacity(capacity: usize) -> Splice {
        Splice {
            copied: BytesMut::with_capacity(capacity),
            ..Splice::default()
        }
    }

    /// Appends text of this program.
    pub fn text(&mut self, text: &str) {
        self.end_run();
        self.copied.extend_from_slice(text.as_bytes());
    }

    /// Appends a value.
    pub fn value(&mut self, value: &Raw) {
        self.end_run();
        let (_, _, end) = value.parts();
        self.run = Some(Run {
            first: value.clone(),
            end,
        });
    }

    /// Appends values as the elements of an array, without its brackets. Elements that follow
    /// each other in one document, with nothing but a comma and white space between them, leave
    /// as one slice.
    pub fn elements<'a>(&mut self, values: impl IntoIterator<Item = &'a Raw>) {
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                if self.extend_run(value) {
                    continue;
                }
                self.text(",");
            }
            self.value(value);
        }
        self.end_run();
    }

    /// The finished body.
    pub fn finish(mut self) -> Body {
        self.end_run();
        self.flush();
        self.body
    }

    fn extend_run(&mut self, next: &Raw) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        let (document, _, _) = run.first.parts();
        let (other, start, end) = next.parts();
        let same = std::ptr::eq(document.as_ptr(), other.as_ptr()) && document.len() == other.len();
        let gap = document.get(run.end..start).unwrap_or("");
        if same && gap.trim_matches([' ', '\t', '\n', '\r']) == "," {
            run.end = end;
            return true;
        }
        false
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let (document, start, _) = run.first.parts();
        if run.end - start < SHARE_FROM {
            self.copied
                .extend_from_slice(&document.as_bytes()[start..run.end]);
            return;
        }
        let shared = document.as_bytes().slice(start..run.end);
        self.flush();
        self.push(shared);
    }

    fn flush(&mut self) {
        if !self.copied.is_empty() {
            let text = self.copied.split().freeze();
            self.push(text);
        }
    }

    fn push(&mut self, segment: Bytes) {
        self.body.length += segment.len();
        self.body.segments.push_back(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::raw::Members;
    use bytestring::ByteString;

    fn split(text: &str) -> (ByteString, Vec<Raw>) {
        let document = ByteString::from(text.to_owned());
        let values: Vec<&serde_json::value::RawValue> = serde_json::from_str(&document).unwrap();
        let raws = values
            .into_iter()
            .map(|value| Raw::of(&document, value))
            .collect();
        (document, raws)
    }

    #[test]
    fn neighbours_leave_as_one_slice_and_a_gap_splits_them() {
        let long = format!("\"{}\"", "x".repeat(SHARE_FROM));
        let (document, raws) = split(&format!("[{long} ,\n {long},{long}]"));
        let mut splice = Splice::default();
        splice.text("[");
        splice.elements([&raws[0], &raws[1]]);
        splice.text("]");
        let body = splice.finish();
        assert_eq!(body.segments.len(), 3);
        assert_eq!(body.segments[1], document.as_bytes()[1..2 * long.len() + 5]);
        assert_eq!(body.len(), body.clone().into_bytes().len());

        let mut splice = Splice::default();
        splice.elements([&raws[0], &raws[2]]);
        assert_eq!(splice.finish().into_bytes(), format!("{long},{long}"));
    }

    #[test]
    fn short_values_are_copied_together() {
        let (_, raws) = split("[1.0, 1e-7, {\"a\":2}]");
        let mut splice = Splice::with_capacity(64);
        splice.text("{\"k\":[");
        splice.elements([&raws[2], &raws[0], &raws[1]]);
        splice.text("]}");
        let body = splice.finish();
        assert_eq!(body.segments.len(), 1);
        let bytes = body.into_bytes();
        assert_eq!(bytes, "{\"k\":[{\"a\":2},1.0, 1e-7]}");
        assert!(Members::parse(std::str::from_utf8(&bytes).unwrap()).is_ok());
    }
}
