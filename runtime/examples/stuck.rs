//! Two ways to be stuck: one rank that computes while the others wait for it, and two ranks of which each waits for a
//! message of the other. What is said of them is in `docs/observe.md`.
//!
//! ```text
//! RINGWORLD_STALL_WARNING=2s ringworld run -n 4 -- target/release/examples/stuck late 5
//! RINGWORLD_STALL_WARNING=2s ringworld run -n 2 -- target/release/examples/stuck deadlock
//! ```

#![forbid(unsafe_code)]

use std::time::Duration;

use ringworld::{Communicator, Op, Result, World};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let world = World::from_env()?;
    world.all_reduce(&mut [1f32; 1000], Op::Sum)?;
    match arguments.first().map(String::as_str) {
        Some("deadlock") => around(&world)?,
        _ => {
            let seconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(5);
            late(&world, Duration::from_secs(seconds))?;
        }
    }
    world.finish()
}

/// The last rank does something else first: it writes a checkpoint, or its data loader is slow.
fn late(world: &Communicator, pause: Duration) -> Result<()> {
    if world.rank() == world.size() - 1 {
        std::thread::sleep(pause);
    }
    world.barrier()
}

/// Everybody receives from the next rank first, so nobody comes to send.
fn around(world: &Communicator) -> Result<()> {
    let mut data = [0u8; 8];
    world.recv(&mut data, (world.rank() + 1) % world.size(), 7)?;
    world.send(&data, (world.rank() + world.size() - 1) % world.size(), 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_the_last_rank_has_come() {
        let pause = Duration::from_millis(50);
        let waited = ringworld::testing::ranks(3, |world| {
            let begun = std::time::Instant::now();
            world.barrier().unwrap();
            late(&world, pause).unwrap();
            begun.elapsed()
        });
        assert!(waited.iter().all(|waited| *waited >= pause), "{waited:?}");
    }
}
