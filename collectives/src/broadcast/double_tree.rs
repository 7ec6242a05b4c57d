//! Double binary tree broadcast: two complementary trees, half of the vector in each (Sanders, Speck and Träff,
//! 2009).
//!
//! ```text
//! n = 5, root 0       0                    0
//!                     4                    3        first half down one tree over ranks 1 to 4,
//!                 2                    1     4      second half down the other
//!               1   3                    2
//! ```
//!
//! A rank that has children in one tree is a leaf of the other ([`crate::tree`]): it receives the vector once and
//! sends it once, as in a chain, and the root sends each byte once. Segments are pipelined. Steps: `2 (log2 n)`
//! segment times until the first one has reached everybody, then as many as there are segments. Bytes: `m` per
//! rank at most, the least that can be. Chosen: long vectors on more ranks than a chain is good for.

use crate::builder::{Builder, part, parts};
use crate::tree::Tree;
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, root: usize, choice: &Choice, b: &mut Builder) {
    let (rank, size, count) = (request.rank, request.size, request.count());
    // The trees stand on the other ranks, counted from behind the root.
    let at = |place: usize| (place + root + 1) % size;
    let place = (rank + size - root - 1) % size;
    let links = Tree::pair(size - 1).map(|tree| {
        if rank == root {
            return (None, [Some(at(tree.top())), None]);
        }
        let parent = tree.parent(place).map_or(root, at);
        (Some(parent), tree.children(place).map(|child| child.map(at)))
    });
    let segments = parts(count.div_ceil(2), choice.segment);
    let mut windows = [0; 6].map(|_| Window::new(choice.in_flight));
    let [recvs @ .., a0, a1, b0, b1] = &mut windows;
    let mut sends = [[a0, a1], [b0, b1]];

    for segment in 0..segments {
        for (half, (parent, children)) in links.iter().enumerate() {
            let (start, len) = part(count, 2, half);
            let (offset, len) = part(len, segments, segment);
            let offset = start + offset;
            if let Some(parent) = parent {
                let recv = b.recv(*parent, Span::output(offset, len));
                recvs[half].admit(b, recv);
            }
            for (child, window) in children.iter().zip(&mut sends[half]) {
                if let Some(child) = child {
                    let send = b.send(*child, super::sent_from(request, root, offset, len));
                    window.admit(b, send);
                }
            }
        }
    }
    super::copy_own_result(request, root, b);
}
