//! Shared memory: a [`Transport`](ringworld_transport::Transport) between ranks of one host.
//!
//! Each pair of ranks that talks has a *link*: memory that both have mapped, with a ring of records for each direction.
//! Short messages lie in the rings. Longer payloads are copied, whole or piece by piece, into slots of their sender's
//! *outbox*, memory that its peers can only read; a record in the ring names the slot, and the receiver copies on to
//! where the payload belongs, while the sender copies the next piece. All memory is anonymous (`memfd`), handed over by
//! a Unix socket once both sides have shown that they know the job's secret, and gone with the processes: nothing has a
//! name in a file system, but for sockets where that is asked for ([`Config::socket_dir`]), for processes that share a
//! folder and no network namespace.
//!
//! ```text
//! config.rs      settings, errors of `bind`         handshake.rs  who is who (pure)
//! address.rs     where a rank is, and whether here  pending.rs    sockets in the handshake
//! folder.rs      sockets that are files
//! transport.rs   post, poll, sleep                  connect.rs    dialling, accepting, the tie-break
//! peer.rs        state of one peer                  shutdown.rs   losing a peer, the orderly end
//! link.rs        records: what goes and comes       packet.rs     packets and descriptors on sockets
//! ring.rs        a ring of records (pure)           outbox.rs     slots, and who sleeps
//! board.rs       what is shown to several (pure)    showing.rs    to whom, and what they show
//! channels.rs    what is known of channels          slots.rs      which slots are taken (pure)
//! bell.rs        by what ranks are woken
//! memory/        what is mapped: all `unsafe` code  pace.rs       past caches or not (pure)
//! ```
//!
//! **Trust.** Ranks of a job trust one another not to lie; but whatever a peer writes, it harms nothing but what it was
//! to write: lengths and places are checked after they have been copied, nothing that another process can write is ever
//! a Rust reference, and sizes are sealed. A peer can end the connection by nonsense, and is named for it.
//!
//! **Two copies, not one.** The kernel can copy out of another process (`process_vm_readv`), if it is allowed to. It
//! was tried for ranks that send and receive at the same time, who make both copies themselves: messages of 1 to 64 MiB
//! both ways at once took an eighth longer on one Intel Xeon, those of 4 and 16 MiB a tenth less on a later one, and on
//! an AMD EPYC one such copy takes twice as long as two overlapped ones. Open MPI, which does it, needs half of our
//! time for an all-to-all of 256 KiB where nobody writes again what is sent, and as long as we do where somebody does.
//! And those are sent without asking: whoever sends so must not depend on when the other side looks.
//!
//! **Death.** The end of a process closes its socket, which is noticed at once by whoever sleeps, and within
//! microseconds by whoever polls. A child that it has forked may have a copy of the socket, so the process itself is
//! watched as well. What it had published before is read; what it had half written is not seen.
//!
//! ```
//! use ringworld_transport::Transport;
//! use ringworld_transport_shm::{Config, Shm};
//! let mut one = Shm::bind(Config::new(0, 2, 7))?;
//! let other = Shm::bind(Config::new(1, 2, 7))?;
//! one.connect(1, &other.address())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod address;
mod bell;
mod board;
mod channels;
mod config;
mod connect;
mod folder;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handshake;
mod link;
mod memory;
#[cfg(all(test, ringworld_model))]
mod model;
mod outbox;
mod pace;
mod packet;
mod peer;
mod pending;
mod ring;
mod showing;
mod shutdown;
mod slots;
mod transport;

pub use config::{BindError, Config};
pub use transport::Shm;
