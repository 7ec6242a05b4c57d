//! Lists by a key, for where too many would have to be gone through in lists of all.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{Chain, List};

/// Emptied lists are kept, so that a steady program allocates nothing, before they are swept; more where there are
/// many.
const KEEP: usize = 256;

/// Lists of one chain. (Peers choose the keys.)
pub(super) struct Keyed<K> {
    lists: BTreeMap<K, List>,
    /// How many of them are empty.
    empty: usize,
}

impl<K: Ord> Keyed<K> {
    pub(super) fn new() -> Self {
        Self { lists: BTreeMap::new(), empty: 0 }
    }

    /// Where another of that key is about to be listed.
    pub(super) fn filled(&mut self, key: K) -> &mut List {
        let empty = &mut self.empty;
        let list = self.lists.entry(key).and_modify(|list| *empty -= usize::from(list.is_empty()));
        list.or_default()
    }

    /// Takes out `index`, which is listed there.
    pub(super) fn unlink(&mut self, chain: &mut Chain, index: u32, key: &K) {
        let Some(list) = self.lists.get_mut(key) else { return };
        chain.unlink(list, index);
        if !list.is_empty() {
            return;
        }
        self.empty += 1;
        if self.empty > KEEP.max(self.lists.len() / 2) {
            self.lists.retain(|_, list| !list.is_empty());
            self.empty = 0;
        }
    }

    pub(super) fn first(&self, key: &K) -> Option<u32> {
        self.lists.get(key)?.first()
    }

    /// The first of each key.
    pub(super) fn firsts(&self, keys: RangeInclusive<K>) -> impl Iterator<Item = u32> {
        self.lists.range(keys).filter_map(|(_, list)| list.first())
    }

    /// How many there are, and how many of them are said to be empty, and are.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.lists.len(), self.empty, self.lists.values().filter(|list| list.is_empty()).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emptied_lists_are_kept_for_a_while_and_never_for_long() {
        let (mut keyed, mut chain) = (Keyed::new(), Chain::default());
        for round in 0..50 {
            for key in 0..100 {
                chain.push_back(keyed.filled(round * 40 + key), key);
            }
            (0..100).for_each(|key| keyed.unlink(&mut chain, key, &(round * 40 + key)));
            let (all, empty, are_empty) = keyed.counts();
            assert_eq!(empty, are_empty);
            assert!(all <= KEEP + 100, "{all} lists of nothing");
        }
        assert!(keyed.counts().0 > 0, "some are kept");
    }
}
