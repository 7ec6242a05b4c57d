//! Threads whose log lines go where their maker's go.
//!
//! A subscriber may be the default of one thread only: that of a test, or that of the library for as long as the
//! program has none. What such a thread starts would speak to nobody.

use std::io;
use std::thread::{Builder, JoinHandle};

use tracing::dispatcher;
use tracing::subscriber::NoSubscriber;

/// Starts a thread with this name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let makers = dispatcher::get_default(Clone::clone);
    Builder::new().name(name.into()).spawn(move || {
        // Where nobody listens yet, somebody may later, and everywhere.
        if makers.is::<NoSubscriber>() { body() } else { dispatcher::with_default(&makers, body) }
    })
}
