//! What is held against this crate, whatever a neighbour writes into the memory that it shares, hands over and says.
//! Built for `fuzz/` only (`--cfg fuzzing`).
//!
//! ```text
//! script.rs     an input, as a list of decisions
//! neighbour.rs  rank 1: does what the script says, in its own name
//! ours.rs       rank 0: an ordinary transport, what it was lent, and what it may report
//! ```
//!
//! Both are in one process and one thread, so an input that fails does so again. The neighbour also writes while rank 0
//! polls: whenever that asks where a message is to go. Every write goes through [`Mapping`](crate::memory::Mapping),
//! and every read of rank 0, so what would be outside of the memory is a panic.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a broken promise is reported by a panic; so is what the system lacks"
)]

mod neighbour;
mod ours;
mod script;

use neighbour::Neighbour;
use ours::Ours;
use script::Script;

/// A neighbour of this job, which knows the secret: it connects, or lets itself be connected, as it should or nearly
/// so, and then writes, says and hands over anything, in between and while our side works.
///
/// # Panics
///
/// When our side reports what it must not, holds memory that it was lent when it may not, does not notice that the
/// neighbour has gone, or takes itself for the one that lacks something.
pub fn neighbour(bytes: &[u8]) {
    let script = &mut Script::new(bytes);
    let (mut ours, mut neighbour) = (Ours::new(), Neighbour::new());
    ours.knows(&neighbour.address());
    if script.is_one_in(2) {
        neighbour.dial(script, ours.knock(), || ours.poll(None));
    } else {
        ours.send(script);
        neighbour.is_dialled(script, || ours.poll(None));
    }
    while !script.is_over() {
        match script.below(3) {
            0 => neighbour.act(script),
            1 => ours.act(script),
            _ => ours.poll(Some((script, &mut neighbour))),
        }
    }
    drop(neighbour);
    ours.end();
}

/// Somebody who finds the socket, and says and hands over anything.
///
/// # Panics
///
/// When our side does anything about it but to hang up.
pub fn stranger(bytes: &[u8]) {
    let script = &mut Script::new(bytes);
    let mut ours = Ours::new();
    let strangers: Vec<_> = (0..1 + script.below(4)).map(|_| ours.knock()).collect();
    while !script.is_over() {
        let stranger = &strangers[script.below(strangers.len())];
        neighbour::say(stranger, script.bytes(255), &neighbour::any_descriptors(script));
        ours.poll(None);
    }
    ours.heard_nothing();
}
