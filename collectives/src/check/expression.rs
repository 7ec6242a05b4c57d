//! What an element holds, as an expression over the inputs; equal expressions have equal numbers.
//!
//! Invariant: every expression made covers each rank at most once, for one element; in rank order it covers
//! neighbouring ranks, and from the left it is a left fold that begins with rank 0; what came out of a last reduction
//! covers all ranks, and so can be no operand any more. What would break this is
//! refused when it is made, where it can be named.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;

use crate::Order;

/// The number of what nobody has written.
pub(crate) const UNDEFINED: u32 = 0;

#[derive(Clone, Copy)]
enum Shape {
    Undefined,
    Input { rank: usize },
    Combined { left: u32, right: u32 },
}

struct Node {
    shape: Shape,
    element: usize,
    /// The ranks covered, one bit each.
    ranks: Box<[u64]>,
    first: usize,
    end: usize,
    /// Whether it came out of a reduction that is marked as the last one.
    last: bool,
}

impl Node {
    /// Whether exactly the ranks `0..ranks` have contributed.
    fn covers(&self, ranks: usize) -> bool {
        let covered: u32 = self.ranks.iter().map(|word| word.count_ones()).sum();
        covered as usize == ranks && self.end == ranks
    }
}

/// All expressions of one check.
pub(crate) struct Expressions {
    size: usize,
    order: Order,
    /// Whether a reduction may be the last one: it has all ranks' contributions.
    has_last: bool,
    nodes: Vec<Node>,
    // A hasher without a random seed: the checker, too, does the same thing every time.
    inputs: HashMap<(usize, usize), u32, BuildHasherDefault<DefaultHasher>>,
    combined: HashMap<(u32, u32, bool), u32, BuildHasherDefault<DefaultHasher>>,
}

impl Expressions {
    pub(crate) fn new(size: usize, order: Order, has_last: bool) -> Self {
        let (shape, ranks) = (Shape::Undefined, Box::default());
        let undefined = Node { shape, element: 0, ranks, first: 0, end: 0, last: false };
        let (inputs, combined) = (HashMap::default(), HashMap::default());
        Self { size, order, has_last, nodes: vec![undefined], inputs, combined }
    }

