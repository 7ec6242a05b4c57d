//! The inbox: how the control plane, which has a thread of its own, reaches the engine; and destructors, which may run
//! under the engine's lock.
//!
//! A notice is put in and everybody who is parked is woken; whoever drives the engine next takes it out.
//! Looking for notices costs one atomic load.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::last_calls::LastCalls;
use super::router::Registrations;
use super::slots::SlotId;
use super::wait::Bell;
use crate::error::Fault;

/// Something the engine has to know.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The world has failed.
    Fault(Fault),
    /// A rank has left in good order.
    Finished { rank: usize },
    /// What a rank that has left had called last.
    LastCalls { rank: usize, calls: LastCalls },
    /// Memory that nobody has any more.
    Left(Left),
}

/// Memory that its owner has dropped: to be deregistered first, and freed when the operation on it has ended, if there is one.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) slot: Option<SlotId>,
    pub(crate) registrations: Registrations,
    pub(crate) memory: Box<dyn Any + Send>,
}

#[derive(Default)]
pub(crate) struct Inbox {
    full: AtomicBool,
    notices: Mutex<Vec<Notice>>,
    parked: Mutex<Vec<Arc<Bell>>>,
    /// How many are parked.
    sleepers: AtomicUsize,
}

impl Inbox {
    pub(crate) fn put(&self, notice: Notice) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
        self.full.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Wakes everybody who is parked.
    pub(super) fn wake(&self) {
        for bell in self.parked.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            bell.ring();
        }
    }

    /// Whether somebody is parked. Certain only under the engine's lock, with which every sleeper parks.
    pub(super) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    pub(crate) fn take(&self) -> Vec<Notice> {
        self.full.store(false, Ordering::SeqCst);
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on `bell` rings for every notice. A notice may have come just before: look again.
    pub(crate) fn park(&self, bell: &Arc<Bell>) {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(bell));
        self.sleepers.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn unpark(&self, bell: &Arc<Bell>) {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = parked.iter().position(|other| Arc::ptr_eq(other, bell)) {
            parked.swap_remove(at);
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
