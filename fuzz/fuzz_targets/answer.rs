//! An upstream's answer, from its bytes to the caller's chunks.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handback_fuzz::answer::run(data));
