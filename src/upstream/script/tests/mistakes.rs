//! What is refused, and how it is told.

use crate::upstream::script::{Script, ScriptError};

/// The message about a script with a mistake.
fn mistake(text: &str) -> String {
    Script::parse(text, "demo.toml").unwrap_err().to_string()
}

/// Asserts that the message starts with `place` and contains `words`.
#[track_caller]
fn check(text: &str, place: &str, words: &[&str]) {
    let message = mistake(text);
    assert!(message.starts_with(place), "{message}");
    for words in words {
        assert!(message.contains(words), "{words:?} is missing: {message}");
    }
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    check("[[answers]]\nsay = Hello", "demo.toml:2: ", &["string"]);
}

#[test]
fn unknown_keys_are_refused_at_every_level() {
    let say = "[[answers]]\nsay = 'a'\n";
    check(
        "answer = 1",
        "demo.toml:1: `answer`: unknown field `answer`",
        &["`answers`"],
    );
    check(
        &format!("{say}sya = 'b'"),
        "demo.toml:3: answer 1, `sya`: ",
        &["`say`"],
    );
    check(
        &format!("[[answers]]\nwhen.rounds = 1\nsay = 'x'\n{say}when.user_say = 'b'"),
        "demo.toml:6: answer 2, `when.user_say`: ",
        &["`user_says`"],
    );
    check(
        "[[answers]]\n[[answers.calls]]\nname = 'a'\n[[answers.calls]]\nname = 'b'\nargs = {}",
        "demo.toml:6: answer 1, `calls.args`: ",
        &["`arguments`"],
    );
    check(
        "[[answers]]\nerror = { status = 400, message = 'm', kind = 'k' }",
        "demo.toml:2: answer 1, `error.kind`: ",
        &["`type`"],
    );
}

#[test]
fn values_of_another_type_are_refused() {
    check(
        "[[answers]]\nsay = 3",
        "demo.toml:2: answer 1, `say`: ",
        &["string"],
    );
    check("answers = 'a'", "demo.toml:1: `answers`: ", &["[[key]]"]);
    check(
        "[answers]\nsay = 'a'",
        "demo.toml:1: `answers`: ",
        &["[[key]]"],
    );
    check(
        "[[answers]]\nwhen = 'a'",
        "demo.toml:2: answer 1, `when`: ",
        &["when.last_role"],
    );
    let when = |line: &str| format!("[[answers]]\nsay = 'a'\nwhen.{line}");
    check(
        &when("last_role = 'users'"),
        "demo.toml:3: answer 1, `when.last_role`: ",
        &["users", "`user`"],
    );
    check(
        &when("rounds = -1"),
        "demo.toml:3: answer 1, `when.rounds`: ",
        &["-1"],
    );
    check(
        &when("user_says = [\n'a',\n1]"),
        "demo.toml:5: answer 1, `when.user_says`: ",
        &["string"],
    );
    check(
        &when("offered = {}"),
        "demo.toml:3: answer 1, `when.offered`: ",
        &["list of values"],
    );
}

#[test]
fn conditions_that_say_nothing_are_refused() {
    let when = |line: &str| format!("[[answers]]\nsay = 'a'\nwhen.{line}");
    check(
        &when("user_says = []"),
        "demo.toml:3: answer 1, `when.user_says`: ",
        &["leave the key"],
    );
    check(
        &when("user_says = ''"),
        "demo.toml:3: answer 1, `when.user_says`: ",
        &["empty"],
    );
    check(
        &when("result = ['']"),
        "demo.toml:3: answer 1, `when.result`: ",
        &["empty"],
    );
    check(
        &when("result_says.lookup = ''"),
        "demo.toml:3: answer 1, `when.result_says.lookup`: ",
        &["empty"],
    );
}

