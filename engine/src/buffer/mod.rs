//! The runtime's one fence around `unsafe`: the table that turns buffer names into memory.
//!
//! The protocol and the schedules name memory by [`BufferId`] and [`Span`]; only this module knows
//! pointers. Whoever lends memory promises, by an `unsafe` call, that it stays valid and is nobody
//! else's until [`Buffers::reclaim`]. Everything else here is then safe, because
//!
//! * spans are checked against the buffer on every use,
//! * two spans that are in use at the same time and of which one is written never overlap: the protocol
//!   gives a receive's memory to one message, and schedules order conflicting steps (which the symbolic
//!   checker of the collectives crate proves),
//! * a buffer is reclaimed only when no transport holds any of it: each has a [`Lease`] that goes with
//!   every span, and whoever reclaims asks that first. No event, refusal or word of the control plane stands in
//!   for it.
//!
//! Neighbours: the engine is the only user; `lend` ties loans to calls: a blocking call does not return, and an owned
//! buffer is not handed back, before the operation has ended.

mod block;
mod kept;
mod table;

pub(crate) use block::Block;
pub(crate) use kept::Kept;
pub(crate) use table::{Buffers, Copier};
