//! A caller's body, from its bytes to the model's request.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| handback_fuzz::request::run(data));
