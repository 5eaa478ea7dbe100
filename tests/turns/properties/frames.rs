//! Event streams: however the bytes arrive, the deltas are the same.

use bytes::Bytes;
use handback::wire::answer;
use handback::wire::sse::{Decoder, Event};
use proptest::prelude::*;

use super::values::{body, cases, object};

/// Far more than any of these streams needs.
const LIMIT: usize = 1 << 20;

/// Everything that the reads say, one line each.
fn parts<'a>(reads: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = Decoder::new(LIMIT);
    let mut parts = Vec::new();
    let mut event = |event: Event| parts.push(format!("{:?}", answer::event(event.data)));
    for read in reads {
        let read = Bytes::copy_from_slice(read);
        decoder.feed(read, &mut event).expect("a short event");
    }
    decoder.finish(&mut event).expect("a short event");
    parts
}

/// A chunk of an upstream.
fn chunk() -> impl Strategy<Value = String> {
    let call = (0_u8..3, body(), body()).prop_map(|(index, id, arguments)| {
        format!(
            r#""tool_calls":[{{"index":{index},"id":"{id}","function":{{"name":"f","arguments":"{arguments}"}}}}]"#
        )
    });
    let delta = prop_oneof![
        body().prop_map(|text| format!(r#""content":"{text}""#)),
        object().prop_map(|value| format!(r#""content":null,"extra_content":{value}"#)),
        call,
    ];
    let end = proptest::sample::select(&["null", "\"stop\"", "\"length\"", "\"\""][..]);
    (delta, end, any::<bool>()).prop_map(|(delta, end, usage)| {
        let usage = if usage {
            r#","usage":{"total_tokens":1}"#
        } else {
            ""
        };
        format!(r#"{{"choices":[{{"index":0,"delta":{{{delta}}},"finish_reason":{end}}}]{usage}}}"#)
    })
}

/// A whole stream, framed in one of the ways that servers have.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let ends = proptest::sample::select(&["\n", "\r\n", "\r"][..]);
    let prefix = proptest::sample::select(&["data: ", "data:"][..]);
    let noise = proptest::sample::select(
        &[
            "",
            ": ping\n\n",
            "id: 7\n",
            "event: x\n",
            "\n\n",
            ":\r\n\r\n",
        ][..],
    );
    let event = (chunk(), prefix, noise, any::<bool>());
    let events = proptest::collection::vec(event, 0..4);
    let tail = proptest::sample::select(&["data: [DONE]", "data: [DONE]\n\n", ""][..]);
    (events, ends, tail, any::<bool>()).prop_map(|(events, end, tail, mark)| {
        let mut out = String::from(if mark { "\u{feff}" } else { "" });
        for (chunk, prefix, noise, broken) in events {
            out.push_str(noise);
            // Line ends inside a chunk are white space of JSON: the event has several lines.
            let chunk = if broken {
                chunk.replacen(":[", &format!(":{end}{prefix}["), 1)
            } else {
                chunk
            };
            let lines: Vec<&str> = chunk
                .split(['\n', '\r'])
                .filter(|line| !line.is_empty())
                .collect();
            for line in lines {
                let field = if line.starts_with("data:") {
                    ""
                } else {
                    prefix
                };
                out.extend([field, line, end]);
            }
            out.push_str(end);
        }
        out.push_str(tail);
        out.into_bytes()
    })
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_stream_cut_at_every_byte_says_the_same(stream in stream()) {
        let whole = parts(std::iter::once(&stream[..]));
        prop_assert!(whole.iter().all(|part| part.starts_with("Ok")), "{whole:?}");
        for at in 0..=stream.len() {
            let (a, b) = stream.split_at(at);
            prop_assert_eq!(&parts([a, b].into_iter()), &whole, "cut at {}", at);
        }
        prop_assert_eq!(parts(stream.chunks(1)), whole);
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_stream_in_reads_of_any_size_says_the_same(
        stream in stream(),
        sizes in proptest::collection::vec(0_usize..40, 1..20),
    ) {
        let mut reads = Vec::new();
        let mut rest = &stream[..];
        for size in sizes.iter().cycle().take(2 * stream.len() + 1) {
            let (read, later) = rest.split_at((*size).min(rest.len()));
            reads.push(read);
            rest = later;
        }
        reads.push(rest);
        prop_assert_eq!(parts(reads.into_iter()), parts(std::iter::once(&stream[..])));
    }

    #[test]
    fn bytes_of_any_kind_end_in_parts_or_errors(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = parts(std::iter::once(&bytes[..]));
        let _ = answer::event(Bytes::from(bytes.clone()));
        let _ = answer::whole(Bytes::from(bytes));
    }
}
