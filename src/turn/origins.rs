//! Which upstream the messages of a conversation are from (contract U3).
//!
//! What a provider binds to its messages goes back to it and to nobody else. A turn can change
//! hands: to a fallback and back, to another member of a team. So messages are kept whole, each
//! with the upstream that it is from, and what is foreign is left out of what an upstream is
//! shown: whoever is asked again finds its own.

use std::borrow::Cow;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use super::foreign;
use crate::wire::Message;

/// The upstreams that the messages of a conversation are from.
///
/// The same upstream tends to answer for a while: what is kept is where another one begins.
/// Messages before the first such place are the caller's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origins(Vec<Run>);

/// Messages of one upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    /// The first of them.
    from: usize,
    /// Their upstream; none for what the caller sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream: Option<ByteString>,
}

impl Origins {
    /// Nothing is known of any message, as in what was stored before origins were.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All messages are from one upstream.
    pub(super) fn all(upstream: &ByteString) -> Origins {
        Origins(vec![Run {
            from: 0,
            upstream: Some(upstream.clone()),
        }])
    }

    /// The messages from `at` on, which are the last, are from `upstream`.
    pub(super) fn begin(&mut self, at: usize, upstream: Option<&ByteString>) {
        self.0.retain(|run| run.from < at);
        let last = self.0.last().and_then(|run| run.upstream.as_ref());
        if last != upstream {
            let upstream = upstream.cloned();
            self.0.push(Run { from: at, upstream });
        }
    }

    /// The messages from `at` on, which are the last, are from where `others` are.
    pub(super) fn append(&mut self, at: usize, others: &Origins) {
        self.begin(at, None);
        for run in &others.0 {
            self.begin(at + run.from, run.upstream.as_ref());
        }
    }

    /// The origins of the messages from `start` on.
    pub(super) fn since(&self, start: usize) -> Origins {
        let mut since = Origins::default();
        for run in &self.0 {
            since.begin(run.from.saturating_sub(start), run.upstream.as_ref());
        }
        since
    }

    /// The messages as `upstream` is to see them, of which the caller's are from `home`.
    pub(super) fn shown<'a>(
        &self,
        messages: &'a [Message],
        upstream: &str,
        home: &str,
    ) -> Cow<'a, [Message]> {
        let runs = self.0.iter();
        let starts = std::iter::once((0, None));
        let starts = starts.chain(runs.map(|run| (run.from, run.upstream.as_deref())));
        let ends = self.0.iter().map(|run| run.from).chain([messages.len()]);
        let runs = || starts.clone().zip(ends.clone());
        let is_foreign = |origin: Option<&str>| {
            let origin = origin.unwrap_or(home);
            !origin.is_empty() && origin != upstream
        };
        if !runs().any(|((from, origin), to)| from < to && is_foreign(origin)) {
            return Cow::Borrowed(messages);
        }
        let mut shown = Vec::with_capacity(messages.len());
        for ((from, origin), to) in runs() {
            let run = messages.get(from..to).unwrap_or_default().iter();
            if is_foreign(origin) {
                shown.extend(run.map(foreign::unbound));
            } else {
                shown.extend(run.cloned());
            }
        }
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: &str = r#"{"role":"assistant","content":"x","reasoning":"r"}"#;

    /// The reasoning of which messages an upstream is shown.
    fn seen(origins: &Origins, count: usize, upstream: &str) -> Vec<bool> {
        let messages = vec![Message::written(BOUND).unwrap(); count];
        let shown = origins.shown(&messages, upstream, "home");
        shown
            .iter()
            .map(|message| message.field("reasoning").is_some())
            .collect()
    }

    #[test]
    fn each_upstream_is_shown_its_own() {
        let (a, b) = (ByteString::from("a"), ByteString::from("b"));
        let mut origins = Origins::default();
        origins.begin(1, Some(&a));
        origins.begin(2, Some(&a));
        origins.begin(3, Some(&b));
        origins.begin(4, None);
        assert_eq!(seen(&origins, 5, "a"), [false, true, true, false, false]);
        assert_eq!(seen(&origins, 5, "b"), [false, false, false, true, false]);
        assert_eq!(seen(&origins, 5, "home"), [true, false, false, false, true]);
        assert_eq!(seen(&origins, 5, "other"), [false; 5]);
        assert_eq!(
            seen(&origins.since(2), 3, "a"),
            [true, false, false],
            "{origins:?}"
        );
    }

    #[test]
    fn origins_move_with_their_messages() {
        let (a, b) = (ByteString::from("a"), ByteString::from("b"));
        let mut own = Origins::all(&a);
        own.begin(1, Some(&b));
        let mut origins = Origins::default();
        origins.append(2, &own);
        origins.begin(4, None);
        assert_eq!(origins.since(2), {
            let mut since = own.clone();
            since.begin(2, None);
            since
        });
        assert_eq!(seen(&origins, 5, "a"), [false, false, true, false, false]);
        assert_eq!(seen(&origins, 5, "b"), [false, false, false, true, false]);
    }

    #[test]
    fn what_has_no_known_origin_is_everybodys() {
        let messages = vec![Message::written(BOUND).unwrap()];
        let shown = Origins::default().shown(&messages, "a", "");
        assert!(matches!(shown, Cow::Borrowed(_)));
    }
}
