//! What becomes of a model request that failed: it is repeated, made elsewhere, or the end of the
//! turn (contract U5).
//!
//! Invariant: nothing is asked again once a word of the answer is with the caller. Rounds that
//! were run stay run: what is made again is the one request that failed.

use std::time::Duration;

use super::{Drive, Model};
use crate::drive::clock;
use crate::drive::order::Failure;
use crate::drive::watch;
use crate::telemetry::Decision;
use crate::tools::Catalogue;
use crate::turn::Input;
use crate::upstream::health::Verdict;
use crate::upstream::{Again, Error};

/// The pause before a first repetition; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// The longest that an upstream is waited for that says how long it wants to be left alone. If it
/// wants more, its answer is the caller's, who can wait better.
const LONGEST_WISH: Duration = Duration::from_secs(15);

/// Who is asked, and how often it has been.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Course {
    /// The agent's source: 0 for its own upstream, then its fallbacks. It holds for the rest of
    /// the turn's request, so that provider fields of a round meet the upstream they are from.
    pub(super) source: usize,
    /// Repetitions of the request under way.
    repeats: u32,
}

impl Course {
    /// From a source on.
    pub(super) fn from(source: usize) -> Course {
        Course { source, repeats: 0 }
    }

    /// An answer is complete.
    pub(super) fn arrived(&mut self) {
        self.repeats = 0;
    }
}

impl Drive {
    /// Goes on after a model request that failed, or gives up with its error. What is decided is
    /// part of the round, which then is over.
    pub(super) fn failed(&mut self, error: Error) -> Result<(), Failure> {
        let failure = watch::failure(&error);
        let decided = self.decide(error);
        self.watch.failed(failure);
        decided
    }

    fn decide(&mut self, error: Error) -> Result<(), Failure> {
        self.model = Model::Silent;
        let source = self.agent.source(self.course.source);
        if error.is_sickness()
            && let Verdict::Rests(time) = source.health.failed()
        {
            self.watch.decided(source, Decision::Rests, &error, time);
        }
        if !self.turn.may_ask_again() || error.again() == Again::Nowhere {
            return Err(self.without_names(error).into());
        }
        // A connection that had gone stale is nobody's failure, once: the next one is fresh.
        let stale = matches!(error, Error::Closed) && self.course.repeats == 0;
        let wait = if stale {
            Some(Duration::ZERO)
        } else {
            pause(self.course.repeats, error.retry_after(clock::now_seconds()))
        };
        if error.again() == Again::Here
            && self.course.repeats < source.retries
            && let Some(pause) = wait
            && (stale || source.health.may_repeat())
        {
            self.watch
                .decided(source, Decision::Repeated, &error, pause);
            self.course.repeats += 1;
            self.model = Model::pausing(pause, source.provider());
            return Ok(());
        }
        let next = self.course.source + 1;
        if next > self.agent.fallbacks.len() {
            return Err(self.without_names(error).into());
        }
        self.watch
            .decided(source, Decision::FellBack, &error, Duration::ZERO);
        let provider = self.agent.source(next).provider();
        self.course = Course::from(next);
        self.feed(Input::AskedAgain { provider });
        Ok(())
    }

    /// An upstream that finds fault with one of the agent's own tools does not speak of the
    /// caller's input: neither its words nor its status are the caller's.
    fn without_names(&self, error: Error) -> Error {
        let Error::Refused { failure, .. } = &error else {
            return error;
        };
        let texts = [
            Some(&failure.message),
            failure.param.as_ref(),
            failure.code.as_ref(),
        ];
        let mut tools = self
            .turn
            .catalogue()
            .map_or(&[][..], Catalogue::services)
            .iter();
        let names_one = tools.any(|service| {
            let name = &service.tool.name;
            texts.iter().flatten().any(|text| names(text, name))
        });
        if names_one {
            return Error::NotAnAnswer {
                status: error.status(),
                what: "a fault that it finds with a tool of the agent's own".to_owned(),
            };
        }
        error
    }

    /// The upstream has begun to answer.
    pub(super) fn answers(&mut self) {
        let source = self.agent.source(self.course.source);
        if source.health.succeeded() {
            self.watch.recovered(source);
        }
    }
}

/// Whether a text names a tool: as a word of its own or as a part of a longer name, but not
/// where letters around it make another word of it.
fn names(text: &str, tool: &str) -> bool {
    text.match_indices(tool).any(|(at, _)| {
        let letter = |c: char| c.is_alphabetic();
        let before = text[..at].chars().next_back().is_some_and(letter);
        let behind = text[at + tool.len()..].chars().next().is_some_and(letter);
        !before && !behind
    })
}

/// How long to wait before a repetition, with a share of chance so that those who failed together
/// do not come back together; `None` if the upstream wants more time than there is.
fn pause(repeats: u32, wish: Option<Duration>) -> Option<Duration> {
    let usual = PAUSE.saturating_mul(1 << repeats.min(8)).min(LONGEST_PAUSE);
    let chance = rand::random_range(0.5..=1.0);
    match wish {
        None => Some(usual.mul_f64(chance)),
        Some(wish) if wish <= LONGEST_WISH => Some(wish + usual.mul_f64(chance) / 2),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_bounds_and_honour_wishes() {
        for repeats in 0..40 {
            let pause = pause(repeats, None).unwrap();
            assert!(pause >= PAUSE / 2 && pause <= LONGEST_PAUSE, "{pause:?}");
        }
        let wish = Duration::from_secs(3);
        assert!(pause(0, Some(wish)).unwrap() >= wish);
        assert_eq!(pause(0, Some(LONGEST_WISH * 2)), None);
    }
}
