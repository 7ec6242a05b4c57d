//! What an algorithm costs on paper: latency, bytes and reductions (Hockney, 1994; Thakur, Rabenseifner and Gropp,
//! 2005).
//!
//! A message of `k` bytes keeps the sending side of one rank and the receiving side of another busy for
//! `alpha + k beta`; a rank sends one and receives one message at a time, at the same time; reducing `k` bytes takes
//! `k gamma`; copies are free. The formulas are those of the textbooks: they let nothing overlap but what a
//! pipeline overlaps, and so are pessimistic where a network hides latencies behind one another.
//!
//! With `n` ranks, `m` bytes of vector or of one block, `S` segments of `s` bytes, `L = ceil(log2 n)`, `p` the power
//! of two not above `n`, `l = log2 p`, `c(k) = alpha + k beta` and `r(k) = c(k) + k gamma`:
//!
//! | algorithm | seconds |
//! |---|---|
//! | barrier/dissemination | `L c(0)` |
//! | broadcast/binomial | `S L c(s)`: the root sends each segment `L` times |
//! | broadcast/chain | `(S + n - 2) c(s)` |
//! | broadcast/double-tree | `(2 S + 2 L - 2) c(s)`, `S` segments in each half |
//! | broadcast/scatter-all-gather | `S (2 L alpha + 2 (n - 1) / n s beta)` |
//! | reduce/binomial | `S L r(s)`, and `S c(s)` when the result has to be handed to the root |
//! | reduce/chain | `(S + n - 2) r(s)`; of two chains `(2 S + longer - 1) r(s)` |
//! | reduce/left-chain | `(S + n - 2) r(s)`, and `c(s)` when the last rank is not the root, or `S c(s)` when neither end is |
//! | reduce/double-tree | `(2 S + 2 L - 2) r(s)`, `S` segments in each half |
//! | reduce/scatter-gather | `S (2 l alpha + (p - 1) / p s (2 beta + gamma))`, and `S r(s)` when folded |
//! | reduce/direct | `(n - 1) r(m)` |
//! | reduce/gather | `L alpha + (n - 1) m (beta + gamma)` |
//! | reduce/left-exchange | `S (n - 1) (r(s / n) + c(s / n))` |
//! | all-reduce/direct | `(n - 1) S r(s)` |
//! | all-reduce/recursive-doubling | `S l r(s)`, and `S (r(s) + c(s))` when folded |
//! | all-reduce/rabenseifner | `S (2 l alpha + (p - 1) / p s (2 beta + gamma))`, and `S (r(s) + c(s))` when folded |
//! | all-reduce/double-tree | `2 d (r(s) + c(s)) + (S - 1) (4 c(s) + 2 s gamma)`, `S` segments in each half, `d` the depth |
//! | all-reduce/ring | `S (n - 1) (r(s / n) + c(s / n))` |
//! | all-reduce/left-chain | `(S + n - 2) (r(s) + c(s))` |
//! | all-reduce/gather-broadcast | `L alpha + (n - 1) m (beta + gamma) + S L c(s)` |
//! | all-reduce/left-exchange | `S ((n - 1) r(s / n) + L alpha + (n - 1) s / n beta)` |
//! | all-gather/recursive-doubling, bruck | `L alpha + (n - 1) m beta` |
//! | all-gather/ring | `S (n - 1) c(s)` |
//! | reduce-scatter/direct, ring | `S (n - 1) r(s)` |
//! | reduce-scatter/recursive-halving | `q alpha + (p - 1) / p n m (beta + gamma)`, `q >= l` messages; `c(m)` without commutativity; `r(n m) + c(m)` when folded |
//! | reduce-scatter/bruck | `L c(n / 2 m) + (n - 1) m gamma` |
//! | gather/direct, scatter/direct | `(n - 1) c(m)` |
//! | gather/binomial, scatter/binomial | `L alpha + (n - 1) m beta` |
//! | all-to-all/pairwise | `S (n - 1) c(s)` |
//! | all-to-all/bruck | `L c(n / 2 m)` |
//! | scan/chain, exclusive-scan/chain | `(S + n - 2) r(s)` |
//! | scan/direct, exclusive-scan/direct | `(n - 1) r(m)` |
//! | scan/recursive-doubling | `S L r(s)`; exclusive `S L (r(s) + s gamma)` |
//! | scan/transpose, exclusive-scan/transpose | `S (n - 1) (r(s / n) + c(s / n))` |
//! | scan/gather-scatter, exclusive-scan/gather-scatter | `2 L alpha + (n - 1) m (2 beta + gamma)` |
//! | two-level | the sum of what its stages cost, each by the algorithm that is chosen for its ranks alone |
//!
//! Of blocks that differ in length, `m` is the mean.
//!
//! Neighbours: [`crate::select`] goes by rules with measured thresholds instead; a test holds it against these
//! formulas for sizes and numbers of ranks that nobody here can measure.

