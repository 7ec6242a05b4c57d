//! The fabric as a test sees it: the clock, the faults, and the transports to hand out.

use std::sync::{Arc, Mutex};

use ringworld_transport::{Rank, Transport};

use crate::engine::Engine;
use crate::sim::lock;
use crate::{Config, Sim};

/// A simulated fabric. All methods but [`Fabric::transports`] may be called from any thread while
/// transports are in use.
#[derive(Debug)]
pub struct Fabric {
    engine: Arc<Mutex<Engine>>,
    transports: Vec<Sim>,
}

impl Fabric {
    /// A fabric of `size` ranks at time 0.
    #[must_use]
    pub fn new(size: usize, config: Config) -> Self {
        let engine = Arc::new(Mutex::new(Engine::new(size, config)));
        let transports = (0..size).map(|rank| Sim::new(rank, Arc::clone(&engine))).collect();
        Self { engine, transports }
    }

    /// The transports, rank by rank, none of which knows an address yet. They are handed out once: a
    /// second call returns none.
    pub fn transports(&mut self) -> Vec<Sim> {
        std::mem::take(&mut self.transports)
    }

    /// The transports, each of which knows the address of every other. Handed out once, as by
    /// [`Fabric::transports`].
    pub fn connected_transports(&mut self) -> Vec<Sim> {
        let mut sims = self.transports();
        let addresses: Vec<_> = sims.iter().map(Sim::address).collect();
        for (rank, sim) in sims.iter_mut().enumerate() {
            for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                let connected = sim.connect(peer, address);
                debug_assert!(connected.is_ok(), "a fabric understands its own addresses: {connected:?}");
            }
        }
        sims
    }

    /// The virtual time, in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        lock(&self.engine).now
    }

    /// Moves the clock to the next event and lets it happen; `false` when nothing is on its way, so that
    /// only a new operation can make something happen.
    pub fn advance(&self) -> bool {
        lock(&self.engine).advance()
    }

    /// Moves the clock on by `nanoseconds`, as if all ranks had computed for so long.
    pub fn elapse(&self, nanoseconds: u64) {
        let mut engine = lock(&self.engine);
        let end = engine.now.saturating_add(nanoseconds);
        engine.run_until(end);
    }

    /// Ends a rank as the death of its process does: peers that are connected to it see `PeerDown` one
    /// latency later, others when they first use it. The rank's own transport reports every peer as down,
    /// so that the thread that drives it comes to an end too.
    ///
    /// # Panics
    ///
    /// When there is no such rank.
    pub fn kill(&self, rank: Rank) {
        lock(&self.engine).kill(rank);
    }

    /// Makes all packets from and to a rank vanish from now on, those on their way included. Nobody is
    /// told; only [`Transport::disconnect`] ends the operations of its peers.
    ///
    /// # Panics
    ///
    /// When there is no such rank.
    pub fn silence(&self, rank: Rank) {
        lock(&self.engine).ends[rank].silent = true;
    }

    /// Breaks the connection of two ranks for ever: each reports the other as down by its next poll.
    ///
    /// # Panics
    ///
    /// When there is no such rank.
    pub fn cut(&self, a: Rank, b: Rank) {
        lock(&self.engine).cut(a, b);
    }

    /// A hash of everything that has happened so far. Two runs with the same configuration and the same
    /// calls have the same hash.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        lock(&self.engine).trace.hash()
    }
}
