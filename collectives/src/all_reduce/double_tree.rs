//! Double binary tree: two complementary trees, half of the vector in each (Sanders, Speck and Träff, 2009).
//!
//! ```text
//! n = 4    first half        second half
//!              3                  2            segments go up, combined on the way: left, own, right;
//!          1                  0     3          the top passes each finished segment down again
//!        0   2                  1
//! ```
//!
//! A rank that has children in one tree is a leaf of the other ([`crate::tree`]), so all ranks send and receive
//! the same share. Segments are pipelined, up and down at the same time. Steps: `2 log2 n` for the first segment,
//! then one segment of each half after the other. Bytes: at most `2 m` per rank, nearly what a ring sends. Scratch:
//! `in_flight` segments for each of two children. Chosen: long vectors on so many ranks that a ring is mostly
//! latency, when recursive halving does not fit (it doubles the bytes off powers of two). Both trees keep their
//! ranks in order, so the operation need not commute; every segment is finished at one rank: the same bits
//! everywhere.

use crate::builder::{Builder, part, parts};
use crate::tree::Tree;
use crate::window::Window;
use crate::{Choice, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let (rank, size, count) = (request.rank, request.size, request.count());
    let longer = count.div_ceil(2);
    let segments = parts(longer, choice.segment);
    let mut trees = Tree::pair(size).map(|tree| {
        let sets = choice.in_flight.clamp(1, segments);
        Branch::new(tree, rank, sets, longer.div_ceil(segments), b)
    });
    // Both ends of a link name its messages in this order: by segment, up before down, first tree first.
    for segment in 0..segments {
        let spans = [0, 1].map(|half| {
            let (start, half) = part(count, 2, half);
            let (offset, len) = part(half, segments, segment);
            (start + offset, len)
        });
        for (tree, (offset, len)) in trees.iter_mut().zip(spans) {
            tree.up(segment, offset, len, b);
        }
        for (tree, (offset, len)) in trees.iter_mut().zip(spans) {
            tree.down(offset, len, b);
        }
    }
}

/// What one rank does in one tree.
struct Branch {
    parent: Option<usize>,
    /// The tops of the lower and the higher ranks below, and slots for what they send.
    children: [Option<(usize, Vec<Span>)>; 2],
    /// Leaves have their own contribution ready at once, and results come whenever they are done: each is held
    /// back by itself, because a window over both would hold up the pipeline by the depth of the tree.
    ups: Window,
    downs: Window,
    passed: [Window; 2],
}

impl Branch {
    fn new(tree: Tree, rank: usize, sets: usize, longest: usize, b: &mut Builder) -> Self {
        let children = tree.children(rank).map(|child| child.map(|child| (child, b.slots(sets, longest))));
        let window = || Window::new(sets);
        let passed = [window(), window()];
        Self { parent: tree.parent(rank), children, ups: window(), downs: window(), passed }
    }

    /// Combines a segment with what comes from below and sends it up; at the top it is finished then.
    fn up(&mut self, segment: usize, offset: usize, len: usize, b: &mut Builder) {
        let sum = Span::output(offset, len);
        let mut held = Span::input(offset, len);
        let arrived = self.children.each_ref().map(|child| {
            let (from, slots) = child.as_ref()?;
            let slot = slots[segment % slots.len()].first(len);
            b.recv(*from, slot);
            Some(slot)
        });
        let top = self.parent.is_none();
        if let Some(left) = arrived[0] {
            b.reduce(left, held, sum, top && arrived[1].is_none());
            held = sum;
        }
        if let Some(right) = arrived[1] {
            b.reduce(held, right, sum, top);
        }
        if let Some(parent) = self.parent {
            let held = if self.children.iter().all(Option::is_none) { held } else { sum };
            let send = b.send(parent, held);
            self.ups.admit(b, send);
        }
    }

    /// Receives the finished segment and passes it on.
    fn down(&mut self, offset: usize, len: usize, b: &mut Builder) {
        let result = Span::output(offset, len);
        if let Some(parent) = self.parent {
            let recv = b.recv(parent, result);
            self.downs.admit(b, recv);
        }
        for (child, window) in self.children.iter().zip(&mut self.passed) {
            if let Some((child, _)) = child {
                let send = b.send(*child, result);
                window.admit(b, send);
            }
        }
    }
}
