//! Requests that the program has freed before they ended.
//!
//! Nobody takes their ends, but some bring something: elements with holes between them find their places when all of a
//! message is there. The program learns by other means that it must be there, from another message or by a barrier. So
//! every function of MPI looks for such ends before it returns, of which this file is told by [`look_before_return`].
//!
//! Few programs free what receives, and those that do not pay for a look at a number.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::comms::{self, Comm};
use crate::error::Result;
use crate::inside::{self, is_inside};
use crate::requests::{self, Request};
use crate::standard;

/// Those that are under way. The lock is held while one of them is moved to its end, so that whoever returns knows of
/// what another thread unpacks just then.
static FREED: Mutex<Vec<Arc<Request>>> = Mutex::new(Vec::new());

/// How many of those bring something.
static BRINGING: AtomicUsize = AtomicUsize::new(0);

/// How often a look takes in what has come, at most, while there is more. Each time it is as much as a transport has
/// at hand; who is sent to without end is not to stay in one call for ever.
const LOOKS: usize = 64;

fn freed() -> MutexGuard<'static, Vec<Arc<Request>>> {
    FREED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees a request; an operation that is under way goes on.
///
/// # Errors
///
/// Where there is none, and within an operation of the program's: this thread may look at those that are freed.
pub(crate) fn free(handle: standard::Request) -> Result<()> {
    inside::refuse("free the request")?;
    if let Some(request) = requests::let_go(handle)? {
        let mut freed = freed();
        freed.push(request);
        look(&mut freed);
    }
    Ok(())
}

/// What every function of MPI does last.
#[inline]
pub fn look_before_return() {
    // Whoever is to know of a request that another thread has freed has heard of it from that thread.
    if BRINGING.load(Ordering::Relaxed) > 0 {
        look_now();
    }
}

#[cold]
fn look_now() {
    // The engine, or a request, is locked there.
    if !is_inside() {
        look(&mut freed());
    }
}

/// Lets go of those that have ended, which have then brought what they bring.
fn look(freed: &mut Vec<Arc<Request>>) {
    for _ in 0..LOOKS {
        let moved = comms::of_all().is_some_and(|comm| comm.all.make_progress());
        freed.retain(|request| !request.has_ended_unasked());
        if freed.is_empty() || !moved {
            break;
        }
    }
    let bringing = freed.iter().filter(|request| request.brings()).count();
    BRINGING.store(bringing, Ordering::Relaxed);
}

/// Waits for those on a communicator. What is wrong with one, nobody has asked for.
pub(crate) fn end_on(comm: &Arc<Comm>) {
    let on_it: Vec<_> = freed().iter().filter(|request| request.is_on(comm)).cloned().collect();
    on_it.iter().for_each(|request| request.wait());
    if !on_it.is_empty() {
        look(&mut freed());
    }
}

/// Waits for all, before the world is left.
pub(crate) fn end_of_all() -> Result<()> {
    let under_way = {
        let mut freed = freed();
        look(&mut freed);
        BRINGING.store(0, Ordering::Relaxed);
        std::mem::take(&mut *freed)
    };
    for request in under_way {
        // A receive that nobody has sent for never ends, and nobody asks for it.
        request.cancel()?;
        request.wait();
    }
    Ok(())
}
