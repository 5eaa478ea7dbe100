//! The same answer as the event stream of a real server.

use super::pieces::all_pieces;
use super::server::{Habit, Habits, Said, usage_of};

impl Habits {
    /// The members that the deltas bring, in the order in which they are sent.
    fn members(&self, said: &Said) -> Vec<(&'static str, String)> {
        let text = |key: &'static str, bodies: &[String]| -> Vec<_> {
            bodies
                .iter()
                .map(|body| (key, format!("\"{body}\"")))
                .collect()
        };
        let mut parts = [
            text("reasoning_content", &said.reasoning),
            text("content", &said.text),
            all_pieces(&said.calls, &self.calls)
                .into_iter()
                .map(|piece| ("tool_calls", format!("[{piece}]")))
                .collect(),
        ];
        if self.pick(Habit::Order, &[false, true]) {
            parts.rotate_left(1);
        }
        parts.concat()
    }

    fn delta(&self, nth: usize, (key, value): &(&str, String), said: &Said) -> String {
        let mut members =
            match self.pick(Habit::Role, &["first", "every", "never", "empty", "null"]) {
                "every" => vec!["\"role\":\"assistant\"".to_owned()],
                "first" | "empty" | "null" if nth == 0 => vec!["\"role\":\"assistant\"".to_owned()],
                "empty" => vec!["\"role\":\"\"".to_owned()],
                "null" => vec!["\"role\":null".to_owned()],
                _ => Vec::new(),
            };
        members.push(format!("\"{key}\":{value}"));
        // A text of nothing is a text: only where there is some does it say nothing.
        let nothings = |some: &[String]| {
            if some.is_empty() {
                &["null"][..]
            } else {
                &["null", "\"\""]
            }
        };
        for (other, nothings) in [
            ("content", nothings(&said.text)),
            ("reasoning_content", nothings(&said.reasoning)),
            ("tool_calls", &["null", "[]"][..]),
        ] {
            if other != *key {
                members.extend(self.absent(other, nothings));
            }
        }
        members.join(",")
    }

    /// Deltas with what the server says about the end beside each.
    fn choices(&self, said: &Said) -> Vec<String> {
        let reason = format!("\"{}\"", self.reason(said));
        let open = self.absent("finish_reason", &["null", "\"\""]);
        let open = open.map(|open| format!(",{open}")).unwrap_or_default();
        let index = self.pick(Habit::Index, &["\"index\":0,", ""]);
        let members = self.members(said);
        let last = members.len().wrapping_sub(1);
        let way = self.pick(
            Habit::Finish,
            &["behind", "beside", "twice", "always", "never"],
        );
        let mut choices: Vec<String> = members
            .iter()
            .enumerate()
            .map(|(nth, member)| {
                let delta = self.delta(nth, member, said);
                let end = match way {
                    "always" => format!(",\"finish_reason\":{reason}"),
                    "beside" | "twice" if nth == last => format!(",\"finish_reason\":{reason}"),
                    _ => open.clone(),
                };
                format!("{{{index}\"delta\":{{{delta}}}{end}}}")
            })
            .collect();
        // Only a server that sends [DONE] may leave the reason out, and only one of nothing else.
        let needs_reason = choices.is_empty() || said.cut_short.is_some();
        if matches!(way, "behind" | "twice") || needs_reason {
            choices.push(format!(
                "{{{index}\"delta\":{{}},\"finish_reason\":{reason}}}"
            ));
        }
        choices
    }

    pub(super) fn stream(&self, said: &Said) -> String {
        let heading = self.heading("chat.completion.chunk");
        let choices = self.choices(said);
        let last = choices.len() - 1;
        let way = self.pick(
            Habit::Usage,
            &["none", "empty delta", "no choices", "always", "beside"],
        );
        let mut chunks: Vec<String> = choices
            .iter()
            .enumerate()
            .map(|(nth, choice)| {
                let usage = match (said.usage, way) {
                    (Some(usage), "always") => usage_of(usage, nth == last),
                    (Some(usage), "beside") if nth == last => usage_of(usage, true),
                    _ => return format!("{{{heading}\"choices\":[{choice}]}}"),
                };
                format!("{{{heading}\"choices\":[{choice}],{usage}}}")
            })
            .collect();
        if let Some(usage) = said.usage.map(|usage| usage_of(usage, true)) {
            match way {
                "none" => chunks.push(format!("{{{heading}\"choices\":[],{usage}}}")),
                "empty delta" => chunks.push(format!(
                    "{{{heading}\"choices\":[{{\"index\":0,\"delta\":{{}}}}],{usage}}}"
                )),
                "no choices" => chunks.push(format!("{{{heading}{usage}}}")),
                _ => {}
            }
        }
        let reasoned = chunks.iter().any(|chunk| {
            chunk.contains("\"finish_reason\":\"") && !chunk.contains("\"finish_reason\":\"\"")
        });
        self.framed(&chunks, reasoned)
    }

    fn framed(&self, chunks: &[String], reasoned: bool) -> String {
        let end = self.pick(Habit::LineEnd, &["\n", "\r\n", "\r"]);
        let prefix = self.pick(Habit::Prefix, &["data: ", "data:"]);
        let noise = self.pick(
            Habit::Noise,
            &[
                "",
                ": ping\n\n",
                "id: 7\n",
                "event: message\n",
                "retry: 9\n\n\n",
            ],
        );
        let mut out = String::new();
        for chunk in chunks {
            out.push_str(&noise.replace('\n', end));
            let lines = if self.pick(Habit::Lines, &[false, true]) {
                chunk.replacen(":[", &format!(":{end}{prefix}["), 1)
            } else {
                chunk.clone()
            };
            out.extend([prefix, &lines, end, end]);
        }
        match self.pick(Habit::End, &["done", "done", "open", "cut"]) {
            "cut" if reasoned => {}
            "open" => out.extend([prefix, "[DONE]"]),
            _ => out.extend([prefix, "[DONE]", end, end]),
        }
        out
    }
}