mod formulas;
mod model;

use crate::{Algorithm, Choice, Collective, Request};
use formulas::Terms;

pub use model::Model;

/// Seconds until the last rank is done, by the formula of the [module documentation](self).
///
/// `choice` says how the vector is cut; its own algorithm does not matter. A collective of one rank or of no elements
/// costs nothing, except the barrier.
///
/// ```
/// use ringworld_collectives::cost::{Model, cost};
/// use ringworld_collectives::{Algorithm, Choice, Collective, Counts, Order, Request, Tuning};
/// let request = Request {
///     collective: Collective::AllReduce, rank: 0, size: 1024, counts: Counts::Same(1 << 20), element: 4,
///     order: Order::Free, in_place: true,
/// };
/// let seconds = |algorithm| {
///     let choice = Choice::forced(algorithm, &request, &Tuning::default()).expect("an all-reduce");
///     cost(algorithm, &request, &choice, &Model::default())
/// };
/// assert!(seconds(Algorithm::AllReduceRabenseifner) < seconds(Algorithm::AllReduceRing) / 2.0);
/// ```
#[must_use]
pub fn cost(algorithm: Algorithm, request: &Request, choice: &Choice, model: &Model) -> f64 {
    let (size, count) = (request.size, request.count());
    if size < 2 || (count == 0 && request.collective != Collective::Barrier) {
        return 0.0;
    }
    Terms::new(request, choice, *model).seconds(algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Order, Tuning};

    const MODEL: Model = Model { alpha: 1000.0, beta: 1.0, gamma: 0.25, inside: None };

    fn seconds(algorithm: Algorithm, size: usize, count: usize, segment: usize) -> f64 {
        let collective = Collective::AllReduce;
        let (counts, order) = (Counts::Same(count), Order::Free);
        let request = Request { collective, rank: 0, size, counts, element: 1, order, in_place: false };
        let choice = Choice { algorithm, segment, in_flight: 4, reason: "the test says so", hosts: None };
        cost(algorithm, &request, &choice, &MODEL)
    }

    #[test]
    fn costs_are_those_of_the_formulas() {
        let ring = seconds(Algorithm::AllReduceRing, 4, 400, 100);
        assert_eq!(ring, 6.0 * 1100.0 + 3.0 * 25.0);
        let ring = seconds(Algorithm::AllReduceRing, 4, 400, 50);
        assert_eq!(ring, 2.0 * (6.0 * 1050.0 + 3.0 * 12.5));
        let direct = seconds(Algorithm::AllReduceDirect, 2, 400, 100);
        assert_eq!(direct, 4.0 * 1125.0);
        let doubling = seconds(Algorithm::AllReduceRecursiveDoubling, 8, 400, 400);
        assert_eq!(doubling, 3.0 * 1500.0);
        let halving = seconds(Algorithm::AllReduceRabenseifner, 4, 400, 400);
        assert_eq!(halving, 4.0 * 1000.0 + 0.75 * 400.0 * 2.25);
        let folded = seconds(Algorithm::AllReduceRabenseifner, 5, 400, 400);
        assert_eq!(folded - halving, 1500.0 + 1400.0);
        let tree = seconds(Algorithm::AllReduceDoubleTree, 7, 400, 100);
        assert_eq!(tree, 2.0 * 3.0 * (1125.0 + 1100.0) + 4.0 * 1100.0 + 2.0 * 25.0);
    }

    #[test]
    fn everything_costs_something_and_nothing_costs_nothing() {
        for &algorithm in Algorithm::ALL {
            for collective in Collective::family(1) {
                let request = |size, count| Request {
                    collective,
                    rank: 0,
                    size,
                    counts: Counts::Same(count),
                    element: 8,
                    order: Order::Free,
                    in_place: false,
                };
                let of = |request: Request| {
                    let choice = Choice::forced(algorithm, &request, &Tuning::default())?;
                    Some(cost(algorithm, &request, &choice, &Model::default()))
                };
                if let Some(seconds) = of(request(4, 1000)) {
                    assert!(seconds.is_finite() && seconds > 0.0, "{}: {seconds}", algorithm.path());
                    let longer = of(request(4, 2000)).unwrap();
                    let more = collective == Collective::Barrier || longer > seconds;
                    assert!(more, "{}: {longer} for twice {seconds}", algorithm.path());
                    assert_eq!(of(request(1, 1000)), Some(0.0), "{}", algorithm.path());
                }
            }
        }
    }
}
