//! Servers that others wrote, where `tests/peers/run` has installed them: the protocol's reference
//! server in Node, and one of the Python SDK.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use handback::services::Outcome;
use handback::services::settings::McpSettings;
use serde_json::Value;
use tokio::process::{Child, Command};

use super::service::{Tools, command, failure, http, in_time, until};

/// The folder of the servers, where there is one.
fn installed() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever runs the test says where the servers are"
    )]
    let folder = std::env::var_os("HANDBACK_MCP_PEERS");
    if folder.is_none() {
        skipped();
    }
    folder.map(PathBuf::from)
}

#[expect(clippy::print_stderr, reason = "it is for whoever runs the test")]
fn skipped() {
    eprintln!("skipped: set HANDBACK_MCP_PEERS, or run tests/peers/run");
}

fn everything(peers: &Path) -> [String; 2] {
    let script = "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    ["node".to_owned(), text(&peers.join(script))]
}

fn desk(peers: &Path) -> [String; 2] {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/python/desk.py");
    [text(&peers.join("python/bin/python")), script.to_owned()]
}

fn text(path: &Path) -> String {
    path.to_str().expect("the path is text").to_owned()
}

fn stdio(program: &[String; 2]) -> McpSettings {
    command(&[&program[0], &program[1], "stdio"], &[])
}

/// A server behind HTTP, on a port of its own.
struct Peer {
    program: [String; 2],
    port: u16,
    process: Option<Child>,
}

impl Peer {
    async fn start(program: [String; 2]) -> Peer {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = free.local_addr().expect("it has an address").port();
        drop(free);
        let mut peer = Peer {
            program,
            port,
            process: None,
        };
        peer.start_again().await;
        peer
    }

    async fn start_again(&mut self) {
        let [program, script] = &self.program;
        let verb = if program == "node" {
            "streamableHttp"
        } else {
            "http"
        };
        let port = self.port.to_string();
        let process = Command::new(program)
            .args([script, verb, &port])
            .env("PORT", &port)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        self.process = Some(process.expect("it can be started"));
        until("it listens", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        })
        .await;
    }

    async fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            in_time("it ends", process.kill())
                .await
                .expect("it can be ended");
        }
    }

    fn settings(&self) -> McpSettings {
        http(&format!("http://127.0.0.1:{}/mcp", self.port))
    }
}

/// Kills the one process below this one that runs `script` over pipes.
async fn kill_child(script: &str) {
    let script = &format!("{script} stdio");
    let own = std::process::id().to_string();
    let mut found = Command::new("pkill");
    let status = found
        .args(["-KILL", "-P", &own, "-f", script])
        .status()
        .await;
    assert!(status.expect("pkill can be run").success());
}

async fn ask_everything(tools: &Tools) {
    let echo = tools.call("echo", "{\"message\":\"\u{5929}\"}").await;
    assert_eq!(echo.text, "Echo: \u{5929}");
    let sum = tools.call("get-sum", r#"{"a":2,"b":3}"#).await;
    assert_eq!(sum.text, "The sum of 2 and 3 is 5.");
    let image = tools.call("get-tiny-image", "{}").await;
    assert!(image.text.contains("[image/png omitted]"), "{}", image.text);
    let weather = tools
        .call("get-structured-content", r#"{"location":"Chicago"}"#)
        .await;
    let weather: Value = serde_json::from_str(&weather.text).expect("it is JSON");
    assert_eq!(weather["humidity"], 82);
    let links = tools.call("get-resource-links", r#"{"count":2}"#).await;
    assert!(links.text.contains("demo://resource"), "{}", links.text);
    let wrong = failure(&tools.call("get-sum", r#"{"a":"two"}"#).await);
    assert!(
        wrong.contains("invalid") || wrong.contains("Invalid"),
        "{wrong}"
    );
    let slow = r#"{"duration":0.2,"steps":4}"#;
    let slow = tools.call("trigger-long-running-operation", slow).await;
    assert_eq!(slow.outcome, Outcome::Completed, "{}", slow.text);
}

async fn ask_desk(tools: &Tools) {
    let found = tools.call("find_ticket", r#"{"number":7}"#).await;
    assert_eq!(found.text, r#"{"number":7,"title":"Paper jam"}"#);
    let closed = tools.call("tickets.close", r#"{"number":7}"#).await;
    assert!(closed.text.starts_with("closed 7"), "{}", closed.text);
    let wrong = failure(&tools.call("tickets.close", r#"{"number":0}"#).await);
    assert!(
        wrong.starts_with("Error executing tool tickets.close"),
        "{wrong}"
    );
    assert!(
        tools
            .names()
            .iter()
            .any(|name| name.starts_with("tickets_close_"))
    );
}

#[tokio::test]
async fn the_reference_server_over_pipes() {
    let Some(peers) = installed() else { return };
    let program = everything(&peers);
    let tools = Tools::connected(&stdio(&program)).await;
    ask_everything(&tools).await;
    kill_child(&program[1]).await;
    until("it is seen", || !tools.service.is_connected()).await;
    until("it is there again", || tools.service.is_connected()).await;
    ask_everything(&tools).await;
}

#[tokio::test]
async fn the_reference_server_over_http() {
    let Some(peers) = installed() else { return };
    let mut peer = Peer::start(everything(&peers)).await;
    let tools = Tools::connected(&peer.settings()).await;
    ask_everything(&tools).await;
    peer.stop().await;
    peer.start_again().await;
    ask_everything(&tools).await;
}

#[tokio::test]
async fn a_server_of_the_python_sdk_over_pipes() {
    let Some(peers) = installed() else { return };
    let tools = Tools::connected(&stdio(&desk(&peers))).await;
    ask_desk(&tools).await;
    let first = tools.call("pid", "{}").await.text;
    kill_child("desk.py").await;
    until("it is seen", || !tools.service.is_connected()).await;
    until("it is there again", || tools.service.is_connected()).await;
    ask_desk(&tools).await;
    assert_ne!(tools.call("pid", "{}").await.text, first);
}

#[tokio::test]
async fn a_server_of_the_python_sdk_over_http() {
    let Some(peers) = installed() else { return };
    let mut peer = Peer::start(desk(&peers)).await;
    let tools = Tools::connected(&peer.settings()).await;
    ask_desk(&tools).await;
    peer.stop().await;
    peer.start_again().await;
    ask_desk(&tools).await;
}
