//! Servers that are processes.

use std::path::Path;

use handback::services::Outcome;
use handback::services::settings::McpSettings;

use super::service::{Tools, command, failure, until};

/// A server in Python, without anything to install.
fn python() -> McpSettings {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/plain.py");
    command(&["python3", script], &[("DESK_KEY", "0123456789")])
}

async fn number(tools: &Tools, tool: &str) -> String {
    let reply = tools.call(tool, "{}").await;
    assert_eq!(reply.outcome, Outcome::Completed, "{}", reply.text);
    reply.text
}

fn lives(process: &str) -> bool {
    // A process that nobody has waited for yet is a zombie: it does nothing any more.
    let status = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[tokio::test]
async fn a_process_is_talked_to_and_gets_only_the_environment_it_needs() {
    let tools = Tools::connected(&python()).await;
    let echo = tools.call("echo", "{\"z\":\"\u{5929}\",\"a\":[1.5]}").await;
    assert_eq!(echo.text, "{\"z\": \"\u{5929}\", \"a\": [1.5]} key-1");
    let names = tools.call("environment", "{}").await.text;
    assert!(
        names.contains("DESK_KEY") && names.contains("PATH"),
        "{names}"
    );
    assert!(!names.contains("CARGO"), "{names}");
}

#[tokio::test]
async fn noise_on_standard_error_and_output_harms_nothing() {
    let tools = Tools::connected(&python()).await;
    assert_eq!(number(&tools, "noise").await, "quiet");
    assert_eq!(number(&tools, "noise").await, "quiet");
}

#[tokio::test]
async fn a_dead_process_fails_its_call_and_is_started_again() {
    let tools = Tools::connected(&python()).await;
    let first = number(&tools, "pid").await;
    let reason = failure(&tools.call("die", "{}").await);
    assert_eq!(reason, "the connection to the tool's server broke");
    let second = number(&tools, "pid").await;
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_process_ends_with_its_service_and_so_does_what_it_started() {
    let tools = Tools::connected(&python()).await;
    let (server, child) = (number(&tools, "pid").await, number(&tools, "child").await);
    assert!(lives(&server) && lives(&child));
    let Tools { service, .. } = tools;
    drop(service);
    until("both are gone", || !lives(&server) && !lives(&child)).await;
}

#[tokio::test]
async fn a_process_that_does_not_want_to_end_ends_with_the_runtime() {
    let tools = Tools::connected(&python()).await;
    let server = number(&tools, "stubborn").await;
    drop(tools);
    until("it is gone", || !lives(&server)).await;
}

#[tokio::test]
async fn a_command_that_is_not_there_harms_nothing() {
    let tools = Tools::start(&command(&["/nowhere/to/be/found"], &[]));
    let fine = Tools::connected(&python()).await;
    assert!(!fine.names().is_empty());
    assert!(!tools.service.is_connected());
}
