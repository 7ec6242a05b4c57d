//! Messages that wait for a receive, in the order of arrival.
//!
//! Each is in two lists: of its (context, source) for specific receives, and of its context for
//! wildcard receives. Neighbour: `posted.rs`, the other side of the match.

use super::contexts::{Contexts, Lists};
use super::{Chain, List, list_of};
use crate::{Rank, Selector, TagSelector};

#[derive(Default)]
struct PerContext {
    by_source: Vec<List>,
    all: List,
}

impl Lists for PerContext {
    fn is_idle(&self) -> bool {
        self.all.first().is_none()
    }
}

#[derive(Clone, Copy)]
struct Entry {
    context: u64,
    source: Rank,
    tag: u64,
    /// Both lists are in this order.
    arrival: u64,
}

/// Unexpected messages by the index of their inbound slot.
pub(crate) struct Unexpected {
    contexts: Contexts<PerContext>,
    source_chain: Chain,
    context_chain: Chain,
    entries: Vec<Option<Entry>>,
}

impl Unexpected {
    pub(crate) fn new() -> Self {
        Self {
            contexts: Contexts::new(),
            source_chain: Chain::default(),
            context_chain: Chain::default(),
            entries: Vec::new(),
        }
    }

    /// Appends the message `index`, which must not be listed already.
    pub(crate) fn arrive(&mut self, index: u32, context: u64, source: Rank, tag: u64, arrival: u64) {
        self.note(index, Entry { context, source, tag, arrival });
        let lists = self.contexts.get_or_insert(context);
        self.source_chain.push_back(list_of(&mut lists.by_source, source), index);
        self.context_chain.push_back(&mut lists.all, index);
    }

    /// Lists the message `index` where it would be if it had never been taken out.
    pub(crate) fn return_to(&mut self, index: u32, context: u64, source: Rank, tag: u64, arrival: u64) {
        self.note(index, Entry { context, source, tag, arrival });
        let entries = &self.entries;
        let later = |other: &u32| entries[*other as usize].is_some_and(|entry| entry.arrival > arrival);
        let lists = self.contexts.get_or_insert(context);
        let by_source = list_of(&mut lists.by_source, source);
        let next = self.source_chain.iter(by_source).find(later);
        self.source_chain.insert(by_source, index, next);
        let next = self.context_chain.iter(&lists.all).find(later);
        self.context_chain.insert(&mut lists.all, index, next);
    }

    fn note(&mut self, index: u32, entry: Entry) {
        let position = index as usize;
        if position >= self.entries.len() {
            self.entries.resize(position + 1, None);
        }
        self.entries[position] = Some(entry);
    }

    /// The earliest message that `selector` accepts.
    pub(crate) fn find(&self, selector: &Selector) -> Option<u32> {
        let lists = self.contexts.get(selector.context)?;
        let accepts = |index: &u32| match selector.tag {
            TagSelector::Any => true,
            TagSelector::Exact(wanted) => {
                self.entries.get(*index as usize).is_some_and(|entry| entry.is_some_and(|e| e.tag == wanted))
            }
        };
        match selector.source {
            Some(source) => self.source_chain.iter(lists.by_source.get(source)?).find(accepts),
            None => self.context_chain.iter(&lists.all).find(accepts),
        }
    }

    /// Takes out the message `index`; `false` when it is not listed.
    pub(crate) fn remove(&mut self, index: u32) -> bool {
        let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::take) else {
            return false;
        };
        let Some(lists) = self.contexts.get_mut(entry.context) else { return false };
        self.source_chain.unlink(list_of(&mut lists.by_source, entry.source), index);
        self.context_chain.unlink(&mut lists.all, index);
        true
    }

    /// All messages of a context in the order of arrival.
    pub(crate) fn iter(&self, context: u64) -> impl Iterator<Item = u32> {
        let list = self.contexts.get(context).map(|lists| lists.all).unwrap_or_default();
        self.context_chain.iter(&list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(source: Option<Rank>, tag: TagSelector) -> Selector {
        Selector { context: 1, source, tag }
    }

    #[test]
    fn the_earliest_arrival_that_is_accepted_is_found() {
        let mut unexpected = Unexpected::new();
        unexpected.arrive(4, 1, 2, 70, 1);
        unexpected.arrive(0, 1, 3, 71, 2);
        unexpected.arrive(2, 1, 2, 71, 3);
        assert_eq!(unexpected.find(&selector(None, TagSelector::Any)), Some(4));
        assert_eq!(unexpected.find(&selector(None, TagSelector::Exact(71))), Some(0));
        assert_eq!(unexpected.find(&selector(Some(2), TagSelector::Exact(71))), Some(2));
        assert_eq!(unexpected.find(&selector(Some(9), TagSelector::Any)), None);
        assert_eq!(unexpected.iter(1).collect::<Vec<_>>(), [4, 0, 2]);
    }

    #[test]
    fn a_message_that_is_given_back_takes_its_old_place() {
        for given_back in 0..4u32 {
            let mut unexpected = Unexpected::new();
            let source = |index: u32| (index % 2) as Rank;
            for index in (0..4).filter(|index| *index != given_back) {
                unexpected.arrive(index, 1, source(index), 70, index.into());
            }
            unexpected.return_to(given_back, 1, source(given_back), 70, given_back.into());
            assert_eq!(unexpected.iter(1).collect::<Vec<_>>(), [0, 1, 2, 3]);
            for first in 0..2 {
                assert_eq!(unexpected.find(&selector(Some(first), TagSelector::Any)), Some(first as u32));
            }
            (0..4).for_each(|index| assert!(unexpected.remove(index)));
            assert_eq!(unexpected.iter(1).count(), 0);
        }
    }

    #[test]
    fn a_removed_message_is_in_neither_list() {
        let mut unexpected = Unexpected::new();
        unexpected.arrive(0, 1, 2, 70, 4);
        unexpected.arrive(1, 1, 2, 70, 5);
        assert!(unexpected.remove(0));
        assert!(!unexpected.remove(0));
        assert_eq!(unexpected.find(&selector(Some(2), TagSelector::Any)), Some(1));
        assert_eq!(unexpected.find(&selector(None, TagSelector::Any)), Some(1));
        assert_eq!(unexpected.iter(2).count(), 0);
    }
}
