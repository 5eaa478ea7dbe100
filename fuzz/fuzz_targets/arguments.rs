//! A model's arguments against a caller's schema.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handback_fuzz::arguments::run(data));
