//! Binomial tree gather.
//!
//! ```text
//! n = 8, root 0      0<1 2<3 4<5 6<7     step 1: one block
//!                    0<<<2   4<<<6       step 2: two blocks
//!                    0<<<<<<<4           step 3: four blocks
//! ```
//!
//! Every rank collects the blocks of its subtree, which belong to neighbours, in scratch and passes them on as one
//! message; the root receives where they belong. Counted from another root, the ranks of one of its subtrees may
//! go past the last rank: that subtree comes in two messages. Steps: `ceil(log2 n)`. Bytes: `(n - 1) m` into
//! the root, up to `m ceil(log2 n) n / 2` in all. Scratch: the subtree, at most half of all blocks. Chosen: short
//! blocks on many ranks.

use crate::{Builder, Request, Span};

pub(crate) fn build(request: &Request, root: usize, b: &mut Builder) {
    let Request { rank, size, .. } = *request;
    let count = request.count();
    let own = Span::input(0, count);
    gather_to_root(rank, size, root, own, Span::output(0, size * count), b);
    if rank == root {
        b.copy(own, Span::output(rank * count, count));
    }
}

/// A rank's part of a binomial tree over `size` ranks, and its subtree.
#[derive(Clone, Copy)]
pub(crate) struct Tree {
    /// Which rank after the root.
    place: usize,
    size: usize,
    root: usize,
}

impl Tree {
    pub(crate) fn new(rank: usize, size: usize, root: usize) -> Self {
        Self { place: (rank + size - root) % size, size, root }
    }

    fn rank(self, place: usize) -> usize {
        (place + self.root) % self.size
    }

    /// How far the subtree of a place reaches if there are ranks enough: to the lowest bit set.
    fn reach(self, place: usize) -> usize {
        if place == 0 { self.size.next_power_of_two() } else { 1 << place.trailing_zeros() }
    }

    /// How many ranks the subtree of a place has.
    fn ranks(self, place: usize) -> usize {
        self.reach(place).min(self.size - place)
    }

    /// How many ranks the own subtree has.
    pub(crate) fn own_ranks(self) -> usize {
        self.ranks(self.place)
    }

    /// The rank that the own subtree hangs on; `None` for the root.
    pub(crate) fn parent(self) -> Option<usize> {
        (self.place > 0).then(|| self.rank(self.place - self.reach(self.place)))
    }

    /// Whether the parent is the root.
    pub(crate) fn hangs_on_root(self) -> bool {
        self.place > 0 && self.place == self.reach(self.place)
    }

    /// The children, the smallest subtree first: the rank, its distance in places, the ranks of its subtree.
    pub(crate) fn children(self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> {
        (0..self.reach(self.place).trailing_zeros())
            .map(|bit| 1usize << bit)
            .filter(move |distance| self.place + distance < self.size)
            .map(move |distance| {
                let child = self.place + distance;
                (self.rank(child), distance, self.ranks(child))
            })
    }

    /// The `ranks` ranks from `first` on, counted past the last rank, as two runs of ranks: where each begins in
    /// rank order and how many it has. The second is mostly empty.
    pub(crate) fn runs(self, first: usize, ranks: usize) -> [(usize, usize); 2] {
        let straight = ranks.min(self.size - first);
        [(first, straight), (0, ranks - straight)]
    }
}

/// Brings the `own` elements of every rank to the root, where they lie in rank order in `whole` (used there
/// only); the place of the root's own elements is left alone.
pub(crate) fn gather_to_root(rank: usize, size: usize, root: usize, own: Span, whole: Span, b: &mut Builder) {
    let count = own.len;
    let tree = Tree::new(rank, size, root);
    let blocks = |space: Span, from: usize, len: usize| Span {
        offset: space.offset + from * count,
        len: len * count,
        ..space
    };
    let Some(parent) = tree.parent() else {
        for (child, _, ranks) in tree.children() {
            for (first, len) in tree.runs(child, ranks) {
                b.recv(child, blocks(whole, first, len));
            }
        }
        return;
    };
    let held = if tree.own_ranks() == 1 {
        own
    } else {
        let space = b.scratch(tree.own_ranks() * count);
        b.copy(own, blocks(space, 0, 1));
        for (child, distance, ranks) in tree.children() {
            b.recv(child, blocks(space, distance, ranks));
        }
        space
    };
    if tree.hangs_on_root() {
        let [(_, straight), (_, wrapped)] = tree.runs(rank, tree.own_ranks());
        b.send(parent, blocks(held, 0, straight));
        b.send(parent, blocks(held, straight, wrapped));
    } else {
        b.send(parent, held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_root_is_the_child_of_its_parent() {
        for size in 1..70 {
            for root in [0, size / 3, size - 1] {
                let mut seen = vec![0; size];
                for rank in 0..size {
                    let tree = Tree::new(rank, size, root);
                    let below: usize = tree.children().map(|(_, _, ranks)| ranks).sum();
                    assert_eq!(below + 1, tree.own_ranks(), "rank {rank} of {size}, root {root}");
                    for (child, distance, _) in tree.children() {
                        assert_eq!(child, (rank + distance) % size);
                        assert_eq!(Tree::new(child, size, root).parent(), Some(rank));
                        assert_eq!(Tree::new(child, size, root).hangs_on_root(), rank == root);
                        seen[child] += 1;
                    }
                }
                assert!((0..size).all(|rank| seen[rank] == usize::from(rank != root)), "size {size}");
            }
        }
    }
}
