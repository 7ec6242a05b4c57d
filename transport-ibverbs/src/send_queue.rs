//! The accounting of one send queue: what has been posted, what is done, which slots are free, what is signalled.
//!
//! Work requests end in the order in which they were posted, and only signalled ones say so; a signalled
//! one therefore ends all before it. One in [`SIGNAL`] is signalled, so that the queue can never be full of
//! work whose end nobody will hear of. Slots are used in turn. Pure. Neighbours: `verbs/link.rs`.

use std::collections::VecDeque;

/// Send slots per queue pair.
pub(crate) const SEND_SLOTS: usize = 32;
/// Work requests of one send queue.
pub(crate) const DEPTH: usize = 64;
/// One in this many is signalled.
const SIGNAL: u32 = 16;

// Half of the slots may be done without anybody knowing; the other half must suffice for going on.
const _: () = assert!(SIGNAL as usize * 2 <= SEND_SLOTS && SEND_SLOTS <= DEPTH);

/// What a work request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Bytes that were copied: nobody waits for their end.
    Copy,
    /// A fragment of this put (`fragments.rs`).
    Fragment { put: u32 },
    /// Acknowledges the peer's FIN.
    FinAck,
    /// Finds out whether the peer is there.
    Probe,
}

/// The accounting.
#[derive(Debug, Default)]
pub(crate) struct SendQueue {
    /// What each work request is for, and the slot it uses.
    posted: VecDeque<(Work, Option<usize>)>,
    /// Sequence number of the oldest in `posted`.
    first: u32,
    unsignalled: u32,
    next_slot: usize,
    slots_busy: usize,
}

impl SendQueue {
    /// Whether another work request may be posted.
    pub(crate) fn has_room(&self) -> bool {
        self.posted.len() < DEPTH
    }

    /// The next send slot, if it is free.
    pub(crate) fn slot(&self) -> Option<usize> {
        (self.slots_busy < SEND_SLOTS && self.has_room()).then_some(self.next_slot)
    }

    /// The number of the next work request, which is for `work`, and whether to signal it.
    pub(crate) fn next(&self, work: Work) -> (u32, bool) {
        let number = self.first.wrapping_add(self.posted.len() as u32);
        (number, work != Work::Copy || self.unsignalled + 1 >= SIGNAL)
    }

    /// It has been posted as [`SendQueue::next`] said, with the slot that [`SendQueue::slot`] named or none.
    pub(crate) fn posted(&mut self, work: Work, slot: Option<usize>) {
        let (_, signalled) = self.next(work);
        self.unsignalled = if signalled { 0 } else { self.unsignalled + 1 };
        if slot.is_some() {
            self.next_slot = (self.next_slot + 1) % SEND_SLOTS;
            self.slots_busy += 1;
        }
        self.posted.push_back((work, slot));
    }

    /// Work request `number` is done, and with it all before, oldest first; `None` when there is no such.
    pub(crate) fn done(
        &mut self,
        number: u32,
    ) -> Option<impl Iterator<Item = (Work, Option<usize>)> + use<'_>> {
        let count = number.wrapping_sub(self.first) as usize;
        if count >= self.posted.len() {
            return None;
        }
        self.first = number.wrapping_add(1);
        let slots_busy = &mut self.slots_busy;
        Some(self.posted.drain(..=count).inspect(move |(_, slot)| {
            *slots_busy -= usize::from(slot.is_some());
        }))
    }

    /// Whether a probe is under way.
    pub(crate) fn is_probing(&self) -> bool {
        self.posted.iter().any(|(work, _)| *work == Work::Probe)
    }

    /// Fragments of puts under way.
    pub(crate) fn fragments(&self) -> usize {
        self.posted.iter().filter(|(work, _)| matches!(work, Work::Fragment { .. })).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_always_holds_a_signalled_request() {
        let mut queue = SendQueue::default();
        let mut signalled = VecDeque::new();
        for round in 0..10_000usize {
            let slot = queue.slot().unwrap();
            assert_eq!(slot, round % SEND_SLOTS);
            let (number, signal) = queue.next(Work::Copy);
            assert_eq!(number as usize, round);
            queue.posted(Work::Copy, Some(slot));
            if signal {
                signalled.push_back(number);
            }
            // The device is as slow as it can be: it reports the oldest signalled request only when it must.
            if queue.slot().is_none() {
                let oldest = signalled.pop_front().expect("full, and nobody will hear of any end");
                assert!(queue.done(oldest).unwrap().count() > 0);
            }
        }
    }

    #[test]
    fn one_completion_ends_all_before_it() {
        let mut queue = SendQueue { first: u32::MAX - 1, ..SendQueue::default() };
        let works = [
            (Work::Copy, None),
            (Work::Copy, Some(0)),
            (Work::Fragment { put: 7 }, None),
            (Work::Fragment { put: 8 }, None),
        ];
        for (work, slot) in works {
            queue.posted(work, slot);
        }
        assert_eq!(queue.fragments(), 2);
        assert!(queue.done(7).is_none() && queue.done(u32::MAX - 2).is_none());
        assert_eq!(queue.done(0).unwrap().collect::<Vec<_>>(), works[..3]);
        assert_eq!((queue.fragments(), queue.slot()), (1, Some(1)));
        assert_eq!(queue.done(1).unwrap().collect::<Vec<_>>(), works[3..]);
        assert!(queue.done(1).is_none());
    }

    #[test]
    fn what_somebody_waits_for_is_signalled() {
        let mut queue = SendQueue::default();
        for work in [Work::Fragment { put: 0 }, Work::FinAck, Work::Probe] {
            assert!(queue.next(work).1);
        }
        assert!(!queue.next(Work::Copy).1 && !queue.is_probing());
        queue.posted(Work::Probe, None);
        assert!(queue.is_probing());
    }
}
