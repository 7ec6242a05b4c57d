//! Buffered sends: memory that the program lends for them, and what of it is in use (MPI 5.0, section 3.6).
//!
//! Messages are copied into memory of this library; that of the program only says how much may be under way. So a
//! program is held to what it has asked for, and gets the error that it would get elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Result, fail};
use crate::standard::{BSEND_OVERHEAD, ERR_BUFFER};
use crate::status::Status;
use crate::work::Work;

/// What a communicator, or the process, has for buffered sends.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Address and size; without a limit, when messages may be buffered automatically.
    attached: Option<(usize, i64)>,
    under_way: Vec<(Work, i64)>,
}

/// The process's own.
pub(crate) static PROCESS: Pool = Pool { state: Mutex::new(State { attached: None, under_way: Vec::new() }) };

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.state().attached.is_some()
    }

    pub(crate) fn attach(&self, address: usize, size: i64) -> Result<()> {
        let mut state = self.state();
        if state.attached.is_some() {
            return fail(ERR_BUFFER, "a buffer is attached already; detach it first");
        }
        if size < 0 {
            return fail(crate::standard::ERR_ARG, format!("a buffer of {size} bytes cannot be"));
        }
        state.attached = Some((address, size));
        Ok(())
    }

    /// Waits until all has been sent, and gives the memory back.
    pub(crate) fn detach(&self) -> Result<(usize, i64)> {
        self.flush()?;
        match self.state().attached.take() {
            Some(attached) => Ok(attached),
            None => fail(ERR_BUFFER, "no buffer is attached"),
        }
    }

    /// Waits until all has been sent.
    pub(crate) fn flush(&self) -> Result<()> {
        loop {
            let Some((mut work, _)) = self.state().under_way.pop() else { return Ok(()) };
            work.wait()?;
        }
    }

    /// The end of all that is being sent, if it has come.
    pub(crate) fn poll(&self) -> Option<Result<Status>> {
        let mut state = self.state();
        state.under_way.retain_mut(|(work, _)| work.poll().is_none());
        state.under_way.is_empty().then_some(Ok(Status::EMPTY))
    }

    /// Takes one message more, if there is room for it.
    pub(crate) fn take(&self, bytes: usize, begin: impl FnOnce() -> Result<Work>) -> Result<()> {
        let mut state = self.state();
        state.under_way.retain_mut(|(work, _)| work.poll().is_none());
        let used: i64 = state.under_way.iter().map(|(_, bytes)| bytes).sum();
        let bytes = bytes as i64 + BSEND_OVERHEAD as i64;
        // What is asked of programs is the data and the overhead; some count with less of it.
        let needed = used + bytes - BSEND_OVERHEAD as i64;
        match state.attached {
            None => return fail(ERR_BUFFER, "no buffer is attached; call MPI_Buffer_attach first"),
            Some((address, size)) if address != crate::standard::BUFFER_AUTOMATIC && needed > size => {
                return fail(
                    ERR_BUFFER,
                    format!(
                        "the attached buffer has {size} bytes, and {used} of them are in use; {bytes} more do not fit"
                    ),
                );
            }
            Some(_) => {}
        }
        let work = begin()?;
        state.under_way.push((work, bytes));
        Ok(())
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}
