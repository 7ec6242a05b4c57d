//! What the kit is given: a way to make worlds.

use std::time::Duration;

use crate::Transport;

/// What a transport's test file supplies: a way to make worlds.
pub trait Fabric {
    /// Makes the transports of a new world, rank by rank, each of which knows the address of every other
    /// (by [`Transport::connect`]). Worlds of one fabric must not disturb one another.
    fn world(&mut self, size: usize) -> Vec<Box<dyn Transport>>;

    /// Called after each round of polls; a fabric in virtual time moves its clock here.
    fn advance(&mut self) {}

    /// How long a check may go without reaching its end before it fails.
    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}
