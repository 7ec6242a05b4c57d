//! The tracer: what a rank that is traced notes of its calls, messages, waits and reductions.
//!
//! A rank that is not traced has none, and is asked nowhere whether it has one: the paths of a message test things in
//! any case (is the world over? is there such a peer? was something left for the end of the call?), and what makes a
//! rank be traced makes those tests go the other way, into functions that are never inlined
//! ([`Core::apart`](super::core::Core)). All of it is under the engine's lock.
//!
//! A look at the clock takes 9 ns, a message in shared memory some 150: so where a message is that quick, it is not
//! looked at while somebody waits for what this thread does next. A send then has the time at which it had left, and no
//! length; a receive ends when it was last seen that nothing had come, which is one poll before.
//!
//! Neighbours: `observe` counts, and hands on to here; `ringworld_trace` says what is written, and reads it again.

use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringworld_trace::{Kind, Label, NOBODY, Recorder, Slot};

use super::reduce::Timed;
use super::tally::PeerTally;
use super::told::{Told, Verb};

/// A call that has begun.
#[derive(Debug)]
struct Open {
    /// Whose: a thread is in one call at a time, or in both halves of one.
    thread: usize,
    label: Label,
    begin: u64,
    bytes: usize,
    /// Communicator and algorithm of a collective, and its number there.
    which: (u32, u32),
    /// How its reductions are timed.
    timed: Option<Arc<Timed>>,
}

/// A thread that sleeps.
#[derive(Debug)]
struct Asleep {
    number: u64,
    slot: (u64, Label, u32, u32),
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Tracer {
    recorder: Recorder,
    /// What has gone on with each peer. It is counted here, so that who counts there comes here.
    pub(super) peers: Vec<PeerTally>,
    /// Whose messages take no longer than some looks at the clock.
    brief: Vec<bool>,
    /// The call that has begun last.
    open: Option<Open>,
    /// Those of other threads, and first halves.
    others: Vec<Open>,
    /// A receive polls under the lock, and nothing had come for it by then; or, since it ended, when its message came.
    seen: Option<u64>,
    asleep: Vec<Asleep>,
    /// The latest place of each verb and its label: most calls of a kind stand at one.
    labels: [(usize, Label); Verb::COUNT],
}

impl Tracer {
    /// Of a rank with such peers: whether messages to and from each are brief.
    pub(crate) fn new(recorder: Recorder, brief: Vec<bool>) -> Self {
        let peers = vec![PeerTally::default(); brief.len()];
        let labels = [(0, 0); Verb::COUNT];
        let (others, asleep) = (Vec::new(), Vec::new());
        Self { recorder, peers, brief, open: None, others, seen: None, asleep, labels }
    }

