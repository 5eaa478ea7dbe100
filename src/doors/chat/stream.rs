//! The answer as an event stream (contract S1 to S3).

use std::collections::VecDeque;
use std::pin::Pin;

use actix_web::HttpResponse;
use actix_web::http::{ConnectionType, header};
use actix_web::web::Bytes;
use futures_util::stream;
use tokio::time::{Instant, Sleep};

use super::delivery::delivered;
use super::whole::ending;
use super::{Answer, KEEP_ALIVE_AFTER, LOST, UNREPAIRED, failed, is_unrepaired, outcome, refuse};
use crate::doors::exchange::{Exchange, Outcome};
use crate::drive::{Drive, Event, Failure};
use crate::turn::{Answered, Say};
use crate::wire::chunk::{ChunkWriter, DONE, KEEP_ALIVE};

/// A stream under way. It is the body of the response: dropped with it when the caller goes.
struct Events {
    drive: Box<Drive>,
    writer: ChunkWriter,
    exchange: Exchange,
    include_usage: bool,
    /// Calls whose pieces have been sent already (contract S5).
    calls_sent: usize,
    ready: VecDeque<Bytes>,
    over: bool,
    silence: Pin<Box<Sleep>>,
}

/// Waits for the first thing for the caller; without it, if there is none for so long that the
/// stream has to be kept alive. That the answer has opened is passed on at once, but it says
/// nothing: an error that comes along with it is still an HTTP error (contract S3).
async fn first(
    drive: &mut Drive,
    silence: &mut Pin<Box<Sleep>>,
) -> Result<[Option<Event>; 2], Failure> {
    let event = tokio::select! {
        biased;
        event = drive.next() => event?,
        () = silence.as_mut() => return Ok([None, None]),
    };
    if !matches!(event, Event::Say(Say::Opened { .. })) {
        return Ok([Some(event), None]);
    }
    // What has come with it already, and no more.
    tokio::select! {
        biased;
        behind = drive.next() => Ok([Some(event), Some(behind?)]),
        () = std::future::ready(()) => Ok([Some(event), None]),
    }
}

/// Waits for the first thing for the caller, then answers with a stream.
pub(super) async fn respond(
    mut drive: Box<Drive>,
    answer: Answer,
    mut exchange: Exchange,
    chunked: bool,
) -> HttpResponse {
    let mut silence = Box::pin(tokio::time::sleep(KEEP_ALIVE_AFTER));
    let first = match first(&mut drive, &mut silence).await {
        Ok(first) => first,
        Err(failure) => {
            exchange.driven(&drive);
            return refuse(&failure, &drive, exchange);
        }
    };
    let mut response = HttpResponse::Ok();
    response
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header(("x-accel-buffering", "no"))
        .insert_header(exchange.id_header());
    if drive.mended().lost {
        response.insert_header(LOST);
    }
    if first.iter().flatten().any(is_unrepaired) {
        response.insert_header(UNREPAIRED);
    }
    let mut events = Box::new(Events {
        writer: ChunkWriter::new(&answer.heading()),
        include_usage: answer.include_usage,
        drive,
        exchange,
        calls_sent: 0,
        ready: VecDeque::new(),
        over: false,
        silence,
    });
    if first.iter().all(Option::is_none) {
        events.keep_alive();
    }
    for event in first.into_iter().flatten() {
        events.write(event);
    }
    events.rest();
    let mut response = response.streaming(stream::unfold(events, |mut events| async move {
        let bytes = events.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(bytes), events))
    }));
    if !chunked {
        // HTTP/1.0 knows no chunks: the end of the connection is the end of the stream.
        response.head_mut().no_chunking(true);
        response
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
    response
}

impl Events {
    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.over {
                delivered(&mut self.drive).await;
                return None;
            }
            let event = tokio::select! {
                biased;
                event = self.drive.next() => Some(event),
                () = &mut self.silence => None,
            };
            match event {
                Some(Ok(event)) => self.write(event),
                Some(Err(failure)) => self.fail(&failure),
                None => self.keep_alive(),
            }
            self.rest();
        }
    }

    /// The silence begins anew: something is about to be sent.
    fn rest(&mut self) {
        #[expect(
            clippy::disallowed_methods,
            reason = "the door keeps its streams alive"
        )]
        let now = Instant::now();
        self.silence.as_mut().reset(now + KEEP_ALIVE_AFTER);
    }

    fn write(&mut self, event: Event) {
        match event {
            Event::Answered(answered) => self.finish(&answered),
            Event::Say(say) => {
                let bytes = self.say(&say);
                self.ready.push_back(bytes);
            }
        }
    }

    fn say(&mut self, say: &Say) -> Bytes {
        let writer = &mut self.writer;
        match say {
            Say::Opened { with_text: true } => writer.role_with_text(),
            Say::Opened { with_text: false } => writer.role(),
            Say::Text { text, logprobs } => writer.text(text.body(), logprobs.as_ref()),
            Say::Fields(fields) => writer.fields(fields),
            Say::CallHead { index, id, name } => {
                self.calls_sent = index + 1;
                writer.call_head(*index, id, name)
            }
            Say::CallArguments { index, piece } => writer.call_arguments(*index, piece.body()),
        }
    }

    fn finish(&mut self, answered: &Answered) {
        for (index, call) in answered.calls.iter().enumerate().skip(self.calls_sent) {
            self.ready.push_back(self.writer.call(index, call));
        }
        let ending = ending(answered);
        self.ready.push_back(self.writer.finish(&ending));
        if self.include_usage {
            self.ready.push_back(self.writer.usage(&ending));
        }
        self.ready.push_back(DONE);
        if answered.unrepaired {
            self.exchange.shared().metrics.unrepaired.inc();
        }
        self.close(200, outcome(answered.finish), answered.finish.as_str());
    }

    /// An error behind the first byte: an event with it, and no end that looks like one (S3).
    fn fail(&mut self, failure: &Failure) {
        let problem = failed(failure, &self.exchange);
        self.ready
            .push_back(Bytes::from(format!("data: {}\n\n", problem.json())));
        self.close(200, Outcome::Failed, problem.code());
    }

    fn keep_alive(&mut self) {
        self.ready.push_back(KEEP_ALIVE);
    }

    fn close(&mut self, status: u16, outcome: Outcome, detail: &str) {
        self.over = true;
        self.exchange.driven(&self.drive);
        self.exchange.end(status, outcome, detail);
    }
}
