//! InfiniBand, RoCE and Soft-RoCE: a transport on reliable connected queue pairs.
//!
//! A *message* is a send into receive slots that the peer has posted before, copied once on each side; credits
//! see to it that a slot is always free. A *put* is an RDMA write into memory that the receiver has registered,
//! with an immediate that says which. Two ranks exchange their queue pairs over an *out-of-band channel*, a connection
//! of the TCP transport, which stays open: it notices when the peer's process dies, which a queue pair does not.
//! How it all works together is told in the crate's `README.md`.
//!
//! # Features
//!
//! The transport is behind the feature `verbs`, which needs libibverbs to build and to run. Without it the
//! crate has no foreign code and holds what can be tested without a device: [`Config`], the
//! [device filter](DeviceFilter), the [choice of ports and GIDs](choice), what is said on the wire, and the
//! accounting of credits, send queues, exposures and registered regions.

#![deny(unsafe_code)]
// What the transport would use is tested all the same.
#![cfg_attr(not(feature = "verbs"), allow(dead_code))]

mod blob;
pub mod choice;
mod config;
mod credits;
mod exposures;
mod filter;
mod fins;
mod fragments;
#[cfg(fuzzing)]
pub mod fuzzing;
mod numbered;
mod regions;
mod send_queue;
#[cfg(feature = "verbs")]
mod verbs;
mod wire;

pub use choice::{DeviceReport, Gid, GidKind, GidReport, LinkLayer};
pub use config::{Config, OpenError};
pub use filter::{DeviceFilter, FilterError};
#[cfg(feature = "verbs")]
pub use verbs::{Ibverbs, available_devices};
