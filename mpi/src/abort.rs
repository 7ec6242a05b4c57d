//! Ending the world.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use ringworld::Communicator;

static WORLD: RwLock<Option<Communicator>> = RwLock::new(None);

/// What another rank has ended the world with.
static HEARD: OnceLock<i32> = OnceLock::new();

/// This process ends the world, and itself.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);

/// Whether this process ends because it has ended the world: nothing is left to be done for the others.
pub(crate) fn is_under_way() -> bool {
    UNDER_WAY.load(Ordering::Relaxed)
}

/// Another rank has ended the world with `code`. Whoever ends for that ends with the same: launchers make one status of
/// all of them.
pub(crate) fn heard(code: i32) {
    HEARD.get_or_init(|| code);
}

/// Says whose world it is; `None`: it is over.
pub(crate) fn of(world: Option<Communicator>) {
    *WORLD.write().unwrap_or_else(PoisonError::into_inner) = world;
}

/// Ends every rank, by name, and this process with `code`, or with that of the rank which has done so before.
pub(crate) fn abort(code: i32, reason: &str) -> ! {
    UNDER_WAY.store(true, Ordering::Relaxed);
    let code = HEARD.get().copied().unwrap_or(code);
    let world = WORLD.read().unwrap_or_else(PoisonError::into_inner).clone();
    match world {
        Some(world) => world.abort_with(code, reason),
        None => std::process::exit(if code & 0xff == 0 { 1 } else { code & 0xff }),
    }
}
