//! Who has left a world that this rank is still coming into.
//!
//! Ranks come into a world one after the other, and one that has little to do may be gone before the last of them looks
//! for it: then nobody is at its address, as nobody would be at one that is wrong. What tells the two apart is the
//! control plane. Neighbours: `mod.rs` passes its events on, `transports.rs` asks.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use ringworld_bootstrap::ControlEvent;

/// For how long to wait for the news that a rank has left. It is on its way when that rank's process ends; where many
/// leave at once the control plane tells of them together, half a second later at most.
const NEWS: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Known {
    finished: BTreeSet<usize>,
    /// Of these no better news will come.
    dead: BTreeSet<usize>,
    /// The world has ended already, by an error that every call will return: it need not be looked for another.
    over: bool,
}

/// The ranks that have left in good order, as the control plane says, or the end of all. One that has died is none: for
/// those who find nobody at a wrong address take one another for dead, and the address is what is to be told.
#[derive(Default)]
pub(super) struct Departures {
    known: Mutex<Known>,
    more: Condvar,
}

impl Departures {
    /// The control plane has said something.
    pub(super) fn hear(&self, event: &ControlEvent) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            ControlEvent::PeerFinished { rank } => drop(known.finished.insert(*rank)),
            ControlEvent::PeerDown { rank, .. } => drop(known.dead.insert(*rank)),
            ControlEvent::Abort { .. } | ControlEvent::Fault { .. } | ControlEvent::MasterLost { .. } => {
                known.over = true;
            }
            _ => return,
        }
        self.more.notify_all();
    }

    /// Whether a rank that is not at its address has left. Waits a moment for that news, unless it has died.
    pub(super) fn include(&self, rank: usize) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown =
            |known: &mut Known| !known.over && !known.finished.contains(&rank) && !known.dead.contains(&rank);
        let (known, _) =
            self.more.wait_timeout_while(known, NEWS, unknown).unwrap_or_else(PoisonError::into_inner);
        known.over || known.finished.contains(&rank)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn news_of_who_has_left_is_waited_for_and_of_who_has_not_in_vain() {
        let departures = Departures::default();
        departures.hear(&ControlEvent::PeerDown {
            rank: 2,
            host: "h".into(),
            cause: "c".into(),
            link: false,
        });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                departures.hear(&ControlEvent::PeerFinished { rank: 3 });
            });
            assert!(departures.include(3));
        });
        let begin = Instant::now();
        assert!(
            !departures.include(2) && begin.elapsed() < NEWS,
            "the dead have not left, which is known at once"
        );
        let begin = Instant::now();
        assert!(!departures.include(4) && begin.elapsed() >= NEWS, "of this one nothing is known");
        departures.hear(&ControlEvent::Abort { rank: 1, code: 1, reason: "r".into() });
        assert!(departures.include(2), "all calls will say why");
    }
}
