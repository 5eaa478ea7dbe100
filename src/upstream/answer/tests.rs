//! What precedes an answer, in the reads as they come.

use std::time::Duration;

use super::*;
use crate::upstream::silence::Patience;

const MARK: &str = "\u{feff}";

/// The text that the reads say.
async fn said(reads: &[&[u8]]) -> Result<String, Error> {
    let reads: Vec<_> = reads
        .iter()
        .map(|read| Ok(Bytes::copy_from_slice(read)))
        .collect();
    let head = Head {
        status: 200,
        ..Head::default()
    };
    let silence = Silence::begin(Patience {
        first: Duration::from_mins(10),
        idle: Duration::from_mins(10),
    });
    let reads = Box::pin(futures_util::stream::iter(reads));
    let mut answer = Answer::begin(head, reads, silence).await?;
    let mut said = String::new();
    while let Some(delta) = answer.next().await? {
        said.push_str(delta.text.as_ref().map_or("", |text| text.body()));
    }
    Ok(said)
}

#[tokio::test]
async fn a_mark_cut_anywhere_is_no_part_of_the_answer() {
    let events = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n";
    let whole = "\n{\"choices\":[{\"message\":{\"content\":\"ab\"},\"finish_reason\":\"stop\"}]}";
    for body in [events, whole] {
        let bytes = [MARK, body].concat().into_bytes();
        for at in 0..=bytes.len() {
            let (one, other) = bytes.split_at(at);
            let said = said(&[one, other]).await;
            assert_eq!(said.as_deref().ok(), Some("ab"), "cut at {at}: {body}");
        }
    }
}
