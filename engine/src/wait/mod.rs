//! Waiting: the thread that waits drives the engine, spinning briefly and then sleeping in the kernel.
//!
//! Sleeping is dear: a wake-up costs about 50 us, a half round trip between spinning ranks 4 to 6 us. But a
//! rank without a core of its own must not take the time from the one it waits for; see [`Spin`]. To sleep, a thread
//! says what it waits for, arms the transports and polls their descriptors together with a notifier of its
//! own, which is notified when another thread brings that about or the control plane has news.
//! `share` is what waiting threads have in common, `thread` is one of them.

mod share;
mod thread;

pub use share::{For, REMIND, Spin};
pub(crate) use share::{Manners, Waits};
