//! Buffered sends: memory that the program lends for them, and what of it is in use (MPI 5.0, section 3.6).
//!
//! Messages are copied into memory of this library; that of the program only says how much may be under way. So a
//! program is held to what it has asked for, and gets the error that it would get elsewhere.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{Result, fail};
use crate::inside;
use crate::standard::{self, BSEND_OVERHEAD, ERR_BUFFER};
use crate::status::Status;
use crate::work::Work;

/// What a communicator, or the process, has for buffered sends.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    /// What was awaited has been sent.
    sent: Condvar,
}

#[derive(Default)]
struct State {
    /// Address and size; without a limit, when messages may be buffered automatically.
    attached: Option<(usize, i64)>,
    under_way: Vec<(Work, What)>,
    /// Those that threads wait for, which have taken them out.
    awaited: Vec<What>,
}

/// What is known of a message that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct What {
    /// Whose it is: the handle of its communicator.
    on: standard::Comm,
    bytes: i64,
}

/// The process's own.
pub(crate) static PROCESS: Pool = Pool {
    state: Mutex::new(State { attached: None, under_way: Vec::new(), awaited: Vec::new() }),
    sent: Condvar::new(),
};

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.state().attached.is_some()
    }

    pub(crate) fn attach(&self, address: usize, size: i64) -> Result<()> {
        inside::refuse("attach the buffer")?;
        let mut state = self.state();
        if state.attached.is_some() {
            return fail(ERR_BUFFER, "a buffer is attached already; detach it first");
        }
        if size < 0 {
            return fail(standard::ERR_ARG, format!("a buffer of {size} bytes cannot be"));
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

    /// Waits until all has been sent, also what another thread waits for.
    pub(crate) fn flush(&self) -> Result<()> {
        self.flush_those(|_| true)
    }

    /// The same of the messages of a communicator.
    pub(crate) fn flush_on(&self, comm: standard::Comm) -> Result<()> {
        self.flush_those(|what| what.on == comm)
    }

    fn flush_those(&self, is_one: impl Fn(&What) -> bool) -> Result<()> {
        inside::refuse("wait for what is buffered")?;
        let mut state = self.state();
        loop {
            if let Some(place) = state.under_way.iter().rposition(|(_, what)| is_one(what)) {
                let (mut work, what) = state.under_way.swap_remove(place);
                state.awaited.push(what);
                drop(state);
                let ended = work.wait();
                state = self.state();
                // Any like it is as good: they are counted only.
                if let Some(place) = state.awaited.iter().position(|awaited| *awaited == what) {
                    state.awaited.swap_remove(place);
                }
                self.sent.notify_all();
                ended?;
            } else if state.awaited.iter().any(&is_one) {
                state = self.sent.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                return Ok(());
            }
        }
    }

    /// The end of all that is being sent, if it has come.
    pub(crate) fn poll(&self) -> Option<Result<Status>> {
        let mut state = self.state();
        state.under_way.retain_mut(|(work, _)| work.poll().is_none());
        (state.under_way.is_empty() && state.awaited.is_empty()).then_some(Ok(Status::EMPTY))
    }

    /// Takes one message more, of a communicator, if there is room for it.
    pub(crate) fn take(
        &self,
        on: standard::Comm,
        bytes: usize,
        begin: impl FnOnce() -> Result<Work>,
    ) -> Result<()> {
        let mut state = self.state();
        state.under_way.retain_mut(|(work, _)| work.poll().is_none());
        let all = state.under_way.iter().map(|(_, what)| what).chain(&state.awaited);
        let used = all.map(|what| what.bytes).sum::<i64>();
        let bytes = bytes as i64 + BSEND_OVERHEAD as i64;
        // What is asked of programs is the data and the overhead; some count with less of it.
        let needed = used + bytes - BSEND_OVERHEAD as i64;
        match state.attached {
            None => return fail(ERR_BUFFER, "no buffer is attached; call MPI_Buffer_attach first"),
            Some((address, size)) if address != standard::BUFFER_AUTOMATIC && needed > size => {
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
        state.under_way.push((work, What { on, bytes }));
        Ok(())
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn whoever_flushes_waits_for_what_another_thread_waits_for() {
        const BYTES: usize = 100;
        let (pool, has_left) = (Pool::default(), Arc::new(AtomicBool::new(false)));
        let asked = Arc::new(Barrier::new(2));
        pool.attach(64, 300).unwrap();
        let begin = || {
            let (has_left, asked, mut first) = (Arc::clone(&has_left), Arc::clone(&asked), true);
            Ok(Work::Poll(Box::new(move || {
                // The first to ask is the one that waits.
                if std::mem::take(&mut first) {
                    asked.wait();
                }
                has_left.load(Ordering::Acquire).then_some(Ok(Status::EMPTY))
            })))
        };
        pool.take(standard::Comm::WORLD, BYTES, begin).unwrap();
        let early = AtomicUsize::new(0);
        let flush = || {
            pool.flush().unwrap();
            if !has_left.load(Ordering::Acquire) {
                early.fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::scope(|threads| {
            threads.spawn(flush);
            asked.wait();
            assert!(pool.poll().is_none(), "it has not been sent");
            assert!(
                pool.take(standard::Comm::WORLD, BYTES + 101, || Ok(Work::Done(Status::EMPTY))).is_err(),
                "its memory is in use"
            );
            threads.spawn(flush);
            thread::sleep(Duration::from_millis(50));
            has_left.store(true, Ordering::Release);
        });
        assert_eq!(early.into_inner(), 0);
        assert!(pool.poll().is_some());
        pool.take(standard::Comm::WORLD, BYTES, || Ok(Work::Poll(Box::new(|| None)))).unwrap();
        pool.flush_on(standard::Comm::SELF).unwrap();
        assert!(pool.poll().is_none(), "it is another communicator's");
        pool.state().under_way.clear();
        assert_eq!(pool.detach().unwrap(), (64, 300));
    }
}
