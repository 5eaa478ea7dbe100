//! Holds `docs/compatibility.md` against the table of dialects: every row, every field, every
//! value, and the examples.

#![expect(
    clippy::expect_used,
    reason = "a test says that something is wrong by panicking"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use handback::config::Config;
use handback::upstream::dialect::{
    AfterResults, CallIds, DeveloperRole, Dialect, EmptyContent, EmptyParameters, KeyHeader,
    MessageKeys, NamedChoice, ROWS, Reasoning, ResultContent, ResultName, SchemaRefs, SchemaTypes,
    ThoughtSignature, TokenLimit, Words,
};
use handback::upstream::settings::Source;

const PAGE: &str = include_str!("../docs/compatibility.md");

/// The lines of the table that begins with this head, without head and rule.
fn table(head: &str) -> Vec<&'static str> {
    let lines = PAGE.lines().skip_while(|line| *line != head).skip(2);
    let rows: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
    assert!(!rows.is_empty(), "no table {head:?}");
    rows
}

#[test]
fn the_page_has_every_row() {
    let reference = Dialect::REFERENCE.fields();
    let row = |(family, dialect): &(&str, Dialect)| {
        let fields = dialect.fields();
        let own = fields.iter().zip(&reference).filter(|(own, of)| own != of);
        let mut cell = String::new();
        for ((field, value), _) in own {
            let semicolon = if cell.is_empty() { "" } else { "; " };
            let _ = write!(cell, "{semicolon}`{field}`: {value}");
        }
        let cell = if cell.is_empty() { "nothing" } else { &cell };
        format!("| `{family}` | {cell} |")
    };
    let expected: Vec<String> = ROWS.iter().map(row).collect();
    let written = table("| family | what differs |");
    assert_eq!(written, expected, "the table is:\n{}", expected.join("\n"));
    let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn the_page_has_every_field_and_value() {
    fn words<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
        choices.iter().map(|(word, _)| *word).collect()
    }
    let values = [
        ("call_ids", words(CallIds::CHOICES)),
        ("result_name", words(ResultName::CHOICES)),
        ("result_content", words(ResultContent::CHOICES)),
        ("after_results", words(AfterResults::CHOICES)),
        ("developer_role", words(DeveloperRole::CHOICES)),
        ("empty_content", words(EmptyContent::CHOICES)),
        ("reasoning", words(Reasoning::CHOICES)),
        ("thought_signature", words(ThoughtSignature::CHOICES)),
        ("message_keys", vec![MessageKeys::ANY, "a list"]),
        ("refused_fields", vec!["a list"]),
        ("token_limit", words(TokenLimit::CHOICES)),
        ("named_choice", words(NamedChoice::CHOICES)),
        ("empty_parameters", words(EmptyParameters::CHOICES)),
        ("schema_refs", words(SchemaRefs::CHOICES)),
        ("schema_types", words(SchemaTypes::CHOICES)),
        ("key_header", words(KeyHeader::CHOICES)),
    ];
    let fields: Vec<&str> = Dialect::REFERENCE.fields().map(|(name, _)| name).into();
    assert_eq!(fields, values.each_ref().map(|(name, _)| *name));
    let mut expected = Vec::new();
    for (field, values) in values {
        for (nth, value) in values.into_iter().enumerate() {
            let field = if nth == 0 { field } else { "" };
            expected.push((field, value));
        }
    }
    let cell = |cell: &'static str| cell.trim().trim_matches('`');
    let written: Vec<(&str, &str)> = table("| field | value | what is sent |")
        .into_iter()
        .map(|row| {
            let mut cells = row.trim_matches('|').split('|').map(cell);
            let field = cells.next().unwrap_or_default();
            (field, cells.next().unwrap_or_default())
        })
        .collect();
    assert_eq!(written, expected);
}

/// The configurations on the page, each as a file of its own.
fn examples() -> Vec<Config> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let blocks = PAGE.split("```toml\n").skip(1);
    let texts = blocks.filter_map(|block| block.split("```").next());
    let load = |(nth, text): (usize, &str)| {
        let named = text.lines().find_map(|line| line.strip_prefix("name = "));
        let agent = format!(
            "[[agents]]\nname = \"desk\"\nupstream = {}\nmodel = \"m\"\n",
            named.expect("an upstream")
        );
        let path = folder.path().join(format!("{nth}.toml"));
        std::fs::write(&path, format!("{text}\n{agent}")).expect("the file is written");
        let set = |name: &str| Some(name.to_owned());
        Config::load(&path, &set).expect("the example is right")
    };
    texts.enumerate().map(load).collect()
}

#[test]
fn the_configurations_on_the_page_are_right() {
    let examples = examples();
    let names: Vec<&str> = examples
        .iter()
        .map(|config| config.upstreams[0].name.as_str())
        .collect();
    assert_eq!(
        names,
        ["mistral", "house", "acme", "azure", "azure", "plant"]
    );
    let warnings: BTreeSet<&String> = examples
        .iter()
        .flat_map(|config| &config.warnings)
        .collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_family_of_ones_own_is_the_same_by_configuration_and_by_a_row() {
    // As the page has it, which is compiled as well.
    const ACME: Dialect = Dialect {
        developer_role: DeveloperRole::System,
        empty_content: EmptyContent::Text,
        refused_fields: Words::Listed(&["store"]),
        ..Dialect::REFERENCE
    };
    let examples = examples();
    let acme = examples
        .iter()
        .flat_map(|config| &config.upstreams)
        .find(|upstream| upstream.name == "acme")
        .expect("the page's example");
    let Source::Http(http) = &acme.source else {
        panic!("{acme:?}")
    };
    assert_eq!(*http.dialect, ACME);
    for line in [
        "developer_role: DeveloperRole::System,",
        "empty_content: EmptyContent::Text,",
        "refused_fields: Words::Listed(&[\"store\"]),",
    ] {
        assert!(PAGE.contains(line), "{line}");
    }
}
