//! Values of the file as JSON.

use super::item::Item;
use super::tree::Value;

/// The value of `item` as compact JSON, keys in the order of the file and numbers as
/// they are spelled there. What JSON cannot say is a mistake.
pub(super) fn json(item: &Item<'_>) -> Option<String> {
    match &item.node.value {
        Value::Array(_) => {
            let values: Option<Vec<String>> = item.list("values")?.iter().map(json).collect();
            Some(format!("[{}]", values?.join(",")))
        }
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Broken => None,
        Value::Datetime(_) => item.not("a value of JSON; put it in quotes"),
        // `inf` and `nan` are all that TOML adds to the numbers of JSON.
        Value::Float(number) if number.ends_with(['f', 'n']) => item.not("a number of JSON"),
        Value::Float(number) => Some(number.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Table(_) => {
            let members: Option<Vec<String>> = item
                .section()?
                .items()
                .iter()
                .map(|(key, item)| Some(format!("{}:{}", quoted(key), json(item)?)))
                .collect();
            Some(format!("{{{}}}", members?.join(",")))
        }
        Value::Text { text, .. } => Some(quoted(text)),
    }
}

/// `text` as a string of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
