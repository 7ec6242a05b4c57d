//! How the processes of a job find one another, and how they notice that one is gone.
//!
//! - [`Settings`]: what the builder, the environment, schedulers and a TOML file say, from one table of
//!   [`KNOBS`];
//! - [`interfaces`]: which of this host's interfaces carry traffic, and why;
//! - [`Joining`] and [`Session`]: the rendezvous and what follows it. On the master's host the first
//!   process to bind the port serves; all others join. Ranks are handed out by the master.
//! - [`Master`]: the serving side alone, for a launcher.
//!
//! ```text
//! begin ──► handshake, hello ──► a place, the job id          (transports open their listeners)
//! join  ──► "reached here"   ──► rank, size, table of members (streamed; O(n) bytes per rank)
//!           heartbeats both ways; deaths, aborts and faults are told to all at once
//! finish ─► goodbye          ──► the serving process stays until all have left
//! ```
//!
//! It knows nothing of transports (their addresses are opaque bytes), messages or collectives, and moves
//! no user data. Everything here runs on `tokio` in threads of its own, so a program that computes for
//! minutes still answers heartbeats. Every connection is encrypted, and with a secret it is authenticated in
//! both directions: whoever does not know it is dropped, and nobody on the way can read or change anything.
//!
//! ```
//! use ringworld_bootstrap::{Joining, Settings};
//! let joining = Joining::begin(&Settings::default())?;
//! let session = joining.join(Vec::new(), Box::new(|event| eprintln!("{event:?}")))?;
//! assert_eq!((session.rank, session.size), (0, 1));
//! session.finish();
//! # Ok::<(), ringworld_bootstrap::Error>(())
//! ```

// Once, in `inherited.rs`.
#![deny(unsafe_code)]

mod appointment;
mod canary;
mod client;
mod descriptors;
mod door;
mod elastic;
mod error;
mod event;
mod frames;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handshake;
mod host;
mod inherited;
pub mod interfaces;
mod joining;
mod master;
mod observe;
mod parent;
mod places;
mod pmi;
mod probe;
mod process;
mod program;
mod session;
mod settings;
mod status;
mod text;
mod thread;
mod waiting;
mod wire;

pub use appointment::serve_hosts;
pub use descriptors::raise_descriptor_limit;
pub use elastic::{Elastic, Lost, Onward};
pub use error::Error;
pub use event::{ControlEvent, Report};
pub use host::host_name;
pub use interfaces::{Choice, Interface, InterfaceError};
pub use joining::Joining;
pub use master::{Departure, Master, MasterConfig, MasterHandle, Outcome};
pub use observe::{JobStatus, Observer, RankStatus, Standing, Waiting, Whereabouts};
pub use probe::{Answer, Sighting};
pub use ringworld_auth::Secret;
pub use ringworld_membership::{Failure, Table};
pub use session::{Session, exit_status};
pub use settings::{KNOBS, Knob, Settings, SettingsError, Source, Strength, TransportChoice, hand_over};
pub use thread::library_threads;
pub use wire::{Fault, Member};
