//! Balanced dimensions: a number as a product of factors that lie as close together as can be.
//!
//! Among all ways to write the number as a non-increasing product the one whose largest factor is
//! smallest, then the second largest, and so on, found by an exact search over divisors. (Greedy
//! distribution of prime factors, the usual way, misses: it makes 12 x 6 of 72
//! in two dimensions, where 9 x 8 is to be had.)

use std::collections::HashSet;

/// `count` factors of `number`, the largest first.
pub(super) fn balanced(number: u32, count: usize) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let mut search = Search { divisors: divisors(number), hopeless: HashSet::new() };
    let mut factors = Vec::with_capacity(count);
    // A single factor takes all, so the search always ends.
    search.fill(number, count, number, &mut factors);
    factors
}

/// Ascending.
fn divisors(number: u32) -> Vec<u32> {
    let low: Vec<u32> = (1..=number.isqrt()).filter(|d| number.is_multiple_of(*d)).collect();
    let high = low.iter().rev().map(|d| number / d).filter(|d| d.checked_mul(*d) != Some(number));
    low.iter().copied().chain(high).collect()
}

struct Search {
    divisors: Vec<u32>,
    /// Number, count and cap for which there is no way.
    hopeless: HashSet<(u32, usize, u32)>,
}

impl Search {
    /// Appends `count` factors of `number`, none above `cap`; whether there are any.
    fn fill(&mut self, number: u32, count: usize, cap: u32, factors: &mut Vec<u32>) -> bool {
        if number == 1 {
            factors.extend(std::iter::repeat_n(1, count));
            return true;
        }
        if count == 1 {
            factors.extend((number <= cap).then_some(number));
            return number <= cap;
        }
        if self.hopeless.contains(&(number, count, cap)) {
            return false;
        }
        // The largest of `count` factors is at least the root.
        let reaches = |d: u32| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            d > 1 && d.checked_pow(count).is_none_or(|power| power >= number)
        };
        let first = self.divisors.partition_point(|d| !reaches(*d));
        for index in first..self.divisors.len() {
            let d = self.divisors[index];
            if d > cap {
                break;
            }
            if number.is_multiple_of(d) {
                factors.push(d);
                if self.fill(number / d, count - 1, d, factors) {
                    return true;
                }
                factors.pop();
            }
        }
        self.hopeless.insert((number, count, cap));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All non-increasing products, by trying everything.
    fn all(number: u32, count: usize, cap: u32) -> Vec<Vec<u32>> {
        if count == 0 {
            return if number == 1 { vec![vec![]] } else { vec![] };
        }
        let firsts = (1..=cap.min(number)).filter(|d| number.is_multiple_of(*d));
        firsts
            .flat_map(|d| {
                all(number / d, count - 1, d).into_iter().map(move |mut rest| {
                    rest.insert(0, d);
                    rest
                })
            })
            .collect()
    }

    #[test]
    fn the_largest_factor_is_as_small_as_can_be_then_the_next() {
        for number in 1..=360 {
            for count in 1..=4 {
                let best = all(number, count, number).into_iter().min().unwrap();
                assert_eq!(balanced(number, count), best, "{number} on {count}");
            }
        }
    }

    #[test]
    fn known_grids_come_out() {
        assert_eq!(balanced(72, 2), [9, 8]);
        assert_eq!(balanced(1440, 3), [12, 12, 10]);
        assert_eq!(balanced(65_536, 3), [64, 32, 32]);
        assert_eq!(balanced(7, 2), [7, 1]);
        assert_eq!(balanced(1, 3), [1, 1, 1]);
        assert!(balanced(6, 0).is_empty());
    }

    #[test]
    fn large_numbers_and_many_dimensions_take_no_time() {
        let start = std::time::Instant::now();
        // The number below 2^32 with the most divisors, the largest, a prime, a power, a square of a prime.
        for number in [3_491_888_400, u32::MAX, 4_294_967_291, 1 << 31, 65_521 * 65_521] {
            for count in 1..=40 {
                let product = balanced(number, count).iter().map(|d| u64::from(*d)).product::<u64>();
                assert_eq!(product, u64::from(number), "{number} on {count}");
            }
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
