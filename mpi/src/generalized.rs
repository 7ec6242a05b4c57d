//! Generalized requests, whose operations are the program's own (MPI 5.0, section 13.2).
//!
//! Its functions may call this library, also about the request that they belong to: so none is called under the lock of
//! that request.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Result, fail};
use crate::host::{Function, host};
use crate::status::Status;

/// What the program has said of one.
#[derive(Debug)]
pub(crate) struct Generalized {
    pub(crate) query: Function,
    pub(crate) free: Function,
    pub(crate) cancel: Function,
    pub(crate) extra: usize,
    /// [`COMPLETE`] and [`LEFT`].
    pub(crate) state: AtomicU8,
}

/// The program has said that its operation is complete.
const COMPLETE: u8 = 1;
/// The program has freed the request, and takes no end of it.
const LEFT: u8 = 2;

fn returned(code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { fail(code, "") }
}

impl Generalized {
    pub(crate) fn is_complete(&self) -> bool {
        self.state.load(Ordering::Acquire) & COMPLETE != 0
    }

    /// It is complete; whether the program has freed it before.
    pub(crate) fn complete(&self) -> bool {
        self.state.fetch_or(COMPLETE, Ordering::AcqRel) == LEFT
    }

    /// The program frees it; whether it is complete.
    pub(crate) fn leave(&self) -> bool {
        self.state.fetch_or(LEFT, Ordering::AcqRel) == COMPLETE
    }

    /// What its status is.
    pub(crate) fn query(&self) -> Result<Status> {
        let mut status = Status::EMPTY;
        // SAFETY: here and below, it is what the program has made the request with.
        returned(unsafe { (host().call_query)(self.query, self.extra, &mut status) })?;
        Ok(status)
    }

    pub(crate) fn free(&self) -> Result<()> {
        // SAFETY: as above.
        returned(unsafe { (host().call_free)(self.free, self.extra) })
    }

    /// When its end is taken: what that is, and then it is freed, whatever is wrong with its status.
    pub(crate) fn finish(&self) -> Result<Status> {
        let status = self.query();
        let freed = self.free();
        let status = status?;
        freed.map(|()| status)
    }

    pub(crate) fn cancel(&self) -> Result<()> {
        // SAFETY: as above.
        returned(unsafe { (host().call_cancel)(self.cancel, self.extra, self.is_complete()) })
    }
}
