//! Upstreams that compress: decoded while it arrives, and nothing of it on the caller's answer.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serde_json::json;

use crate::harness::caller::Caller;
use crate::harness::case::request;
use crate::harness::gateway::Setup;
use crate::harness::script::{Answer, Gate, Step, completion, delta, done, event, finish, says};
use crate::harness::upstream::Upstream;

/// Compresses some parts one after the other; each of the results can be decoded on arrival.
type Compress = fn(&[Vec<u8>]) -> Vec<Vec<u8>>;

/// Deflate in both of its forms; it is never asked for.
const ENCODINGS: [(&str, Compress); 5] = [
    ("gzip", gzip),
    ("GZip", gzip),
    ("br", brotli),
    ("deflate", zlib),
    ("deflate", bare),
];

fn gzip(parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let encoder = GzEncoder::new(Vec::new(), Compression::default());
    deflated(parts, encoder, GzEncoder::get_mut, GzEncoder::finish)
}

fn zlib(parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    deflated(parts, encoder, ZlibEncoder::get_mut, ZlibEncoder::finish)
}

fn bare(parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    deflated(
        parts,
        encoder,
        DeflateEncoder::get_mut,
        DeflateEncoder::finish,
    )
}

fn deflated<E: Write>(
    parts: &[Vec<u8>],
    mut encoder: E,
    out: fn(&mut E) -> &mut Vec<u8>,
    finish: fn(E) -> io::Result<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let mut compressed: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| {
            write_flushed(&mut encoder, part);
            std::mem::take(out(&mut encoder))
        })
        .collect();
    compressed.push(finish(encoder).expect("memory does not fail"));
    compressed
}

fn brotli(parts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
    let mut compressed: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| {
            write_flushed(&mut encoder, part);
            std::mem::take(encoder.get_mut())
        })
        .collect();
    compressed.push(encoder.into_inner());
    compressed
}

fn write_flushed(encoder: &mut impl Write, part: &[u8]) {
    encoder.write_all(part).expect("memory does not fail");
    encoder.flush().expect("memory does not fail");
}

/// The bytes that a step writes.
fn written(step: Step) -> Vec<u8> {
    match step {
        Step::Write(bytes) => bytes,
        _ => panic!("not a step that writes"),
    }
}

#[tokio::test]
async fn compressed_whole_answer() {
    let message = json!({"role": "assistant", "content": "It is dry."});
    let body = completion(&message, "stop").to_string().into_bytes();
    for (encoding, compress) in ENCODINGS {
        let bytes = compress(std::slice::from_ref(&body)).concat();
        let answer = Answer::body(200, "application/json", bytes);
        let upstream = Upstream::playing([answer.header("content-encoding", encoding)]).await;
        let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
        let reply = Caller::of(&gateway).ask(&request(false)).await;
        assert_eq!(reply.header("content-encoding"), "", "{encoding}");
        assert_eq!(
            reply.folded()["message"]["content"],
            "It is dry.",
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn compressed_error() {
    let error = json!({"error": {"message": "the tool is odd", "type": "invalid_request_error"}});
    for (encoding, compress) in ENCODINGS {
        let bytes = compress(&[error.to_string().into_bytes()]).concat();
        let answer = Answer::body(400, "application/json", bytes);
        let upstream = Upstream::playing([answer.header("content-encoding", encoding)]).await;
        let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
        let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
        assert_eq!(folded["error"]["message"], "the tool is odd", "{encoding}");
    }
}

#[tokio::test]
async fn compressed_stream_is_decoded_while_it_arrives() {
    for (encoding, compress) in ENCODINGS {
        let parts = [
            event(&delta(&json!({"role": "assistant", "content": "It is "}))),
            event(&says("dry.")),
            event(&finish("stop")),
            done(),
        ];
        let gate = Gate::closed();
        let mut steps = Vec::new();
        for bytes in compress(&parts.map(written)) {
            steps.push(Step::Write(bytes));
            steps.push(Step::Wait(gate.clone()));
        }
        let answer = Answer::stream(steps).header("content-encoding", encoding);
        let upstream = Upstream::playing([answer]).await;
        let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
        let mut live = Caller::of(&gateway).open(&request(true)).await;
        assert!(
            !live.headers().contains_key("content-encoding"),
            "{encoding}"
        );
        assert_eq!(live.next_text().await, "It is ", "{encoding}");
        gate.open();
        assert_eq!(live.next_text().await, "dry.", "{encoding}");
        // For the two events that are left, and the end of the encoding.
        for _ in 0..4 {
            gate.open();
        }
        while live.next().await.is_some() {}
    }
}

#[tokio::test]
async fn compressed_stream_is_folded_into_a_whole_answer() {
    for (encoding, compress) in ENCODINGS {
        let parts = [
            event(&delta(
                &json!({"role": "assistant", "content": "It is dry."}),
            )),
            event(&finish("stop")),
            done(),
        ];
        let steps = compress(&parts.map(written)).into_iter().map(Step::Write);
        let answer = Answer::stream(steps.collect()).header("content-encoding", encoding);
        let upstream = Upstream::playing([answer]).await;
        let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
        let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
        assert_eq!(folded["message"]["content"], "It is dry.", "{encoding}");
    }
}

#[tokio::test]
async fn broken_compression_is_an_upstream_error() {
    let answer = Answer::body(200, "application/json", "this is no gzip");
    let upstream = Upstream::playing([answer.header("content-encoding", "gzip")]).await;
    let gateway = Setup::with_upstream(&upstream.base_url()).start().await;
    let folded = Caller::of(&gateway).ask(&request(false)).await.folded();
    assert_eq!(folded["status"], 502);
    assert_eq!(folded["error"]["code"], "upstream_error");
}
