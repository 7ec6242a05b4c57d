//! Grids of ranks: who stands where, and that data moves between neighbours at every size and border.

use crate::common::{small, wires, world};
use ringworld::{Cartesian, Comparison, Error, Op, Shift, Source, Tag};

#[test]
fn a_grid_keeps_the_ranks_and_has_messages_of_its_own() {
    for wire in wires() {
        world(wire, 6, &small(), |rank| {
            let grid = Cartesian::new(rank, &[2, 3], &[false, true]).unwrap();
            assert_eq!((grid.rank(), grid.size()), (rank.rank(), 6));
            assert_eq!((grid.dimensions(), grid.periodic()), (&[2, 3][..], &[false, true][..]));
            assert_eq!(grid.compare(rank), Comparison::Congruent);
            assert_eq!(grid.coordinates(grid.rank()).unwrap(), [rank.rank() / 3, rank.rank() % 3]);
            assert_eq!(grid.rank_at(&[1, -1]).unwrap(), Some(5));
            assert_eq!(grid.rank_at(&[2, 0]).unwrap(), None);
        });
    }
}

/// What a rank would say of itself.
fn value(rank: usize, length: usize) -> Vec<u32> {
    (0..length).map(|i| (rank * 1000 + i) as u32).collect()
}

#[test]
fn data_moves_along_a_shift_and_stops_at_open_borders() {
    for wire in wires() {
        world(wire, 6, &small(), |rank| {
            let grid = Cartesian::new(rank, &[2, 3], &[false, true]).unwrap();
            for length in [1, 100, 20_000] {
                for (axis, by) in [(0, 1), (0, -1), (1, 1), (1, -2), (0, 5), (1, 3)] {
                    let Shift { source, destination } = grid.shift(axis, by).unwrap();
                    let mut came = vec![u32::MAX; length];
                    let sent = value(rank.rank(), length);
                    grid.send_recv(&sent, destination, 3, &mut came, source, 3).unwrap();
                    let expected = source.map_or(vec![u32::MAX; length], |source| value(source, length));
                    assert_eq!(came, expected, "{wire:?} axis {axis} by {by}");
                    if axis == 0 && by == 5 {
                        assert_eq!((source, destination), (None, None));
                    }
                }
            }
        });
    }
}

/// Dimensions of one and two ranks, where both neighbours are the same one, and open ones.
const GRIDS: [(&[usize], &[bool]); 5] = [
    (&[6], &[true]),
    (&[2, 3], &[true, false]),
    (&[1, 6], &[true, true]),
    (&[1, 3, 2], &[false, true, true]),
    (&[6, 1], &[false, true]),
];

#[test]
fn neighbours_gather_from_the_right_sides() {
    for wire in wires() {
        world(wire, 6, &small(), |rank| {
            for (dims, periodic) in GRIDS {
                let grid = Cartesian::new(rank, dims, periodic).unwrap();
                for length in [0, 1, 3000] {
                    let mut output = vec![7u32; length * 2 * dims.len()];
                    grid.neighbour_all_gather(&value(rank.rank(), length), &mut output).unwrap();
                    for (place, neighbour) in grid.neighbours().iter().enumerate() {
                        let block = &output[place * length..][..length];
                        let expected = neighbour.map_or(vec![7; length], |n| value(n, length));
                        assert_eq!(block, expected, "{wire:?} {dims:?} place {place}");
                    }
                }
            }
        });
    }
}

#[test]
fn neighbours_exchange_the_blocks_meant_for_one_another() {
    // From whom, and over which of its sides it went.
    let block = |from: usize, side: usize, length: usize| vec![(from * 10 + side) as u64; length];
    for wire in wires() {
        world(wire, 6, &small(), |rank| {
            for (dims, periodic) in GRIDS {
                let grid = Cartesian::new(rank, dims, periodic).unwrap();
                for length in [1, 3000] {
                    let sides = 2 * dims.len();
                    let input: Vec<u64> =
                        (0..sides).flat_map(|side| block(rank.rank(), side, length)).collect();
                    let mut output = vec![7u64; input.len()];
                    grid.neighbour_all_to_all(&input, &mut output).unwrap();
                    for (side, neighbour) in grid.neighbours().iter().enumerate() {
                        // What comes from my right went out on its left.
                        let expected = neighbour.map_or(vec![7; length], |n| block(n, side ^ 1, length));
                        assert_eq!(output[side * length..][..length], expected, "{dims:?} side {side}");
                    }
                }
            }
        });
    }
}

#[test]
fn exchanges_between_neighbours_never_match_receives_of_the_user() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let ring = Cartesian::new(rank, &[3], &[true]).unwrap();
            let pending = ring.start_recv(vec![0u8; 100], Source::Any, Tag::Any).unwrap();
            let mut output = [0u8; 2];
            ring.neighbour_all_gather(&[rank.rank() as u8], &mut output).unwrap();
            ring.send(&[42u8], (rank.rank() + 1) % 3, 9).unwrap();
            // The only message that the user sent to this rank.
            let (data, status) = pending.wait().unwrap();
            assert_eq!((data[0], status.tag, status.count), (42, 9, 1));
        });
    }
}

