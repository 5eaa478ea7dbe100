//! The words in which a model is told what came of a call.

use super::{Outcome, Reply};
use crate::wire::write::ObjectWriter;

/// Stands at the end of a text that was cut off.
const MARK: &str = "\n[cut off: the result is longer than may be shown]";

/// A result within `limit` bytes. `more`: whether there is more of it than `text`.
pub(super) fn completed(text: String, more: bool, limit: usize) -> Reply {
    Reply {
        text: bounded(text, more, limit),
        outcome: Outcome::Completed,
    }
}

/// A failure within `limit` bytes; `reason` may be cut to make it fit.
pub(super) fn failed(reason: &str, limit: usize) -> Reply {
    unsuccessful(Outcome::Failed, reason, limit)
}

/// A call that took too long, as [`failed`].
pub(super) fn timed_out(reason: &str, limit: usize) -> Reply {
    unsuccessful(Outcome::TimedOut, reason, limit)
}

fn unsuccessful(outcome: Outcome, mut reason: &str, limit: usize) -> Reply {
    let mut text = failure(reason);
    while text.len() > limit && !reason.is_empty() {
        // A byte of the reason takes up to six of JSON, so this never cuts too much at once.
        let over = (text.len() - limit).div_ceil(6);
        reason = start(reason, reason.len().saturating_sub(over));
        text = failure(reason);
    }
    Reply {
        text: start(&text, limit).to_owned(),
        outcome,
    }
}

fn failure(reason: &str) -> String {
    let mut text = String::with_capacity(reason.len() + 40);
    let mut object = ObjectWriter::begin(&mut text);
    object.string("status", "failed");
    object.string("reason", reason);
    object.end();
    text
}

/// `text` within `limit` bytes, with a mark where it was cut.
fn bounded(mut text: String, more: bool, limit: usize) -> String {
    if text.len() <= limit && !more {
        return text;
    }
    let mark = if MARK.len() < limit { MARK } else { "" };
    let kept = start(&text, limit - mark.len()).len();
    text.truncate(kept);
    text + mark
}

/// At most `limit` bytes of `text`, whole characters.
pub(super) fn start(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_cut_on_a_character_and_say_so() {
        let text = "\u{5929}".repeat(100);
        for limit in 0..=400 {
            let shown = completed(text.clone(), false, limit).text;
            assert!(shown.len() <= limit, "{limit}: {}", shown.len());
            let whole = limit >= text.len();
            assert_eq!(shown == text, whole, "{limit}");
            assert_eq!(
                shown.ends_with(MARK),
                !whole && limit > MARK.len(),
                "{limit}"
            );
        }
        let shown = completed("abc".to_owned(), true, 100).text;
        assert_eq!(shown, format!("abc{MARK}"));
    }

    #[test]
    fn failures_stay_json_as_long_as_there_is_room() {
        let reason = "\u{1}\"\u{5929}\n".repeat(50);
        for limit in 0..=1200 {
            let shown = failed(&reason, limit).text;
            assert!(shown.len() <= limit, "{limit}");
            if limit >= failure("").len() {
                let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
                assert!(reason.starts_with(value["reason"].as_str().unwrap()));
                assert!(
                    shown.len() + 12 > limit.min(failure(&reason).len()),
                    "{limit}"
                );
            }
        }
        let text = timed_out("no answer within 10 s", 100);
        assert_eq!(text.outcome, Outcome::TimedOut);
        assert_eq!(
            text.text,
            r#"{"status":"failed","reason":"no answer within 10 s"}"#
        );
    }
}
