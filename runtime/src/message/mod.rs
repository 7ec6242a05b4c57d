//! Messages between two ranks: send, receive, probe, both at once, and objects.
//!
//! ```text
//! selector.rs    Source, Tag: which messages a receive takes
//! status.rs      what is known of a message that has come
//! send.rs recv.rs probe.rs    the blocking calls
//! send_recv.rs   a send and a receive in one call
//! object/        anything serde can write
//! operation.rs   what a call was, for errors
//! ```
//!
//! Calls that do not wait are in `request`.

// As the page of `Communicator` shows them.
mod send;

mod recv;

mod send_recv;

mod probe;

pub(crate) mod object;

pub(crate) mod operation;
mod room;
mod selector;
mod status;

pub use probe::Message;
pub(crate) use room::room;
pub use selector::{Source, Tag};
pub use send_recv::RecvFrom;
pub use status::Status;
