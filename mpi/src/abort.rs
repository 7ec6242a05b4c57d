//! Ending the world.

use std::sync::{PoisonError, RwLock};

use ringworld::Communicator;

static WORLD: RwLock<Option<Communicator>> = RwLock::new(None);

/// Says whose world it is; `None`: it is over.
pub(crate) fn of(world: Option<Communicator>) {
    *WORLD.write().unwrap_or_else(PoisonError::into_inner) = world;
}

/// Ends every rank, by name, and this process with `code`.
pub(crate) fn abort(code: i32, reason: &str) -> ! {
    let world = WORLD.read().unwrap_or_else(PoisonError::into_inner).clone();
    match world {
        Some(world) => world.abort_with(code, reason),
        None => std::process::exit(if code & 0xff == 0 { 1 } else { code & 0xff }),
    }
}
