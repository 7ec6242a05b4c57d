//! libFuzzer's way into [`ringworld_fuzz::control`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringworld_fuzz::control(data));
