//! A model's arguments against a caller's schema. The two are parted by the first zero byte,
//! which no JSON holds.

use handback::tools::arguments::{Wrong, check, is_object};

/// Checks the arguments with and without the schema; what fits must be an object.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (schema, arguments) = text.split_once('\0').unwrap_or((text, text));
    let plain = check(arguments, None);
    assert_eq!(plain, is_object(arguments));
    let against = check(arguments, Some(schema));
    match &plain {
        Ok(()) => assert!(!matches!(against, Err(Wrong::NotJson | Wrong::NotObject))),
        Err(_) => assert_eq!(against, plain),
    }
    // What is cached says the same.
    assert_eq!(check(arguments, Some(schema)), against);
}
