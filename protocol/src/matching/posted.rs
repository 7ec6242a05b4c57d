//! Receives that wait for a message, in the order of posting.
//!
//! Specific receives are listed per (context, source), wildcard receives per context; the posting
//! number decides between the two. Where many others were gone through for one, as where thousands of tasks receive by
//! tags of their own, each is in a second list, of what it names. Neighbour: `unexpected.rs`, the other side of the
//! match.

use std::cell::Cell;

use super::contexts::{Contexts, Lists};
use super::keyed::Keyed;
use super::{Chain, FEW, List, list_of};
use crate::{Rank, Selector, TagSelector};

/// What a receive names of a message, besides its context.
type Named = (Option<Rank>, Option<u64>);

#[derive(Default)]
struct PerContext {
    by_source: Vec<List>,
    any_source: List,
    count: usize,
    /// More than few were gone through for one.
    gone_through: Cell<bool>,
    /// By what they name, from the next match on: where it was so once, it mostly will be again.
    by_named: Option<Keyed<Named>>,
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
    named_chain: Chain,
    entries: Vec<Option<Entry>>,
    next_number: u64,
}

impl Posted {
    pub(crate) fn new() -> Self {
        Self {
            contexts: Contexts::new(),
            chain: Chain::default(),
            named_chain: Chain::default(),
            entries: Vec::new(),
            next_number: 0,
        }
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
        if let Some(by_named) = &mut lists.by_named {
            self.named_chain.push_back(by_named.filled(named(&selector)), index);
        }
    }

    /// From here on those of a context are listed by what they name, too.
    fn list_named(&mut self, context: u64) {
        let Some(lists) = self.contexts.get_mut(context).filter(|lists| lists.by_named.is_none()) else {
            return;
        };
        let all = lists.by_source.iter().chain([&lists.any_source]);
        let mut posted: Vec<_> = all.flat_map(|list| self.chain.iter(list)).collect();
        let number = |index: &u32| self.entries[*index as usize].map(|entry| entry.number);
        posted.sort_unstable_by_key(number);
        let mut by_named = Keyed::new();
        for index in posted {
            if let Some(entry) = &self.entries[index as usize] {
                self.named_chain.push_back(by_named.filled(named(&entry.selector)), index);
            }
        }
        lists.by_named = Some(by_named);
    }

    /// Whether a receive accepts this message.
    #[inline]
    pub(crate) fn accepts(&self, context: u64, source: Rank, tag: u64) -> bool {
        let Some(lists) = self.contexts.get(context).filter(|lists| lists.count > 0) else { return false };
        if let Some(by_named) = &lists.by_named {
            return first_named(by_named, &self.entries, source, tag).is_some();
        }
        let accepts =
            |list: &List| first_match(&self.chain, &self.entries, list, tag, &lists.gone_through).is_some();
        lists.by_source.get(source).is_some_and(accepts) || accepts(&lists.any_source)
    }

