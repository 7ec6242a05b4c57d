//! The helper thread: drives the engine while non-blocking work is outstanding and the program is busy with
//! something else.
//!
//! Started by the first non-blocking call. A program that drives the engine itself, by blocking calls or by asking time
//! and again whether an operation has ended, needs no second driver, who would only take turns with it at the lock, at
//! the price of a wake-up per call: measured, a stream of 8-byte messages between two ranks took 12 us a message
//! instead of
//! 7. So the helper *watches* first: it takes over when nobody has polled between two looks, steps back as soon as
//! somebody else does, and *sleeps* when there is nothing to do and nothing was begun since it looked last: a program
//! that begins and waits in turns would else wake it at each beginning (an exchange with two neighbours took twice the
//! time). To start operations is not to drive them: only polls count. Tasks, which never block, have the helper at
//! once.
//!
//! Invariant: work is outstanding and nobody waits in a call, so the helper drives, or watches and will look
//! again within [`PATIENCE`]. It holds because the helper looks under the lock under which work comes to be, after it
//! has said that it is about to sleep: whoever comes later sees that, and notifies it.

mod state;
mod thread;

pub(crate) use state::Helper;
pub use thread::helpers;
