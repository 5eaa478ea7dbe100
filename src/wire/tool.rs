//! One tool that a request offers to the model (contract R6).

use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::cursor::{Cursor, NotJson};
use super::message;
use super::raw::{Kind, Members, Raw, says};
use super::refusal::{Code, Refusal, excerpt};
use super::write::ObjectWriter;

/// A function that a model may call: its name, and its whole definition as it goes upstream.
///
/// Stored as the definition; the name is read from it again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tool {
    /// The name by which the model calls it.
    pub name: ByteString,
    /// The definition, with `parameters` completed where they said nothing.
    pub raw: Raw,
}

/// What upstreams agree on for a function that takes nothing.
const NO_PARAMETERS: &str = "{\"type\":\"object\",\"properties\":{}}";

const FORM: &str = "{\"type\":\"function\",\"function\":{\"name\":\"...\",\"parameters\":{...}}}";

/// Keys beside which an absent `properties` is no sign of a function that takes nothing.
const OTHER_WAYS_TO_SAY: [&str; 5] = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];

const NAME: &str = "the name of the function";

impl Tool {
    /// Reads a definition from its text.
    pub fn parse(document: &ByteString) -> Result<Tool, Refusal> {
        let mut cursor = Cursor::new(document);
        Tool::read(document, &mut cursor, 0).unwrap_or_else(|_| Err(unreadable("the definition")))
    }

    /// Walks through the element `at` of `tools`.
    pub(super) fn read<'a>(
        document: &'a ByteString,
        cursor: &mut Cursor<'a>,
        at: usize,
    ) -> Result<Result<Tool, Refusal>, NotJson> {
        let kind = cursor.kind()?;
        if kind != Kind::Object {
            cursor.value()?;
            let place = format!("tools[{at}]");
            return Ok(Err(Refusal::wrong_type(place, kind.name(), FORM)));
        }
        let mut head = Head::default();
        let text = cursor.object(|cursor, key| head.member(&key, cursor))?;
        Ok(Tool::of(document, &head, text, at))
    }

    fn of(document: &ByteString, head: &Head<'_>, text: &str, at: usize) -> Result<Tool, Refusal> {
        let place = |key: &str| format!("tools[{at}]{key}");
        check_type(head.kind, &|| place(".type"))?;
        match head.function {
            None => return Err(missing(&place(".function"), FORM)),
            Some(Kind::Object) => {}
            Some(kind) => return Err(Refusal::wrong_type(place(".function"), kind.name(), FORM)),
        }
        if let Some(key) = head.twice {
            return Err(message::twice(&place(key)));
        }
        let name = head
            .name
            .ok_or_else(|| missing(&place(".function.name"), NAME))?;
        let name = Raw::within(document, name)
            .shared_text()
            .ok_or_else(|| Refusal::wrong_type(place(".function.name"), name, NAME))?;
        let raw = match completion(head.parameters, &|| place(".function.parameters"))? {
            Some(parameters) => completed(text, &parameters),
            None => Raw::within(document, text),
        };
        Ok(Tool { name, raw })
    }

    /// The JSON Schema of the arguments, as it stands in the definition.
    pub fn parameters(&self) -> Option<&str> {
        let shape: Shape<'_> = serde_json::from_str(self.raw.get()).ok()?;
        Some(
            Members::parse(shape.function?.get())
                .ok()?
                .get("parameters")?
                .get(),
        )
    }
}

/// The members of a definition, and of its function, that Handback looks at.
#[derive(Default)]
struct Head<'a> {
    kind: Option<&'a str>,
    function: Option<Kind>,
    name: Option<&'a str>,
    parameters: Option<&'a str>,
    twice: Option<&'static str>,
}