    #[inline]
    fn label(&mut self, told: Told) -> Label {
        let place = told.place.map_or(0, |place| std::ptr::from_ref::<Location<'static>>(place) as usize);
        // Zero is no place, and none that has been seen.
        match self.labels.get(told.verb.index()) {
            Some((at, label)) if *at == place && *label > 0 => *label,
            _ => self.new_label(told, place),
        }
    }

    #[cold]
    fn new_label(&mut self, told: Told, place: usize) -> Label {
        let label = self.recorder.label(told.verb.name(), told.place);
        if let Some(latest) = self.labels.get_mut(told.verb.index()) {
            *latest = (place, label);
        }
        label
    }

    // ---- calls -------------------------------------------------------------------------------------

    /// A send begins, at a time that [`Tracer::sent_at_once`] or [`Tracer::opens`] is to be told.
    #[inline]
    pub(crate) fn begins_send(&self, to: usize) -> Option<u64> {
        let brief = self.brief.get(to).is_some_and(|brief| *brief);
        (!brief).then(|| self.recorder.now())
    }

    /// All of a send has left within its call, which is over.
    #[inline]
    pub(crate) fn sent_at_once(&mut self, told: Told, begin: Option<u64>, to: usize, bytes: usize) {
        let end = self.recorder.now();
        let label = self.label(told);
        let Some(peer) = self.peers.get_mut(to) else { return };
        let number = peer.sent.messages as u32;
        peer.sent.messages += 1;
        peer.sent.bytes += bytes as u64;
        let slot = Slot::new(Kind::Sent, begin.unwrap_or(end), end).bytes_of(bytes).labelled(label);
        self.recorder.write(slot.with(to as u32, number));
    }

    /// A call of this thread has begun, now or then, and goes on.
    pub(crate) fn opens(&mut self, told: Told, begin: Option<u64>, bytes: usize) {
        let begin = begin.unwrap_or_else(|| self.recorder.now());
        let label = self.label(told);
        let open = Open { thread: thread(), label, begin, bytes, which: (NOBODY, 0), timed: None };
        self.others.extend(self.open.replace(open));
        self.seen = None;
    }

    /// A receive begins to poll under the lock.
    #[inline]
    pub(crate) fn expects(&mut self, told: Told, room: usize) {
        let now = self.recorder.now();
        self.opens(told, Some(now), room);
        self.seen = Some(now);
    }

    /// It polls again: nothing has come so far.
    #[inline]
    pub(crate) fn still_expects(&mut self) {
        self.seen = Some(self.recorder.now());
    }

    /// A collective begins, of this communicator and with this number in it.
    pub(crate) fn opens_collective(
        &mut self,
        told: Told,
        bytes: usize,
        communicator: u64,
        number: u32,
        algorithm: &'static str,
        timed: Option<Arc<Timed>>,
    ) {
        let algorithm = self.recorder.label(algorithm, None);
        self.opens(told, None, bytes);
        if let Some(open) = &mut self.open {
            (open.which, open.timed) = ((Slot::collective(communicator, algorithm), number), timed);
        }
    }

    /// An operation begins. Nothing, if a call of this thread is open, to which it belongs; else its caller goes on
    /// with other things, and may wait for its end later.
    pub(crate) fn starts(&mut self, told: Option<Told>) {
        self.seen = None;
        let thread = thread();
        let is_within = |open: &Open| open.thread == thread;
        if !self.open.iter().chain(&self.others).any(is_within)
            && let Some(told) = told
        {
            let (now, label) = (self.recorder.now(), self.label(told));
            self.recorder.write(Slot::new(Kind::Call, now, now).labelled(label));
        }
    }

    /// The call of this thread is over, if one was open.
    #[inline]
    pub(crate) fn closes(&mut self) {
        if self.open.is_none() && self.others.is_empty() {
            return;
        }
        let thread = thread();
        // What has come within a poll is over when it has come.
        let end = self.seen.take();
        if let Some(open) = self.open.take_if(|open| open.thread == thread) {
            let end = end.unwrap_or_else(|| self.recorder.now());
            self.over(open, end);
        }
        if !self.others.is_empty() {
            self.close_others(thread);
        }
    }

    #[cold]
    fn close_others(&mut self, thread: usize) {
        let mut others = std::mem::take(&mut self.others);
        for open in others.extract_if(.., |open| open.thread == thread) {
            let now = self.recorder.now();
            self.over(open, now);
        }
        self.others = others;
    }

    #[inline]
    fn over(&mut self, open: Open, end: u64) {
        let Open { label, begin, bytes, which: (which, number), timed, .. } = open;
        if let Some((spent, reduced, times)) = timed.and_then(|timed| timed.spent()) {
            let end = begin + self.recorder.ticks(spent);
            let slot = Slot::new(Kind::Reduced, begin, end).bytes_of(reduced).with(NOBODY, times);
            self.recorder.write(slot);
        }
        let slot = Slot::new(Kind::Call, begin, end).bytes_of(bytes).labelled(label).with(which, number);
        self.recorder.write(slot);
    }

    // ---- messages ----------------------------------------------------------------------------------

    /// A message has left.
    pub(super) fn sent(&mut self, to: usize, bytes: usize) {
        let now = self.recorder.now();
        let Some(peer) = self.peers.get_mut(to) else { return };
        let number = peer.sent.messages as u32;
        peer.sent.messages += 1;
        peer.sent.bytes += bytes as u64;
        self.recorder.write(Slot::new(Kind::Sent, now, now).bytes_of(bytes).with(to as u32, number));
    }

    /// All of a message has come.
    #[inline]
    pub(super) fn received(&mut self, from: usize, bytes: usize) {
        let brief = self.brief.get(from).is_some_and(|brief| *brief);
        let now = self.seen.filter(|_| brief).unwrap_or_else(|| self.recorder.now());
        if self.seen.is_some() {
            self.seen = Some(now);
        }
        let Some(peer) = self.peers.get_mut(from) else { return };
        let number = peer.received.messages as u32;
        peer.received.messages += 1;
        peer.received.bytes += bytes as u64;
        self.recorder.write(Slot::new(Kind::Came, now, now).bytes_of(bytes).with(from as u32, number));
    }

    /// Bytes have been put into memory of a peer.
    pub(super) fn put(&mut self, to: usize, bytes: usize) {
        let now = self.recorder.now();
        let Some(peer) = self.peers.get_mut(to) else { return };
        peer.sent.bytes += bytes as u64;
        self.recorder.write(Slot::new(Kind::Put, now, now).bytes_of(bytes).with(to as u32, 0));
    }

    // ---- waits -------------------------------------------------------------------------------------

    /// A thread goes to sleep in a call that waits since then; `number` is its name among those that sleep.
    pub(crate) fn sleeps(&mut self, number: u64, since: Instant, told: Option<Told>, peers: &[usize]) {
        let begin = self.recorder.now().saturating_sub(self.recorder.ticks(since.elapsed()));
        let label = told.map_or(0, |told| self.label(told));
        let peer = peers.first().map_or(NOBODY, |peer| *peer as u32);
        let slot = (begin, label, peer, peers.len() as u32);
        self.recorder.write(Slot::new(Kind::Asleep, begin, begin).labelled(label).with(peer, slot.3));
        self.asleep.push(Asleep { number, slot });
    }

    /// Its call is over.
    pub(crate) fn wakes(&mut self, number: u64, waited: Duration) {
        let Some(at) = self.asleep.iter().position(|asleep| asleep.number == number) else { return };
        let (begin, label, peer, peers) = self.asleep.swap_remove(at).slot;
        let now = self.recorder.now();
        self.recorder.write(Slot::new(Kind::Wait, begin, now).labelled(label).with(peer, peers));
        if waited > Duration::from_secs(1) {
            self.recorder.anchor();
        }
    }

    /// This rank's part is over: whoever reads the trace knows then that it was not killed.
    pub(crate) fn ends(&mut self) {
        self.recorder.close();
    }
}

/// What tells threads apart, while they live.
#[inline]
fn thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}
