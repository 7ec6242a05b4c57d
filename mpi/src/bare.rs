//! Bare receives: those that have begun and of which nothing is kept but what the runtime gave, in the place of their
//! handles.
//!
//! Most programs begin some receives, and then wait for all of them, or test them in turn. A request like any other
//! costs such a receive more than its message: memory of its own, references that are counted, a lock. So it becomes
//! one only when something else looks at it, or a wait for one of several is long.
//!
//! Invariant: a handle stands for a bare receive or for a request of `requests.rs`, never for both; what has become a
//! request stays one. One that is waited for keeps its handle to the end of the wait. The lock is not held while
//! anything waits, but while a look makes progress, which may run an operation of the program's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use ringworld::foreign::{Pending, PendingId, is_inside_operation};

use crate::comms::{Comm, Held};
use crate::error::Result;
use crate::inside;
use crate::standard::{self, FIRST_HANDLE};
use crate::status::Status;
use crate::work::end_of;

/// A receive on the program's own memory, from ranks of the communicator's only group.
pub(crate) struct Bare(pub(crate) Pending<Held>);

impl Bare {
    /// Whose error handler is called.
    pub(crate) fn comm(&self) -> &Held {
        self.0.communicator()
    }

    /// Waits for its end.
    #[inline]
    pub(crate) fn wait(&mut self) -> Result<Status> {
        end_of(self.0.wait(), 0)
    }
}

/// What a handle stands for that is waited for.
pub(crate) enum Awaited<R> {
    Nothing,
    Bare(Bare),
    /// A request like any other.
    Request(R),
}

/// What a place of the shelf has.
enum Place {
    Nothing,
    Bare(Bare),
    /// A thread waits for it, and has it. Another can withdraw it by its name. With where its communicator lies.
    WaitedFor(PendingId, usize),
}

struct Shelf {
    /// By place of the handle.
    places: Vec<Place>,
    /// Handles that stand for nothing, and are kept for bare receives.
    free: Vec<standard::Request>,
}

static SHELF: Mutex<Shelf> = Mutex::new(Shelf { places: Vec::new(), free: Vec::new() });

/// The shelf; `None` within an operation of the program's, if it is taken: by this thread, or by one that waits for it.
#[inline]
fn shelf() -> Option<MutexGuard<'static, Shelf>> {
    match SHELF.try_lock() {
        Ok(shelf) => Some(shelf),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => wait_for_shelf(),
    }
}

