//! The answer in one piece.

use actix_web::HttpResponse;

use super::{Answer, LOST, UNREPAIRED, delivery, outcome, refuse};
use crate::doors::exchange::Exchange;
use crate::drive::{Drive, Event, Failure};
use crate::turn::{Answered, Say};
use crate::wire::chunk::{self, Ending, WholeMessage};
use crate::wire::fields::Fields;
use crate::wire::raw::{Members, Raw};

/// What has been said so far.
#[derive(Default)]
struct Fold {
    body: Option<String>,
    fields: Fields,
    /// The arrays in `logprobs`, by name.
    logprobs: Fields,
}

/// Folds everything that is said and answers with it.
pub(super) async fn respond(
    mut drive: Box<Drive>,
    answer: &Answer,
    mut exchange: Exchange,
) -> HttpResponse {
    let folded = fold(&mut drive).await;
    exchange.driven(&drive);
    let (fold, answered) = match folded {
        Ok(folded) => folded,
        Err(failure) => {
            return refuse(&failure, &drive, exchange);
        }
    };
    let mut response = HttpResponse::Ok();
    response.content_type("application/json");
    if answered.unrepaired {
        exchange.shared().metrics.unrepaired.inc();
        response.insert_header(UNREPAIRED);
    }
    if drive.mended().lost {
        response.insert_header(LOST);
    }
    let body = fold.body(answer, &answered);
    let response = if drive.awaits_delivery() {
        response.body(delivery::body(drive, body))
    } else {
        response.body(body)
    };
    exchange.finish(outcome(answered.finish), answered.finish.as_str(), response)
}

async fn fold(drive: &mut Drive) -> Result<(Fold, Box<Answered>), Failure> {
    let mut fold = Fold::default();
    loop {
        match drive.next().await? {
            Event::Answered(answered) => return Ok((fold, answered)),
            Event::Say(say) => fold.add(say),
        }
    }
}

impl Fold {
    fn add(&mut self, say: Say) {
        match say {
            Say::Text { text, logprobs } => {
                self.body.get_or_insert_default().push_str(text.body());
                for (key, value) in Members::of(logprobs.as_ref().map_or("{}", Raw::get)) {
                    self.logprobs
                        .add(&key.as_ref().into(), &Raw::written(value.get().to_owned()));
                }
            }
            Say::Fields(fields) => {
                for (key, value) in &fields {
                    self.fields.add(key, value);
                }
            }
            Say::Opened { with_text } => self.body = with_text.then(String::new),
            // The calls stand in the answer's end, whole.
            Say::CallArguments { .. } | Say::CallHead { .. } => {}
        }
    }

    fn body(&self, answer: &Answer, answered: &Answered) -> String {
        let logprobs = self.logprobs_json();
        let message = WholeMessage {
            body: self.body.as_deref(),
            fields: &self.fields.values(),
            calls: &answered.calls,
            logprobs: logprobs.as_deref(),
        };
        chunk::whole(&answer.heading(), message, &ending(answered))
    }

    fn logprobs_json(&self) -> Option<String> {
        if self.logprobs.is_empty() {
            return None;
        }
        let mut out = String::new();
        let mut object = crate::wire::write::ObjectWriter::begin(&mut out);
        for (key, value) in self.logprobs.values() {
            object.member(&key, value.get());
        }
        object.end();
        Some(out)
    }
}

/// The end of an answer in the wire's terms.
pub(super) fn ending(answered: &Answered) -> Ending<'_> {
    Ending {
        finish: answered.finish,
        usage: answered.usage.as_ref(),
        system_fingerprint: answered.system_fingerprint.as_ref(),
        service_tier: answered.service_tier.as_ref(),
    }
}