    /// Element `element` of the input of rank `rank`.
    pub(crate) fn input(&mut self, rank: usize, element: usize) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.inputs.entry((rank, element)).or_insert(next);
        if number == next {
            let mut ranks = vec![0; self.size.div_ceil(64)].into_boxed_slice();
            ranks[rank / 64] |= 1 << (rank % 64);
            let (shape, first, end) = (Shape::Input { rank }, rank, rank + 1);
            self.nodes.push(Node { shape, element, ranks, first, end, last: false });
        }
        number
    }

    /// `left op right`, in a reduction that is marked as the last or not, or why that must not be.
    pub(crate) fn combine(&mut self, left: u32, right: u32, last: bool) -> Result<u32, String> {
        if let Some(&number) = self.combined.get(&(left, right, last)) {
            return Ok(number);
        }
        let (l, r) = (&self.nodes[left as usize], &self.nodes[right as usize]);
        let refuse = |why: &str| Err(format!("{} and {}: {why}", self.text(left), self.text(right)));
        if left == UNDEFINED || right == UNDEFINED {
            return refuse("an operand was never written");
        }
        if l.element != r.element {
            return refuse("they belong to different elements");
        }
        if l.ranks.iter().zip(&r.ranks).any(|(l, r)| l & r != 0) {
            return refuse("a contribution would count twice");
        }
        if self.order >= Order::Rank && l.end != r.first {
            return refuse("the operation does not commute and these are not neighbours in rank order");
        }
        if self.order == Order::Left && (l.first != 0 || !matches!(r.shape, Shape::Input { .. })) {
            return refuse("operands must be appended one by one, from rank 0 on");
        }
        let node = Node {
            shape: Shape::Combined { left, right },
            element: l.element,
            ranks: l.ranks.iter().zip(&r.ranks).map(|(l, r)| l | r).collect(),
            first: l.first.min(r.first),
            end: l.end.max(r.end),
            last,
        };
        if last && !(self.has_last && node.covers(self.size)) {
            return refuse("a reduction is marked as the last before all ranks have contributed");
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        self.combined.insert((left, right, last), number);
        Ok(number)
    }

    /// Whether the expression covers exactly the ranks `0..ranks`, for this element.
    pub(crate) fn covers(&self, number: u32, element: usize, ranks: usize) -> bool {
        let node = &self.nodes[number as usize];
        number != UNDEFINED && node.element == element && node.covers(ranks)
    }

    /// Whether the expression came out of a reduction that is marked as the last one.
    pub(crate) fn last(&self, number: u32) -> bool {
        self.nodes[number as usize].last
    }

    /// The expression in words, cut short below a few levels.
    pub(crate) fn text(&self, number: u32) -> String {
        let node = &self.nodes[number as usize];
        let mut text = String::new();
        self.write(number, 6, &mut text);
        if number != UNDEFINED {
            text.push_str(&format!("[{}]{}", node.element, if node.last { ", last" } else { "" }));
        }
        text
    }

    fn write(&self, number: u32, levels: usize, text: &mut String) {
        match self.nodes[number as usize].shape {
            Shape::Undefined => text.push_str("nothing"),
            Shape::Input { rank } => text.push_str(&format!("x{rank}")),
            Shape::Combined { .. } if levels == 0 => text.push('…'),
            Shape::Combined { left, right } => {
                text.push('(');
                self.write(left, levels - 1, text);
                text.push_str(" op ");
                self.write(right, levels - 1, text);
                text.push(')');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contribution_counts_once_for_one_element_and_in_order() {
        let mut e = Expressions::new(3, Order::Rank, true);
        let [x0, x1, x2, y1] = [(0, 5), (1, 5), (2, 5), (1, 6)].map(|(rank, at)| e.input(rank, at));
        let low = e.combine(x0, x1, false).unwrap();
        assert_eq!(e.combine(x0, x1, false), Ok(low));
        assert!(e.combine(low, x1, false).unwrap_err().contains("twice"));
        assert!(e.combine(x0, y1, false).unwrap_err().contains("different elements"));
        assert!(e.combine(x2, low, false).unwrap_err().contains("rank order"));
        assert!(e.combine(UNDEFINED, x2, false).unwrap_err().contains("never written"));
        let all = e.combine(low, x2, false).unwrap();
        assert!(e.covers(all, 5, 3) && !e.covers(all, 6, 3) && !e.covers(low, 5, 3) && e.covers(low, 5, 2));
        let high = e.combine(x1, x2, false).unwrap();
        assert_ne!(e.combine(x0, high, false), Ok(all), "another tree is another expression");
        assert_eq!(e.text(all), "((x0 op x1) op x2)[5]");
    }

    #[test]
    fn from_the_left_there_is_one_tree() {
        let mut e = Expressions::new(4, Order::Left, true);
        let [x0, x1, x2] = [0, 1, 2].map(|rank| e.input(rank, 0));
        assert!(e.combine(x1, x2, false).unwrap_err().contains("one by one"));
        let low = e.combine(x0, x1, false).unwrap();
        let all = e.combine(low, x2, false).unwrap();
        assert!(e.covers(all, 0, 3));
    }

    #[test]
    fn in_any_order_the_ranks_covered_still_count() {
        let mut e = Expressions::new(3, Order::Free, true);
        let [x0, x1, x2] = [0, 1, 2].map(|rank| e.input(rank, 0));
        let high = e.combine(x2, x1, false).unwrap();
        assert!(!e.covers(high, 0, 2), "these are not the first two");
        let all = e.combine(high, x0, false).unwrap();
        assert!(e.covers(all, 0, 3));
    }

    #[test]
    fn the_last_reduction_has_all_contributions_and_is_the_last() {
        let mut e = Expressions::new(3, Order::Free, true);
        let [x0, x1, x2] = [0, 1, 2].map(|rank| e.input(rank, 0));
        assert!(e.combine(x0, x1, true).unwrap_err().contains("before all ranks have contributed"));
        let low = e.combine(x0, x1, false).unwrap();
        let (open, last) = (e.combine(low, x2, false).unwrap(), e.combine(low, x2, true).unwrap());
        assert!(e.covers(open, 0, 3) && !e.last(open) && e.covers(last, 0, 3) && e.last(last));
        assert_eq!(e.text(last), "((x0 op x1) op x2)[0], last");
        assert!(e.combine(last, x1, false).unwrap_err().contains("twice"));
        let mut prefixes = Expressions::new(2, Order::Free, false);
        let [x0, x1] = [0, 1].map(|rank| prefixes.input(rank, 0));
        assert!(prefixes.combine(x0, x1, true).unwrap_err().contains("marked as the last"));
    }
}
