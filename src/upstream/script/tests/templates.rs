//! What references become.

use serde_json::{Value, json};

use super::{called, calls, request, result, said, user};

fn looked_up(text: &str) -> Value {
    request(
        &json!([user("Where?"), calls("c1", "lookup"), result("c1", text)]),
        &["lookup"],
    )
}

fn say(text: &str, request: &Value) -> String {
    said(&format!("[[answers]]\nsay = '{text}'"), request)
}

fn arguments(toml: &str, request: &Value) -> String {
    let script = format!("[[answers]]\n[[answers.calls]]\nname = 'lookup'\n{toml}");
    called(&script, request).remove(0).1
}

#[test]
fn a_reference_is_replaced_wherever_it_stands() {
    let asked = looked_up(r#"{"id":"INC-1","place":{"rows":[{"n":7},{"n":8}]},"ok":true}"#);
    assert_eq!(
        say("{{ last_user }} {{result.lookup.id}}!", &asked),
        "Where? INC-1!"
    );
    assert_eq!(say("{{result.lookup.place.rows.1.n}}", &asked), "8");
    assert_eq!(
        say("{{result.lookup.place.rows}}", &asked),
        r#"[{"n":7},{"n":8}]"#
    );
    assert_eq!(say("{{result.lookup.ok}}", &asked), "true");
    assert_eq!(say("a } b {", &asked), "a } b {");
}

#[test]
fn a_result_without_a_path_is_quoted_as_it_came() {
    assert_eq!(
        say("<{{result.lookup}}>", &looked_up("{ \"a\" : 1.0 }")),
        "<{ \"a\" : 1.0 }>"
    );
    assert_eq!(say("<{{result.lookup}}>", &looked_up("plain")), "<plain>");
}

#[test]
fn values_keep_their_spelling() {
    let asked = looked_up(r#"{"n":12345678901234567890123,"f":1.0,"o":{"z":1,"a":2}}"#);
    assert_eq!(
        say("{{result.lookup.n}}", &asked),
        "12345678901234567890123"
    );
    assert_eq!(say("{{result.lookup.f}}", &asked), "1.0");
    assert_eq!(say("{{result.lookup.o}}", &asked), r#"{"z":1,"a":2}"#);
}

#[test]
fn what_is_missing_is_said() {
    let asked = looked_up(r#"{"id":"INC-1","rows":[]}"#);
    assert_eq!(
        say("{{result.lookup.no.pe}}", &asked),
        "(missing: result.lookup.no.pe)"
    );
    assert_eq!(
        say("{{result.lookup.rows.0}}", &asked),
        "(missing: result.lookup.rows.0)"
    );
    assert_eq!(
        say("{{result.lookup.id.x}}", &asked),
        "(missing: result.lookup.id.x)"
    );
    assert_eq!(say("{{result.other}}", &asked), "(missing: result.other)");
    assert_eq!(
        say("{{result.lookup.id}}", &looked_up("text")),
        "(missing: result.lookup.id)"
    );
    assert_eq!(
        say("{{last_user}}", &request(&json!([]), &[])),
        "(missing: last_user)"
    );
}

#[test]
fn what_a_reference_stands_for_is_not_read_again() {
    let asked = request(&json!([user("{{result.lookup}}")]), &[]);
    assert_eq!(say("{{last_user}}", &asked), "{{result.lookup}}");
}

#[test]
fn arguments_are_json_in_the_order_of_the_file() {
    let toml = "arguments = { title = \"a \\\"b\\\"\", n = 1, f = 2.0, b = false, list = [1, 'x'], \
                a = { z = 1, y = 2 } }";
    let expected =
        r#"{"title":"a \"b\"","n":1,"f":2.0,"b":false,"list":[1,"x"],"a":{"z":1,"y":2}}"#;
    assert_eq!(arguments(toml, &looked_up("")), expected);
    let toml = "arguments.title = 'x'\narguments.deep.z = 1\narguments.deep.a = 2";
    assert_eq!(
        arguments(toml, &looked_up("")),
        r#"{"title":"x","deep":{"z":1,"a":2}}"#
    );
    let toml = "[answers.calls.arguments]\nz = 1\n[answers.calls.arguments.a]\ny = 2\nb = 3";
    assert_eq!(
        arguments(toml, &looked_up("")),
        r#"{"z":1,"a":{"y":2,"b":3}}"#
    );
}

#[test]
fn an_argument_that_is_one_reference_gets_the_value_with_its_type() {
    let asked = looked_up(r#"{"n":7,"o":{"a":null},"s":"t\"x"}"#);
    let toml = "arguments = { n = '{{result.lookup.n}}', o = '{{result.lookup.o}}', \
                s = '{{result.lookup.s}}', text = 'no {{result.lookup.n}}' }";
    let expected = r#"{"n":7,"o":{"a":null},"s":"t\"x","text":"no 7"}"#;
    assert_eq!(arguments(toml, &asked), expected);
    let toml = "arguments = { all = '{{result.lookup}}', no = '{{result.lookup.x}}' }";
    let expected = r#"{"all":"7","no":"(missing: result.lookup.x)"}"#;
    assert_eq!(arguments(toml, &looked_up("7")), expected);
}

#[test]
fn raw_arguments_are_sent_as_they_are_written() {
    let toml = r#"arguments_json = '{"title": null, "n": {{result.lookup.n}}, "cut'"#;
    assert_eq!(
        arguments(toml, &looked_up(r#"{"n":7}"#)),
        r#"{"title": null, "n": 7, "cut"#
    );
}
