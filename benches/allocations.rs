//! Counts the allocations of a request by size, and of a streamed event. They must not grow with
//! the bytes of the body: reading keeps slices of it, it builds no tree.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark that prints what it counts, and stops if it measures the wrong thing"
)]

mod work;

use std::hint::black_box;

use allocation_counter::{AllocationInfo, measure};
use work::stream::{EVENTS, KINDS, Stream, reads};
use work::{payload, request};

fn main() {
    println!(
        "{:<28} {:>9} {:>12} {:>14}",
        "", "body", "allocations", "bytes"
    );
    for payload in payload::all() {
        let body = &payload.body;
        let row = |what: &str, counted: AllocationInfo| {
            println!(
                "{:<28} {:>9} {:>12} {:>14}",
                format!("{} {what}", payload.name),
                body.len(),
                counted.count_total,
                counted.bytes_total
            );
        };
        row(
            "parse",
            measure(|| drop(black_box(request::parse(body.clone())))),
        );
        row(
            "whole path",
            measure(|| drop(black_box(request::open(body.clone())))),
        );
        let tree = || drop(black_box(serde_json::from_slice::<serde_json::Value>(body)));
        row("as a tree, to compare", measure(tree));
    }
    println!("\n{:<28} {:>24}", "", "allocations an event");
    for (name, saying, arguments) in KINDS {
        let reads = reads(saying);
        let mut stream = Stream::open(saying, arguments);
        let counted = measure(|| {
            for read in &reads {
                stream.take(read.clone(), &mut |chunk| drop(black_box(chunk)));
            }
        });
        let thousandths = counted.count_total * 1000 / EVENTS as u64;
        println!(
            "{name:<28} {:>20}.{:03}",
            thousandths / 1000,
            thousandths % 1000
        );
    }
}
