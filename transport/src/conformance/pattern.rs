//! Deterministic bytes and numbers for the checks.

/// Deterministic bytes, different for every `seed`.
pub(super) fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&mix(&mut state).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// SplitMix64: one step of a deterministic sequence (Steele, Lea and Flood, 2014).
pub(super) fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
