//! The trainer's random numbers: SplitMix64, a 64-bit counter passed through a mixing function.
//!
//! Invariant: integers only, so the same seed gives the same numbers on every machine and every rank. That is
//! what lets all ranks make the same split, the same first weights and the same order of images without
//! sending any of it. Not for secrets. Neighbours: `digits` (the split), `network` (first weights),
//! `training` (the order of each epoch).
//!
//! The generator is by Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014,
//! with the output function that Java's `SplittableRandom` uses.

use serde::{Deserialize, Serialize};

/// A stream of random numbers that its seed determines entirely.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Starts the stream of `seed`; every seed is as good as any other.
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A new stream, seeded from this one, so that how much one use draws never shifts another use.
    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.next_u64())
    }

    /// Uniform in `-1.0..1.0`, in steps that `f32` holds exactly.
    pub(crate) fn signed_unit(&mut self) -> f32 {
        const STEPS: f32 = (1u32 << 23) as f32;
        // 24 bits less their middle: exact in `f32`, so no rounding can differ between machines.
        ((self.next_u64() >> 40) as f32 - STEPS) / STEPS
    }

    /// Uniform in `0..bound`, without bias; 0 when `bound` is 0.
    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // The highest multiple of `bound`: what lies above it would favour the small remainders.
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let drawn = self.next_u64();
            if drawn < fair {
                return drawn % bound;
            }
        }
    }

    /// Puts `items` in a random order, each order as likely as any other (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last as u64 + 1) as usize;
            items.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // From the reference implementation for seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        let drawn: Vec<u64> = (0..5).map(|_| rng.next_u64()).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_depends_on_the_seed_alone() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..100).collect();
            SplitMix64::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut sorted = shuffled(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn every_order_of_three_is_about_equally_likely() {
        let mut rng = SplitMix64::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *seen.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (850..1_150).contains(count)), "seed 3: {seen:?}");
    }

    #[test]
    fn signed_units_fill_their_range_evenly() {
        let mut rng = SplitMix64::new(5);
        let drawn: Vec<f32> = (0..10_000).map(|_| rng.signed_unit()).collect();
        assert!(drawn.iter().all(|x| (-1.0..1.0).contains(x)));
        assert!((drawn.iter().sum::<f32>() / 10_000.0).abs() < 0.03, "seed 5");
        assert!(drawn.iter().any(|x| *x < -0.99) && drawn.iter().any(|x| *x > 0.99), "seed 5");
    }
}
