//! The places of connections that have not yet shown who they are, and the tasks that hold them. Neighbours: `door`
//! decides who makes room, `accept` gives the places, `connection` takes one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use crate::door::Door;

struct Shared {
    door: Door,
    tasks: HashMap<u64, AbortHandle>,
}

impl Shared {
    /// Drops a connection that has to make room.
    fn make_room(&mut self, number: Option<u64>) -> bool {
        let Some(task) = number.and_then(|number| self.tasks.remove(&number)) else { return false };
        task.abort();
        true
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those that wait, and what drops them.
pub(crate) struct Places(Arc<Mutex<Shared>>);

impl Places {
    /// Places for so many of each kind.
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Shared { door: Door::new(limit), tasks: HashMap::new() })))
    }

    /// A place for connection `number`; whether another was dropped for it.
    pub(crate) fn enter(&self, number: u64, from: IpAddr) -> (Waiting, bool) {
        let mut shared = lock(&self.0);
        let dropped = shared.door.enter(number, from);
        let dropped = shared.make_room(dropped);
        (Waiting { number, shared: Arc::clone(&self.0) }, dropped)
    }

    /// What to abort in order to drop a connection that waits.
    pub(crate) fn note(&self, number: u64, task: AbortHandle) {
        lock(&self.0).tasks.insert(number, task);
    }

    /// Drops a connection, if one waits of which nothing is known.
    pub(crate) fn drop_one(&self) -> bool {
        let mut shared = lock(&self.0);
        let dropped = shared.door.drop_one();
        shared.make_room(dropped)
    }
}

/// The place of a connection at the door, until it is dropped.
pub(crate) struct Waiting {
    number: u64,
    shared: Arc<Mutex<Shared>>,
}

impl Waiting {
    /// The connection's number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Its first words were made with the secret.
    pub(crate) fn vouch(&self) {
        let mut shared = lock(&self.shared);
        let dropped = shared.door.vouch(self.number);
        shared.make_room(dropped);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.door.leave(self.number);
        shared.tasks.remove(&self.number);
    }
}
