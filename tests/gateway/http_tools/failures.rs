//! Calls that go wrong.

use handback::services::Outcome;
use serde_json::json;

use super::super::harness::script::{Answer, Gate, Step};
use super::super::harness::service::{
    SERVICE_KEY, Service, cut, endless, held, huge, redirect, result,
};
use super::super::harness::upstream::{self, Upstream};
use super::{LIMIT, call, open, reason, told};

#[tokio::test]
async fn failures_are_told_with_their_status_and_an_excerpt() {
    let problem = json!({"error": "no such article"});
    let html = "<html>\n  <h1>500</h1>\n\n  Traceback</html>";
    for (answer, text) in [
        (
            Answer::json(404, &problem),
            r#"the service answered with HTTP 404: {"error":"no such article"}"#,
        ),
        (
            Answer::body(500, "text/html", html),
            "the service answered with HTTP 500: <html> <h1>500</h1> Traceback</html>",
        ),
        (
            Answer::body(503, "text/plain", ""),
            "the service answered with HTTP 503",
        ),
        (cut(502), "the service answered with HTTP 502"),
        (
            Answer::body(304, "image/png", "x"),
            "the service answered with HTTP 304",
        ),
    ] {
        let reply = told(answer, LIMIT).await;
        assert_eq!(
            (reason(&reply).as_str(), reply.outcome),
            (text, Outcome::Failed)
        );
    }
    for answer in [huge(500, 100_000), huge(500, 600)] {
        let text = reason(&told(answer, LIMIT).await);
        assert!(text.len() < 600 && text.ends_with("x..."), "{text}");
    }
    assert!(told(huge(500, 100_000), 120).await.text.len() <= 120);
}

#[tokio::test]
async fn nothing_private_is_told() {
    let service = Service::start("kb", &["look"]).await;
    let url = service.url("look", "/internal/{id}?token=query-s3cret-token");
    let lines = format!(
        "method = \"GET\"\nurl = \"{url}\"\nparameters = {{ properties = {{ id = {{}} }} }}"
    );
    let service = service.lines("look", &lines);
    let opened = open(&service);
    let asked = url.replace("{id}", "a%20b");
    let words = format!(
        "GET {asked} /internal/a%20b /internal/a b Bearer {SERVICE_KEY} {SERVICE_KEY} \
         query-s3cret-token {}",
        service.tool("look").authority()
    );
    for status in [200, 500] {
        service
            .tool("look")
            .play([Answer::body(status, "text/plain", words.clone())]);
        let reply = call(&opened, "look", &json!({"id": "a b"}), LIMIT).await;
        assert!(!reply.text.contains("s3cret"), "{}", reply.text);
        let address = reply.text.contains("127.0.0.1") || reply.text.contains("internal");
        assert_eq!(address, status == 200, "{}", reply.text);
    }
    // Wherever a text is cut, no part of a key is left.
    let words = format!("{SERVICE_KEY} ").repeat(200);
    service
        .tool("look")
        .play([Answer::body(200, "text/plain", words)]);
    for limit in 100..160 {
        let reply = call(&opened, "look", &json!({"id": "a b"}), limit).await;
        assert!(!reply.text.contains("service-"), "{}", reply.text);
    }
}

#[tokio::test]
async fn redirects_stay_with_the_host() {
    let service = Service::start("kb", &["look"]).await;
    let opened = open(&service);
    let look = service.tool("look");
    look.play([redirect(307, "/elsewhere"), result(&json!({"moved": true}))]);
    let reply = call(&opened, "look", &json!({}), LIMIT).await;
    assert_eq!(reply.text, r#"{"moved":true}"#);
    let [first, second] = &look.requests()[..] else {
        panic!("the redirect is followed")
    };
    assert_eq!(second.target, "/elsewhere");
    assert_eq!((&second.method, &second.body), (&first.method, &first.body));
    assert_eq!(
        second.header("authorization"),
        first.header("authorization")
    );
    assert_eq!(second.header("idempotency-key"), Some("attempt-1"));
    assert_eq!(second.header("referer"), None);

    look.play([redirect(303, "/result"), result(&json!({"seen": 1}))]);
    call(&opened, "look", &json!({}), LIMIT).await;
    let second = look.requests().remove(1);
    assert_eq!((second.method.as_str(), second.body.len()), ("GET", 0));

    look.play([redirect(302, "/again")]);
    let reply = call(&opened, "look", &json!({}), LIMIT).await;
    assert!(
        reason(&reply).contains("a redirect too many"),
        "{}",
        reply.text
    );
    assert_eq!(service.calls("look"), 6);

    let stranger = Upstream::start().await;
    for location in [
        stranger.base_url(),
        service.url("look", "/x").replace("http:", "https:"),
        "//localhost/x".to_owned(),
    ] {
        look.play([redirect(307, &location)]);
        let reply = call(&opened, "look", &json!({}), LIMIT).await;
        assert!(
            reason(&reply).contains("HTTP 307, a redirect to another host"),
            "{}",
            reply.text
        );
        assert_eq!(service.calls("look"), 1);
    }
    assert!(stranger.requests().is_empty());
}

#[tokio::test]
async fn slow_services_are_told_as_time_outs() {
    let gate = Gate::closed();
    for answer in [
        Answer::silence(),
        held(&gate, &json!({})),
        endless("x"),
        Answer::stream(vec![Step::Write(b"first".to_vec()), Step::Stall]),
    ] {
        let service = Service::start("kb", &["look"]).await;
        let service = service.lines("look", "timeout = \"150ms\"");
        service.tool("look").play([answer]);
        let reply = call(&open(&service), "look", &json!({}), LIMIT).await;
        assert_eq!(reason(&reply), "the service gave no answer within 150ms");
        assert_eq!(reply.outcome, Outcome::TimedOut);
        service.tool("look").hung_up().await;
    }
}

#[tokio::test]
async fn broken_connections_are_failures_without_an_address() {
    for (answer, text) in [
        (cut(200), "the service answered with HTTP 200 and broke off"),
        (
            Answer::stream(vec![Step::Write(b"a".to_vec()), Step::Reset]),
            "the service answered with HTTP 200 and broke off",
        ),
        (
            Answer::raw("SSH-2.0-OpenSSH\r\n"),
            "the service closed the connection without an answer",
        ),
        (
            Answer::raw(""),
            "the service closed the connection without an answer",
        ),
    ] {
        assert_eq!(reason(&told(answer, LIMIT).await), text);
    }
    let service = Service::start("kb", &["look"]).await;
    let url = upstream::nobody().await;
    let service = service.lines("look", &format!("url = \"{url}\""));
    let reply = call(&open(&service), "look", &json!({}), LIMIT).await;
    assert_eq!(reason(&reply), "the service cannot be reached");
    let reply = call(&open(&service), "other", &json!({}), LIMIT).await;
    assert_eq!(reason(&reply), "the service has no such tool");
}
