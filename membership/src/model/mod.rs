//! The agreement, played through: what [is promised](crate) is checked after every step of schedules that a seed makes
//! (`schedules`), and in all states that a small world can come to (`explore`).
//!
//! The machines are the real ones; `world` is the network, the processes and the clock around them, `judge` knows what
//! is promised. `faults` plants one fault for each promise, and wants it found: a check that finds nothing might look
//! at nothing. `hostile` says what nobody would, and what a thousand would.
//!
//! `RINGWORLD_MODEL_SCHEDULES` says how many schedules (`ci/model.sh`), and `RINGWORLD_MODEL_FIRST` from which seed on;
//! `RINGWORLD_MODEL_SEED` plays one of them again and prints it.

mod ends;
mod explore;
mod fault;
mod faults;
mod hostile;
mod judge;
mod schedules;
mod world;

use std::time::Duration;

use crate::{Id, Node};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn node(id: u64) -> Node {
    Node { id: Id(id), place: Vec::new() }
}

/// A number from the environment, or what is used without.
fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is a number, and not {text:?}"))
    })
}
