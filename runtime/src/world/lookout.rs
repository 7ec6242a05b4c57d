//! What this rank does, for the control plane: asked by its thread when the master wants to know, and looked at once a
//! second, so that it can be told since when no call has begun.
//!
//! Neighbours: `engine` knows calls and messages, `bootstrap` carries what is said here and judges it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use ringworld_bootstrap::{Observer, Waiting, Whereabouts, library_threads};
use ringworld_engine::{Core, Engine, helpers};

use super::Route;

/// See the file's head.
pub(super) struct Lookout {
    engine: Weak<Engine>,
    stall_warning: Option<Duration>,
    routes: Vec<(String, u64)>,
    looks: Mutex<Looks>,
}

/// What the last looks have found.
struct Looks {
    /// How many calls had begun, and since when it has been as many.
    begun: u64,
    since: Instant,
    /// Bytes sent and received at the last look, when it was, and how many a second it had been by then.
    bytes: [u64; 2],
    at: Instant,
    rates: [u64; 2],
}

impl Looks {
    fn new(now: Instant) -> Self {
        Self { begun: 0, since: now, bytes: [0; 2], at: now, rates: [0; 2] }
    }

    /// Notes how many calls have begun; for how long it has been as many.
    fn idle(&mut self, now: Instant, begun: u64) -> Duration {
        if begun != self.begun {
            (self.begun, self.since) = (begun, now);
        }
        now.saturating_duration_since(self.since)
    }

    /// Notes how many bytes have been moved. Looks in quick succession make no rate.
    fn moved(&mut self, now: Instant, bytes: [u64; 2]) -> [u64; 2] {
        let passed = now.saturating_duration_since(self.at);
        if passed >= Duration::from_millis(500) {
            for (rate, (now, before)) in self.rates.iter_mut().zip(bytes.iter().zip(self.bytes)) {
                *rate = (now.saturating_sub(before) as f64 / passed.as_secs_f64()) as u64;
            }
            (self.bytes, self.at) = (bytes, now);
        }
        self.rates
    }
}

/// Bytes sent to all peers and received from them.
fn bytes(core: &Core) -> [u64; 2] {
    core.peers()
        .iter()
        .fold([0; 2], |[sent, received], peer| [sent + peer.sent.bytes, received + peer.received.bytes])
}

impl Lookout {
    pub(super) fn new(engine: Weak<Engine>, stall_warning: Option<Duration>, routes: &[Route]) -> Self {
        let mut transports: BTreeMap<&str, u64> = BTreeMap::new();
        for route in routes {
            *transports.entry(route.transport).or_default() += 1;
        }
        let routes = transports.into_iter().map(|(name, peers)| (name.to_string(), peers)).collect();
        Self { engine, stall_warning, routes, looks: Mutex::new(Looks::new(Instant::now())) }
    }

    fn looks(&self) -> std::sync::MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call, in the words of the control plane.
    fn waiting(&self, waiting: ringworld_engine::Waiting) -> Waiting {
        let ringworld_engine::Waiting { number, waited, call, peers, any } = waiting;
        let stalled = self.stall_warning.is_some_and(|warning| waited >= warning);
        let peers = peers.into_iter().map(|peer| peer as u64).collect();
        Waiting { number, waited, stalled, call, peers, any }
    }
}

impl Observer for Lookout {
    fn look(&self) {
        let Some(engine) = self.engine.upgrade() else { return };
        if let Some((begun, bytes)) = engine.look(|core| (core.begun(), bytes(core))) {
            let (mut looks, now) = (self.looks(), Instant::now());
            looks.idle(now, begun);
            looks.moved(now, bytes);
        }
    }

    fn tell(&self) -> Whereabouts {
        let routes = self.routes.clone();
        let Some(engine) = self.engine.upgrade() else {
            return Whereabouts { over: true, leaves: true, routes, ..Whereabouts::default() };
        };
        let seen = engine.look(|core| (core.whereabouts(), bytes(core)));
        let (mut looks, now) = (self.looks(), Instant::now());
        let Some((seen, bytes)) = seen else {
            let idle = now.saturating_duration_since(looks.since);
            let (bytes, rates) = (looks.bytes, looks.rates);
            return Whereabouts { busy: true, idle, bytes, rates, routes, ..Whereabouts::default() };
        };
        // After the look: who waited then makes no thread any more.
        let others = threads().map(|all| all.saturating_sub(seen.waits.len() as u64));
        Whereabouts {
            begun: seen.begun,
            sent: seen.sent,
            received: seen.received,
            left: seen.left as u64,
            moves: seen.moves,
            leaves: seen.leaves,
            over: seen.over,
            busy: false,
            // What is cut off is not known to wait.
            others: others.filter(|_| seen.waits.len() <= Whereabouts::limits().0),
            idle: looks.idle(now, seen.begun),
            bytes,
            rates: looks.moved(now, bytes),
            last: seen.last,
            waits: seen.waits.into_iter().map(|waiting| self.waiting(waiting)).collect(),
            routes,
        }
    }
}

/// How many threads this process has that are not the library's; `None` where the system does not say.
fn threads() -> Option<u64> {
    // Ours first: one that ends in between counts as a stranger, which is the safe mistake.
    let ours = library_threads() + helpers();
    let all = std::fs::read_dir("/proc/self/task").ok()?.count();
    Some(all.saturating_sub(ours) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_begin_end_the_time_without_and_rates_are_of_the_last_second() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut looks = Looks::new(start);
        assert_eq!(looks.idle(at(1000), 0), Duration::from_secs(1));
        assert_eq!(looks.idle(at(2000), 5), Duration::ZERO);
        assert_eq!(looks.idle(at(5000), 5), Duration::from_secs(3));
        assert_eq!(looks.moved(at(1000), [1000, 0]), [1000, 0]);
        assert_eq!(looks.moved(at(1001), [9000, 9000]), [1000, 0], "too soon to say");
        assert_eq!(looks.moved(at(3000), [9000, 2]), [4000, 1]);
    }

    #[test]
    fn threads_of_the_program_are_counted() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let threads_now = std::thread::scope(|scope| {
            let waits = scope.spawn(move || stopped.recv().is_err());
            let now = threads().unwrap();
            drop(stop);
            assert!(waits.join().unwrap());
            now
        });
        // Other tests of this process come and go.
        assert!(threads_now >= 2, "{threads_now}");
    }
}
