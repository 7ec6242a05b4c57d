//! Messages that wait for a receive, in the order of arrival.
//!
//! Each is in two lists: of its (context, source) for specific receives, and of its context for
//! wildcard receives. Where many others were gone through for one, as where several threads receive by tags of their
//! own, each is in a third one, of its tag and source. Neighbour: `posted.rs`, the other side of the match.

use super::contexts::{Contexts, Lists};
use super::keyed::Keyed;
use super::{Chain, FEW, List, list_of};
use crate::{Rank, Selector, TagSelector};

#[derive(Default)]
struct PerContext {
    by_source: Vec<List>,
    all: List,
    /// By tag and source, since few were not enough: where it was so once, it mostly will be again.
    by_tag: Option<Keyed<(u64, Rank)>>,
}

impl Lists for PerContext {
    fn is_idle(&self) -> bool {
        self.all.is_empty()
    }
}

#[derive(Clone, Copy)]
struct Entry {
    context: u64,
    source: Rank,
    tag: u64,
    /// All lists are in this order.
    arrival: u64,
}

/// Unexpected messages by the index of their inbound slot.
pub(crate) struct Unexpected {
    contexts: Contexts<PerContext>,
    source_chain: Chain,
    context_chain: Chain,
    tag_chain: Chain,
    entries: Vec<Option<Entry>>,
    /// How many there are: most often none, and that is asked for every receive.
    waiting: usize,
}

