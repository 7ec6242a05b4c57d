//! What a rank leaves behind when it goes: the last collectives it has called, so that a rank which still waits for
//! it can tell what it did instead.
//!
//! On the wire: records of context (8 bytes), number (4) and signature (24), little-endian, for each communicator the
//! latest last. Neighbours: `runs` knows the calls, `core/mismatch` quotes them.

use super::signature::SignatureBytes;

/// Of how many communicators; a rank may have made any number.
const COMMUNICATORS: usize = 64;
/// How many collectives of each.
const EACH: usize = 4;
const RECORD: usize = 8 + 4 + size_of::<SignatureBytes>();

/// A collective that a rank has called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastCall {
    pub(crate) context: u64,
    pub(crate) sequence: u32,
    pub(crate) signature: SignatureBytes,
}

/// The last ones of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastCalls(Vec<LastCall>);

impl LastCalls {
    /// Of each communicator, by context, its calls in their order.
    pub(super) fn of<I>(mut communicators: Vec<(u64, I)>) -> Self
    where
        I: DoubleEndedIterator<Item = (u32, SignatureBytes)>,
    {
        communicators.sort_unstable_by_key(|(context, _)| *context);
        communicators.truncate(COMMUNICATORS);
        let mut calls = Vec::new();
        for (context, called) in communicators {
            let first = calls.len();
            let last = called.rev().take(EACH);
            calls.extend(last.map(|(sequence, signature)| LastCall { context, sequence, signature }));
            calls[first..].reverse();
        }
        Self(calls)
    }

    /// As they travel, through the control plane.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * RECORD);
        for LastCall { context, sequence, signature } in &self.0 {
            bytes.extend(context.to_le_bytes());
            bytes.extend(sequence.to_le_bytes());
            bytes.extend(signature);
        }
        bytes
    }

    /// What cannot be a record is left out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let read = |record: &[u8]| {
            let (context, rest) = record.split_first_chunk()?;
            let (sequence, rest) = rest.split_first_chunk()?;
            let (context, sequence) = (u64::from_le_bytes(*context), u32::from_le_bytes(*sequence));
            Some(LastCall { context, sequence, signature: *rest.first_chunk()? })
        };
        Self(bytes.chunks_exact(RECORD).take(COMMUNICATORS * EACH).filter_map(read).collect())
    }

    /// Of which communicators.
    pub(super) fn contexts(&self) -> Vec<u64> {
        let mut contexts: Vec<u64> = self.0.iter().map(|call| call.context).collect();
        contexts.dedup();
        contexts
    }

    /// Those of a communicator, in their order.
    pub(super) fn of_context(&self, context: u64) -> impl DoubleEndedIterator<Item = &LastCall> {
        self.0.iter().filter(move |call| call.context == context)
    }

    /// The last one of a communicator.
    pub(super) fn last(&self, context: u64) -> Option<&LastCall> {
        self.of_context(context).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_few_of_each_communicator_survive_the_wire() {
        let called = |count: u32| (0..count).map(|sequence| (sequence, [sequence as u8; 24]));
        let last = LastCalls::of(vec![(7, called(2)), (1, called(10)), (3, called(0))]);
        assert_eq!(LastCalls::from_bytes(&last.to_bytes()), last);
        assert_eq!(last.last(1).map(|call| call.sequence), Some(9));
        let known: Vec<u32> = last.of_context(1).map(|call| call.sequence).collect();
        assert_eq!(known, [6, 7, 8, 9], "those before are too long ago");
        assert_eq!(last.last(7).map(|call| call.sequence), Some(1));
        assert_eq!(last.last(3), None);
    }

    #[test]
    fn what_is_said_is_bounded_and_what_is_heard_is_believed_as_far_as_it_can_be() {
        let many = (0..10_000).map(|context| (context, (0..9).map(|sequence| (sequence, [0; 24])))).collect();
        let bytes = LastCalls::of(many).to_bytes();
        assert_eq!(bytes.len(), COMMUNICATORS * EACH * RECORD);
        assert_eq!(LastCalls::from_bytes(&bytes[..RECORD + 5]).0.len(), 1);
        assert_eq!(LastCalls::from_bytes(&vec![0; 1 << 20]).0.len(), COMMUNICATORS * EACH);
    }
}
