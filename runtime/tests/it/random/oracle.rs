//! What a collective must give, by loops over the data of all ranks: no messages, no schedules, no cleverness.

use super::call::{Call, Shape};
use super::element::Element;
use super::rng::{Rng, mix};

/// What `rank` contributes: all that its call reads.
pub(crate) fn contribution<T: Element>(call: &Call, size: usize, rank: usize) -> Vec<T> {
    let length = match &call.shape {
        Shape::Barrier => 0,
        Shape::Scatter { root, .. } | Shape::ScatterVaried { root, .. } if *root != rank => 0,
        Shape::Broadcast { count, .. }
        | Shape::Reduce { count, .. }
        | Shape::AllReduce { count }
        | Shape::Scan { count }
        | Shape::ExclusiveScan { count }
        | Shape::AllGather { count }
        | Shape::Gather { count, .. } => *count,
        Shape::ReduceScatter { count } | Shape::Scatter { count, .. } | Shape::AllToAll { count } => {
            count * size
        }
        Shape::AllReduceMany { lengths } => lengths.iter().sum(),
        Shape::ReduceScatterVaried { counts } | Shape::ScatterVaried { counts, .. } => counts.iter().sum(),
        Shape::AllGatherVaried { counts } | Shape::GatherVaried { counts, .. } => counts[rank],
        Shape::AllToAllVaried { counts } => counts[rank].iter().sum(),
    };
    // Only the order from the left gives floats a result that does not depend on the algorithm.
    let gentle = !call.reproducible;
    let mut rng = Rng::new(mix(call.seed, rank as u64));
    (0..length).map(|_| T::draw(rng.draw(), gentle)).collect()
}

/// What is in the memory for results before the call. Never a result.
pub(crate) fn filler<T: Element>(call: &Call, rank: usize, length: usize) -> Vec<T> {
    let mut rng = Rng::new(mix(!call.seed, rank as u64));
    (0..length).map(|_| T::draw(rng.draw(), false)).collect()
}

/// What `rank` gets; `None` where the call gives it nothing and leaves its memory as it is.
pub(crate) fn result<T: Element>(call: &Call, size: usize, rank: usize) -> Option<Vec<T>> {
    let of = |rank: usize| contribution::<T>(call, size, rank);
    let all = || (0..size).map(of);
    // Of everybody's data, the block that begins at `at`.
    let block_of = |whole: Vec<T>, counts: &[usize], block: usize| {
        let at: usize = counts[..block].iter().sum();
        whole[at..at + counts[block]].to_vec()
    };
    let fold = |ranks: usize| {
        let before = |data: Vec<T>| data.into_iter().map(|x| x.before(call.operation)).collect::<Vec<_>>();
        let mut result = before(of(0));
        for other in 1..ranks {
            for (x, y) in result.iter_mut().zip(before(of(other))) {
                *x = T::combine(call.operation, *x, y);
            }
        }
        result.into_iter().map(|x| x.after(call.operation, ranks)).collect::<Vec<_>>()
    };
    Some(match &call.shape {
        Shape::Barrier => Vec::new(),
        Shape::Broadcast { root, .. } => of(*root),
        Shape::Reduce { root, .. } if *root != rank => return None,
        Shape::Reduce { .. } | Shape::AllReduce { .. } | Shape::AllReduceMany { .. } => fold(size),
        Shape::ReduceScatter { count } => block_of(fold(size), &vec![*count; size], rank),
        Shape::ReduceScatterVaried { counts } => block_of(fold(size), counts, rank),
        Shape::AllGather { .. } | Shape::AllGatherVaried { .. } => all().flatten().collect(),
        Shape::Gather { root, .. } | Shape::GatherVaried { root, .. } if *root != rank => return None,
        Shape::Gather { .. } | Shape::GatherVaried { .. } => all().flatten().collect(),
        Shape::Scatter { root, count } => block_of(of(*root), &vec![*count; size], rank),
        Shape::ScatterVaried { root, counts } => block_of(of(*root), counts, rank),
        Shape::AllToAll { count } => {
            all().flat_map(|whole| block_of(whole, &vec![*count; size], rank)).collect()
        }
        Shape::AllToAllVaried { counts } => {
            (0..size).flat_map(|from| block_of(of(from), &counts[from], rank)).collect()
        }
        Shape::Scan { .. } => fold(rank + 1),
        Shape::ExclusiveScan { .. } if rank == 0 => return None,
        Shape::ExclusiveScan { .. } => fold(rank),
    })
}

