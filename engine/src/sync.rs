//! The primitives that the engine's threads meet at: those of the standard library, or, built with
//! `--cfg ringworld_model`, their doubles of which a model checker plays through the interleavings (`model.rs`).
//!
//! Whatever is shared between threads in this folder comes from here.

#[cfg(not(ringworld_model))]
pub(crate) use std::{
    sync::{Mutex, MutexGuard, TryLockError, atomic},
    thread,
};

#[cfg(ringworld_model)]
pub(crate) use shuttle::{
    sync::{Mutex, MutexGuard, TryLockError, atomic},
    thread,
};
