//! Random choices of the tests: from a seed that is printed and can be given again.

/// Draws the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// A new seed for each run, printed; `RINGWORLD_TEST_SEED` repeats a run.
    #[must_use]
    pub fn new(test: &str) -> Self {
        let given = std::env::var("RINGWORLD_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(crate::clock::now);
        println!("{test}: RINGWORLD_TEST_SEED={seed}");
        Self(fastrand::Rng::with_seed(seed))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    /// Puts `items` in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_of_the_same_items() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..50).collect();
            Random(fastrand::Rng::with_seed(seed)).shuffle(&mut items);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
