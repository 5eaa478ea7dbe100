//! Reads the bytes of an answer as deltas.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{Stream, StreamExt};

use super::error::{Error, Phase};
use super::silence::Silence;
use crate::private::Private;
use crate::wire::answer::{self, Failure, Part};
use crate::wire::refusal::excerpt;
use crate::wire::{Delta, sse};

/// Largest event of a stream, in bytes. Whole files travel as arguments.
const EVENT_BYTES: usize = 32 * 1024 * 1024;
/// Largest whole answer, in bytes.
const WHOLE_BYTES: usize = 64 * 1024 * 1024;
/// Largest error body that is read, in bytes.
const FAILURE_BYTES: usize = 1024 * 1024;
/// How long an upstream may take to end a stream that has said `[DONE]`, before its connection
/// is given up.
const LINGER: Duration = Duration::from_secs(1);

/// The bytes of an answer as they arrive.
pub type Reads = Pin<Box<dyn Stream<Item = Result<Bytes, Error>>>>;

/// What came before the bytes of an answer, and what is known of its upstream.
#[derive(Clone, Default)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// `content-type` as it was sent.
    pub content_type: Option<String>,
    /// `retry-after` as it was sent.
    pub retry_after: Option<String>,
    /// The request bore the caller's own authorization.
    pub with_callers_authorization: bool,
    /// What must not show in an error: the key and the address.
    pub(crate) private: Arc<Private>,
}

/// An answer under way.
pub struct Answer {
    reads: Option<Reads>,
    head: Head,
    form: Form,
    /// What has been read and not been taken. Behind an error nothing follows.
    ready: VecDeque<Result<Delta, Error>>,
    /// The upstream said why it ended, or `[DONE]`: the end of the bytes is no accident.
    complete: bool,
    said: Said,
    silence: Silence,
}

/// How the bytes are to be read. The first of them tells, since the content type may not.
enum Form {
    Events(Box<sse::Decoder>),
    Unknown,
    Whole(VecDeque<Bytes>, usize),
}

/// What has come of an answer.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Said {
    Nothing,
    /// Pieces that say nothing of it.
    Opening,
    /// Something of it, in messages alone.
    InMessages,
    /// Something of it in deltas: a message behind them says it once more.
    InDeltas,
}

impl Answer {
    /// Reads an answer whose head has arrived. An error status is read to its end and reported.
    pub async fn begin(head: Head, reads: Reads, mut silence: Silence) -> Result<Answer, Error> {
        silence.head_came();
        let answer = Answer {
            reads: Some(reads),
            head,
            form: Form::Unknown,
            ready: VecDeque::new(),
            complete: false,
            said: Said::Nothing,
            silence,
        };
        if (200..300).contains(&answer.head.status) {
            return Ok(answer);
        }
        Err(answer.refusal().await)
    }