/// The first element in which two results differ, bit by bit, in words.
pub(crate) fn difference<T: Element>(expected: &[T], got: &[T]) -> Option<String> {
    if expected.len() != got.len() {
        return Some(format!("{} elements instead of {}", got.len(), expected.len()));
    }
    let differs = |(a, b): (&T, &T)| bytemuck::bytes_of(a) != bytemuck::bytes_of(b);
    let at = expected.iter().zip(got).position(differs)?;
    Some(format!("element {at} of {} is {:?} instead of {:?}", got.len(), got[at], expected[at]))
}

#[cfg(test)]
mod tests {
    use super::super::element::{Kind, Matrix, Operation};
    use super::*;
    use ringworld::Op;

    fn call(shape: Shape, operation: Operation) -> Call {
        let (algorithm, segment, ways) = (None, None, Vec::new());
        let (on, element, seed, reproducible) = (0, Kind::F32, 7, true);
        Call { on, shape, element, operation, reproducible, algorithm, segment, seed, ways }
    }

    #[test]
    fn a_wrong_bit_is_found_and_a_right_result_is_not() {
        let call = call(Shape::AllReduce { count: 100 }, Operation::Builtin(Op::Sum));
        let right = result::<f32>(&call, 5, 0).unwrap();
        assert_eq!(difference(&right, &right), None);
        let mut wrong = right.clone();
        wrong[61] = f32::from_bits(wrong[61].to_bits() ^ 1);
        assert!(difference(&right, &wrong).unwrap().starts_with("element 61 of 100"));
        assert!(difference(&right, &right[1..]).is_some());
        // Minus zero equals zero, but not bit by bit.
        assert!(difference(&[0f32], &[-0f32]).is_some());
    }

    /// The faults that a kernel or an algorithm is most likely to have: another order, a rank left out, a
    /// rank twice, a block of somebody else's.
    #[test]
    fn the_data_of_programs_tells_right_results_from_likely_wrong_ones() {
        let size = 4;
        let sum = call(Shape::AllReduce { count: 50 }, Operation::Builtin(Op::Sum));
        let right = result::<f32>(&sum, size, 0).unwrap();
        let fold = |ranks: &[usize]| {
            let mut whole = contribution::<f32>(&sum, size, ranks[0]);
            for rank in &ranks[1..] {
                whole.iter_mut().zip(contribution::<f32>(&sum, size, *rank)).for_each(|(x, y)| *x += y);
            }
            whole
        };
        assert_eq!(difference(&right, &fold(&[0, 1, 2, 3])), None);
        for wrong in [&[1, 2, 3, 0][..], &[0, 1, 2], &[0, 1, 2, 3, 3]] {
            assert!(difference(&right, &fold(wrong)).is_some(), "{wrong:?}");
        }
        let product = call(Shape::AllReduce { count: 50 }, Operation::Matrices);
        let of = |rank| contribution::<Matrix>(&product, 2, rank);
        let turned: Vec<Matrix> =
            of(1).into_iter().zip(of(0)).map(|(b, a)| Matrix::combine(Operation::Matrices, b, a)).collect();
        assert!(difference(&result::<Matrix>(&product, 2, 0).unwrap(), &turned).is_some());
        let scatter = call(Shape::Scatter { root: 1, count: 9 }, Operation::Builtin(Op::Sum));
        let block = |rank| result::<f32>(&scatter, size, rank).unwrap();
        assert!(difference(&block(2), &block(3)).is_some());
    }

    #[test]
    fn scans_stop_at_the_rank_and_exclusive_ones_before_it() {
        let scan = call(Shape::Scan { count: 20 }, Operation::Builtin(Op::Sum));
        let exclusive = Call { shape: Shape::ExclusiveScan { count: 20 }, ..scan.clone() };
        assert_eq!(result::<f32>(&exclusive, 3, 0), None);
        for rank in 1..3 {
            assert_eq!(result::<f32>(&exclusive, 3, rank), result::<f32>(&scan, 3, rank - 1));
        }
    }
}
