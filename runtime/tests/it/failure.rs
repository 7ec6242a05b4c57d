//! When a rank dies, all others are told, by name and soon; and a wait that takes too long says for whom.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::common::{owned_world, patient, small, wires};
use ringworld::{Error, Op, Source};

/// The promise is a second; these machines are busy.
const SOON: Duration = Duration::from_secs(3);

fn names_rank_2(error: &Error, operation: &str) {
    let text = error.to_string();
    assert!(matches!(error, Error::PeerFailed { rank: 2, .. }), "{text}");
    for part in ["rank 2", "host2", operation, "#"] {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

/// A rank that has no connection to the dead one hears of it from a survivor that gives up, and names
/// that. The control plane, which these worlds do not have, tells everybody who was first; the tests with
/// processes hold it to that.
#[test]
fn a_rank_that_vanishes_in_an_all_reduce_ends_it_on_all_others() {
    for wire in wires() {
        for count in [10, 500_000] {
            // What the dying rank sent for the first round may vanish with it: all must have it before.
            let round = Barrier::new(4);
            let errors = owned_world(wire, 4, &small(), |rank| {
                let mut data = vec![1f32; count];
                rank.all_reduce(&mut data, Op::Max).unwrap();
                round.wait();
                if rank.rank() == 2 {
                    rank.vanish();
                    return None;
                }
                let start = Instant::now();
                let error = loop {
                    // Some ranks may finish a round that rank 2 had a part in before it went.
                    if let Err(error) = rank.all_reduce(&mut data, Op::Max) {
                        break error;
                    }
                };
                assert!(start.elapsed() < patient(SOON), "{wire:?}: {:?}", start.elapsed());
                assert!(matches!(error, Error::PeerFailed { .. }), "{wire:?}: {error}");
                // The world is over: the same cause again, at once.
                let again = rank.barrier().unwrap_err();
                assert!(matches!(again, Error::PeerFailed { .. }), "{wire:?}: {again}");
                Some(error)
            });
            let named = errors.iter().flatten().find(|e| matches!(e, Error::PeerFailed { rank: 2, .. }));
            names_rank_2(named.expect("a neighbour names the dead rank"), "all_reduce");
        }
    }
}

#[test]
fn a_receive_from_a_rank_that_vanishes_ends_with_its_name() {
    for wire in wires() {
        let met = Barrier::new(3);
        owned_world(wire, 3, &small(), |rank| {
            rank.barrier().unwrap();
            met.wait();
            match rank.rank() {
                2 => {
                    std::thread::sleep(Duration::from_millis(50));
                    rank.vanish();
                }
                0 => names_rank_2(&rank.recv(&mut [0u8], 2, 5).unwrap_err(), "recv"),
                _ => names_rank_2(&rank.recv(&mut [0u8], Source::Any, 5).unwrap_err(), "recv"),
            }
        });
    }
}

#[test]
fn pending_operations_and_futures_end_too() {
    for wire in wires() {
        let met = Barrier::new(3);
        owned_world(wire, 3, &small(), |rank| {
            rank.barrier().unwrap();
            met.wait();
            if rank.rank() == 2 {
                rank.vanish();
                return;
            }
            let recv = rank.start_recv(vec![0u8; 10], 2, 1).unwrap();
            let reduce = rank.start_all_reduce(vec![1f64; 10_000], Op::Sum).unwrap();
            names_rank_2(&reduce.wait().unwrap_err(), "all_reduce");
            names_rank_2(&recv.wait().unwrap_err(), "start_recv");
        });
    }
}

#[test]
fn a_wait_beyond_the_time_limit_says_whom_it_waits_for() {
    let mut choice = small();
    choice.op_timeout = Some(Duration::from_millis(200));
    for wire in wires() {
        // Who goes at once may be what the other one hears of first.
        let all = Barrier::new(3);
        owned_world(wire, 3, &choice, |rank| {
            let line = line!() + 2;
            let error = match rank.rank() {
                0 => rank.recv(&mut [0u8], 2, 5).map(drop),
                1 => rank.barrier(),
                _ => {
                    std::thread::sleep(Duration::from_millis(700));
                    Ok(())
                }
            };
            all.wait();
            let error = error.err().map_or_else(String::new, |error| error.to_string());
            match rank.rank() {
                0 => {
                    let place = format!("recv (from rank 2, tag 5) at {}:{line}", file!());
                    for part in ["recv #0", &place, "waiting for", "rank 2 on host2", "RINGWORLD_OP_TIMEOUT"]
                    {
                        assert!(error.contains(part), "{wire:?}: {error}");
                    }
                }
                1 => {
                    assert!(error.contains("rank ") && error.contains("barrier() #0"), "{wire:?}: {error}");
                }
                _ => assert_eq!(error, ""),
            }
            rank.vanish();
        });
    }
}
