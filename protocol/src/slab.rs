//! Slots that are recycled, named by index and generation.
//!
//! Invariant: a name that was given out never means a later entry of the same slot, so an event that
//! arrives late for something that has ended finds nothing. Neighbours: requests and inbound messages
//! live in slabs; [`crate::RequestId`] and every token are such names.

/// The name of a slot and of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Id {
    /// The name as one number: the index in the low half.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// Inverse of [`Id::to_bits`].
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

/// Slots with a free list; allocates only when more entries live at once than ever before.
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, entry: T) -> Id {
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            slot.entry = Some(entry);
            return Id { index, generation: slot.generation };
        }
        // Memory is exhausted long before four billion entries of a hundred bytes live at once.
        let index = self.slots.len() as u32;
        self.slots.push(Slot { generation: 0, entry: Some(entry) });
        // The free list never holds more than there are slots: growing both here keeps `remove` free
        // of allocation.
        let room = self.slots.capacity();
        self.free.reserve(room.saturating_sub(self.free.len()));
        Id { index, generation: 0 }
    }

    /// The name that the next entry will have, if no slot is freed before.
    pub(crate) fn next_id(&self) -> Id {
        let index = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        Id { index, generation: self.slots.get(index as usize).map_or(0, |slot| slot.generation) }
    }

    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        let slot = self.slots.get(id.index as usize)?;
        if slot.generation == id.generation { slot.entry.as_ref() } else { None }
    }

    /// Frees the slot if the entry is there and `removed` gives something for it.
    pub(crate) fn remove_if<R>(&mut self, id: Id, removed: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let slot = self.slots.get_mut(id.index as usize).filter(|slot| slot.generation == id.generation)?;
        let left = removed(slot.entry.as_ref()?)?;
        slot.entry = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index);
        Some(left)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation == id.generation { slot.entry.as_mut() } else { None }
    }

    /// The current name of the entry at `index`.
    pub(crate) fn id_at(&self, index: u32) -> Option<Id> {
        let slot = self.slots.get(index as usize)?;
        slot.entry.as_ref().map(|_| Id { index, generation: slot.generation })
    }

    /// The entry at `index` with its name.
    pub(crate) fn at_mut(&mut self, index: u32) -> Option<(Id, &mut T)> {
        let slot = self.slots.get_mut(index as usize)?;
        let id = Id { index, generation: slot.generation };
        slot.entry.as_mut().map(|entry| (id, entry))
    }

    /// Frees the slot, if the entry is still there. Entries are large, and nobody wants one back.
    pub(crate) fn remove(&mut self, id: Id) -> bool {
        self.remove_if(id, |_| Some(())).is_some()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let id = Id { index: index as u32, generation: slot.generation };
            slot.entry.as_ref().map(|entry| (id, entry))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recycled_slot_does_not_answer_to_its_old_name() {
        let mut slab = Slab::new();
        let old = slab.insert('a');
        assert!(slab.remove(old));
        let new = slab.insert('b');
        assert_eq!(new.index, old.index);
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.get_mut(old), None);
        assert!(!slab.remove(old));
        assert_eq!(slab.get(new), Some(&'b'));
        assert_eq!(slab.id_at(new.index), Some(new));
        assert_eq!(slab.at_mut(new.index), Some((new, &mut 'b')));
        slab.remove(new);
        assert_eq!(slab.at_mut(new.index), None);
    }

    #[test]
    fn the_next_name_is_what_the_next_entry_gets() {
        let mut slab = Slab::new();
        let expect = |slab: &mut Slab<char>| {
            let next = slab.next_id();
            assert_eq!(slab.insert('x'), next);
            next
        };
        let first = expect(&mut slab);
        expect(&mut slab);
        slab.remove(first);
        expect(&mut slab);
        expect(&mut slab);
    }

    #[test]
    fn a_name_survives_the_trip_through_a_number() {
        let id = Id { index: 7, generation: 0xdead_beef };
        assert_eq!(Id::from_bits(id.to_bits()), id);
        assert_eq!(id.to_bits() as u32, 7, "the low half is the index");
    }

    #[test]
    fn iteration_sees_living_entries_only() {
        let mut slab = Slab::new();
        let ids: Vec<_> = (0..4).map(|n| slab.insert(n)).collect();
        slab.remove(ids[1]);
        assert_eq!(slab.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [0, 2, 3]);
    }
}
