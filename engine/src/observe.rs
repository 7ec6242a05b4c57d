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
//! a call that does not sleep has no times. Neighbours: `sleepers` has those who wait, `core/whereabouts` tells both in
//! words and numbers.

use std::panic::Location;
use std::time::Duration;

use super::signature::Call;

/// Which call of the interface: a collective by its number, or one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Verb(u8);

impl Verb {
    /// Sends one message.
    pub const SEND: Self = Self(0);
    /// Receives one message.
    pub const RECEIVE: Self = Self(29);
    /// Waits until there is a message.
    pub const PROBE: Self = Self(30);
    /// Leaves the world.
    pub const FINISH: Self = Self(31);
    /// How many there may be: numbers of collectives end below those of the others.
    const COUNT: usize = 32;

    /// A collective.
    #[inline]
    #[must_use]
    pub const fn collective(call: Call) -> Self {
        Self(call as u8)
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SEND => "send",
            Self::RECEIVE => "recv",
            Self::PROBE => "probe",
            Self::FINISH => "finish",
            Self(number) => Call::of(number).map_or("unknown", Call::name),
        }
    }

    #[inline]
    fn index(self) -> usize {
        // Known to be below the count, so that nothing has to be checked on the way of a message.
        usize::from(self.0) % Self::COUNT
    }
}

/// A call and its place in the program.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Which call.
    pub verb: Verb,
    /// Where it stands; `None` in a program of another language.
    pub place: Option<&'static Location<'static>>,
}

impl Told {
    /// A call that stands where this function's caller was called.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn here(verb: Verb) -> Self {
        Self { verb, place: Some(Location::caller()) }
    }

    /// A call of a program whose places are not known.
    #[inline]
    #[must_use]
    pub const fn of_another_language(verb: Verb) -> Self {
        Self { verb, place: None }
    }

    /// ` at file:line`, where that is known.
    #[must_use]
    pub(crate) fn at(self) -> String {
        self.place.map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()))
    }
}

/// What has gone to a peer, or come from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages, those of the protocol itself included.
    pub messages: u64,
    /// Bytes of the user's and of collectives, without headers.
    pub bytes: u64,
}

/// What has gone on with one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerTally {
    /// To it.
    pub sent: Traffic,
    /// From it.
    pub received: Traffic,
    /// Calls that slept while they waited for it, and for how long in all.
    pub waits: u64,
    /// A call that waits for several peers counts for each.
    pub waited: Duration,
}

/// What has been done by one kind of call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTally {
    /// How often it was called.
    pub calls: u64,
    /// How much memory it was given, in bytes: to send and to receive.
    pub bytes: u64,
    /// Calls that slept, and for how long in all.
    pub waits: u64,
    /// See `waits`.
    pub waited: Duration,
}

/// The counters of an engine.
#[derive(Debug)]
pub(crate) struct Observed {
    calls: [CallTally; Verb::COUNT],
    peers: Vec<PeerTally>,
    begun: u64,
    last: Option<Told>,
}

impl Observed {
    /// In a world of `size` ranks.
    pub(crate) fn new(size: usize) -> Self {
        let calls = [CallTally::default(); Verb::COUNT];
        Self { calls, peers: vec![PeerTally::default(); size], begun: 0, last: None }
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
        }
    }

    /// A transport has been given bytes to put into the memory of a peer.
    pub(crate) fn put(&mut self, to: usize, bytes: usize) {
        if let Some(peer) = self.peers.get_mut(to) {
            peer.sent.bytes += bytes as u64;
        }
    }

    /// All of a message has come.
    #[inline]
    pub(crate) fn received(&mut self, from: usize, bytes: usize) {
        if let Some(peer) = self.peers.get_mut(from) {
            peer.received.messages += 1;
            peer.received.bytes += bytes as u64;
        }
    }

    /// Bytes are on their way that are not in a message that has come: of one that is placed, or of a put.
    pub(crate) fn expects(&mut self, from: usize, bytes: usize) {
        if let Some(peer) = self.peers.get_mut(from) {
            peer.received.bytes += bytes as u64;
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
            if let Some(peer) = self.peers.get_mut(*peer) {
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
        &self.peers
    }

    /// Of each kind of call that there was.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (Verb, CallTally)> + '_ {
        let verbs = (0..Verb::COUNT as u8).map(Verb);
        verbs.zip(self.calls).filter(|(_, tally)| tally.calls > 0 || tally.waits > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_name_and_a_tally_of_its_own() {
        let mut observed = Observed::new(1);
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
        let mut observed = Observed::new(2);
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
