//! What the program asks for within an operation that it has made.
//!
//! Such a function runs while this thread has locked what its reduction needs: the engine, and often a request, the
//! shelf of bare receives or a pool of buffers, in which it makes progress. MPI allows no communication there. Messages
//! and collectives are refused by the engine; whatever takes a lock of this crate that is held while something makes
//! progress asks here first, on its slow path, and is an error. What is local works, and so does `MPI_Abort`.
//! `MPI_Reduce_local` locks nothing, and is no such operation.

use std::cell::Cell;

use ringworld::foreign::is_inside_operation;

use crate::error::{Error, Result, error};
use crate::standard::ERR_OTHER;

thread_local! {
    /// An operation runs outside the engine, but within a request.
    static APPLIES: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs an operation of the program's for a reduction.
#[inline]
pub(crate) fn is_inside() -> bool {
    is_inside_operation() || APPLIES.get()
}

/// Applies an operation for a reduction, outside the engine.
pub(crate) fn apply<R>(operation: impl FnOnce() -> R) -> R {
    let before = APPLIES.replace(true);
    let result = operation();
    APPLIES.set(before);
    result
}

/// Why something is not done; `what`: what the program is to do later.
#[cold]
pub(crate) fn refused(what: &str) -> Error {
    error(
        ERR_OTHER,
        format!(
            "it was called by an operation that the program has made, within a reduction, where MPI allows no \
             communication; {what} when the reduction has returned"
        ),
    )
}

/// Refuses to do something within an operation of the program's, for what it needs may be locked by whoever runs that.
#[inline]
pub(crate) fn refuse(what: &str) -> Result<()> {
    if is_inside() { Err(refused(what)) } else { Ok(()) }
}
