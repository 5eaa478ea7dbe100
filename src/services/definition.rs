//! The definition of a tool, as chat completions has it.

use crate::tools::{ServiceTool, SideEffect};
use crate::wire::write::ObjectWriter;
use crate::wire::{Refusal, Tool};

/// A tool that the model calls `name`. `parameters` is a JSON Schema, the text of an object.
pub(super) fn define(
    name: &str,
    description: Option<&str>,
    parameters: &str,
    side_effect: SideEffect,
) -> Result<ServiceTool, Refusal> {
    let mut text = String::with_capacity(parameters.len() + 100);
    let mut tool = ObjectWriter::begin(&mut text);
    tool.string("type", "function");
    let mut function = ObjectWriter::begin(tool.key("function"));
    function.string("name", name);
    if let Some(description) = description {
        function.string("description", description);
    }
    function.member("parameters", parameters);
    function.end();
    tool.end();
    let tool = Tool::parse(&text.into())?;
    Ok(ServiceTool { tool, side_effect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_functions_as_chat_completions_has_them() {
        let tool = define("look", Some("Look \"up\"."), "{}", SideEffect::None).unwrap();
        assert_eq!(tool.tool.name, "look");
        assert_eq!(
            tool.tool.raw.get(),
            r#"{"type":"function","function":{"name":"look","description":"Look \"up\".","parameters":{"type":"object","properties":{}}}}"#
        );
        assert!(define("look", None, "{", SideEffect::None).is_err());
    }
}
