//! Things by a number that no other has while they are there.
//!
//! Invariant: a number comes again only after all others have been given, so whoever still names a thing that is
//! gone finds nothing rather than another. Pure. Neighbours: `exposures.rs`, `fragments.rs`.

use std::collections::BTreeMap;

pub(crate) struct Numbered<T> {
    things: BTreeMap<u32, T>,
    next: u32,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { things: BTreeMap::new(), next: 0 }
    }
}

impl<T> Numbered<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Takes a thing in; returns its number.
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        while self.things.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.things.insert(number, thing);
        number
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.things.get_mut(&number)
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        self.things.remove(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_given_twice_before_all_others() {
        let mut numbered = Numbered::default();
        let first = numbered.insert('a');
        assert_eq!(numbered.remove(first), Some('a'));
        assert_ne!(numbered.insert('b'), first);
        assert!(numbered.get_mut(first).is_none() && numbered.remove(first).is_none());
        // Once round, past what is still there.
        numbered.next = u32::MAX;
        assert_eq!([numbered.insert('c'), numbered.insert('d'), numbered.insert('e')], [u32::MAX, 0, 2]);
        assert!(!numbered.is_empty());
    }
}
