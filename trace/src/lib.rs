//! What a rank leaves of its calls and messages, for those who look at a job afterwards: its *trace*.
//!
//! Internal to `ringworld`: its interface may change with every version.
//!
//! ```text
//!  engine ──▶ Recorder ──▶ DIR/0f3c…-00002.trace      one file for each rank, mapped: a ring of slots
//!                                 │
//!                               Trace                 read again, by whoever merges
//!                                 │  align            the clocks of hosts, by the messages between them
//!                                 ▼
//!                             Timeline ──▶ chrome     what Perfetto and Chrome open
//!                                      ──▶ summary    in numbers
//! ```
//!
//! A rank writes a slot of 32 bytes for each call, message, wait and reduction into a ring in a file that is mapped: so
//! whoever kills it does not take away what it has noted, and no thread has to write anything. The file has its full
//! size, on the disk, before the first slot is written: it does not grow, and a full disk is an error at the start.
//! When the ring is full the oldest go, and how many is known.
//!
//! `layout` says where what stands, `slot` what 32 bytes mean, `map` has the memory (the one place with `unsafe` code),
//! `recorder` writes and `read` reads. What follows is pure: `align` compares clocks, `timeline` puts ranks together,
//! `chrome` and `summary` say it. Beside all this `account` is what a rank has counted, and not when.

#![deny(unsafe_code)]

mod account;
mod align;
pub mod chrome;
mod clock;
mod layout;
mod map;
mod read;
mod recorder;
mod slot;
pub mod summary;
mod timeline;

pub use account::{Account, Calls};
pub use align::{Alignment, Trust};
pub use layout::Info;
pub use read::{Found, ReadError, Trace, find};
pub use recorder::{Label, RecordError, Recorder, Room};
pub use slot::{Kind, NOBODY, Slot};
pub use timeline::{Call, Host, Line, Message, Reduced, Timeline, Wait, Window};
