//! Who sleeps in a call, since when and for what: what others are told of a rank that waits.
//!
//! A thread that goes to sleep is entered here once for its call, under the engine's lock, and taken out when the call
//! is over: so calls that do not sleep cost nothing. Each entry has a number that is used once, by which two looks at
//! different moments can tell that a thread has waited all the time between.

use std::time::Instant;

use ringworld_protocol::Selector;
use smallvec::SmallVec;

use super::calls::CallId;
use super::observe::Told;
use super::waiters::Topic;

/// What a thread sleeps for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// The end of one of these operations.
    Calls(SmallVec<[CallId; 2]>),
    /// A message.
    Message(Selector, Told),
    /// Something that no other rank's call brings.
    Topic(Topic),
}

/// A thread that sleeps, or has slept and looks again.
#[derive(Debug)]
pub(crate) struct Sleeper {
    /// Never used again.
    pub(crate) number: u64,
    /// When its call began to wait.
    pub(crate) since: Instant,
    pub(crate) wanted: Wanted,
    /// Whom it waited for when it went to sleep, or some of them.
    pub(crate) peers: SmallVec<[usize; 4]>,
}

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    list: Vec<Sleeper>,
    next: u64,
}

impl Sleepers {
    /// A thread is about to sleep for the first time in its call; the number of its entry.
    pub(crate) fn sleep(&mut self, since: Instant, wanted: Wanted, peers: SmallVec<[usize; 4]>) -> u64 {
        self.next += 1;
        self.list.push(Sleeper { number: self.next, since, wanted, peers });
        self.next
    }

    /// The call is over.
    pub(crate) fn wake(&mut self, number: u64) -> Option<Sleeper> {
        let at = self.list.iter().position(|sleeper| sleeper.number == number)?;
        Some(self.list.swap_remove(at))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sleeper> {
        self.list.iter()
    }
}
