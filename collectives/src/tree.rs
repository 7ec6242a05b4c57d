//! Two complementary binary trees over the same places (Sanders, Speck and Träff, 2009).
//!
//! ```text
//! places 0..7, first tree           second tree
//!        3                                      6
//!    1       5                          2
//!  0   2   4   6                      0   4
//!                                      1 3 5
//! ```
//!
//! Every subtree stands for a run of neighbouring places and its top lies between its two branches, so a
//! reduction that combines left branch, own, right branch keeps the order of the places. Invariant: for any
//! number of places, each is a leaf of one tree and has children in the other, so that two halves of a vector
//! in the two trees load every place alike; no place is deeper than `log2` of their number, and its neighbours
//! are found in as many steps. Neighbours: the double trees of all-reduce and broadcast.

/// One of the two trees.
///
/// Its places are labelled so that a label's lowest set bit is its height: leaves are odd. The second tree has
/// its labels one further, and so has no label 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    /// The label of place 0.
    first: usize,
    /// The label of the last place.
    last: usize,
}

impl Tree {
    /// The two trees over places `0..size`, which must not be 0.
    pub(crate) fn pair(size: usize) -> [Self; 2] {
        [1, 2].map(|first| Self { first, last: size - 1 + first })
    }

    /// The place that has no parent.
    pub(crate) fn top(self) -> usize {
        (1 << self.last.ilog2()) - self.first
    }

    /// The place above; `None` at the top.
    pub(crate) fn parent(self, place: usize) -> Option<usize> {
        let label = place + self.first;
        let height = 1 << label.trailing_zeros();
        let below = label ^ height;
        let above = below | height << 1;
        // Where the tree has no place so far to the right, the next ancestor to the left is the parent.
        let label = if above <= self.last { above } else { below };
        (label > 0).then(|| label - self.first)
    }

    /// The places below, each the top of a run: of smaller places, and of larger ones.
    pub(crate) fn children(self, place: usize) -> [Option<usize>; 2] {
        let label = place + self.first;
        let half = (1 << label.trailing_zeros()) >> 1;
        let left = (half > 0 && label - half >= self.first).then(|| label - half - self.first);
        let mut reach = half;
        while reach > 0 && label + reach > self.last {
            reach /= 2;
        }
        [left, (reach > 0).then(|| label + reach - self.first)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the part of the tree below `place` and returns the run of places that it covers.
    fn run(tree: Tree, place: usize, depth: u32, deepest: &mut u32) -> (usize, usize) {
        *deepest = depth.max(*deepest);
        let (mut low, mut high) = (place, place + 1);
        let [left, right] = tree.children(place);
        for child in [left, right].into_iter().flatten() {
            assert_eq!(tree.parent(child), Some(place), "{tree:?}");
        }
        if let Some(left) = left {
            let (from, to) = run(tree, left, depth + 1, deepest);
            assert_eq!(to, low, "{tree:?}: the left branch of {place} ends beside it");
            low = from;
        }
        if let Some(right) = right {
            let (from, to) = run(tree, right, depth + 1, deepest);
            assert_eq!(from, high, "{tree:?}: the right branch of {place} begins beside it");
            high = to;
        }
        (low, high)
    }

    #[test]
    fn both_trees_cover_all_places_in_order_and_are_shallow() {
        for size in 1..300 {
            for (tree, most) in Tree::pair(size).into_iter().zip([size.ilog2(), (size + 1).ilog2()]) {
                let mut deepest = 0;
                assert_eq!(tree.parent(tree.top()), None);
                assert_eq!(run(tree, tree.top(), 0, &mut deepest), (0, size));
                assert_eq!(deepest, if size == 1 { 0 } else { most }, "{size} places");
            }
        }
    }

    #[test]
    fn every_place_works_in_one_tree_and_is_a_leaf_of_the_other() {
        for size in 2..300 {
            for place in 0..size {
                let works = Tree::pair(size).map(|tree| tree.children(place).iter().flatten().count() > 0);
                assert_ne!(works[0], works[1], "place {place} of {size}");
            }
        }
    }
}
