//! Generalized requests, whose operations are the program's own (MPI 5.0, section 13.2).

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

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
    pub(crate) complete: AtomicBool,
}

fn returned(code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { fail(code, "") }
}

impl Generalized {
    pub(crate) fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
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

    /// Frees it when its end is taken.
    pub(crate) fn finish(&self, ended: Result<Status>) -> Result<Status> {
        let freed = self.free();
        let status = ended?;
        freed.map(|()| status)
    }

    pub(crate) fn cancel(&self) -> Result<()> {
        // SAFETY: as above.
        returned(unsafe { (host().call_cancel)(self.cancel, self.extra, self.is_complete()) })
    }
}
