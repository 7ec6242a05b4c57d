//! How a world ended, who left it, and what is known of that while it goes on.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How a world ended, from the master's point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Every rank said goodbye.
    Finished,
    /// Not everybody came in time; the text says who did.
    Incomplete(String),
    /// These ranks died, in this order, for these reasons; none is left.
    Died(Vec<(usize, String)>),
    /// A rank gave the world up.
    Aborted {
        /// Which rank.
        rank: usize,
        /// Its exit code.
        code: i32,
        /// Its reason.
        reason: String,
    },
    /// [`MasterHandle::shutdown`](super::MasterHandle::shutdown) was called.
    Stopped,
    /// The master itself failed.
    Failed(String),
}

/// What is known while the world goes on, for whoever started it.
#[derive(Default)]
pub(super) struct Account {
    pub(super) aborted: OnceLock<(usize, i32)>,
    /// All ranks have come.
    pub(super) formed: OnceLock<()>,
    departures: Mutex<Vec<Departure>>,
}

impl Account {
    pub(super) fn departures(&self) -> MutexGuard<'_, Vec<Departure>> {
        self.departures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rank that has left the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// Which.
    pub rank: usize,
    /// It said goodbye; otherwise it died, left after a failure or was given up.
    pub finished: bool,
}
