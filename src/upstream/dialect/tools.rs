//! The tools that a request offers, and the choice among them.

use super::{Dialect, EmptyParameters, NamedChoice};
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
        let omit = self.empty_parameters == EmptyParameters::Omitted;
        if named.is_none() && !omit {
            return None;
        }
        let wanted = named.and_then(|choice| function(choice.get())?.name());
        let offered = tools.iter().filter(|tool| match &wanted {
            Some(name) => function(tool.get()).and_then(Function::name).as_ref() == Some(name),
            None => true,
        });
        let sent = |tool: &&Raw| {
            Some(tool)
                .filter(|_| omit)
                .and_then(|tool| without_parameters(tool.get()))
        };
        let choice = match &wanted {
            Some(_) => Some(Raw::literal("\"required\"")),
            None => choice.cloned(),
        };
        Some(Offered {
            tools: offered
                .map(|tool| sent(tool).unwrap_or_else(|| (*tool).clone()))
                .collect(),
            choice,
        })
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

/// The definition without `parameters` if these have no properties.
fn without_parameters(tool: &str) -> Option<Raw> {
    let Function(function) = function(tool)?;
    let members = Members::parse(function).ok()?;
    let parameters = Members::parse(members.get("parameters")?.get()).ok()?;
    let properties = Members::parse(parameters.get("properties")?.get()).ok()?;
    // A schema that says anything else says it for a reason.
    let says_more = parameters.0.iter().any(|(key, _)| {
        !["type", "properties", "required", "additionalProperties"].contains(&key.as_ref())
    });
    if says_more || !properties.0.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(function.len());
    let mut object = ObjectWriter::begin(&mut out);
    for (key, value) in &members.0 {
        if key != "parameters" {
            object.member(key, value.get());
        }
    }
    object.end();
    Some(Raw::written(with_member(tool, "function", &out)))
}
