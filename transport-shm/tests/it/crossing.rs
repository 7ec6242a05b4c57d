//! Two ranks that dial each other at the same time, at every distance from one another: there is one connection in the
//! end, for both the same.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::support::{BOUND, Side, until, world};

/// After this no further distance is tried: where other programs have the processors, each takes many times as long.
const ENOUGH: Duration = Duration::from_secs(20);

/// For how long a side polls without a pause: what it waits for is then not to be had before the other side runs.
const TOGETHER: Duration = Duration::from_micros(500);

/// Polls until a message has come, or somebody is taken for down.
fn run(side: &mut Side) {
    let start = Instant::now();
    while side.received().next().is_none() && side.down.is_empty() {
        side.poll();
        let waited = start.elapsed();
        assert!(waited < BOUND, "nothing has come");
        if waited > TOGETHER {
            std::thread::yield_now();
        }
    }
}

/// For how long each side waits, in turns of a loop, before it sends. Both wait differently in every round.
fn wait(turns: u32) {
    for _ in 0..turns {
        std::hint::spin_loop();
    }
}

#[test]
fn two_that_dial_each_other_at_once_agree_on_one_connection() {
    let rng = fastrand::Rng::with_seed(11);
    let begin = Instant::now();
    for round in 0..2_000 {
        if begin.elapsed() > ENOUGH {
            eprintln!("only {round} distances were tried");
            break;
        }
        let mut world = world(2);
        let together = Barrier::new(2);
        std::thread::scope(|scope| {
            for (rank, side) in world.iter_mut().enumerate() {
                let (together, mut rng) = (&together, rng.clone());
                rng.seed(2 * round + rank as u64);
                scope.spawn(move || {
                    together.wait();
                    wait(rng.u32(..4_000));
                    for _ in 0..rng.u32(..3) {
                        side.poll();
                    }
                    side.send(1 - rank, b"x");
                    run(side);
                });
            }
        });
        let down: Vec<_> = world.iter().map(|side| &side.down).collect();
        assert!(down.iter().all(|down| down.is_empty()), "round {round}: {down:?}");
        // It is the same connection for both, and stays.
        world[0].send(1, b"y");
        world[1].send(0, b"y");
        until(&mut world, "the second message", |world| {
            world.iter().all(|side| side.received().count() == 2)
        });
        assert!(world.iter().all(|side| side.down.is_empty()), "round {round}");
    }
}