impl<'a> Head<'a> {
    fn member(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Result<(), NotJson> {
        match key {
            "type" => {
                if self.kind.replace(cursor.value()?).is_some() {
                    self.twice = Some(".type");
                }
            }
            "function" => {
                let kind = cursor.kind()?;
                if kind == Kind::Object {
                    cursor.object(|cursor, key| self.of_function(&key, cursor))?;
                } else {
                    cursor.value()?;
                }
                if self.function.replace(kind).is_some() {
                    self.twice = Some(".function");
                }
            }
            _ => drop(cursor.value()?),
        }
        Ok(())
    }

    fn of_function(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Result<(), NotJson> {
        let value = cursor.value()?;
        if key == "name" && self.name.replace(value).is_some() {
            self.twice = Some(".function.name");
        }
        if key == "parameters" && self.parameters.replace(value).is_some() {
            self.twice = Some(".function.parameters");
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
}

fn check_type(kind: Option<&str>, place: &dyn Fn() -> String) -> Result<(), Refusal> {
    const ONLY: &str = "only \"function\" is supported";
    let message = match kind {
        Some(kind) if says(kind, "function") => return Ok(()),
        Some(other) => format!("{} is {}; {ONLY}", place(), excerpt(other)),
        None => format!("{} is missing; {ONLY}: send {FORM}", place()),
    };
    Err(Refusal::at(Code::UnsupportedToolType, place(), message))
}

fn unreadable(place: &str) -> Refusal {
    let message = format!("{place} cannot be read: it is no JSON");
    Refusal::at(Code::InvalidValue, place, message)
}

fn missing(place: &str, wanted: &str) -> Refusal {
    Refusal::at(
        Code::MissingRequiredParameter,
        place,
        format!("{place} is missing; send {wanted}"),
    )
}

/// What must stand for `parameters`, if not what is there: a function without parameters is
/// spelled in ways that upstreams disagree on.
fn completion(
    parameters: Option<&str>,
    place: &dyn Fn() -> String,
) -> Result<Option<String>, Refusal> {
    let text = match parameters {
        None | Some("null") => return Ok(Some(NO_PARAMETERS.to_owned())),
        Some(text) if text.starts_with('{') => text,
        Some(text) => return Err(Refusal::wrong_type(place(), text, "a JSON Schema object")),
    };
    if says_what_it_takes(text) {
        return Ok(None);
    }
    let members = Members::of(text);
    if !members.iter().any(|(key, _)| key == "type") {
        return Ok(members.is_empty().then(|| NO_PARAMETERS.to_owned()));
    }
    let mut out = String::with_capacity(text.len() + 20);
    let mut object = ObjectWriter::begin(&mut out);
    for (key, value) in members.iter().filter(|(key, _)| key != "properties") {
        object.member(key, value.get());
    }
    object.member("properties", "{}");
    object.end();
    Ok(Some(out))
}

/// Whether a schema says what it takes. The walk ends at the first member that does, which is
/// mostly the second of a long schema.
fn says_what_it_takes(schema: &str) -> bool {
    let walked = Cursor::new(schema).object(|cursor, key| {
        let silent = match key.as_ref() {
            "properties" => cursor.kind()? == Kind::Null && cursor.value().is_ok(),
            "type" => says(cursor.value()?, "object"),
            other => !OTHER_WAYS_TO_SAY.contains(&other) && cursor.value().is_ok(),
        };
        if silent { Ok(()) } else { Err(NotJson) }
    });
    walked.is_err()
}

/// The definition with other `parameters`.
fn completed(definition: &str, parameters: &str) -> Raw {
    let mut out = String::with_capacity(definition.len() + parameters.len());
    let mut tool = ObjectWriter::begin(&mut out);
    for (key, value) in Members::of(definition) {
        if key != "function" {
            tool.member(&key, value.get());
            continue;
        }
        let mut function = ObjectWriter::begin(tool.key(&key));
        let mut written = false;
        for (key, value) in Members::of(value.get()) {
            written = written || key == "parameters";
            function.member(
                &key,
                if key == "parameters" {
                    parameters
                } else {
                    value.get()
                },
            );
        }
        if !written {
            function.member("parameters", parameters);
        }
        function.end();
    }
    tool.end();
    Raw::written(out)
}

impl Serialize for Tool {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = ByteString::from(Raw::deserialize(deserializer)?.get().to_owned());
        Tool::parse(&document).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(definition: &str) -> Result<Tool, Refusal> {
        let document = ByteString::from(definition.to_owned());
        Tool::read(&document, &mut Cursor::new(&document), 3).unwrap()
    }

    #[test]
    fn every_spelling_of_no_parameters_is_completed() {
        for parameters in [
            "",
            ",\"parameters\":null",
            ",\"parameters\":{}",
            ",\"parameters\":{ \"type\": \"object\" }",
        ] {
            let tool = parse(&format!(
                "{{\"type\":\"function\",\"function\":{{\"name\":\"ping\"{parameters}}}}}"
            ))
            .unwrap();
            assert_eq!(
                crate::wire::write::compact(tool.parameters().unwrap()),
                NO_PARAMETERS,
                "{parameters}"
            );
        }
    }

    #[test]
    fn other_definitions_stay_as_they_are() {
        for parameters in [
            r##"{"$ref":"#/$defs/a","type":"object"}"##,
            r#"{"type":["object","null"]}"#,
            r#"{"type":"object", "properties":{"type":{"type":"string"}}}"#,
            r#"{"anyOf":[]}"#,
        ] {
            let text = format!(
                "{{\"type\":\"function\", \"function\":{{\"name\":\"f\",\"strict\":true,\"parameters\":{parameters}}}}}"
            );
            assert_eq!(parse(&text).unwrap().raw.get(), text);
        }
    }

    #[test]
    fn what_is_no_function_is_refused_by_place() {
        for (text, code, param) in [
            ("5", Code::InvalidType, "tools[3]"),
            (
                r#"{"type":"custom","custom":{}}"#,
                Code::UnsupportedToolType,
                "tools[3].type",
            ),
            (
                r#"{"type":"function"}"#,
                Code::MissingRequiredParameter,
                "tools[3].function",
            ),
            (
                r#"{"type":"function","function":{}}"#,
                Code::MissingRequiredParameter,
                "tools[3].function.name",
            ),
            (
                r#"{"type":"function","function":{"name":7}}"#,
                Code::InvalidType,
                "tools[3].function.name",
            ),
            (
                r#"{"type":"function","function":{"name":"a","parameters":[]}}"#,
                Code::InvalidType,
                "tools[3].function.parameters",
            ),
        ] {
            let refusal = parse(text).unwrap_err();
            assert_eq!(
                (refusal.code, refusal.param.as_deref()),
                (code, Some(param)),
                "{text}"
            );
        }
    }
}
