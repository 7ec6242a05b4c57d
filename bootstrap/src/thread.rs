//! Threads whose log lines go where their maker's go, and what to do where the system gives none.
//!
//! A subscriber may be the default of one thread only: that of a test, or that of the library for as long as the
//! program has none. What such a thread starts would speak to nobody.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use rustix::process::{Resource, getrlimit};
use tokio::sync::oneshot;
use tracing::dispatcher;
use tracing::subscriber::NoSubscriber;

use crate::canary::Canary;
use crate::descriptors::advised;

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

/// Starts a thread with this name. An error says what the system lacks.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let makers = dispatcher::get_default(Clone::clone);
    let started = Builder::new().name(name.into()).spawn(move || {
        let _counted = Counted::enter();
        // Where nobody listens yet, somebody may later, and everywhere.
        if makers.is::<NoSubscriber>() { body() } else { dispatcher::with_default(&makers, body) }
    });
    started.map_err(|error| refused(&error))
}

/// The same error, and what to look at. The system says no more than that it lacks something.
fn refused(error: &io::Error) -> io::Error {
    let bound = |resource, unit: u64| match getrlimit(resource).current {
        Some(limit) => (limit / unit).to_string(),
        None => "unlimited".into(),
    };
    io::Error::new(
        error.kind(),
        format!(
            "the system gives this process no further thread: {error}; either this user has as many processes and \
             threads as it may have (`ulimit -u`: {}), or the container or service has (pids.max), or there is no \
             memory for a stack (`ulimit -v`: {}; `ulimit -d`: {}): raise what is too low",
            bound(Resource::Nproc, 1),
            bound(Resource::As, 1024),
            bound(Resource::Data, 1024),
        ),
    )
}

/// Does what blocks in a thread of its own. `spawn_blocking` would panic where the system gives no thread.
pub(crate) async fn aside<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (done, result) = oneshot::channel();
    spawn(name, move || drop(done.send(body())))?;
    result.await.map_err(|_| io::Error::other("the thread panicked"))
}

/// An event loop for one thread, which may be dropped in any other.
///
/// Tokio's own panics where it is dropped inside another one. That happens when the thread that was to run it cannot be
/// started, and who wanted it is a task: the control thread's, or one of a program that uses tokio itself.
///
/// It panics, too, where its descriptors have been closed under it. A thread that finds so when it is about to wait for
/// them, or has waited, waits for ever instead, and touches nothing more: what has their numbers now may be the
/// program's.
pub(crate) struct Runtime {
    runtime: Option<tokio::runtime::Runtime>,
    canary: Arc<Canary>,
}

impl Runtime {
    pub(crate) fn new() -> io::Result<Self> {
        Self::over(Canary::new().map_err(advised)?)
    }

    /// One that this shows to be sound.
    pub(crate) fn over(canary: Canary) -> io::Result<Self> {
        let canary = Arc::new(canary);
        let look = || {
            let shows = Arc::clone(&canary);
            move || {
                while shows.is_gone() {
                    std::thread::park();
                }
            }
        };
        let mut builder = tokio::runtime::Builder::new_current_thread();
        // Before it waits for its descriptors, and before it does what they have woken it for: that may set a timer,
        // and then it wakes itself.
        let runtime = builder.enable_all().on_thread_park(look()).on_thread_unpark(look()).build();
        let runtime = runtime.map_err(advised)?;
        Ok(Self { runtime: Some(runtime), canary })
    }

    /// Runs this to its end, in the calling thread. As a task: whatever wakes one from within takes no descriptor.
    pub(crate) fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.block_on(async {
            match self.spawn(future).await {
                Ok(done) => done,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        })
    }

    /// What whoever speaks to its thread looks at before.
    pub(crate) fn canary(&self) -> Arc<Canary> {
        Arc::clone(&self.canary)
    }
}

impl Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    #[expect(clippy::expect_used, reason = "it is there until the drop")]
    fn deref(&self) -> &Self::Target {
        self.runtime.as_ref().expect("an event loop that is not dropped")
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Waits for nothing, and nothing that anybody waits for is left on it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_event_loop_without_its_descriptors_sleeps_instead_of_going_on() {
        let runtime = Runtime::over(Canary::replaced()).unwrap();
        let canary = runtime.canary();
        let (told, heard) = sync_channel(1);
        canary.tell(move || told.send(()).unwrap());
        let thread = spawn("test", move || {
            runtime.run(async { tokio::time::sleep(Duration::from_millis(1)).await });
        });
        heard.recv_timeout(Duration::from_secs(10)).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!thread.unwrap().is_finished(), "it has gone on");
    }
}
