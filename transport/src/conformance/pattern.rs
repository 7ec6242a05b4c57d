//! Deterministic bytes for the checks.

use fastrand::Rng;

/// Deterministic bytes, different for every `seed`.
pub(super) fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
