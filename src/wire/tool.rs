//! One tool that a request offers to the model (contract R6).

use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::raw::{Kind, Members, Raw};
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

impl Tool {
    /// Reads the element `at` of `tools`.
    pub fn parse(document: &ByteString, value: &RawValue, at: usize) -> Result<Tool, Refusal> {
        let place = |key: &str| format!("tools[{at}]{key}");
        let raw = Raw::of(document, value);
        if raw.kind() != Kind::Object {
            return Err(Refusal::wrong_type(place(""), raw.get(), FORM));
        }
        let shape: Shape<'_> =
            serde_json::from_str(value.get()).map_err(|error| unreadable(&place(""), &error))?;
        check_type(shape.kind, &place(".type"))?;
        let function = match shape.function {
            Some(function) if function.get().starts_with('{') => function,
            Some(other) => return Err(Refusal::wrong_type(place(".function"), other.get(), FORM)),
            None => return Err(missing(&place(".function"), FORM)),
        };
        let members = Members::parse(function.get())
            .map_err(|error| unreadable(&place(".function"), &error))?;
        let name = match members.get("name") {
            Some(name) => Raw::of(document, name).shared_text().ok_or_else(|| {
                Refusal::wrong_type(
                    place(".function.name"),
                    name.get(),
                    "the name of the function",
                )
            })?,
            None => {
                return Err(missing(
                    &place(".function.name"),
                    "the name of the function",
                ));
            }
        };
        let raw = match completion(members.get("parameters"), &|| place(".function.parameters"))? {
            Some(parameters) => completed(value.get(), &parameters),
            None => raw,
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

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
}

fn check_type(kind: Option<&RawValue>, place: &str) -> Result<(), Refusal> {
    match kind.map(RawValue::get) {
        Some("\"function\"") => Ok(()),
        Some(other) => {
            let message = format!(
                "{place} is {}; only \"function\" is supported",
                excerpt(other)
            );
            Err(Refusal::at(Code::UnsupportedToolType, place, message))
        }
        None => {
            let message =
                format!("{place} is missing; only \"function\" is supported: send {FORM}");
            Err(Refusal::at(Code::UnsupportedToolType, place, message))
        }
    }
}

fn unreadable(place: &str, error: &serde_json::Error) -> Refusal {
    Refusal::at(
        Code::InvalidValue,
        place,
        format!("{place} cannot be read: {error}"),
    )
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
    parameters: Option<&RawValue>,
    place: &dyn Fn() -> String,
) -> Result<Option<String>, Refusal> {
    let text = match parameters.map(RawValue::get) {
        None | Some("null") => return Ok(Some(NO_PARAMETERS.to_owned())),
        Some(text) if text.starts_with('{') => text,
        Some(text) => return Err(Refusal::wrong_type(place(), text, "a JSON Schema object")),
    };
    let members = Members::parse(text).map_err(|error| unreadable(&place(), &error))?;
    if members.0.is_empty() {
        return Ok(Some(NO_PARAMETERS.to_owned()));
    }
    let is_object = members
        .get("type")
        .is_some_and(|kind| kind.get() == "\"object\"");
    let says_more = members.get("properties").is_some()
        || OTHER_WAYS_TO_SAY
            .iter()
            .any(|key| members.get(key).is_some());
    if !is_object || says_more {
        return Ok(None);
    }
    let mut out = String::with_capacity(text.len() + 20);
    let mut object = ObjectWriter::begin(&mut out);
    for (key, value) in &members.0 {
        object.member(key, value.get());
    }
    object.member("properties", "{}");
    object.end();
    Ok(Some(out))
}

/// The definition with other `parameters`.
fn completed(definition: &str, parameters: &str) -> Raw {
    let mut out = String::with_capacity(definition.len() + parameters.len());
    let mut tool = ObjectWriter::begin(&mut out);
    for (key, value) in members(definition) {
        if key != "function" {
            tool.member(&key, value.get());
            continue;
        }
        let mut function = ObjectWriter::begin(tool.key(&key));
        for (key, value) in members(value.get())
            .into_iter()
            .filter(|(key, _)| key != "parameters")
        {
            function.member(&key, value.get());
        }
        function.member("parameters", parameters);
        function.end();
    }
    tool.end();
    Raw::written(out)
}

fn members(text: &str) -> Vec<(std::borrow::Cow<'_, str>, &RawValue)> {
    Members::parse(text).map_or_else(|_| Vec::new(), |members| members.0)
}

impl Serialize for Tool {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = ByteString::from(Raw::deserialize(deserializer)?.get().to_owned());
        let value = serde_json::from_str(&document).map_err(serde::de::Error::custom)?;
        Tool::parse(&document, value, 0).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(definition: &str) -> Result<Tool, Refusal> {
        let document = ByteString::from(definition.to_owned());
        let value = serde_json::from_str(&document).unwrap();
        Tool::parse(&document, value, 3)
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
