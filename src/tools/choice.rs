//! The caller's `tool_choice` (contract R7).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::raw::says;
use crate::wire::refusal::excerpt;
use crate::wire::{Code, Raw, Refusal, Tool};

/// What a request says about the tools that the model may call.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The first answer must call one function: the `tool_choice` as it was sent.
    Forced(Raw),
    /// The model decides.
    #[default]
    Free,
    /// The model is offered no tools at all.
    NoTools,
}

const FORM: &str = "{\"type\":\"function\",\"function\":{\"name\":\"...\"}}";

impl Choice {
    /// Reads `tool_choice` for a request that brings `tools`. Strings are taken only where the
    /// operator allows them.
    pub fn parse(value: Option<&Raw>, tools: &[Tool], strings: bool) -> Result<Choice, Refusal> {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Ok(Choice::Free);
        };
        match value.get() {
            text if strings && says(text, "auto") => return Ok(Choice::Free),
            text if strings && says(text, "none") => return Ok(Choice::NoTools),
            text if text.starts_with('"') => return Err(string(text, strings)),
            _ => {}
        }
        let Some(name) = named_function(value) else {
            let message = format!(
                "tool_choice is {}; send an object that names one function: {FORM}",
                excerpt(value.get())
            );
            return Err(Refusal::at(
                Code::UnsupportedToolChoice,
                "tool_choice",
                message,
            ));
        };
        if tools.iter().any(|tool| tool.name == name) {
            return Ok(Choice::Forced(value.clone()));
        }
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        let message = format!(
            "tool_choice names {:?}, which is not in tools; tools has: {}",
            excerpt(&name),
            excerpt(&names.join(", "))
        );
        Err(Refusal::at(
            Code::ToolChoiceUnknownFunction,
            "tool_choice",
            message,
        ))
    }
}

fn string(text: &str, strings: bool) -> Refusal {
    let setting = if strings {
        "of the strings only \"auto\" and \"none\" are taken here"
    } else {
        "the operator can allow the strings \"auto\" and \"none\" with the setting tool_choice_strings = true of the key or the agent"
    };
    let message = format!(
        "tool_choice is {}; send an object that names one function, {FORM}, or leave it out to let the model decide; {setting}",
        excerpt(text)
    );
    Refusal::at(Code::UnsupportedToolChoice, "tool_choice", message)
}

/// The name in the accepted form; `None` for every other form.
fn named_function(value: &Raw) -> Option<String> {
    #[derive(Deserialize)]
    struct Shape<'a> {
        #[serde(borrow, rename = "type")]
        kind: &'a RawValue,
        #[serde(borrow)]
        function: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
    }
    if !value.get().starts_with('{') {
        return None;
    }
    let shape: Shape<'_> = serde_json::from_str(value.get()).ok()?;
    if !says(shape.kind.get(), "function") || !shape.function.get().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Function>(shape.function.get())
        .ok()
        .map(|function| function.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Code;

    fn parse(choice: &str, strings: bool) -> Result<Choice, Code> {
        let tool: Tool =
            serde_json::from_str(r#"{"type":"function","function":{"name":"get_weather"}}"#)
                .unwrap();
        Choice::parse(Some(&Raw::parse(choice).unwrap()), &[tool], strings)
            .map_err(|refusal| refusal.code)
    }

    #[test]
    fn only_an_object_that_names_one_function_is_taken() {
        let forced = r#"{"type":"function","function":{"name":"get_weather"}}"#;
        assert_eq!(
            parse(forced, false),
            Ok(Choice::Forced(Raw::parse(forced).unwrap()))
        );
        assert_eq!(parse("null", false), Ok(Choice::Free));
        for other in [
            "\"auto\"",
            "\"required\"",
            "\"none\"",
            "\"\"",
            "7",
            "[]",
            "{}",
            "true",
            r#"{"type":"function"}"#,
            r#"{"type":"function","name":"get_weather"}"#,
            r#"{"type":"custom","custom":{"name":"get_weather"}}"#,
            r#"{"type":"function","function":["get_weather"]}"#,
            r#"{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}"#,
        ] {
            assert_eq!(
                parse(other, false),
                Err(Code::UnsupportedToolChoice),
                "{other}"
            );
        }
        for name in ["get_wether", "Get_weather", ""] {
            let unknown = format!("{{\"type\":\"function\",\"function\":{{\"name\":\"{name}\"}}}}");
            assert_eq!(parse(&unknown, false), Err(Code::ToolChoiceUnknownFunction));
        }
    }

    #[test]
    fn strings_are_taken_where_the_operator_says_so() {
        assert_eq!(parse("\"auto\"", true), Ok(Choice::Free));
        assert_eq!(parse("\"none\"", true), Ok(Choice::NoTools));
        assert_eq!(
            parse("\"required\"", true),
            Err(Code::UnsupportedToolChoice)
        );
    }
}
