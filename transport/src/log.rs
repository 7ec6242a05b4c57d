//! Warnings that are heard although the program has no subscriber.
//!
//! Transports are polled by the threads of the program, where nobody listens unless the program has set up logging.
//! What must not be lost then (connections that are refused, a card in error) goes to a subscriber that the library
//! keeps for that case. Neighbour: the public crate sets it, once, when a world is made.

use std::sync::OnceLock;

use tracing::Dispatch;
use tracing::dispatcher::{get_default, with_default};
use tracing::subscriber::NoSubscriber;

#[doc(hidden)]
pub use tracing;

static FALLBACK: OnceLock<Dispatch> = OnceLock::new();

/// Who listens from now on wherever nobody else does. Only the first call has an effect.
pub fn set_fallback(listener: impl FnOnce() -> Dispatch) {
    FALLBACK.get_or_init(listener);
}

/// Runs `body`, whose log lines go to the fallback if nobody else listens. Not for the way of a message: to find out
/// who listens takes a look at a thread's own memory.
///
/// ```
/// ringworld_transport::log::heard(|| tracing::warn!("the cable is out"));
/// ```
pub fn heard<R>(body: impl FnOnce() -> R) -> R {
    match FALLBACK.get() {
        Some(listener) if get_default(Dispatch::is::<NoSubscriber>) => with_default(listener, body),
        _ => body(),
    }
}

/// Makes `body` speak to whom this thread speaks, on whatever thread it will run. For threads that the library starts:
/// a subscriber may be the default of one thread only, such as that of a test, and does not hear what that starts.
///
/// ```
/// let body = ringworld_transport::log::as_here(|| tracing::warn!("the cable is out"));
/// std::thread::spawn(body).join().unwrap();
/// ```
pub fn as_here<R>(body: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let here = get_default(Dispatch::clone);
    // Where nobody listens yet, somebody may later, and everywhere.
    move || if here.is::<NoSubscriber>() { body() } else { with_default(&here, body) }
}

/// `tracing::warn!`, [heard](crate::log::heard).
#[macro_export]
macro_rules! warn {
    ($($what:tt)*) => { $crate::log::heard(|| $crate::log::tracing::warn!($($what)*)) };
}

/// `tracing::error!`, [heard](crate::log::heard).
#[macro_export]
macro_rules! error {
    ($($what:tt)*) => { $crate::log::heard(|| $crate::log::tracing::error!($($what)*)) };
}
