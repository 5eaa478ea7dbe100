//! What a request costs by the size of its body, and what a streamed event costs, without any
//! socket: `cargo bench --bench cost`, or with `-- stream_chunk` only a part of it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that measures the wrong thing must stop"
)]

mod work;

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::value::RawValue;
use work::stream::{EVENTS, KINDS, Stream, reads};
use work::{payload, request};

/// From the bytes of a body to the bytes of the model's request; reading alone; and what no
/// reading can undercut while every byte is checked once.
fn request_path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request_path");
    for payload in payload::all() {
        let body = &payload.body;
        group.throughput(Throughput::Bytes(body.len() as u64));
        let id = |what| BenchmarkId::new(what, format!("{} {}", payload.name, body.len()));
        group.bench_function(id("check"), |bench| {
            bench.iter(|| serde_json::from_slice::<&RawValue>(body).expect("the body is JSON"));
        });
        group.bench_function(id("parse"), |bench| {
            bench.iter(|| request::parse(body.clone()));
        });
        group.bench_function(id("whole"), |bench| {
            bench.iter(|| request::open(body.clone()));
        });
    }
    group.finish();
}

/// From the bytes of an upstream's event to those of the caller's. A measured stream has a
/// thousand events, one a read; the throughput is in events.
fn stream_chunk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stream_chunk");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for (name, saying, arguments) in KINDS {
        let reads = reads(saying);
        group.bench_function(name, |bench| {
            bench.iter_batched(
                || Stream::open(saying, arguments),
                |mut stream| {
                    for read in &reads {
                        stream.take(read.clone(), &mut |chunk| drop(black_box(chunk)));
                    }
                    stream
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, request_path, stream_chunk);
criterion_main!(benches);
