//! A strict reader of the event streams Handback writes. It accepts less than the SSE standard
//! does: only what every real client was seen to take, which is all that Handback may send. Each event
//! is held against the reference.

use serde_json::Value;

use super::conformance;

/// One `data:` event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Json(Value),
    Done,
}

/// Cuts a finished stream into its events.
pub(crate) fn events(body: &[u8]) -> Result<Vec<Event>, String> {
    let mut reader = Reader::default();
    let events = reader.feed(body)?;
    reader.at_end()?;
    Ok(events)
}

/// Cuts a stream into events while it arrives.
#[derive(Default)]
pub(crate) struct Reader {
    pending: Vec<u8>,
}

impl Reader {
    /// Takes the bytes that arrived and gives the events they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, String> {
        self.pending.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.pending.drain(..end + 2).collect();
            events.extend(one_block(&block[..end])?);
        }
        Ok(events)
    }

    /// Fails if the stream ended in the middle of an event.
    pub(crate) fn at_end(&self) -> Result<(), String> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let rest = String::from_utf8_lossy(&self.pending);
        Err(format!("the stream ends inside an event: {rest:?}"))
    }
}

/// A block is one `data:` line, or one comment line.
fn one_block(block: &[u8]) -> Result<Option<Event>, String> {
    let block =
        std::str::from_utf8(block).map_err(|error| format!("an event is not UTF-8 ({error})"))?;
    if block.contains(['\n', '\r']) {
        return Err(format!("an event of several lines: {block:?}"));
    }
    if block.starts_with(':') {
        return Ok(None);
    }
    let Some(data) = block.strip_prefix("data: ") else {
        return Err(format!("neither a data line nor a comment: {block:?}"));
    };
    if data == "[DONE]" {
        return Ok(Some(Event::Done));
    }
    let json = serde_json::from_str(data)
        .map_err(|error| format!("an event that is not JSON ({error}): {data:?}"))?;
    conformance::event(&json)?;
    Ok(Some(Event::Json(json)))
}
