//! What is sent to each family of servers: walks `fixtures/dialects`, a folder for each row of
//! the table.

use std::collections::BTreeSet;
use std::path::Path;

use handback::upstream::dialect::ROWS;

use crate::harness::walk::walk_with;
use crate::requests::modes;

#[tokio::test(flavor = "multi_thread")]
async fn every_family_gets_what_it_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dialects");
    let entries = std::fs::read_dir(folder).expect("the fixtures are there");
    let folders: BTreeSet<String> = entries
        .map(|entry| entry.expect("a readable folder").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let rows = ROWS.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(folders, rows.collect(), "one folder for each row");
    for family in folders {
        let settings = format!("dialect = \"{family}\"");
        walk_with(&format!("dialects/{family}"), &settings, modes).await;
    }
}