impl Unexpected {
    pub(crate) fn new() -> Self {
        Self {
            contexts: Contexts::new(),
            source_chain: Chain::default(),
            context_chain: Chain::default(),
            tag_chain: Chain::default(),
            entries: Vec::new(),
            waiting: 0,
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Appends the message `index`, which must not be listed already.
    pub(crate) fn arrive(&mut self, index: u32, context: u64, source: Rank, tag: u64, arrival: u64) {
        self.note(index, Entry { context, source, tag, arrival });
        let lists = self.contexts.get_or_insert(context);
        self.source_chain.push_back(list_of(&mut lists.by_source, source), index);
        self.context_chain.push_back(&mut lists.all, index);
        if let Some(by_tag) = &mut lists.by_tag {
            self.tag_chain.push_back(by_tag.filled((tag, source)), index);
        }
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
        if let Some(by_tag) = &mut lists.by_tag {
            let list = by_tag.filled((tag, source));
            let next = self.tag_chain.iter(list).find(later);
            self.tag_chain.insert(list, index, next);
        }
    }

    fn note(&mut self, index: u32, entry: Entry) {
        let position = index as usize;
        if position >= self.entries.len() {
            self.entries.resize(position + 1, None);
        }
        self.entries[position] = Some(entry);
        self.waiting += 1;
    }

    /// The earliest message that `selector` accepts.
    #[inline]
    pub(crate) fn find(&mut self, selector: &Selector) -> Option<u32> {
        if self.is_empty() { None } else { self.find_listed(selector) }
    }

    fn find_listed(&mut self, selector: &Selector) -> Option<u32> {
        let lists = self.contexts.get(selector.context)?;
        let (chain, list) = match selector.source {
            Some(source) => (&self.source_chain, lists.by_source.get(source)?),
            None => (&self.context_chain, &lists.all),
        };
        let TagSelector::Exact(tag) = selector.tag else { return list.first() };
        if let (Some(by_tag), Some(source)) = (&lists.by_tag, selector.source) {
            return by_tag.first(&(tag, source));
        }
        let is_it = |index: &u32| {
            self.entries.get(*index as usize).is_some_and(|entry| entry.is_some_and(|e| e.tag == tag))
        };
        let mut others = 0;
        let found = chain.iter(list).take(FEW + 1).inspect(|_| others += 1).find(is_it);
        if found.is_some() || others <= FEW {
            return found;
        }
        self.find_among_many(selector.context, selector.source, tag)
    }

    /// The same by the lists of tags, which are made if there are none yet.
    #[cold]
    fn find_among_many(&mut self, context: u64, source: Option<Rank>, tag: u64) -> Option<u32> {
        let Self { contexts, context_chain, tag_chain, entries, .. } = self;
        let lists = contexts.get_mut(context)?;
        let entry = |index: u32| entries.get(index as usize).copied().flatten();
        let by_tag = lists.by_tag.get_or_insert_with(|| {
            let mut by_tag = Keyed::new();
            for index in context_chain.iter(&lists.all) {
                let Some(Entry { source, tag, .. }) = entry(index) else { continue };
                tag_chain.push_back(by_tag.filled((tag, source)), index);
            }
            by_tag
        });
        match source {
            Some(source) => by_tag.first(&(tag, source)),
            None => by_tag
                .firsts((tag, Rank::MIN)..=(tag, Rank::MAX))
                .min_by_key(|index| entry(*index).map(|entry| entry.arrival)),
        }
    }

    /// Takes out the message `index`; `false` when it is not listed.
    pub(crate) fn remove(&mut self, index: u32) -> bool {
        let Some(entry) = self.entries.get_mut(index as usize).and_then(Option::take) else {
            return false;
        };
        self.waiting -= 1;
        let Some(lists) = self.contexts.get_mut(entry.context) else { return false };
        self.source_chain.unlink(list_of(&mut lists.by_source, entry.source), index);
        self.context_chain.unlink(&mut lists.all, index);
        if let Some(by_tag) = &mut lists.by_tag {
            by_tag.unlink(&mut self.tag_chain, index, &(entry.tag, entry.source));
        }
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
    fn many_are_found_as_few_are() {
        let mut listed = 0;
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            // Some tags are seldom, so that many others are gone through for one, or in vain.
            let tags = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4];
            // More contexts than are kept, now and then.
            let contexts = if seed % 4 == 0 { 600 } else { 3 };
            // All that wait, in order: index, context, source, tag and arrival.
            let (mut unexpected, mut waiting) = (Unexpected::new(), Vec::<(u32, u64, Rank, u64, u64)>::new());
            let (mut free, mut taken) = ((0..200u32).rev().collect::<Vec<_>>(), Vec::new());
            for arrival in 0..2_000 {
                // Rising and falling, so that there are many, few and none.
                let grows = random.u64(0..100) < if arrival / 300 % 2 == 0 { 70 } else { 20 };
                let context = if random.bool() { random.u64(1..3) } else { random.u64(1..contexts) };
                if grows && let Some(index) = free.pop() {
                    let (source, tag) = (random.usize(0..3), tags[random.usize(0..tags.len())]);
                    let message = (index, context, source, tag, arrival);
                    unexpected.arrive(index, context, source, tag, arrival);
                    waiting.push(message);
                } else if random.bool()
                    && let Some((index, context, source, tag, arrival)) = taken.pop()
                {
                    unexpected.return_to(index, context, source, tag, arrival);
                    let place = waiting.partition_point(|other| other.4 < arrival);
                    waiting.insert(place, (index, context, source, tag, arrival));
                } else if !waiting.is_empty() {
                    let message = waiting.remove(random.usize(0..waiting.len()));
                    assert!(unexpected.remove(message.0), "seed {seed}");
                    if random.bool() { taken.push(message) } else { free.push(message.0) }
                }
                let source = random.bool().then(|| random.usize(0..3));
                let tag = if random.bool() { TagSelector::Any } else { TagSelector::Exact(random.u64(0..6)) };
                let selector = Selector { context, source, tag };
                let expected = waiting.iter().find(|(_, context, from, number, _)| {
                    *context == selector.context
                        && source.is_none_or(|source| source == *from)
                        && (tag == TagSelector::Any || tag == TagSelector::Exact(*number))
                });
                assert_eq!(unexpected.find(&selector), expected.map(|message| message.0), "seed {seed}");
                assert_eq!(unexpected.is_empty(), waiting.is_empty(), "seed {seed}");
                let all = waiting.iter().filter(|message| message.1 == context).map(|message| message.0);
                assert!(unexpected.iter(context).eq(all), "seed {seed}");
            }
            let tags_of = |context| unexpected.contexts.get(context)?.by_tag.as_ref();
            for by_tag in unexpected.contexts.iter().filter_map(|lists| lists.by_tag.as_ref()) {
                let (_, empty, are_empty) = by_tag.counts();
                assert_eq!(empty, are_empty, "seed {seed}");
            }
            listed += [1, 2].into_iter().filter_map(tags_of).count();
        }
        assert!(listed > 300, "tags were listed in {listed} contexts of 400");
    }

    /// Taken last first, whether by those who name the source or by any, and with nothing arriving meanwhile.
    #[test]
    fn many_are_gone_through_once() {
        const MANY: u32 = 1_000_000;
        for source in [Some(0), None] {
            let mut unexpected = Unexpected::new();
            for index in 0..MANY {
                unexpected.arrive(index, 1, 0, index.into(), index.into());
            }
            for index in (0..MANY).rev() {
                // Whatever asks for what is not there.
                let selector =
                    |tag: u32| Selector { context: 1, source, tag: TagSelector::Exact(tag.into()) };
                assert_eq!(unexpected.find(&selector(MANY)), None);
                assert_eq!(unexpected.find(&selector(index)), Some(index));
                assert!(unexpected.remove(index));
            }
            let by_tag = unexpected.contexts.get(1).and_then(|lists| lists.by_tag.as_ref()).unwrap();
            let (all, empty, _) = by_tag.counts();
            assert!(all == empty && empty <= 512, "{empty} kept");
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
