//! Tools behind HTTP (contract V1, V4): what is sent, and what the model is told of what comes
//! back.

mod failures;

use std::io::Write as _;

use handback::config::Config;
use handback::services::http::HttpService;
use handback::services::settings::Kind;
use handback::services::{Invocation, Outcome, Reply, Service as _};
use serde_json::{Value, json};

use super::harness::script::Answer;
use super::harness::service::{SERVICE_KEY, Service, binary, empty, endless, huge};
use super::harness::within;

/// Larger than any result here that is not meant to be cut.
const LIMIT: usize = 10_000;

/// The service as its section configures it.
fn open(service: &Service) -> HttpService {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("gateway.toml");
    let toml = format!(
        "{}\n[[upstreams]]\nname = \"model\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         [passthrough]\nupstream = \"model\"\n",
        service.toml()
    );
    std::fs::write(&file, toml).expect("the configuration is written");
    let config = Config::load(&file, &|_| None).unwrap_or_else(|report| panic!("{report}"));
    let Kind::Http(settings) = &config.services[0].kind else {
        panic!("the service is one of HTTP")
    };
    HttpService::new(settings).expect("the service can be used")
}

/// Where the calls stand in a trace.
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async fn call(service: &HttpService, tool: &str, arguments: &Value, limit: usize) -> Reply {
    let called = service.call(Invocation {
        tool: tool.to_owned(),
        arguments: arguments.to_string(),
        idempotency_key: "attempt-1".to_owned(),
        traceparent: Some(TRACEPARENT.to_owned()),
        reply_limit: limit,
    });
    within("the reply of a call", called).await
}

/// The reply to a call without arguments of a tool that gives this answer.
async fn told(answer: Answer, limit: usize) -> Reply {
    let service = Service::start("kb", &["look"]).await;
    service.tool("look").play([answer]);
    let reply = call(&open(&service), "look", &json!({}), limit).await;
    assert_eq!(service.calls("look"), 1);
    assert!(reply.text.len() <= limit, "{}", reply.text.len());
    for private in [
        SERVICE_KEY,
        &service.tool("look").authority(),
        "/tools/look",
    ] {
        assert!(!reply.text.contains(private), "{}", reply.text);
    }
    reply
}

/// The reason of a failure.
fn reason(reply: &Reply) -> String {
    assert_ne!(reply.outcome, Outcome::Completed, "{}", reply.text);
    let value: Value = serde_json::from_str(&reply.text).expect("a failure is JSON");
    assert_eq!(value["status"], "failed");
    value["reason"]
        .as_str()
        .expect("it has a reason")
        .to_owned()
}

