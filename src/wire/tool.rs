//! One tool that a request offers to the model (contract R6).

use bytestring::ByteString;
use serde::de::{DeserializeSeed, MapAccess};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::message;
use super::object::{Members, Object, ObjectSeed, Value};
use super::raw::{self, Raw};
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
    /// Reads the element `at` of `tools`.
    pub fn parse(document: &ByteString, value: &RawValue, at: usize) -> Result<Tool, Refusal> {
        let mut reader = serde_json::Deserializer::from_str(value.get());
        let object = ObjectSeed::new(document)
            .deserialize(&mut reader)
            .map_err(|error| unreadable(&format!("tools[{at}]"), &error))?;
        Tool::read(document, object, at)
    }

    /// Takes the element `at` of `tools`, its members read.
    pub(super) fn read(
        document: &ByteString,
        object: Object<Head<'_>>,
        at: usize,
    ) -> Result<Tool, Refusal> {
        let place = |key: &str| format!("tools[{at}]{key}");
        let (head, raw) = match object {
            Object::Found(head, raw, _) => (head, raw),
            Object::Other(kind) => return Err(Refusal::wrong_type(place(""), kind.name(), FORM)),
        };
        check_type(head.kind, &|| place(".type"))?;
        let function = match head.function {
            Some(Object::Found(function, ..)) => function,
            Some(Object::Other(kind)) => {
                return Err(Refusal::wrong_type(place(".function"), kind.name(), FORM));
            }
            None => return Err(missing(&place(".function"), FORM)),
        };
        if let Some(key) = head.twice.or(function.twice) {
            return Err(message::twice(&place(key)));
        }
        let name = function
            .name
            .ok_or_else(|| missing(&place(".function.name"), NAME))?;
        let name = Raw::of(document, name)
            .shared_text()
            .ok_or_else(|| Refusal::wrong_type(place(".function.name"), name.get(), NAME))?;
        let raw = match completion(function.parameters, &|| place(".function.parameters"))? {
            Some(parameters) => completed(raw.get(), &parameters),
            None => raw,
        };
        Ok(Tool { name, raw })
    }

    /// The JSON Schema of the arguments, as it stands in the definition.
    pub fn parameters(&self) -> Option<&str> {
        let shape: Shape<'_> = serde_json::from_str(self.raw.get()).ok()?;
        Some(
            raw::Members::parse(shape.function?.get())
                .ok()?
                .get("parameters")?
                .get(),
        )
    }
}

/// The members of a definition that Handback looks at.
#[derive(Default)]
pub(super) struct Head<'a> {
    kind: Option<&'a RawValue>,
    function: Option<Object<Function<'a>>>,
    twice: Option<&'static str>,
}

/// The members of its function.
#[derive(Default)]
struct Function<'a> {
    name: Option<&'a RawValue>,
    parameters: Option<&'a RawValue>,
    twice: Option<&'static str>,
}

impl<'de> Members<'de> for Head<'de> {
    fn member<A: MapAccess<'de>>(
        &mut self,
        document: &'de ByteString,
        key: &str,
        map: &mut A,
    ) -> Result<Value<'de>, A::Error> {
        if key == "function" {
            let function = map.next_value_seed(ObjectSeed::new(document))?;
            let value = Value::object(&function);
            if self.function.replace(function).is_some() {
                self.twice = Some(".function");
            }
            return Ok(value);
        }
        let value: &RawValue = map.next_value()?;
        if key == "type" && self.kind.replace(value).is_some() {
            self.twice = Some(".type");
        }
        Ok(Value::raw(document, value))
    }
}

impl<'de> Members<'de> for Function<'de> {
    fn member<A: MapAccess<'de>>(
        &mut self,
        document: &'de ByteString,
        key: &str,
        map: &mut A,
    ) -> Result<Value<'de>, A::Error> {
        let value: &RawValue = map.next_value()?;
        if key == "name" && self.name.replace(value).is_some() {
            self.twice = Some(".function.name");
        }
        if key == "parameters" && self.parameters.replace(value).is_some() {
            self.twice = Some(".function.parameters");
        }
        Ok(Value::raw(document, value))
    }
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
}

fn check_type(kind: Option<&RawValue>, place: &dyn Fn() -> String) -> Result<(), Refusal> {
    const ONLY: &str = "only \"function\" is supported";
    let message = match kind.map(RawValue::get) {
        Some("\"function\"") => return Ok(()),
        Some(other) => format!("{} is {}; {ONLY}", place(), excerpt(other)),
        None => format!("{} is missing; {ONLY}: send {FORM}", place()),
    };
    Err(Refusal::at(Code::UnsupportedToolType, place(), message))
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
    if serde_json::from_str::<Silent>(text).is_err() {
        return Ok(None);
    }
    let members = raw::Members::parse(text).map_err(|error| unreadable(&place(), &error))?;
    let typed = members.get("type").is_some();
    if !typed {
        return Ok(members.0.is_empty().then(|| NO_PARAMETERS.to_owned()));
    }
    let mut out = String::with_capacity(text.len() + 20);
    let mut object = ObjectWriter::begin(&mut out);
    for (key, value) in members.0.iter().filter(|(key, _)| key != "properties") {
        object.member(key, value.get());
    }
    object.member("properties", "{}");
    object.end();
    Ok(Some(out))
}

/// Parameters that do not say what they take. Reading stops with an error at the first member
/// that does, which is mostly the second of a long schema.
struct Silent;

impl<'de> Deserialize<'de> for Silent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> serde::de::Visitor<'de> for Walk {
            type Value = Silent;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a schema that does not say what it takes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while let Some(raw::Key(key)) = map.next_key()? {
                    if OTHER_WAYS_TO_SAY.contains(&key.as_ref()) {
                        return Err(serde::de::Error::custom("it says what it takes"));
                    }
                    if key == "properties" {
                        // Null says nothing; what is there is not read to its end.
                        map.next_value::<()>()?;
                        continue;
                    }
                    let value: &RawValue = map.next_value()?;
                    if key == "type" && value.get() != "\"object\"" {
                        return Err(serde::de::Error::custom("it takes no object"));
                    }
                }
                Ok(Silent)
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

/// The definition with other `parameters`.
fn completed(definition: &str, parameters: &str) -> Raw {
    let mut out = String::with_capacity(definition.len() + parameters.len());
    let mut tool = ObjectWriter::begin(&mut out);
    for (key, value) in raw::Members::of(definition) {
        if key != "function" {
            tool.member(&key, value.get());
            continue;
        }
        let mut function = ObjectWriter::begin(tool.key(&key));
        let mut written = false;
        for (key, value) in raw::Members::of(value.get()) {
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
