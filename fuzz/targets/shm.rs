//! libFuzzer's way into [`ringworld_fuzz::shm`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringworld_fuzz::shm(data));
