//! Options of communicators: algorithms by name, and results that depend on the operands alone.

use crate::common::{Wire, wires, world};
use ringworld::testing::Choice;
use ringworld::{Error, Op, Options, UserOp, World};

/// Values whose sum depends on the order of additions.
fn value(rank: usize, at: usize) -> f32 {
    ((rank * 7919 + at * 104_729) % 1009) as f32 * 1e3_f32.powi(rank as i32 % 5)
}

#[test]
fn reproducible_sums_are_left_folds_whatever_the_length_and_the_collective() {
    for wire in wires() {
        let choice = Choice { reproducible: true, ..Choice::default() };
        world(wire, 5, &choice, |rank| {
            let fold = |at: usize, ranks: usize| (1..ranks).fold(value(0, at), |sum, r| sum + value(r, at));
            for count in [1, 10, 1000, 100_000] {
                let mine: Vec<f32> = (0..count).map(|at| value(rank.rank(), at)).collect();
                let mut all = mine.clone();
                rank.all_reduce(&mut all, Op::Sum).unwrap();
                assert!((0..count).all(|at| all[at].to_bits() == fold(at, 5).to_bits()), "{wire:?} {count}");
                let mut root = mine.clone();
                rank.reduce(&mut root, Op::Sum, 3).unwrap();
                assert!(rank.rank() != 3 || root == all);
                let mut prefix = mine.clone();
                rank.scan(&mut prefix, Op::Sum).unwrap();
                let expected = |at| fold(at, rank.rank() + 1).to_bits();
                assert!((0..count).all(|at| prefix[at].to_bits() == expected(at)), "{wire:?} {count}");
                let mut whole = vec![0f32; 5 * count];
                whole.iter_mut().enumerate().for_each(|(at, x)| *x = value(rank.rank(), at));
                let mut block = vec![0f32; count];
                rank.reduce_scatter(&whole, &mut block, Op::Sum).unwrap();
                let expected = |at| fold(rank.rank() * count + at, 5).to_bits();
                assert!((0..count).all(|at| block[at].to_bits() == expected(at)), "{wire:?} {count}");
            }
        });
    }
}

#[test]
fn grouping_tensors_changes_no_bit_of_a_reproducible_sum() {
    world(Wire::Sim(1), 4, &Choice::default(), |rank| {
        let exact = rank.with(&Options::new().reproducible(true));
        let tensor = |length: usize| (0..length).map(|at| value(rank.rank(), at)).collect::<Vec<_>>();
        let lengths = [3, 700, 0, 300_000, 1, 90_000, 12];
        let mut one_by_one: Vec<_> = lengths.map(tensor).into();
        one_by_one.iter_mut().for_each(|tensor| exact.all_reduce(tensor, Op::Sum).unwrap());
        let mut together: Vec<_> = lengths.map(tensor).into();
        let mut slices: Vec<&mut [f32]> = together.iter_mut().map(Vec::as_mut_slice).collect();
        exact.all_reduce_many(&mut slices, Op::Sum).unwrap();
        assert_eq!(one_by_one, together);
    });
}

#[test]
fn an_algorithm_that_cannot_serve_a_call_is_an_error_of_that_call_only() {
    world(Wire::Sim(1), 3, &Choice::default(), |rank| {
        let ring = rank.with(&Options::new().algorithm("all-reduce/ring").unwrap());
        let mut data = [rank.rank() as i64; 8];
        ring.all_reduce(&mut data, Op::Sum).unwrap();
        assert_eq!(data, [3; 8]);
        let second = UserOp::new("second", |_: i64, b: i64| b);
        let error = ring.all_reduce(&mut data, &second).unwrap_err();
        assert!(matches!(&error, Error::InvalidCount { .. } | Error::InvalidOption { .. }), "{error}");
        assert!(error.to_string().contains("all-reduce/ring"), "{error}");
        rank.all_reduce(&mut data, &second).unwrap();
        ring.barrier().unwrap();
    });
}

#[test]
fn an_algorithm_that_does_not_exist_is_refused_with_those_that_do() {
    let error = Options::new().algorithm("all-reduce/magic").unwrap_err().to_string();
    assert!(error.contains("all-reduce/magic") && error.contains("all-reduce/ring"), "{error}");
    let error = World::builder().set("algorithms", "all-reduce/magic").build().unwrap_err().to_string();
    assert!(error.contains("algorithms") && error.contains("all-reduce/ring"), "{error}");
    let world = World::builder().set("algorithms", "all-reduce/ring").set("reproducible", "1").build();
    assert!(world.is_ok());
}

#[test]
fn ranks_with_other_options_are_told() {
    for wire in [Wire::Sim(1), Wire::Sim(2)] {
        let errors = world(wire, 2, &Choice::default(), |rank| {
            let options = Options::new().reproducible(rank.rank() == 0);
            rank.with(&options).all_reduce(&mut [1f32; 1000], Op::Sum).unwrap_err().to_string()
        });
        assert!(errors.iter().any(|error| error.contains("RINGWORLD_REPRODUCIBLE")), "{errors:?}");
    }
}
