//! Receives that wait for a message, in the order of posting.
//!
//! Specific receives are listed per (context, source), wildcard receives per context; the posting
//! number decides between the two. Neighbour: `unexpected.rs`, the other side of the match.

use super::contexts::{Contexts, Lists};
use super::{Chain, List, list_of};
use crate::{Rank, Selector, TagSelector};

#[derive(Default)]
struct PerContext {
    by_source: Vec<List>,
    any_source: List,
    count: usize,
}

impl Lists for PerContext {
    fn is_idle(&self) -> bool {
        self.count == 0
    }
}

#[derive(Clone, Copy)]
struct Entry {
    selector: Selector,
    number: u64,
}

/// Posted receives by the index of their request.
pub(crate) struct Posted {
    contexts: Contexts<PerContext>,
    chain: Chain,
    entries: Vec<Option<Entry>>,
    next_number: u64,
}

impl Posted {
    pub(crate) fn new() -> Self {
        Self { contexts: Contexts::new(), chain: Chain::default(), entries: Vec::new(), next_number: 0 }
    }

    /// Appends the receive `index`, which must not be posted already.
    pub(crate) fn post(&mut self, index: u32, selector: Selector) {
        let position = index as usize;
        if position >= self.entries.len() {
            self.entries.resize(position + 1, None);
        }
        self.entries[position] = Some(Entry { selector, number: self.next_number });
        self.next_number += 1;
        let lists = self.contexts.get_or_insert(selector.context);
        lists.count += 1;
        let list = match selector.source {
            Some(source) => list_of(&mut lists.by_source, source),
            None => &mut lists.any_source,
        };
        self.chain.push_back(list, index);
    }

    /// Whether a receive accepts this message.
    #[inline]
    pub(crate) fn accepts(&self, context: u64, source: Rank, tag: u64) -> bool {
        let Some(lists) = self.contexts.get(context).filter(|lists| lists.count > 0) else { return false };
        let accepts = |list: &List| first_match(&self.chain, &self.entries, list, tag).is_some();
        lists.by_source.get(source).is_some_and(accepts) || accepts(&lists.any_source)
    }

    /// Takes out the earliest receive that accepts this message.
    pub(crate) fn take_match(&mut self, context: u64, source: Rank, tag: u64) -> Option<u32> {
        let Self { contexts, chain, entries, .. } = self;
        let lists = contexts.get_mut(context)?;
        let PerContext { by_source, any_source, count } = lists;
        if *count == 0 {
            return None;
        }
        let mut list = by_source.get_mut(source);
        let specific = list.as_ref().and_then(|list| first_match(chain, entries, list, tag));
        let wildcard = first_match(chain, entries, any_source, tag);
        let (_, index) = match (specific, wildcard) {
            (Some(a), Some(b)) if a < b => a,
            (Some(a), None) => a,
            (_, b) => {
                list = Some(any_source);
                b?
            }
        };
        chain.unlink(list?, index);
        *entries.get_mut(index as usize)? = None;
        *count -= 1;
        Some(index)
    }

    /// Takes out the receive `index`; `false` when it is not posted.
    pub(crate) fn remove(&mut self, index: u32) -> bool {
        let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::take) else {
            return false;
        };
        let Some(lists) = self.contexts.get_mut(entry.selector.context) else { return false };
        let list = match entry.selector.source {
            Some(source) => list_of(&mut lists.by_source, source),
            None => &mut lists.any_source,
        };
        self.chain.unlink(list, index);
        lists.count -= 1;
        true
    }
}

/// Posting number and index of the first in `list` that accepts `tag`.
#[inline]
fn first_match(chain: &Chain, entries: &[Option<Entry>], list: &List, tag: u64) -> Option<(u64, u32)> {
    chain.iter(list).find_map(|index| {
        let entry = entries.get(index as usize)?.as_ref()?;
        let accepts = match entry.selector.tag {
            TagSelector::Any => true,
            TagSelector::Exact(wanted) => wanted == tag,
        };
        accepts.then_some((entry.number, index))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(source: Option<Rank>, tag: TagSelector) -> Selector {
        Selector { context: 1, source, tag }
    }

    #[test]
    fn wildcard_and_specific_receives_are_ordered_by_posting() {
        let mut posted = Posted::new();
        posted.post(0, selector(Some(3), TagSelector::Exact(7)));
        posted.post(1, selector(None, TagSelector::Any));
        posted.post(2, selector(Some(3), TagSelector::Any));
        assert_eq!(posted.take_match(1, 3, 8), Some(1));
        assert_eq!(posted.take_match(1, 3, 8), Some(2));
        assert_eq!(posted.take_match(1, 3, 8), None);
        assert_eq!(posted.take_match(1, 3, 7), Some(0));
    }

    #[test]
    fn contexts_never_mix() {
        let mut posted = Posted::new();
        posted.post(0, selector(None, TagSelector::Any));
        assert_eq!(posted.take_match(2, 3, 7), None);
        assert_eq!(posted.take_match(1, 3, 7), Some(0));
    }

    #[test]
    fn a_removed_receive_matches_nothing() {
        let mut posted = Posted::new();
        posted.post(5, selector(None, TagSelector::Any));
        assert!(posted.remove(5));
        assert!(!posted.remove(5));
        assert_eq!(posted.take_match(1, 0, 0), None);
    }
}
