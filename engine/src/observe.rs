//! What is seen of a rank from outside: where its calls stand, and how much it has done. The one place that is told.
//!
//! ```text
//! a call begins           Observed::begins    lend (blocking, owned, scoped, foreign), probes
//! a message leaves        Observed::sent      core, runs: where a transport is given it
//! a message has come      Observed::received  core: where a transport reports all of it
//! a thread goes to sleep  Sleepers::sleep     wait: once for each call that waits for longer than a moment
//! such a call is over     Sleepers::wake      wait
//! ```
//!
//! All of it happens under the engine's lock. On the way of a message it costs a few additions, and no clock is read:
//! a call that does not sleep has no times. A rank that is traced counts its peers in its tracer, which looks at the
//! clock: nobody is asked whether there is one, but by a peer that is not here. Neighbours: `told` and `tally` are what
//! is counted, `sleepers` has those who wait, `core/whereabouts` tells both in words and numbers.

use std::time::Duration;

pub use super::tally::{CallTally, PeerTally, Traffic};
pub use super::told::{Told, Verb};
use super::tracer::Tracer;

/// The counters of an engine.
#[derive(Debug)]
pub(crate) struct Observed {
    calls: [CallTally; Verb::COUNT],
    /// None where a tracer counts them.
    peers: Vec<PeerTally>,
    tracer: Option<Box<Tracer>>,
    begun: u64,
    last: Option<Told>,
}

impl Observed {
    /// In a world of `size` ranks.
    pub(crate) fn new(size: usize, tracer: Option<Box<Tracer>>) -> Self {
        let calls = [CallTally::default(); Verb::COUNT];
        let here = if tracer.is_some() { 0 } else { size };
        Self { calls, peers: vec![PeerTally::default(); here], tracer, begun: 0, last: None }
    }

    /// Who notes what this rank does, if it is traced.
    pub(crate) fn tracer(&mut self) -> Option<&mut Tracer> {
        self.tracer.as_deref_mut()
    }

    /// A call begins, with so many bytes of the caller's memory.
    #[inline]
    pub(crate) fn begins(&mut self, told: Told, bytes: usize) {
        self.begun += 1;
        self.last = Some(told);
        let tally = &mut self.calls[told.verb.index()];
        tally.calls += 1;
        tally.bytes += bytes as u64;
    }

    /// A transport has been given a message with so long a payload.
    #[inline]
    pub(crate) fn sent(&mut self, to: usize, bytes: usize) {
        if let Some(peer) = self.peers.get_mut(to) {
            peer.sent.messages += 1;
            peer.sent.bytes += bytes as u64;
        } else {
            self.sent_traced(to, bytes);
        }
    }

    /// A rank is shown what would be so long a message.
    #[inline]
    pub(crate) fn shown(&mut self, to: usize, bytes: usize) {
        self.sent(to, bytes);
        if let Some(peer) = self.tallies().get_mut(to) {
            peer.shown += 1;
        }
    }

    /// What a rank shows has been taken.
    #[inline]
    pub(crate) fn taken(&mut self, from: usize, bytes: usize) {
        self.received(from, bytes);
        if let Some(peer) = self.tallies().get_mut(from) {
            peer.taken += 1;
        }
    }

    // Never inlined, so that what is on the way of a message stays as short as it is.
    #[cold]
    #[inline(never)]
    fn sent_traced(&mut self, to: usize, bytes: usize) {
        if let Some(tracer) = &mut self.tracer {
            tracer.sent(to, bytes);
        }
    }

    /// A transport has been given bytes to put into the memory of a peer.
    pub(crate) fn put(&mut self, to: usize, bytes: usize) {
        if let Some(peer) = self.peers.get_mut(to) {
            peer.sent.bytes += bytes as u64;
        } else if let Some(tracer) = &mut self.tracer {
            tracer.put(to, bytes);
        }
    }

    /// All of a message has come.
    #[inline]
    pub(crate) fn received(&mut self, from: usize, bytes: usize) {
        if let Some(peer) = self.peers.get_mut(from) {
            peer.received.messages += 1;
            peer.received.bytes += bytes as u64;
        } else {
            self.received_traced(from, bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn received_traced(&mut self, from: usize, bytes: usize) {
        if let Some(tracer) = &mut self.tracer {
            tracer.received(from, bytes);
        }
    }

    /// Bytes are on their way that are not in a message that has come: of one that is placed, or of a put.
    pub(crate) fn expects(&mut self, from: usize, bytes: usize) {
        if let Some(peer) = self.tallies().get_mut(from) {
            peer.received.bytes += bytes as u64;
        }
    }

    /// What is counted of each peer, wherever.
    #[inline]
    fn tallies(&mut self) -> &mut [PeerTally] {
        match &mut self.tracer {
            Some(tracer) => &mut tracer.peers,
            None => &mut self.peers,
        }
    }

    /// A call has slept, and waited for so long in all, for these peers.
    pub(crate) fn waited(&mut self, verb: Option<Verb>, peers: &[usize], waited: Duration) {
        if let Some(verb) = verb {
            let tally = &mut self.calls[verb.index()];
            tally.waits += 1;
            tally.waited += waited;
        }
        for peer in peers {
            if let Some(peer) = self.tallies().get_mut(*peer) {
                peer.waits += 1;
                peer.waited += waited;
            }
        }
    }

    /// How many calls have begun.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// The latest call.
    pub(crate) fn last(&self) -> Option<Told> {
        self.last
    }

    /// By rank.
    pub(crate) fn peers(&self) -> &[PeerTally] {
        self.tracer.as_ref().map_or(&self.peers, |tracer| &tracer.peers)
    }

    /// Of each kind of call that there was.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (Verb, CallTally)> + '_ {
        Verb::all().zip(self.calls).filter(|(_, tally)| tally.calls > 0 || tally.waits > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::signature::Call;
    use super::*;

    #[test]
    fn every_verb_has_a_name_and_a_tally_of_its_own() {
        let mut observed = Observed::new(1, None);
        let verbs = [Verb::SEND, Verb::RECEIVE, Verb::PROBE, Verb::FINISH];
        let collectives = (1..=28).map(|number| Verb::collective(Call::of(number).unwrap()));
        let all: Vec<Verb> = verbs.into_iter().chain(collectives).collect();
        for (count, verb) in all.iter().enumerate() {
            assert_ne!(verb.name(), "unknown");
            (0..=count).for_each(|_| observed.begins(Told::here(*verb), 3));
        }
        let mut tallies: Vec<_> = observed.calls().map(|(_, tally)| (tally.calls, tally.bytes)).collect();
        tallies.sort_unstable();
        assert_eq!(tallies, (1..=32).map(|count| (count, 3 * count)).collect::<Vec<_>>());
        assert_eq!(observed.begun(), 32 * 33 / 2);
    }

    #[test]
    fn a_peer_that_does_not_exist_is_not_counted() {
        let mut observed = Observed::new(2, None);
        observed.sent(7, 1);
        observed.received(7, 1);
        observed.waited(None, &[1, 7], Duration::from_secs(1));
        observed.sent(1, 5);
        observed.put(1, 100);
        let [nobody, peer] = observed.peers() else { panic!("two ranks") };
        assert_eq!(*nobody, PeerTally::default());
        assert_eq!((peer.sent, peer.waits), (Traffic { messages: 1, bytes: 105 }, 1));
    }
}