    /// The next piece; `None` at the end of a complete answer.
    pub async fn next(&mut self) -> Result<Option<Delta>, Error> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return piece.map(Some);
            }
            let Some(reads) = &mut self.reads else {
                return Ok(None);
            };
            // What was read before an error is said before it.
            let taken = match read(reads, &mut self.silence).await {
                Some(Some(Ok(read))) => self.take(read),
                Some(Some(Err(_))) | None if self.complete => {
                    // It said why it ended: what breaks behind that is no part of the answer.
                    self.reads = None;
                    Ok(())
                }
                Some(Some(Err(error))) => Err(error),
                Some(None) => self.end(),
                None if self.begun() => Err(Error::TimedOut { phase: Phase::Idle }),
                None => Err(Error::TimedOut {
                    phase: Phase::FirstByte,
                }),
            };
            if let Err(error) = taken {
                self.reads = None;
                self.ready.push_back(Err(error));
            }
        }
    }

    /// Whether something of it has been said.
    fn begun(&self) -> bool {
        self.said > Said::Opening
    }

    fn take(&mut self, mut read: Bytes) -> Result<(), Error> {
        if let Form::Unknown = self.form {
            let Some(begin) = beginning(&read) else {
                return Ok(());
            };
            // A mark may be cut between two reads: no form is to see the rest of one.
            read.advance(begin);
            self.form = match read[0] {
                b'{' | b'[' => Form::Whole(VecDeque::new(), 0),
                b'<' => return Err(self.not_an_answer("a page of HTML")),
                _ => Form::Events(Box::new(sse::Decoder::new(EVENT_BYTES))),
            };
        }
        match &mut self.form {
            Form::Whole(parts, length) => {
                *length += read.len();
                if *length > WHOLE_BYTES {
                    return Err(Error::TooLarge { limit: WHOLE_BYTES });
                }
                parts.push_back(read);
                Ok(())
            }
            Form::Events(decoder) => {
                let mut events = VecDeque::new();
                let fed = decoder.feed(read, &mut |event| events.push_back(event));
                fed.map_err(|sse::TooLong(limit)| Error::TooLarge { limit })?;
                self.events(events)
            }
            Form::Unknown => Ok(()),
        }
    }

    fn events(&mut self, events: VecDeque<sse::Event>) -> Result<(), Error> {
        for event in events {
            if event.is_error {
                return Err(self.failed(answer::error_event(&event.data)));
            }
            match answer::event(event.data) {
                Ok(Part::Delta(delta)) => self.piece(delta, Said::InDeltas),
                Ok(Part::Message { beside, message }) => self.message(beside, *message),
                Ok(Part::Failed(failure)) => return Err(self.failed(failure)),
                Ok(Part::Nothing) => {}
                Ok(Part::Done) if !self.begun() => {
                    return Err(self.not_an_answer("a stream that says nothing"));
                }
                Ok(Part::Done) => {
                    self.complete = true;
                    self.linger();
                    return Ok(());
                }
                // It said why it ended: what comes behind that is no part of the answer.
                Err(_) if self.complete => {}
                Err(malformed) => return Err(Error::malformed(self.head.status, &malformed)),
            }
        }
        Ok(())
    }

    /// Takes a piece of the form `said`. The first one may say no more than that the answer has
    /// begun; later ones that say nothing do not end a silence.
    fn piece(&mut self, delta: Delta, said: Said) {
        let says_something = delta.says_something();
        if delta.has_news() || self.said == Said::Nothing {
            self.silence.piece_came();
        }
        self.said = self
            .said
            .max(if says_something { said } else { Said::Opening });
        self.complete = self.complete || delta.finish.is_some();
        self.ready.push_back(Ok(delta));
    }

    /// Takes a message of a stream. Where no delta has said anything, messages are the pieces.
    fn message(&mut self, beside: Option<Delta>, mut message: Delta) {
        if let Some(delta) = beside {
            self.piece(delta, Said::InDeltas);
        }
        message.restates = self.said == Said::InDeltas;
        self.piece(message, Said::InMessages);
    }

    /// The bytes are at their end.
    fn end(&mut self) -> Result<(), Error> {
        self.reads = None;
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => Err(self.not_an_answer("an empty body")),
            Form::Whole(parts, length) => match answer::whole(joined(parts, length)) {
                Ok(Part::Delta(delta)) => {
                    self.piece(delta, Said::InMessages);
                    Ok(())
                }
                Ok(Part::Failed(failure)) => Err(self.failed(failure)),
                Ok(Part::Done | Part::Message { .. } | Part::Nothing) => {
                    Err(self.not_an_answer("nothing"))
                }
                Err(malformed) => Err(Error::malformed(self.head.status, &malformed)),
            },
            Form::Events(mut decoder) => {
                let mut events = VecDeque::new();
                let fed = decoder.finish(&mut |event| events.push_back(event));
                fed.map_err(|sse::TooLong(limit)| Error::TooLarge { limit })?;
                self.events(events)?;
                if self.complete {
                    return Ok(());
                }
                let detail = if self.begun() {
                    "the stream ended without finish_reason and [DONE]"
                } else {
                    "the stream held no answer"
                };
                Err(Error::Broken {
                    detail: detail.to_owned(),
                })
            }
        }
    }

    /// Lets a stream that said `[DONE]` come to its end, which gives its connection back for
    /// further use. Nobody waits for it.
    fn linger(&mut self) {
        let Some(mut reads) = self.reads.take() else {
            return;
        };
        let rest = async move {
            let _ =
                tokio::time::timeout(LINGER, async { while reads.next().await.is_some() {} }).await;
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "bounded in time, and only ever returns a connection to its pool"
        )]
        tokio::task::spawn_local(rest);
    }

    /// An error in the body of a 200. The status that it names, if any, is what the upstream
    /// would have answered with.
    fn failed(&self, failure: Failure) -> Error {
        self.refused(failure.status.unwrap_or(502), true, failure)
    }

    fn refused(&self, status: u16, in_body: bool, failure: Failure) -> Error {
        let failure = failure.told(|text| self.head.private.failure(text));
        let in_head = self.head.retry_after.clone();
        Error::Refused {
            in_body,
            status,
            retry_after: in_head.or_else(|| Some(failure.retry_after?.to_string())),
            failure: Box::new(failure),
            with_callers_authorization: self.head.with_callers_authorization,
        }
    }

    async fn refusal(mut self) -> Error {
        let mut body = BytesMut::new();
        while let Some(reads) = &mut self.reads {
            match read(reads, &mut self.silence).await {
                Some(Some(Ok(read))) if body.len() + read.len() <= FAILURE_BYTES => {
                    body.extend_from_slice(&read);
                }
                _ => break,
            }
        }
        let text = String::from_utf8_lossy(&body);
        let text = text.trim_start_matches('\u{feff}').trim();
        let failure = answer::failure(text).or_else(|| self.in_plain_words(text));
        match failure {
            Some(failure) => self.refused(self.head.status, false, failure),
            None if text.is_empty() => self.not_an_answer("an empty body"),
            None => self.not_an_answer("a body that is no error of its API"),
        }
    }

    /// The error of a server that writes plain text, or that says by its status alone that it is
    /// asked too often.
    fn in_plain_words(&self, text: &str) -> Option<Failure> {
        let content_type = self.head.content_type.as_deref().unwrap_or("");
        let page = content_type.contains("html");
        Some(match self.head.status {
            // Whatever the content type says: words about the caller's input are the caller's.
            400 | 413 | 422 if !page && is_plain(text) => Failure::of_text(text),
            _ if content_type.starts_with("text/plain") && is_plain(text) => {
                // What is not about the caller's input may be anything, a trace for one.
                Failure::of_text(&excerpt(&self.head.private.failure(text.to_owned())))
            }
            401 | 403 => Failure::of_text("the upstream refuses the credentials"),
            429 => Failure::of_text("the upstream limits the rate of requests"),
            _ => return None,
        })
    }

    fn not_an_answer(&self, what: &str) -> Error {
        let content_type = self.head.content_type.as_deref().unwrap_or("none");
        let what = format!("{what} (content type {})", excerpt(content_type));
        Error::NotAnAnswer {
            status: self.head.status,
            what,
        }
    }
}

/// The next read, `Some(None)` at the end; `None` when the silence has lasted too long.
async fn read(reads: &mut Reads, silence: &mut Silence) -> Option<Option<Result<Bytes, Error>>> {
    tokio::select! {
        biased;
        read = reads.next() => Some(read),
        () = silence.over() => None,
    }
}

/// Whether a text is words: no page, no JSON that was cut, and no bytes of another kind.
fn is_plain(text: &str) -> bool {
    let unreadable =
        |c: char| c == char::REPLACEMENT_CHARACTER || c.is_control() && !c.is_whitespace();
    !text.is_empty() && !text.starts_with(['<', '{', '[', '"']) && !text.contains(unreadable)
}

/// Where the first byte stands that is no white space and no part of a byte-order mark.
fn beginning(read: &[u8]) -> Option<usize> {
    read.iter()
        .position(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte))
}

fn joined(mut parts: VecDeque<Bytes>, length: usize) -> Bytes {
    if parts.len() == 1 {
        return parts.pop_front().unwrap_or_default();
    }
    let mut body = BytesMut::with_capacity(length);
    for part in parts {
        body.extend_from_slice(&part);
    }
    body.freeze()
}

#[cfg(test)]
mod tests;
