//! A limit on how many steps of one kind are under way.
//!
//! Data dependencies alone would let a schedule post every receive of a large vector at once; a window
//! makes each step wait for the one `limit` before it. Neighbours: the pipelined algorithms.

use std::collections::VecDeque;

use crate::builder::{Builder, Step};

/// The last few steps of one kind.
pub(crate) struct Window {
    limit: usize,
    recent: VecDeque<Step>,
}

impl Window {
    /// At most `limit` steps (at least one) under way.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), recent: VecDeque::new() }
    }

    /// Lets `step` wait for the step that was admitted `limit` steps ago.
    pub(crate) fn admit(&mut self, b: &mut Builder, step: Step) {
        if step.is_none() {
            return;
        }
        self.recent.push_back(step);
        if self.recent.len() > self.limit {
            let earlier = self.recent.pop_front().flatten();
            b.order(earlier, step);
        }
    }
}
