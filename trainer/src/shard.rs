//! Which part of a sequence is whose: the trainer's whole notion of data parallelism.
//!
//! Invariant: the shards of all ranks, in rank order, are the sequence, and no two differ in length by more
//! than one. A rank may get nothing when there are more ranks than items. Neighbour: `training` shards every
//! global batch and the test images with it.

use std::ops::Range;

/// The part of `0..items` that belongs to `rank` of `size`.
pub(crate) fn shard(items: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, left) = (items / size, items % size);
    // The first `left` ranks take one more.
    let start = rank * each + rank.min(left);
    start..start + each + usize::from(rank < left)
}

#[cfg(test)]
mod tests {
    use super::shard;

    #[test]
    fn shards_cover_everything_once_in_rank_order_and_evenly() {
        for size in 1..=17 {
            for items in [0, 1, 2, size - 1, size, size + 1, 29, 64, 1_437] {
                let shards: Vec<_> = (0..size).map(|rank| shard(items, rank, size)).collect();
                let joined: Vec<usize> = shards.iter().cloned().flatten().collect();
                assert_eq!(joined, (0..items).collect::<Vec<_>>(), "{items} items, {size} ranks");
                let shortest = shards.iter().map(ExactSizeIterator::len).min().unwrap();
                assert!(shards.iter().all(|s| s.len() - shortest <= 1), "{items} items, {size} ranks");
            }
        }
    }
}
