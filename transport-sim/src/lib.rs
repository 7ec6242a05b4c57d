//! A seeded, deterministic fabric in virtual time, behind the transport interface of ringworld.
//!
//! All ranks live in one process. Nothing waits for a wall clock: time is a number that moves to the next
//! event when [`Fabric::advance`] is called (or, with [`Config::auto_advance`], when a poll finds nothing
//! to do). The same seed and the same calls give the same events in the same order, which
//! [`Fabric::trace_hash`] proves.
//!
//! # What the wire does
//!
//! Every rank has one port that sends and one that receives, both of [`Config::bytes_per_us`]. Operations
//! are cut into fragments of [`Config::fragment`] bytes; whenever the sending port is free the seed picks the
//! next fragment among everything that waits there (or, with [`Config::in_order`], it is that of the operation
//! that was posted first). A fragment takes [`Config::latency_ns`] plus a seeded jitter.
//! Messages of a pair stay in order. Puts keep no order at all, neither among themselves nor with
//! messages nor within one put, because the contract allows that and some wires do it.
//!
//! Payloads are read when their fragment leaves, as late as possible, so that memory changed before `Sent`
//! shows. Puts that overlap, miss their memory or come from the wrong rank take the connection down with
//! [`Cause::Protocol`](ringworld_transport::Cause::Protocol): a strict wire finds bugs that a kind one
//! hides.
//!
//! # What can go wrong
//!
//! [`Fabric::kill`] ends a rank as the death of its process does; [`Fabric::silence`] makes its packets
//! vanish without a word; [`Fabric::cut`] breaks one connection.
//!
//! ```
//! use ringworld_transport::Transport;
//! use ringworld_transport_sim::{Config, Fabric};
//!
//! let mut fabric = Fabric::new(2, Config { seed: 7, ..Config::default() });
//! let sims = fabric.connected_transports();
//! assert_eq!(sims[0].capabilities().name, "sim");
//! assert_eq!(fabric.now(), 0);
//! assert!(!fabric.advance(), "nothing was posted, so nothing can happen");
//! ```

#![forbid(unsafe_code)]

mod config;
mod coverage;
mod end;
mod engine;
mod fabric;
mod receive;
mod sim;
mod trace;
mod wire;

pub use config::Config;
pub use fabric::Fabric;
pub use sim::Sim;
