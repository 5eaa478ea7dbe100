//! When an answer fits.

use serde_json::{Value, json};

use super::{assistant, called, calls, play, request, result, said, user};

/// Whether an answer with this `when` fits the request.
fn fits(when: &str, request: &Value) -> bool {
    let script = format!("[[answers]]\n{when}\nsay = \"yes\"\n[[answers]]\nsay = \"no\"");
    said(&script, request) == "yes"
}

/// A conversation in which the result of `lookup` has come.
fn looked_up(text: &str) -> Value {
    request(
        &json!([user("Where?"), calls("c1", "lookup"), result("c1", text)]),
        &["lookup"],
    )
}

#[test]
fn the_last_role_is_that_of_the_last_message_that_is_no_instruction() {
    let asked = request(
        &json!([user("Hi"), { "role": "system", "content": "Be kind." },
                { "role": "developer", "content": "Be short." }]),
        &[],
    );
    assert!(fits("when.last_role = 'user'", &asked));
    assert!(fits("when.last_role = ['tool', 'user']", &asked));
    assert!(!fits("when.last_role = 'tool'", &asked));
    assert!(fits("when.last_role = 'tool'", &looked_up("here")));
}

#[test]
fn texts_are_found_without_regard_to_case_and_in_any_form_of_content() {
    let parts = json!([{ "role": "user", "content": [
        { "type": "image_url", "image_url": { "url": "data:," } },
        { "type": "text", "text": "The CÄMERA is off" },
    ] }]);
    assert!(fits("when.user_says = 'cämera'", &request(&parts, &[])));
    assert!(fits(
        "when.user_says = ['belt', 'Camera']",
        &request(&json!([user("camera")]), &[])
    ));
    assert!(!fits(
        "when.user_says = ['belt', 'oven']",
        &request(&json!([user("camera")]), &[])
    ));
}

#[test]
fn anyone_means_the_user_the_model_and_the_tools_but_no_instructions() {
    let talk = json!([{ "role": "system", "content": "camera" }, user("one"), assistant("two"),
                      user("three")]);
    let talk = request(&talk, &[]);
    assert!(fits("when.anyone_says = 'two'", &talk));
    assert!(fits("when.anyone_says = 'one'", &talk));
    assert!(!fits("when.anyone_says = 'camera'", &talk));
    assert!(!fits("when.user_says = 'one'", &talk));
}

#[test]
fn tools_count_as_offered_if_the_model_may_call_them() {
    let mut asked = request(&json!([user("Hi")]), &["a", "b"]);
    assert!(fits("when.offered = ['a', 'b']", &asked));
    assert!(!fits("when.offered = ['a', 'c']", &asked));
    asked["tool_choice"] = json!("none");
    assert!(!fits("when.offered = 'a'", &asked));
}

#[test]
fn a_forced_tool_is_the_one_that_tool_choice_names() {
    let mut asked = request(&json!([user("Hi")]), &["a"]);
    assert!(!fits("when.forced = 'a'", &asked));
    asked["tool_choice"] = json!({ "type": "function", "function": { "name": "a" } });
    assert!(fits("when.forced = 'a'", &asked));
    asked["tool_choice"] = json!("required");
    assert!(!fits("when.forced = 'a'", &asked));
    assert!(fits("when.offered = 'a'", &asked));
}