#[cold]
fn wait_for_shelf() -> Option<MutexGuard<'static, Shelf>> {
    (!is_inside_operation()).then(|| SHELF.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Shelf {
    #[inline]
    fn at(&mut self, handle: standard::Request) -> Option<&mut Place> {
        self.places.get_mut(handle.0.checked_sub(FIRST_HANDLE)?)
    }

    fn put(&mut self, handle: standard::Request, what: Place) {
        let place = handle.0 - FIRST_HANDLE;
        if place >= self.places.len() {
            self.places.resize_with(place + 1, || Place::Nothing);
        }
        self.places[place] = what;
    }

    /// Takes a bare receive, to wait for it.
    #[inline]
    fn take(&mut self, handle: standard::Request) -> Option<Bare> {
        let place = self.at(handle)?;
        let Place::Bare(receive) = place else { return None };
        let (id, comm) = (receive.0.id(), Arc::as_ptr(receive.comm()).addr());
        match std::mem::replace(place, Place::WaitedFor(id, comm)) {
            Place::Bare(receive) => Some(receive),
            Place::Nothing | Place::WaitedFor(..) => None,
        }
    }

    /// One that was waited for is no more.
    #[inline]
    fn free(&mut self, handle: standard::Request) {
        if let Some(place @ Place::WaitedFor(..)) = self.at(handle) {
            *place = Place::Nothing;
            self.free.push(handle);
        }
    }
}

/// The handle of a receive that has begun; `reserve` gives a new one.
///
/// # Errors
///
/// Within an operation of the program's, where none begins: it has been refused.
#[inline]
pub(crate) fn insert(
    receive: Bare,
    reserve: impl FnOnce() -> standard::Request,
) -> Result<standard::Request> {
    let Some(mut shelf) = shelf() else { return Err(inside::refused("receive")) };
    let handle = shelf.free.pop().unwrap_or_else(reserve);
    shelf.put(handle, Place::Bare(receive));
    Ok(handle)
}

/// Takes a bare receive, to wait for it and then to [free] its handle.
#[inline]
pub(crate) fn take(handle: standard::Request) -> Option<Bare> {
    shelf()?.take(handle)
}

/// What a look for an end finds among handles.
pub(crate) enum Found {
    /// Handles that stand for something else, or for nothing, or null handles only: nothing has been looked at.
    Others,
    /// Bare receives and null handles only; all under way.
    UnderWay,
    /// One of such that has ended: at which place. It is taken, as [`take`] says, and its end waits for nothing.
    Ended(usize, Bare),
}

/// Makes progress, and looks for a bare receive that has ended, where there is nothing else.
pub(crate) fn take_ended(handles: impl Iterator<Item = standard::Request> + Clone) -> Found {
    // Whoever finds others looks at each, and is refused there.
    let Some(mut shelf) = shelf() else { return Found::Others };
    let mut found = Found::Others;
    for handle in handles.clone().filter(|handle| *handle != standard::Request::NULL) {
        match shelf.at(handle) {
            Some(Place::Bare(_)) => found = Found::UnderWay,
            _ => return Found::Others,
        }
    }
    for (place, handle) in handles.enumerate() {
        if matches!(shelf.at(handle), Some(Place::Bare(receive)) if receive.0.is_done())
            && let Some(receive) = shelf.take(handle)
        {
            return Found::Ended(place, receive);
        }
    }
    found
}

/// The handles of bare receives that were taken stand for nothing any more: their ends have come.
#[inline]
pub(crate) fn free(handles: impl Iterator<Item = standard::Request>) {
    let mut handles = handles.peekable();
    if handles.peek().is_some()
        && let Some(mut shelf) = shelf()
    {
        handles.for_each(|handle| shelf.free(handle));
    }
}

/// What each of many handles stands for, in their order; the bare receives are taken, as [`take`] says. What the others
/// stand for is said by `other`.
///
/// # Errors
///
/// When a handle stands for nothing, and within an operation of the program's: then all is as before.
pub(crate) fn take_each<R>(
    handles: &[standard::Request],
    other: impl Fn(standard::Request) -> Result<Awaited<R>>,
) -> Result<Vec<Awaited<R>>> {
    let Some(mut shelf) = shelf() else { return Err(inside::refused("wait for the requests")) };
    let mut found = Vec::with_capacity(handles.len());
    for handle in handles {
        let awaited = match shelf.take(*handle) {
            Some(receive) => Ok(Awaited::Bare(receive)),
            None => other(*handle),
        };
        match awaited {
            Ok(awaited) => found.push(awaited),
            Err(why) => {
                for (handle, awaited) in handles.iter().zip(found) {
                    if let Awaited::Bare(receive) = awaited {
                        shelf.put(*handle, Place::Bare(receive));
                    }
                }
                return Err(why);
            }
        }
    }
    Ok(found)
}

/// The handles of those on a communicator that no thread waits for.
pub(crate) fn on(comm: &Arc<Comm>) -> Vec<standard::Request> {
    let is_on = |place: &Place| matches!(place, Place::Bare(receive) if Arc::ptr_eq(receive.comm(), comm));
    // Nobody asks within an operation.
    let shelf = shelf();
    let found = shelf.iter().flat_map(|shelf| &shelf.places).enumerate().filter(|(_, place)| is_on(place));
    found.map(|(at, _)| standard::Request(FIRST_HANDLE + at)).collect()
}

/// The names of those on a communicator that threads wait for.
pub(crate) fn waited_for_on(comm: &Arc<Comm>) -> Vec<PendingId> {
    let shelf = shelf();
    let found = shelf.iter().flat_map(|shelf| &shelf.places).filter_map(|place| match place {
        Place::WaitedFor(id, on) if *on == Arc::as_ptr(comm).addr() => Some(*id),
        Place::Nothing | Place::Bare(_) | Place::WaitedFor(..) => None,
    });
    found.collect()
}

/// Whether a thread waits for the bare receive of a handle.
pub(crate) fn is_waited_for(handle: standard::Request) -> bool {
    shelf().is_some_and(|mut shelf| matches!(shelf.at(handle), Some(Place::WaitedFor(..))))
}

/// What a look has made of a handle.
pub(crate) enum Look {
    /// It stands for no bare receive.
    Nothing,
    /// It stands for a request like any other by now.
    Dressed,
    /// A thread waits for what is named so.
    WaitedFor(PendingId),
    /// It cannot be looked at, within an operation of the program's.
    Refused,
}

/// Takes a bare receive to be made a request like any other by `make`, with the same handle, if it is not waited for.
#[cold]
pub(crate) fn dress(handle: standard::Request, make: impl FnOnce(Bare)) -> Look {
    let Some(mut shelf) = shelf() else { return Look::Refused };
    let Some(place) = shelf.at(handle) else { return Look::Nothing };
    match std::mem::replace(place, Place::Nothing) {
        // Another thread may have looked at it just now.
        Place::Nothing => Look::Nothing,
        Place::WaitedFor(id, comm) => {
            *place = Place::WaitedFor(id, comm);
            Look::WaitedFor(id)
        }
        Place::Bare(receive) => {
            // Under the lock, so that there is no moment at which it is neither.
            make(receive);
            Look::Dressed
        }
    }
}
