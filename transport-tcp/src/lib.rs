//! TCP as a transport of ringworld: non-blocking sockets, one epoll set, no threads.
//!
//! [`Tcp`] keeps the contract of [`ringworld_transport::Transport`]. A connection is opened at the first
//! post, from either side; both sides prove that they belong to the job before anything else is
//! believed. Between two ranks run several sockets, called lanes: lane 0 carries all messages, which is
//! what keeps their order, and large puts use the others so that each direction has a socket of its own,
//! or all of them, of which each pulls the next fragment when it has room.
//! Payloads are read from the kernel straight into the memory that they are for.
//!
//! ```text
//! config.rs      settings, errors of `bind`        handshake.rs  who is who (pure)
//! listener.rs    sockets, options, addresses       pending.rs    sockets in the handshake
//! transport.rs   post, poll, sleep                 connect.rs    dialling, accepting, the tie-break
//! peer.rs        state of one peer                 shutdown.rs   losing a peer, the orderly end
//! lane.rs        one lane: write queue, reading    framing.rs    bytes of a frame (pure)
//! spread.rs      which networks lanes use (pure)
//! waiting.rs     frames before there is a connection
//! staging.rs     what lanes read into               hot.rs       lanes with recent traffic (pure)
//! fins.rs        which lanes the peer has ended (pure)
//! silence.rs     when a connection is silent (pure)  watch.rs   looks for that
//! kernel.rs      what the kernel knows of a connection
//! ```
//!
//! ```
//! use ringworld_transport::Transport;
//! use ringworld_transport_tcp::{Config, Tcp};
//!
//! let local = "127.0.0.1".parse()?;
//! let mut a = Tcp::bind(Config::new(0, 2, 7, vec![local]))?;
//! let b = Tcp::bind(Config::new(1, 2, 7, vec![local]))?;
//! a.connect(1, &b.address())?;
//! assert_eq!(a.capabilities().name, "tcp");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod config;
mod connect;
mod fins;
mod framing;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handshake;
mod hot;
mod kernel;
mod lane;
mod listener;
mod peer;
mod pending;
mod sealed;
mod shutdown;
mod silence;
mod spread;
mod staging;
mod transport;
mod waiting;
mod watch;

pub use config::{BindError, Config, MAX_LANES};
pub use transport::Tcp;
