//! Replies that are errors.

use serde_json::{Value, json};

use super::{MOMENT, calls, play, request, result, user};
use crate::upstream::script::Script;

#[test]
fn an_error_is_json_even_where_a_stream_was_asked_for() {
    let mut asked = request(&json!([user("Hi")]), &[]);
    asked["stream"] = json!(true);
    let script = "[[answers]]\nerror = { status = 429, message = 'Slow down: {{last_user}}', \
                  code = 'rate_limit_exceeded' }";
    let (status, body) = play(script, &asked);
    let expected = json!({ "error": { "message": "Slow down: Hi", "type": "invalid_request_error",
                                      "param": null, "code": "rate_limit_exceeded" } });
    assert_eq!((status, body), (429, expected));
    let script = "[[answers]]\nerror = { status = 503, message = 'm' }";
    assert_eq!(play(script, &asked).1["error"]["type"], "server_error");
}

#[test]
fn a_request_that_nothing_fits_is_told_what_came_last() {
    let script = "[[answers]]\nwhen.user_says = 'camera'\nsay = 'a'";
    let (status, body) = play(script, &request(&json!([user("The\nbelt is torn")]), &[]));
    let message = body["error"]["message"].as_str().unwrap();
    assert_eq!(
        (status, &body["error"]["code"]),
        (400, &json!("no_matching_answer"))
    );
    assert!(
        message.contains("'test'") && message.contains("\"The belt is torn\""),
        "{message}"
    );

    let long = "x".repeat(1000);
    let (_, body) = play(script, &request(&json!([user(&long)]), &[]));
    assert!(body["error"]["message"].as_str().unwrap().len() < 400);
    let (_, body) = play(script, &request(&json!([]), &[]));
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no message")
    );
}

#[test]
fn what_is_told_of_tools_names_neither_tools_nor_results() {
    let script = "[[answers]]\nwhen.last_role = 'tool'\ncalls = [{ name = 'hidden' }]";
    let talk = json!([
        user("Hi"),
        calls("c", "secret_tool"),
        result("c", "secret result")
    ]);
    let (_, body) = play(script, &request(&talk, &["secret_tool"]));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("a tool result of 13 bytes"), "{message}");
    assert!(message.contains("answer 1 would fit"), "{message}");
    assert!(
        !message.contains("secret") && !message.contains("hidden"),
        "{message}"
    );
}

#[test]
fn what_is_no_request_is_refused() {
    let script = Script::parse("[[answers]]\nsay = 'a'", "test").unwrap();
    for body in [
        "",
        "{",
        "[]",
        "{\"model\":\"m\"}",
        "{\"model\":\"m\",\"messages\":{}}",
    ] {
        let reply = script.answer(body.as_bytes(), MOMENT);
        let problem: Value = serde_json::from_slice(&reply.body[0]).unwrap();
        assert_eq!(
            (reply.status, &problem["error"]["code"]),
            (400, &json!("malformed_request"))
        );
        assert!(
            problem["error"]["message"]
                .as_str()
                .unwrap()
                .contains("'test'")
        );
    }
}
