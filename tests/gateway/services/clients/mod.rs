//! One mixed turn, and what comes of it with every kind of client (contract K1 to K6).
//!
//! The model is asked, a hidden round is run, and two calls are handed back while a third waits.
//! Each [`Row`] is a client: what it makes of the handback and the results, and what has to come
//! of that. There is no third way between the same history and a named loss. The README has the
//! same table.

mod rows;
mod sent;
mod world;

use serde_json::Value;

use sent::Sent;
use world::{World, history};

const CALLER: &str = "key-one";
const OTHER_CALLER: &str = "key-two";
const OTHER_AGENT: &str = "desk";

/// Two callers, and another agent with the same tools.
const OTHERS: &str = r#"
[[keys]]
name = "one"
key = "key-one"
[[keys]]
name = "two"
key = "key-two"
[[agents]]
name = "desk"
upstream = "model"
model = "gpt-mock"
services = ["kb"]
"#;

/// A client.
struct Row {
    /// What it does, as the README says it.
    name: &'static str,
    change: fn(&mut Sent),
    way: Way,
    expect: Expect,
}

/// How often and where the follow-up is sent.
#[derive(Clone, Copy)]
enum Way {
    Once,
    Again,
    TwiceAtOnce,
    AfterAnError,
    /// To a process that was started after the first one had ended.
    Restarted,
    /// To another process with the key.
    Second,
    /// To one that seals with a newer key.
    Rotated,
    /// To one that has only a newer key.
    Removed,
}

/// What comes of it. Where there is a function, it makes the expected history of the whole one.
#[derive(Clone, Copy)]
enum Expect {
    /// The model sees what it had seen if one process had run everything.
    Same,
    /// The model sees the caller's version; what waited runs as it was.
    Version(fn(&mut Vec<Value>)),
    /// What waited never runs.
    MovedOn(fn(&mut Vec<Value>)),
    /// Refused as lost, or gone on with the visible part and a word to everybody.
    Lost,
    /// The visible part, and nobody can tell.
    Unnoticed(fn(&mut Vec<Value>)),
    /// Refused with this code.
    Refused(&'static str),
}

async fn every_client_gets_what_it_is_promised(streamed: bool) {
    let world = World::start().await;
    for row in rows::ROWS {
        let mut whole = history();
        match row.expect {
            Expect::Same => world.goes_on(row, streamed, &whole, 1).await,
            Expect::Version(version) => {
                version(&mut whole);
                world.goes_on(row, streamed, &whole, 1).await;
            }
            Expect::MovedOn(version) | Expect::Unnoticed(version) => {
                version(&mut whole);
                world.goes_on(row, streamed, &whole, 0).await;
            }
            Expect::Refused(code) => world.is_refused(row, streamed, code).await,
            Expect::Lost => {
                world.is_refused(row, streamed, "continuation_lost").await;
                // A process that lacks the key does the same, and has no other settings here.
                if !matches!(row.way, Way::Removed) {
                    world.is_degraded(row, streamed).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn every_client_gets_what_it_is_promised_whole() {
    every_client_gets_what_it_is_promised(false).await;
}

#[tokio::test]
async fn every_client_gets_what_it_is_promised_streamed() {
    every_client_gets_what_it_is_promised(true).await;
}

#[test]
fn the_readme_has_the_same_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(path).expect("the README");
    let (_, table) = readme
        .split_once("| what a client does to the follow-up | what comes of it |\n|---|---|\n")
        .expect("the table of clients");
    let lines = table.lines().take_while(|line| line.starts_with('|'));
    let mut promised: Vec<(&str, &str)> = Vec::new();
    for line in lines {
        let (clients, outcome) = line
            .trim_matches(['|', ' '])
            .split_once(" | ")
            .expect("two columns");
        promised.extend(clients.split("; ").map(|client| (client, outcome)));
    }
    for row in rows::ROWS {
        let says = match row.expect {
            Expect::Same => "the same history as if one process had run everything",
            Expect::Version(_) => "its version goes to the model",
            Expect::MovedOn(_) => "what waited never runs",
            Expect::Lost => "400 `continuation_lost`",
            Expect::Unnoticed(_) => "the visible part only, unnoticed",
            Expect::Refused(code) => &format!("400 `{code}`"),
        };
        let found = promised.iter().position(|(client, _)| *client == row.name);
        let Some(found) = found else {
            panic!("the README does not say {:?}", row.name);
        };
        let (_, outcome) = promised.swap_remove(found);
        assert!(outcome.starts_with(says), "{}: {outcome}", row.name);
    }
    assert!(promised.is_empty(), "no row for {promised:?}");
}
