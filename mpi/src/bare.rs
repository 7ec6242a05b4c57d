//! Bare receives: those that have begun and of which nothing is kept but what the runtime gave, in the place of their
//! handles.
//!
//! Most programs begin some receives, and then wait for all of them. A request like any other costs such a receive more
//! than its message: memory of its own, references that are counted, a lock. So it becomes one only when something else
//! than a wait looks at it.
//!
//! Invariant: a handle stands for a bare receive or for a request of `requests.rs`, never for both; what has become a
//! request stays one. The lock is not held while anything waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringworld::foreign::Pending;

use crate::comms::Held;
use crate::error::Result;
use crate::requests::{self, Request};
use crate::standard::{self, FIRST_HANDLE};
use crate::status::Status;
use crate::work::{Work, end_of};

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
pub(crate) enum Awaited {
    /// The null handle, or a message that has left at once.
    Nothing,
    Bare(Bare),
    Request(Arc<Request>),
}

struct Shelf {
    /// By place of the handle.
    receives: Vec<Option<Bare>>,
    /// Handles that stand for nothing, and are kept for bare receives.
    free: Vec<standard::Request>,
}

static SHELF: Mutex<Shelf> = Mutex::new(Shelf { receives: Vec::new(), free: Vec::new() });

fn shelf() -> MutexGuard<'static, Shelf> {
    SHELF.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    fn put(&mut self, handle: standard::Request, receive: Bare) {
        let place = handle.0 - FIRST_HANDLE;
        if place >= self.receives.len() {
            self.receives.resize_with(place + 1, || None);
        }
        self.receives[place] = Some(receive);
    }

    #[inline]
    fn take(&mut self, handle: standard::Request) -> Option<Bare> {
        self.receives.get_mut(handle.0.checked_sub(FIRST_HANDLE)?)?.take()
    }
}

/// The handle of a receive that has begun.
#[inline]
pub(crate) fn insert(receive: Bare) -> standard::Request {
    let mut shelf = shelf();
    let handle = shelf.free.pop().unwrap_or_else(requests::reserve);
    shelf.put(handle, receive);
    handle
}

/// Takes a bare receive from its handle, which stands for nothing then.
#[inline]
pub(crate) fn take(handle: standard::Request) -> Option<Bare> {
    let mut shelf = shelf();
    let receive = shelf.take(handle)?;
    shelf.free.push(handle);
    Some(receive)
}

/// What each of many handles stands for, in their order; the bare receives are taken from theirs.
///
/// # Errors
///
/// When a handle stands for nothing: then all is as before.
pub(crate) fn take_each(handles: &[standard::Request]) -> Result<Vec<Awaited>> {
    let sent = requests::sent();
    let mut shelf = shelf();
    let mut found = Vec::with_capacity(handles.len());
    for handle in handles {
        let awaited = if *handle == standard::Request::NULL || *handle == sent {
            Ok(Awaited::Nothing)
        } else if let Some(receive) = shelf.take(*handle) {
            Ok(Awaited::Bare(receive))
        } else {
            requests::find(*handle).map(Awaited::Request)
        };
        match awaited {
            Ok(awaited) => found.push(awaited),
            Err(why) => {
                for (handle, awaited) in handles.iter().zip(found) {
                    if let Awaited::Bare(receive) = awaited {
                        shelf.put(*handle, receive);
                    }
                }
                return Err(why);
            }
        }
    }
    let bare = |(handle, awaited): (&standard::Request, &Awaited)| {
        matches!(awaited, Awaited::Bare(_)).then_some(*handle)
    };
    shelf.free.extend(handles.iter().zip(&found).filter_map(bare));
    Ok(found)
}

/// Makes a bare receive a request like any other, with the same handle; whether it was one.
#[cold]
pub(crate) fn dress(handle: standard::Request) -> bool {
    let mut shelf = shelf();
    let Some(receive) = shelf.take(handle) else { return false };
    let comm = receive.comm().clone();
    requests::fill(handle, Some(comm), Work::One(receive.0.into_owned(), 0));
    true
}