    /// Takes out the earliest receive that accepts this message.
    pub(crate) fn take_match(&mut self, context: u64, source: Rank, tag: u64) -> Option<u32> {
        let Self { contexts, chain, entries, .. } = self;
        let lists = contexts.get_mut(context)?;
        if lists.gone_through.get() {
            return self.take_named(context, source, tag);
        }
        let PerContext { by_source, any_source, count, gone_through, .. } = lists;
        if *count == 0 {
            return None;
        }
        let mut list = by_source.get_mut(source);
        let specific = list.as_ref().and_then(|list| first_match(chain, entries, list, tag, gone_through));
        let wildcard = first_match(chain, entries, any_source, tag, gone_through);
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

    /// The same, where many were gone through.
    #[cold]
    fn take_named(&mut self, context: u64, source: Rank, tag: u64) -> Option<u32> {
        self.list_named(context);
        let by_named = self.contexts.get(context)?.by_named.as_ref()?;
        let (_, index) = first_named(by_named, &self.entries, source, tag)?;
        self.remove(index).then_some(index)
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
        if let Some(by_named) = &mut lists.by_named {
            by_named.unlink(&mut self.named_chain, index, &named(&entry.selector));
        }
        true
    }
}

fn named(selector: &Selector) -> Named {
    let tag = match selector.tag {
        TagSelector::Any => None,
        TagSelector::Exact(tag) => Some(tag),
    };
    (selector.source, tag)
}

/// Posting number and index of the first that accepts a message, of those that are listed by what they name.
#[cold]
fn first_named(
    by_named: &Keyed<Named>,
    entries: &[Option<Entry>],
    source: Rank,
    tag: u64,
) -> Option<(u64, u32)> {
    let names = [(Some(source), Some(tag)), (Some(source), None), (None, Some(tag)), (None, None)];
    let first = names.iter().filter_map(|named| by_named.first(named));
    first.filter_map(|index| Some((entries.get(index as usize)?.as_ref()?.number, index))).min()
}

/// Posting number and index of the first in `list` that accepts `tag`; notes whether many others came before it.
#[inline]
fn first_match(
    chain: &Chain,
    entries: &[Option<Entry>],
    list: &List,
    tag: u64,
    gone_through: &Cell<bool>,
) -> Option<(u64, u32)> {
    let mut others = 0;
    let found = chain.iter(list).inspect(|_| others += 1).find_map(|index| {
        let entry = entries.get(index as usize)?.as_ref()?;
        let accepts = match entry.selector.tag {
            TagSelector::Any => true,
            TagSelector::Exact(wanted) => wanted == tag,
        };
        accepts.then_some((entry.number, index))
    });
    if others > FEW {
        gone_through.set(true);
    }
    found
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

    /// Whatever is posted, matched and taken back, in lists of one kind and of the other: as if all were gone through.
    #[test]
    fn many_receives_are_matched_as_few_are() {
        let mut state = 1u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        let (mut posted, mut naive) = (Posted::new(), Vec::<(u32, Selector)>::new());
        for index in 0..3000 {
            let source = (below(5) > 0).then(|| below(3) as Rank);
            let tag = if below(9) > 0 { TagSelector::Exact(below(200)) } else { TagSelector::Any };
            posted.post(index, selector(source, tag));
            naive.push((index, selector(source, tag)));
            if below(3) == 0 {
                let (source, tag) = (below(4) as Rank, below(220));
                let accepts = |(_, wanted): &(u32, Selector)| {
                    wanted.source.is_none_or(|wanted| wanted == source)
                        && matches!(wanted.tag, TagSelector::Exact(wanted) if wanted == tag)
                            | matches!(wanted.tag, TagSelector::Any)
                };
                let at = naive.iter().position(accepts);
                assert_eq!(posted.accepts(1, source, tag), at.is_some());
                assert_eq!(posted.take_match(1, source, tag), at.map(|at| naive.remove(at).0));
            } else if below(4) == 0 {
                let (index, _) = naive.remove(below(naive.len() as u64) as usize);
                assert!(posted.remove(index) && !posted.remove(index));
            }
        }
        assert!(posted.contexts.get(1).is_some_and(|lists| lists.by_named.is_some()), "some were many");
        for (index, _) in naive {
            assert!(posted.remove(index));
        }
        let empty = |lists: &PerContext| {
            lists.by_named.as_ref().map(Keyed::counts).is_none_or(|(all, empty, _)| all == empty)
        };
        assert!(posted.contexts.get(1).is_none_or(empty), "nothing is kept of what is over");
    }

    /// Receives whose messages come in the other order than they were posted in. Gone through one by one, so many take
    /// minutes.
    #[test]
    fn of_many_receives_none_is_gone_through_for_a_tag() {
        const MANY: u32 = 200_000;
        let mut posted = Posted::new();
        for index in 0..MANY {
            posted.post(index, selector(Some(3), TagSelector::Exact(index.into())));
        }
        for index in (0..MANY).rev() {
            assert_eq!(posted.take_match(1, 3, index.into()), Some(index));
            // The first one has gone through all.
            let is_listed = posted.contexts.get(1).is_some_and(|lists| lists.by_named.is_some());
            assert_eq!(is_listed, index < MANY - 1);
        }
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