#[test]
fn results_of_this_turn_are_seen() {
    let asked = looked_up(r#"{"status":"ok","count":2,"at":{"x":1.5,"tags":["a","b"]}}"#);
    assert!(fits("when.result = 'lookup'", &asked));
    assert!(!fits("when.result = ['lookup', 'other']", &asked));
    assert!(!fits("when.no_result = ['other', 'lookup']", &asked));
    assert!(fits("when.no_result = 'other'", &asked));
    assert!(fits(
        "when.result_says.lookup = ['missing', 'STATUS']",
        &asked
    ));
    assert!(!fits("when.result_says.other = 'status'", &asked));
}

#[test]
fn a_result_has_the_values_that_are_asked_for() {
    let asked =
        looked_up(r#"{"status":"ok","count":2.0,"at":{"x":1.5,"tags":["a","b"]},"on":true}"#);
    assert!(fits("when.result_has.lookup.status = 'ok'", &asked));
    assert!(fits(
        "when.result_has.lookup = { at.x = 1.5, count = 2, on = true }",
        &asked
    ));
    assert!(fits("when.result_has.lookup.at.tags = ['a', 'b']", &asked));
    assert!(!fits("when.result_has.lookup.at.tags = ['a']", &asked));
    assert!(!fits("when.result_has.lookup.status = 'OK'", &asked));
    assert!(!fits("when.result_has.lookup.status.deeper = 'ok'", &asked));
    assert!(!fits(
        "when.result_has.lookup.status = 'ok'",
        &looked_up("status: ok")
    ));
}

#[test]
fn a_final_answer_ends_the_turn_and_its_results() {
    let talk = json!([
        user("Where?"),
        calls("c1", "lookup"),
        result("c1", "here"),
        assistant("Here."),
        user("Thanks")
    ]);
    let asked = request(&talk, &["lookup"]);
    assert!(fits("when.no_result = 'lookup'", &asked));
    assert!(fits("when.rounds = 0", &asked));
}

#[test]
fn a_user_message_before_the_model_has_answered_a_result_belongs_to_the_same_turn() {
    let talk = json!([
        user("Where?"),
        calls("c1", "lookup"),
        result("c1", "here"),
        user("Hurry")
    ]);
    let asked = request(&talk, &["lookup"]);
    assert!(fits(
        "when.result = 'lookup'\nwhen.last_role = 'user'",
        &asked
    ));
    assert!(fits("when.rounds = 1", &asked));
}

#[test]
fn rounds_are_the_answers_of_the_model_in_this_turn() {
    let talk = json!([
        user("Where?"),
        calls("c1", "a"),
        result("c1", "1"),
        calls("c2", "b"),
        result("c2", "2")
    ]);
    let asked = request(&talk, &[]);
    assert!(fits("when.rounds = 2", &asked));
    assert!(fits("when.rounds = [1, 2]", &asked));
    assert!(!fits("when.rounds = 0", &asked));
}

#[test]
fn the_same_id_in_two_rounds_is_two_calls() {
    let talk = json!([
        user("Go"),
        calls("c", "a"),
        result("c", "one"),
        calls("c", "b"),
        result("c", "two")
    ]);
    let asked = request(&talk, &[]);
    assert!(fits("when.result_says.a = 'one'", &asked));
    assert!(fits("when.result_says.b = 'two'", &asked));
}

#[test]
fn an_answer_with_a_call_fits_only_if_the_tool_is_offered() {
    let script = "[[answers]]\ncalls = [{ name = 'a' }]\n[[answers]]\nsay = 'no tool'";
    let hi = json!([user("Hi")]);
    assert_eq!(said(script, &request(&hi, &["b"])), "no tool");
    assert_eq!(
        called(script, &request(&hi, &["b", "a"])),
        [("a".into(), "{}".into())]
    );
}

#[test]
fn a_call_can_be_left_out_or_made_all_the_same_if_it_is_not_offered() {
    let script = "[[answers]]\ncalls = [{ name = 'a' }, { name = 'b', if_not_offered = 'skip' }, \
                  { name = 'c', if_not_offered = 'call' }]";
    let names = |tools: &[&str]| -> Vec<String> {
        let calls = called(script, &request(&json!([user("Hi")]), tools));
        calls.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&["a"]), ["a", "c"]);
    assert_eq!(names(&["a", "b"]), ["a", "b", "c"]);
}

#[test]
fn an_answer_of_which_nothing_is_left_does_not_fit() {
    let skip = "calls = [{ name = 'a', if_not_offered = 'skip' }]";
    let script = format!("[[answers]]\n{skip}\n[[answers]]\nsay = 'else'");
    assert_eq!(said(&script, &request(&json!([user("Hi")]), &[])), "else");

    let (_, body) = play(
        &format!("[[answers]]\nsay = 'only'\n{skip}"),
        &request(&json!([]), &[]),
    );
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
}