#[test]
fn a_neighbour_with_another_length_is_an_error_and_nobody_waits() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let ring = Cartesian::new(rank, &[3], &[true]).unwrap();
            let length = if rank.rank() == 0 { 1 } else { 2 };
            let mut output = vec![0u8; 2 * length];
            let result = ring.neighbour_all_gather(&vec![1u8; length], &mut output);
            let text = result.unwrap_err().to_string();
            match rank.rank() {
                0 => assert!(text.contains("has 2 bytes, but the buffer holds 1"), "{text}"),
                _ => assert!(text.contains("rank 0 sent 1 elements where 2 were expected"), "{text}"),
            }
            ring.barrier().unwrap();
        });
    }
}

#[test]
fn a_sub_grid_has_the_ranks_that_share_the_other_coordinates() {
    for wire in wires() {
        world(wire, 12, &small(), |rank| {
            let grid = Cartesian::new(rank, &[2, 3, 2], &[true, false, true]).unwrap();
            let here = grid.coordinates(grid.rank()).unwrap();
            let plane = grid.sub(&[true, false, true]).unwrap();
            assert_eq!((plane.dimensions(), plane.periodic()), (&[2, 2][..], &[true, true][..]));
            assert_eq!(plane.coordinates(plane.rank()).unwrap(), [here[0], here[2]]);
            let mut sum = [here[1] as u32];
            plane.all_reduce(&mut sum, Op::Sum).unwrap();
            assert_eq!(sum[0], 4 * here[1] as u32, "all of a plane have the same middle coordinate");
            let line = plane.sub(&[false, true]).unwrap();
            assert_eq!(line.group().ranks(), [grid.rank() - here[2], grid.rank() - here[2] + 1]);
            let point = line.sub(&[false]).unwrap();
            assert_eq!((point.size(), point.dimensions(), point.neighbours()), (1, &[][..], &[][..]));
            point.neighbour_all_to_all::<u8>(&[], &mut []).unwrap();
        });
    }
}

#[test]
fn grids_that_differ_or_cannot_be_end_the_call_on_every_rank() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            let error = Cartesian::new(rank, &[3, 2], &[true, true]).unwrap_err();
            assert!(matches!(error, Error::InvalidGrid { .. }), "{error}");
            // One rank gives a grid that cannot be; the others one that differs from its.
            let dims = if rank.rank() == 3 { [5, 1] } else { [2, 2] };
            let error = Cartesian::new(rank, &dims, &[true, true]).unwrap_err();
            match rank.rank() {
                3 => assert!(error.to_string().contains("5 x 1 has 5 places"), "{error}"),
                _ => {
                    assert!(error.to_string().contains("rank 3 on host3 called Cartesian::new at"), "{error}")
                }
            }
            let grid = Cartesian::new(rank, &[2, 2], &[true, true]).unwrap();
            let keep = [rank.rank() != 1, true];
            let error = grid.sub(&keep).unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. }), "{error}");
            let error = grid.sub(&[true]).unwrap_err();
            assert!(
                error.to_string().contains("1 dimensions are kept or not, but the grid has 2"),
                "{error}"
            );
            assert_eq!(grid.sub(&[true, false]).unwrap().size(), 2);
        });
    }
}

#[test]
fn dimensions_are_chosen_around_the_fixed_ones() {
    let dims = |size, fixed: &[Option<usize>]| Cartesian::dims(size, fixed).map_err(|e| e.to_string());
    assert_eq!(dims(1, &[None; 3]).unwrap(), [1, 1, 1]);
    assert_eq!(dims(30, &[None, Some(5), None]).unwrap(), [3, 5, 2]);
    assert_eq!(dims(30, &[Some(5), Some(6)]).unwrap(), [5, 6]);
    assert_eq!(dims(1, &[]).unwrap(), [0usize; 0]);
    for (size, fixed, says) in [
        (30, &[Some(4), None][..], "30 ranks cannot be divided by the fixed dimensions (4)"),
        (30, &[Some(5), Some(5)], "(5 x 5) do not make 30 ranks"),
        (30, &[Some(0), None], "cannot be divided by the fixed dimensions (0)"),
        (30, &[Some(usize::MAX), Some(usize::MAX), None], "cannot be divided"),
        (30, &[], "do not make 30 ranks"),
        (0, &[None], "1 to 4294967295 ranks, not 0"),
        (usize::MAX, &[None], "1 to 4294967295 ranks"),
    ] {
        let error = dims(size, fixed).unwrap_err();
        assert!(error.starts_with("Cartesian::dims: ") && error.contains(says), "{error}");
    }
}
