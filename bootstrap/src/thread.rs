//! Threads whose log lines go where their maker's go.
//!
//! A subscriber may be the default of one thread only: that of a test, or that of the library for as long as the
//! program has none. What such a thread starts would speak to nobody.

use std::io;
use std::thread::{Builder, JoinHandle};

use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::dispatcher;
use tracing::subscriber::NoSubscriber;

/// Threads of this crate that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// How many threads of this process are the control plane's own. One that begins or ends may be missing.
#[must_use]
pub fn library_threads() -> usize {
    RUNNING.load(Ordering::SeqCst)
}

/// A thread, from within.
struct Counted;

impl Counted {
    fn enter() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Starts a thread with this name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let makers = dispatcher::get_default(Clone::clone);
    Builder::new().name(name.into()).spawn(move || {
        let _counted = Counted::enter();
        // Where nobody listens yet, somebody may later, and everywhere.
        if makers.is::<NoSubscriber>() { body() } else { dispatcher::with_default(&makers, body) }
    })
}
