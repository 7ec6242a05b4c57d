//! Doubly linked lists over dense indices: constant-time append and removal, no allocation per entry.
//!
//! Invariant: an index is in at most one list of a [`Chain`] at a time. The links live beside the
//! slab whose indices they use, so lists of requests and of inbound messages share this one file.

const NONE: u32 = u32::MAX;

/// First and last of a list whose links are in a [`Chain`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NONE, tail: NONE }
    }
}

impl List {
    pub(crate) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

#[derive(Clone, Copy)]
struct Links {
    previous: u32,
    next: u32,
}

const UNLINKED: Links = Links { previous: NONE, next: NONE };

/// The links of any number of disjoint lists.
#[derive(Default)]
pub(crate) struct Chain {
    links: Vec<Links>,
}

impl Chain {
    pub(crate) fn push_back(&mut self, list: &mut List, index: u32) {
        let position = index as usize;
        if position >= self.links.len() {
            self.links.resize(position + 1, UNLINKED);
        }
        self.links[position] = Links { previous: list.tail, next: NONE };
        match self.links.get_mut(list.tail as usize) {
            Some(tail) => tail.next = index,
            None => list.head = index,
        }
        list.tail = index;
    }

    /// Puts `index`, which is in no list, before `next` of `list`; `None`: at its end.
    pub(crate) fn insert(&mut self, list: &mut List, index: u32, next: Option<u32>) {
        let Some(next) = next else { return self.push_back(list, index) };
        let position = index as usize;
        if position >= self.links.len() {
            self.links.resize(position + 1, UNLINKED);
        }
        let previous = std::mem::replace(&mut self.links[next as usize].previous, index);
        self.links[position] = Links { previous, next };
        match self.links.get_mut(previous as usize) {
            Some(before) => before.next = index,
            None => list.head = index,
        }
    }

    /// Takes `index` out of `list`, in which it must be.
    pub(crate) fn unlink(&mut self, list: &mut List, index: u32) {
        let Some(slot) = self.links.get_mut(index as usize) else { return };
        let Links { previous, next } = std::mem::replace(slot, UNLINKED);
        match self.links.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => list.head = next,
        }
        match self.links.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => list.tail = previous,
        }
    }

    /// From first to last.
    pub(crate) fn iter<'a>(&'a self, list: &List) -> impl Iterator<Item = u32> + use<'a> {
        let mut next = list.head;
        std::iter::from_fn(move || {
            let links = self.links.get(next as usize)?;
            Some(std::mem::replace(&mut next, links.next))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_whatever_is_taken_out() {
        for removed in 0..4 {
            let (mut chain, mut list) = (Chain::default(), List::default());
            for index in 0..4 {
                chain.push_back(&mut list, index);
            }
            chain.unlink(&mut list, removed);
            let left: Vec<_> = (0..4).filter(|index| *index != removed).collect();
            assert_eq!(chain.iter(&list).collect::<Vec<_>>(), left);
            chain.push_back(&mut list, removed);
            assert_eq!(chain.iter(&list).last(), Some(removed));
        }
    }

    #[test]
    fn an_emptied_list_can_be_filled_again() {
        let (mut chain, mut list) = (Chain::default(), List::default());
        for round in 0..3 {
            chain.push_back(&mut list, round);
            assert_eq!(list.first(), Some(round));
            chain.unlink(&mut list, round);
            assert_eq!(list.first(), None);
        }
    }
}
