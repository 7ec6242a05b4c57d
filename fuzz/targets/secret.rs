//! libFuzzer's way into [`ringworld_fuzz::secret`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringworld_fuzz::secret(data));
