//! The tools that a request offers, and the choice among them.

use serde_json::value::RawValue;

use super::{Dialect, EmptyParameters, NamedChoice, SchemaRefs, SchemaTypes, schemas};
use crate::wire::raw::{Members, Raw};
use crate::wire::write::{ObjectWriter, with_member};

/// Tools and choice in the form in which they are sent.
pub(in crate::upstream) struct Offered {
    pub(in crate::upstream) tools: Vec<Raw>,
    pub(in crate::upstream) choice: Option<Raw>,
}

impl Dialect {
    /// The tools and the forced choice as they are sent; none if that is as they stand.
    pub(in crate::upstream) fn offered(
        &self,
        tools: &[&Raw],
        choice: Option<&Raw>,
    ) -> Option<Offered> {
        let named = choice.filter(|_| self.named_choice == NamedChoice::Required);
        if named.is_none() && !self.changes_parameters() {
            return None;
        }
        let wanted = named.and_then(|choice| function(choice.get())?.name());
        let offered = tools.iter().filter(|tool| match &wanted {
            Some(name) => function(tool.get()).and_then(Function::name).as_ref() == Some(name),
            None => true,
        });
        let choice = match &wanted {
            Some(_) => Some(Raw::literal("\"required\"")),
            None => choice.cloned(),
        };
        Some(Offered {
            tools: offered
                .map(|tool| self.tool(tool.get()).unwrap_or_else(|| (*tool).clone()))
                .collect(),
            choice,
        })
    }

    fn changes_parameters(&self) -> bool {
        self.empty_parameters != EmptyParameters::Object
            || self.schema_refs != SchemaRefs::AsSent
            || self.schema_types != SchemaTypes::AsSent
    }

    /// A definition with its parameters as they are sent; none if that is as they stand.
    fn tool(&self, tool: &str) -> Option<Raw> {
        let Function(function) = function(tool).filter(|_| self.changes_parameters())?;
        let members = Members::parse(function).ok()?;
        let parameters = members.get("parameters")?.get();
        let omitted = self.empty_parameters == EmptyParameters::Omitted && takes_none(parameters);
        let new = schemas::rewritten(parameters, self.schema_refs, self.schema_types);
        if new.is_none() && !omitted {
            return None;
        }
        let mut out = String::with_capacity(function.len());
        let mut object = ObjectWriter::begin(&mut out);
        for (key, value) in &members.0 {
            match new.as_deref().filter(|_| key == "parameters") {
                _ if omitted && key == "parameters" => {}
                Some(new) => object.member(key, new),
                None => object.member(key, value.get()),
            }
        }
        object.end();
        Some(Raw::written(with_member(tool, "function", &out)))
    }
}

/// The function of a definition or of a choice.
struct Function<'a>(&'a str);

fn function(text: &str) -> Option<Function<'_>> {
    let function = Members::parse(text).ok()?.get("function")?;
    Some(Function(function.get()))
}

impl Function<'_> {
    fn name(self) -> Option<String> {
        let name = Members::parse(self.0).ok()?.get("name")?;
        serde_json::from_str(name.get()).ok()
    }
}

/// Whether parameters have no properties, and say nothing else: what they say they say for a
/// reason.
fn takes_none(parameters: &str) -> bool {
    const EMPTY: [&str; 4] = ["type", "properties", "required", "additionalProperties"];
    Members::parse(parameters).is_ok_and(|members| {
        let properties = members.get("properties").map(RawValue::get);
        let none = properties.is_some_and(|text| {
            Members::parse(text).is_ok_and(|properties| properties.0.is_empty())
        });
        none && members
            .0
            .iter()
            .all(|(key, _)| EMPTY.contains(&key.as_ref()))
    })
}
