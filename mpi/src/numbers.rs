//! The numbers by which partitioned messages with one peer and tag are told apart; see `partitioned.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// The numbers of the partitioned messages of a communicator: both sides give the same, as they initialize them in the
/// same order.
#[derive(Default)]
pub(crate) struct Numbers(BTreeMap<Key, Given>);

/// The peer, the tag, and whether it is sent.
pub(crate) type Key = (usize, u32, bool);

#[derive(Default)]
struct Given {
    last: u32,
    /// By messages that are still there. A program that runs long comes round to a number again.
    used: BTreeSet<NonZeroU32>,
}

impl Numbers {
    /// The next one; `None` if its last message is there after all others have had their turn.
    pub(crate) fn give(&mut self, key: Key) -> Option<NonZeroU32> {
        let given = self.0.entry(key).or_default();
        let number = NonZeroU32::MIN.saturating_add(given.last % u32::MAX);
        given.used.insert(number).then(|| {
            given.last = number.get();
            number
        })
    }

    pub(crate) fn take_back(&mut self, key: Key, number: NonZeroU32) {
        if let Some(given) = self.0.get_mut(&key) {
            given.used.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_for_each_peer_tag_and_side() {
        let mut numbers = Numbers::default();
        let keys = [(0, 0, true), (0, 0, false), (0, 1, true), (0, 1_504_956_003, true), (1, 0, true)];
        for expected in 1..3000 {
            for key in keys {
                assert_eq!(numbers.give(key).map(NonZeroU32::get), Some(expected));
            }
        }
    }

    #[test]
    fn a_number_comes_again_only_when_its_message_is_gone() {
        let (mut numbers, key) = (Numbers::default(), (3, 7, true));
        let first = numbers.give(key).unwrap();
        numbers.0.get_mut(&key).unwrap().last = u32::MAX - 1;
        assert_eq!(numbers.give(key), Some(NonZeroU32::MAX));
        assert_eq!([numbers.give(key), numbers.give(key)], [None, None]);
        numbers.take_back(key, first);
        assert_eq!(numbers.give(key), Some(first));
        assert_eq!(numbers.give(key).map(NonZeroU32::get), Some(2));
    }
}
