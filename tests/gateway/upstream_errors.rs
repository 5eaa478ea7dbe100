//! What of an upstream's error reaches the caller, and what never does (U4). The bodies and
//! statuses are cases of `fixtures/wire`; here are the headers and the secrets.

use serde_json::json;

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::{Setup, UPSTREAM_KEY};
use crate::harness::script::{Answer, Step, delta, done, event, says};
use crate::harness::upstream::{Upstream, nobody};

fn refusal(status: u16) -> Answer {
    let error = json!({"message": "no", "type": "some_error", "param": null, "code": null});
    Answer::json(status, &json!({"error": error}))
}

#[tokio::test]
async fn retry_after_passes_with_429() {
    let upstream = Upstream::playing([refusal(429).header("retry-after", "7")]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for streamed in [false, true] {
        let reply = Caller::of(&gateway).ask(&request(streamed)).await;
        assert_eq!(reply.status, 429);
        assert_eq!(reply.header("retry-after"), "7");
        reply.folded();
    }
}

#[tokio::test]
async fn retry_after_in_the_body_of_a_429_passes_too() {
    let error = json!({"error": {"message": "slow down", "code": 429, "retry_after": 20}});
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for answer in [
        Answer::json(429, &error),
        Answer::json(200, &error),
        Answer::stream(vec![event(&error), done()]),
    ] {
        upstream.play([answer]);
        for streamed in [false, true] {
            let reply = Caller::of(&gateway).ask(&request(streamed)).await;
            assert_eq!(reply.status, 429);
            assert_eq!(reply.header("retry-after"), "20");
        }
    }
}

#[tokio::test]
async fn what_the_operator_has_to_mend_is_not_asked_for_again() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    for (status, header) in [(401, "false"), (403, "false"), (500, ""), (400, "")] {
        for streamed in [false, true] {
            upstream.play([refusal(status)]);
            let reply = Caller::of(&gateway).ask(&request(streamed)).await;
            assert_eq!(reply.header("x-should-retry"), header, "{status}");
        }
    }
}

#[tokio::test]
async fn other_headers_of_the_upstream_stay_behind() {
    let answer = refusal(400)
        .header("set-cookie", "session=1")
        .header("server", "model-server/9")
        .header("x-internal-host", "gpu-17");
    let upstream = Upstream::playing([answer]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert_eq!(reply.status, 400);
    for name in ["set-cookie", "server", "x-internal-host"] {
        assert_eq!(reply.header(name), "", "{name}");
    }
}

#[tokio::test]
async fn no_address_key_or_header_in_any_message() {
    let upstream = Upstream::start().await;
    let setup = Setup::with_upstream(&upstream.base_url());
    let gateway = setup
        .timeouts(r#"{ connect = "5s", first_byte = "700ms", idle = "700ms" }"#)
        .start()
        .await;
    let caller = Caller::of(&gateway);
    let mut answers: Vec<Answer> = [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503]
        .map(refusal)
        .into();
    answers.extend([Answer::raw(""), Answer::raw("garbage"), Answer::silence()]);
    for answer in answers {
        let status = answer.status;
        upstream.play([answer]);
        for streamed in [false, true] {
            let reply = caller.ask(&request(streamed)).await;
            assert!(reply.status >= 400, "{status}: {}", reply.text());
            reply.folded();
            let text = reply.text().to_lowercase();
            for secret in [
                &upstream.authority(),
                UPSTREAM_KEY,
                "authorization",
                "http://",
            ] {
                assert!(!text.contains(secret), "{status}: {secret} is in {text}");
            }
        }
    }
}

#[tokio::test]
async fn an_upstream_that_quotes_its_key_or_address_is_not_quoted() {
    let upstream = Upstream::start().await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let caller = Caller::of(&gateway);
    let message = format!(
        "{UPSTREAM_KEY} may not use {} that way",
        upstream.base_url()
    );
    for code in [400, 429, 500] {
        let error =
            json!({"error": {"message": message, "param": upstream.authority(), "code": code}});
        let behind = |first: Step| Answer::stream(vec![first, event(&error), done()]);
        for answer in [
            Answer::json(code, &error),
            Answer::body(code, "text/plain", message.clone()),
            Answer::json(200, &error),
            behind(event(&delta(&json!({"role": "assistant"})))),
            behind(event(&says("It is"))),
        ] {
            upstream.play([answer]);
            for streamed in [false, true] {
                let reply = caller.ask(&request(streamed)).await;
                let text = reply.text();
                assert!(text.contains("that way"), "{code}: {text}");
                for secret in [&upstream.authority(), UPSTREAM_KEY] {
                    assert!(!text.contains(secret), "{code}: {secret} is in {text}");
                }
            }
        }
    }
}

#[tokio::test]
async fn no_address_in_the_message_when_nobody_listens() {
    let url = nobody().await;
    let authority = url.trim_start_matches("http://").trim_end_matches("/v1");
    let gateway = Setup::with_upstream(&url).start().await;
    let reply = Caller::of(&gateway).ask(&request(false)).await;
    assert!(!reply.text().contains(authority), "{}", reply.text());
    assert!(!reply.text().contains("127.0.0.1"), "{}", reply.text());
}
