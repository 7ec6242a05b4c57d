//! Double binary tree reduction: two complementary trees, half of the vector in each (Sanders, Speck and Träff,
//! 2009).
//!
//! ```text
//! n = 5, root 0       0                    0
//!                     4                    3        first half up one tree over ranks 1 to 4,
//!                 2                    1     4      second half up the other
//!               1   3                    2
//! ```
//!
//! A rank that has children in one tree is a leaf of the other ([`crate::tree`]): it receives the vector once and
//! sends it once, as in a chain, and the root receives each byte once. Segments are pipelined. Steps: `2 log2 n`
//! segment times until the first one has reached the root, then as many as there are segments. Bytes: `m` out of each
//! rank but the root, the least that can be. Scratch: `in_flight` segments for each child. Chosen: long vectors on
//! more ranks than a chain is good for. The trees stand on the other ranks in order, beginning behind the root: the
//! operation must commute, unless the root is the first or the last rank.

use crate::builder::{Builder, part, parts};
use crate::tree::Tree;
use crate::window::Window;
use crate::{Choice, Request, Span};

/// Who sends to this rank in one tree, and where that goes.
struct Child {
    rank: usize,
    slots: Vec<Span>,
}

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let (rank, size, count) = (request.rank, request.size, request.count());
    let at = |place: usize| (place + root + 1) % size;
    let place = (rank + size - root - 1) % size;
    let longer = count.div_ceil(2);
    let segments = parts(longer, choice.segment);
    let sets = choice.in_flight.clamp(1, segments);
    let longest = longer.div_ceil(segments);
    let links = Tree::pair(size - 1).map(|tree| {
        // The last rank as root comes after all others, any other root before them.
        let (parent, [left, right]) = if rank != root {
            let parent = tree.parent(place).map_or(root, at);
            (Some(parent), tree.children(place).map(|child| child.map(at)))
        } else if root + 1 == size {
            (None, [Some(at(tree.top())), None])
        } else {
            (None, [None, Some(at(tree.top()))])
        };
        let mut child = |rank: Option<usize>| rank.map(|rank| Child { rank, slots: b.slots(sets, longest) });
        (parent, [child(left), child(right)])
    });
    // The slots hold receives back; leaves have their own contribution ready at once.
    let mut sends = [0; 2].map(|_| Window::new(choice.in_flight));

    for segment in 0..segments {
        for (half, (parent, children)) in links.iter().enumerate() {
            let (start, len) = part(count, 2, half);
            let (offset, len) = part(len, segments, segment);
            let offset = start + offset;
            let mut held = Span::input(offset, len);
            let arrived = children.each_ref().map(|child| {
                let Child { rank, slots } = child.as_ref()?;
                let slot = slots[segment % sets].first(len);
                b.recv(*rank, slot);
                Some(slot)
            });
            let into = |slot: Span| if rank == root { Span::output(offset, len) } else { slot };
            if let Some(left) = arrived[0] {
                b.reduce(left, held, into(left), rank == root);
                held = into(left);
            }
            if let Some(right) = arrived[1] {
                b.reduce(held, right, into(right), rank == root);
                held = into(right);
            }
            if let Some(parent) = parent {
                let send = b.send(*parent, held);
                sends[half].admit(b, send);
            }
        }
    }
}
