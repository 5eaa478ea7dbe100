//! Runs every target on its seeds, and on changed ones, with a stable toolchain.

use std::fs;
use std::path::Path;

use fastrand::Rng;

/// Changes of each seed.
const CHANGES: usize = 200;

const SEED: u64 = 0x5eed_2026_1130;

/// What is put in where a seed is changed.
const PIECES: [&str; 24] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "0",
    "1e999",
    "\\ud800",
    "\\u0000",
    "\n\n",
    "\r",
    "data:",
    "\"\"",
    "{}",
    "[]",
    "\"index\":",
    "\"id\":\"a\",",
    "\u{feff}",
    "\0",
    "true",
];

fn run_all(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .expect("the seeds are there")
        .map(|entry| entry.expect("a folder can be read").path())
        .collect();
    seeds.sort();
    assert!(seeds.len() > 10, "only {} seeds of {target}", seeds.len());
    let mut rng = Rng::with_seed(SEED);
    for path in seeds {
        let seed = fs::read(&path).expect("a seed can be read");
        run(&seed);
        for _ in 0..CHANGES {
            let changed = changed(seed.clone(), &mut rng);
            let kept = changed.clone();
            let ran = std::panic::catch_unwind(|| run(&changed));
            assert!(ran.is_ok(), "{target} fails on {}", kept.escape_ascii());
        }
    }
}

fn changed(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    for _ in 0..rng.usize(1..4) {
        let from = rng.usize(..=bytes.len());
        let to = rng.usize(from..=bytes.len().min(from + 30));
        let other = rng.usize(..=bytes.len());
        match rng.u8(..5) {
            0 => drop(bytes.drain(from..to)),
            1 => {
                let copy = bytes[from..to].to_vec();
                bytes.splice(other..other, copy);
            }
            2 => {
                let piece = PIECES[rng.usize(..PIECES.len())];
                bytes.splice(from..from, piece.bytes());
            }
            3 => {
                let piece = PIECES[rng.usize(..PIECES.len())];
                bytes.splice(from..to, piece.bytes());
            }
            _ => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte = rng.u8(..);
                }
            }
        }
    }
    bytes
}

#[test]
fn requests_are_refused_or_lead_to_valid_ones() {
    run_all("request", handback_fuzz::request::run);
}

#[test]
fn answers_lead_to_valid_chunks() {
    run_all("answer", handback_fuzz::answer::run);
}

#[test]
fn ids_that_were_not_sealed_do_not_open() {
    run_all("continuation", handback_fuzz::continuation::run);
}

#[test]
fn arguments_are_checked_to_the_end() {
    run_all("arguments", handback_fuzz::arguments::run);
}
