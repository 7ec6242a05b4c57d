//! Objects: anything serde can write, as messages of bytes that describe themselves, like mpi4py's lower-case
//! calls.
//!
//! Objects are conveniences: each is written to memory and read back, and collectives agree on lengths
//! first. Numbers in bulk belong into the typed calls. Neighbours: `format` turns values into bytes and back,
//! `travel` moves the bytes, and what a rank has to say instead of them.

mod format;
mod message;
mod packed;

pub(crate) use format::cut;
pub(crate) use packed::{Action, LIMIT, Packed, Refusal, pack, too_long, unpack};