#[tokio::test]
async fn a_call_is_one_request() {
    let service = Service::start("kb", &["look"]).await;
    let url = service.url("look", "/articles/{id}?q={query}&lang={lang}");
    let parameters = "parameters = { properties = { id = {}, query = {}, lang = {}, more = {} } }";
    let service = service.lines("look", &format!("url = \"{url}\"\n{parameters}"));
    let arguments = json!({"id": "a/b", "query": "x & y", "more": {"deep": [1, null]}});
    let reply = call(&open(&service), "look", &arguments, LIMIT).await;
    assert_eq!(reply.text, r#"{"tool":"look"}"#);
    assert_eq!(reply.outcome, Outcome::Completed);

    let request = service.tool("look").only_request();
    assert_eq!(request.method, "POST");
    assert_eq!(request.target, "/articles/a%2Fb?q=x%20%26%20y");
    assert_eq!(request.text(), r#"{"more":{"deep":[1,null]}}"#);
    for (name, value) in [
        ("authorization", format!("Bearer {SERVICE_KEY}")),
        ("idempotency-key", "attempt-1".to_owned()),
        ("traceparent", TRACEPARENT.to_owned()),
        ("content-type", "application/json".to_owned()),
        ("accept-encoding", "gzip,br".to_owned()),
    ] {
        assert_eq!(request.header(name), Some(value.as_str()), "{name}");
    }
}

#[tokio::test]
async fn a_get_has_no_body() {
    let parameters = "method = \"GET\"\nparameters = { properties = { q = {}, tags = {} } }";
    let service = Service::start("kb", &["look"]).await;
    let service = service.lines("look", parameters);
    let arguments = json!({"q": "a", "tags": ["b", "c d"]});
    call(&open(&service), "look", &arguments, LIMIT).await;
    let request = service.tool("look").only_request();
    assert_eq!(request.method, "GET");
    assert_eq!(request.target, "/tools/look?q=a&tags=b,c%20d");
    assert_eq!(request.header("content-type"), None);
    assert!(request.body.is_empty());
}

#[tokio::test]
async fn results_are_told_as_they_are() {
    let spaced = "{ \"a\" : 1.0 }\n";
    let latin = b"Gr\xfc\xdfe".to_vec();
    for (answer, text) in [
        (Answer::body(200, "application/json", spaced), spaced),
        (Answer::body(201, "text/plain", "done\n"), "done\n"),
        (
            Answer::body(200, "text/html; charset=utf-8", "<p>Gr\u{fc}\u{df}e"),
            "<p>Gr\u{fc}\u{df}e",
        ),
        (
            Answer::body(200, "text/plain; charset=ISO-8859-1", latin),
            "Gr\u{fc}\u{df}e",
        ),
        (
            Answer::body(200, "application/x-unknown", "\u{feff}text"),
            "text",
        ),
    ] {
        let reply = told(answer, LIMIT).await;
        assert_eq!(
            (reply.text.as_str(), reply.outcome),
            (text, Outcome::Completed)
        );
    }
}

#[tokio::test]
async fn what_is_no_text_becomes_a_note() {
    for (answer, parts) in [
        (empty(), &["HTTP 204", "no content"][..]),
        (
            Answer::body(200, "application/json", ""),
            &["HTTP 200", "no content"],
        ),
        (binary(5_000), &["not text", "image/png", "5000 bytes"]),
        (binary(50_000), &["not text", "image/png", "50000 bytes"]),
        (
            Answer::body(200, "application/pdf", "%PDF-1.7"),
            &["application/pdf", "8 bytes"],
        ),
        (
            Answer::body(200, "text/plain", vec![b'a', 0, b'b']),
            &["not text", "3 bytes"],
        ),
    ] {
        let reply = told(answer, LIMIT).await;
        let note: Value = serde_json::from_str(&reply.text).expect("a note is JSON");
        assert_eq!(note["status"], "completed");
        for part in parts {
            assert!(reply.text.contains(part), "{part}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn compressed_results_are_decoded() {
    let text = "compressed ".repeat(500);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).expect("a vector takes all");
    let gzip = gzip.finish().expect("a vector takes all");
    let answer = Answer::body(200, "text/plain", gzip).header("content-encoding", "gzip");
    assert_eq!(told(answer, LIMIT).await.text, text);

    // A hundred megabytes of nothing in a hundred kilobytes: no more is unpacked than is shown.
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..100 {
        bomb.write_all(&vec![b' '; 1 << 20])
            .expect("a vector takes all");
    }
    let bomb = bomb.finish().expect("a vector takes all");
    let answer = Answer::body(200, "text/plain", bomb).header("content-encoding", "gzip");
    assert!(told(answer, 1_000).await.text.contains("[cut off"));

    let answer = Answer::body(200, "text/plain", "no gzip").header("content-encoding", "gzip");
    assert!(reason(&told(answer, LIMIT).await).contains("broke off"));
}

#[tokio::test]
async fn long_results_are_cut_and_say_so() {
    for answer in [
        huge(200, 100_000),
        huge(200, 1_001),
        Answer::body(200, "application/json", "\u{5929}".repeat(50_000)),
        endless(&"x".repeat(500)),
    ] {
        let reply = told(answer, 1_000).await;
        assert_eq!(reply.outcome, Outcome::Completed);
        assert!(reply.text.len() > 990, "{}", reply.text.len());
        assert!(reply.text.contains("[cut off"), "{}", reply.text);
    }
    let service = Service::start("kb", &["look"]).await;
    let service = service.lines("look", "result_limit = 100");
    service.tool("look").play([huge(200, 1_000)]);
    let reply = call(&open(&service), "look", &json!({}), LIMIT).await;
    assert_eq!(reply.text.len(), 100);
}