#[test]
fn references_are_checked_when_the_script_is_read() {
    let say = |text: &str| format!("[[answers]]\nsay = '{text}'");
    let place = "demo.toml:2: answer 1, `say`: ";
    check(
        &say("{{results.x}}"),
        place,
        &["`results.x`", "{{result.TOOL.path}}"],
    );
    check(&say("{{}}"), place, &["{{last_user}}"]);
    check(&say("{{last_user"), place, &["`}}`"]);
    check(&say("{{last_user.name}}"), place, &["{{last_user}}"]);
    check(&say("{{result}}"), place, &["{{result.TOOL}}"]);
    check(&say("{{result.x..y}}"), place, &["lacks a name"]);
    check(
        "[[answers]]\n[[answers.calls]]\nname = 'a'\narguments.deep = [{ x = '{{y}}' }]",
        "demo.toml:4: answer 1, `calls.arguments.deep.x`: ",
        &["`y`"],
    );
}

#[test]
fn what_json_lacks_is_refused_in_arguments() {
    let call =
        |value: &str| format!("[[answers]]\ncalls = [{{ name = 'a', arguments = {value} }}]");
    let place = "demo.toml:2: answer 1, `calls.arguments";
    check(&call("{ day = 2025-12-01 }"), place, &["in quotes"]);
    check(&call("{ n = nan }"), place, &["nan"]);
    check(&call("'{}'"), place, &["write a table"]);
}

#[test]
fn answers_that_make_no_sense_are_refused() {
    check(
        "[[answers]]\nwhen.rounds = 1",
        "demo.toml:1: answer 1: ",
        &["`say`", "`error`"],
    );
    check(
        "[[answers]]\ncalls = []",
        "demo.toml:1: answer 1: ",
        &["`say`", "`error`"],
    );
    check(
        "[[answers]]\nsay = 'a'\nerror = { status = 500, message = 'm' }",
        "demo.toml:1: answer 1: ",
        &["remove one side"],
    );
    check(
        "[[answers]]\nerror = { status = 200, message = 'm' }",
        "demo.toml:2: answer 1, `error.status`: ",
        &["200", "400 to 599"],
    );
    check(
        "[[answers]]\nerror = { status = 500 }",
        "demo.toml:2: answer 1, `error`: ",
        &["`message`"],
    );
    check(
        "[[answers]]\nsay = ''\nfinish = ''",
        "demo.toml:3: answer 1, `finish`: ",
        &["length"],
    );
    check(
        "[[answers]]\n[[answers.calls]]\nname = 'a'\narguments = {}\narguments_json = ''",
        "demo.toml:2: answer 1, `calls`: ",
        &["remove one"],
    );
    check(
        "[[answers]]\ncalls = [{ name = 'a', if_not_offered = 'no' }]",
        "demo.toml:2: answer 1, `calls.if_not_offered`: ",
        &["`no_match`", "`skip`", "`call`"],
    );
}

#[test]
fn answers_that_are_never_given_are_refused() {
    let always = [
        "say = 'a'",
        "error = { status = 500, message = 'm' }",
        "calls = [{ name = 'a', if_not_offered = 'call' }]",
        "say = 'a'\ncalls = [{ name = 'a', if_not_offered = 'skip' }]",
    ];
    for answer in always {
        let text = format!("[[answers]]\n{answer}\n[[answers]]\nsay = 'b'");
        let message = mistake(&text);
        assert!(
            message.contains(": answer 2: this answer is never given"),
            "{message}"
        );
        assert!(message.contains("answer 1"), "{message}");
    }
}

#[test]
fn a_script_without_answers_is_refused() {
    check("", "demo.toml:1: ", &["[[answers]]"]);
    check("answers = []", "demo.toml:1: ", &["[[answers]]"]);
}

#[test]
fn a_mistake_can_be_taken_apart() {
    let error = Script::parse("[[answers]]\nsay = '{{x}}'", "demo.toml").unwrap_err();
    let ScriptError::Wrong {
        script,
        line,
        answer,
        key,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (script.as_str(), line, answer, key.as_str()),
        ("demo.toml", 2, Some(1), "say")
    );
}
