//! libFuzzer's way into [`ringworld_fuzz::settings`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringworld_fuzz::settings(data));
