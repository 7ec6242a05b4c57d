//! What has come early: messages of collectives that this rank has not called yet, found by their number.
//!
//! Rooted collectives do not synchronise, so a rank may be thousands of calls ahead of another: whoever calls the next
//! collective must find what has come for that one without looking at the rest.
//!
//! Invariant: every note is in exactly one chain, that of its collective, or free. A note stands for messages, whose
//! number the protocol's credit bounds, or for a reminder, of which there are at most [`REMINDERS`]. Neighbour: `runs`,
//! which compares the notes with the call when it comes.

use rustc_hash::FxHashMap;

use super::signature::SignatureBytes;

/// How many reminders are kept. Beyond, all are forgotten: whoever still waits repeats his.
const REMINDERS: usize = 1024;

const END: u32 = u32::MAX;

/// Which collective: the context of its communicator, and its number there.
pub(super) type Number = (u64, u32);

/// What one rank has sent of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) source: usize,
    pub(super) signature: SignatureBytes,
    /// 0 for a reminder.
    pub(super) messages: usize,
}

struct Link {
    note: Note,
    next: u32,
}

pub(super) struct Early {
    /// The first note of each collective.
    first: FxHashMap<Number, u32>,
    links: Vec<Link>,
    /// The first one that is free.
    free: u32,
    reminders: usize,
}

impl Default for Early {
    fn default() -> Self {
        Self { first: FxHashMap::default(), links: Vec::new(), free: END, reminders: 0 }
    }
}

impl Early {
    /// Notes a message.
    pub(super) fn message(&mut self, number: Number, source: usize, signature: SignatureBytes) {
        let first = self.first.get(&number).copied();
        // Several messages of one rank mostly come in a row.
        if let Some(first) = first
            && let Note { source: same, signature: alike, messages } = &mut self.links[first as usize].note
            && *messages > 0
            && *same == source
            && *alike == signature
        {
            *messages += 1;
            return;
        }
        self.put(number, first, Note { source, signature, messages: 1 });
    }

    /// Notes a reminder; one of each rank for each collective is enough.
    pub(super) fn reminder(&mut self, number: Number, source: usize, signature: SignatureBytes) {
        let first = self.first.get(&number).copied();
        if self.chain(first).any(|note| note.messages == 0 && note.source == source) {
            return;
        }
        if self.reminders == REMINDERS {
            self.forget_reminders(|_| true);
        }
        self.reminders += 1;
        self.put(number, self.first.get(&number).copied(), Note { source, signature, messages: 0 });
    }

    /// Takes out what has come for a collective, and shows it.
    #[inline]
    pub(super) fn take(&mut self, number: Number, mut show: impl FnMut(&Note)) {
        if self.first.is_empty() {
            return;
        }
        let Some(first) = self.first.remove(&number) else { return };
        let mut at = first;
        loop {
            let Link { note, next } = &mut self.links[at as usize];
            self.reminders -= usize::from(note.messages == 0);
            show(note);
            if *next == END {
                *next = self.free;
                break;
            }
            at = *next;
        }
        self.free = first;
    }

    /// Forgets the reminders of some communicators.
    pub(super) fn forget_reminders(&mut self, context: impl Fn(u64) -> bool) {
        if self.reminders == 0 {
            return;
        }
        let numbers: Vec<Number> = self.first.keys().copied().filter(|(of, _)| context(*of)).collect();
        for number in numbers {
            let mut kept = Vec::new();
            self.take(number, |note| kept.extend((note.messages > 0).then_some(*note)));
            for note in kept {
                self.put(number, self.first.get(&number).copied(), note);
            }
        }
    }

    /// Everything that is noted, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Number, &Note)> {
        self.first.iter().flat_map(|(number, first)| self.chain(Some(*first)).map(|note| (*number, note)))
    }

    fn chain(&self, first: Option<u32>) -> impl Iterator<Item = &Note> {
        let mut next = first.unwrap_or(END);
        std::iter::from_fn(move || {
            let link = self.links.get(next as usize)?;
            next = link.next;
            Some(&link.note)
        })
    }

    /// `first`: the first note of that collective so far.
    fn put(&mut self, number: Number, first: Option<u32>, note: Note) {
        let link = Link { note, next: first.unwrap_or(END) };
        let at = match self.links.get(self.free as usize) {
            Some(Link { next, .. }) => {
                let at = std::mem::replace(&mut self.free, *next);
                self.links[at as usize] = link;
                at
            }
            None => {
                self.links.push(link);
                // As many notes as there are numbers would need more memory than credit allows.
                (self.links.len() - 1) as u32
            }
        };
        self.first.insert(number, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SignatureBytes = [1; 24];
    const B: SignatureBytes = [2; 24];

    fn taken(early: &mut Early, number: Number) -> Vec<Note> {
        let mut notes = Vec::new();
        early.take(number, |note| notes.push(*note));
        notes.sort_by_key(|note| (note.source, note.messages));
        notes
    }

    #[test]
    fn what_has_come_for_one_collective_is_found_whatever_has_come_for_others() {
        let mut early = Early::default();
        for sequence in (0..100).rev() {
            early.message((1, sequence), 3, A);
            early.message((1, sequence), 3, A);
            early.message((1, sequence), 4, B);
            early.message((3, sequence), 3, B);
        }
        for sequence in 0..100 {
            let expected = [
                Note { source: 3, signature: A, messages: 2 },
                Note { source: 4, signature: B, messages: 1 },
            ];
            assert_eq!(taken(&mut early, (1, sequence)), expected);
            assert_eq!(taken(&mut early, (1, sequence)), []);
        }
        assert_eq!(early.iter().count(), 100, "those of the other communicator");
        assert_eq!(early.links.len(), 300);
        (0..200).for_each(|sequence| early.message((5, sequence), 0, A));
        assert_eq!(early.links.len(), 300, "what is free is used again");
    }

    #[test]
    fn reminders_are_kept_once_for_each_rank_and_collective_and_never_too_many() {
        let mut early = Early::default();
        for _ in 0..10 {
            early.reminder((1, 7), 2, A);
            early.reminder((1, 7), 3, A);
        }
        early.message((1, 7), 2, A);
        assert_eq!(taken(&mut early, (1, 7)).len(), 3);
        assert_eq!(early.reminders, 0);
        for sequence in 0..10 * REMINDERS as u32 {
            early.reminder((1, sequence), 2, A);
            early.message((1, 0), 2, A);
            assert!(early.reminders <= REMINDERS && early.links.len() <= 2 * REMINDERS + 2);
        }
        early.reminder((3, 0), 2, A);
        early.forget_reminders(|context| context == 1);
        assert_eq!(early.iter().filter(|(_, note)| note.messages == 0).count(), 1);
        let messages: usize = taken(&mut early, (1, 0)).iter().map(|note| note.messages).sum();
        assert_eq!(messages, 10 * REMINDERS, "messages stay");
    }
}
