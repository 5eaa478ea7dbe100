//! An id that a caller sends back.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handback_fuzz::continuation::run(data));
