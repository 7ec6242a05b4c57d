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

/// The ranks that have finished or died, as the control plane says.
#[derive(Default)]
pub(super) struct Departures {
    ranks: Mutex<BTreeSet<usize>>,
    more: Condvar,
}

impl Departures {
    /// The control plane has said something.
    pub(super) fn hear(&self, event: &ControlEvent) {
        if let ControlEvent::PeerFinished { rank } | ControlEvent::PeerDown { rank, .. } = event {
            self.ranks.lock().unwrap_or_else(PoisonError::into_inner).insert(*rank);
            self.more.notify_all();
        }
    }

    /// Whether a rank that cannot be reached has left. Waits a moment for that news.
    pub(super) fn include(&self, rank: usize) -> bool {
        let ranks = self.ranks.lock().unwrap_or_else(PoisonError::into_inner);
        let awaited = self.more.wait_timeout_while(ranks, NEWS, |ranks| !ranks.contains(&rank));
        awaited.unwrap_or_else(PoisonError::into_inner).0.contains(&rank)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn news_of_who_has_left_is_waited_for_and_of_who_has_not_in_vain() {
        let departures = Departures::default();
        let down = |rank| ControlEvent::PeerDown { rank, host: "h".into(), cause: "c".into(), link: false };
        departures.hear(&down(1));
        assert!(departures.include(1));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                departures.hear(&ControlEvent::PeerFinished { rank: 3 });
            });
            assert!(departures.include(3));
        });
        let begin = Instant::now();
        assert!(!departures.include(2) && begin.elapsed() >= NEWS);
    }
}
