//! Two levels: reduce inside the hosts, all-reduce between them, and hand out inside.
//!
//! ```text
//! host 0   [ab|cd]  [ab|cd]      reduce-scatter inside: rank 0 has the host's ab, rank 1 its cd
//!             [ab]  [cd]
//!               ‖    ‖           all-reduce in each lane: ab between ranks 0 and 2, cd between 1 and 3
//! host 1      [ab]  [cd]
//!          [ab|cd]  [ab|cd]      all-gather inside
//! ```
//!
//! Short vectors have one lane ([`crate::levels`]): a reduction to the rank that leads the host, and a broadcast from
//! there. Long ones go in blocks, so that the wire carries one while the hosts reduce the next and hand out the one
//! before. Bytes through each host's wire: `2 m (h - 1) / h` on `h` hosts, the least that can be, however many ranks
//! share it. Steps: those of the algorithms on each level, which are chosen as for the ranks of that level alone.
//! Chosen: operations that commute, where some ranks share a host and not all. Each element is finished in one lane,
//! by an all-reduce: the same bits everywhere.

use crate::builder::part;
use crate::levels::{Levels, Stage, one_level};
use crate::{Builder, Choice, Collective, Counts, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let count = request.count();
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    let blocks = levels.blocks(count.div_ceil(levels.lanes * levels.placement().hosts()));
    levels.each_block(count, blocks, b, |start, len, b| {
        let block = Block { levels: &levels, count, start, len };
        block.reduce_inside(b);
        block.all_reduce_between(b);
        block.hand_out_inside(b);
    });
}

/// A part of the vector on its way.
struct Block<'a> {
    levels: &'a Levels<'a>,
    /// Of the whole vector.
    count: usize,
    start: usize,
    len: usize,
}

impl Block<'_> {
    /// Offset and length of what goes along some lanes, of a vector of `len` elements.
    fn part_of_lanes(&self, lanes: std::ops::Range<usize>, len: usize) -> (usize, usize) {
        let start = |lane| part(len, self.levels.lanes, lane).0;
        (start(lanes.start), start(lanes.end) - start(lanes.start))
    }

    /// What the ranks of this host have each, of a vector of `len` elements.
    fn shares(&self, len: usize) -> Counts {
        let ranks = 0..self.levels.neighbours().len();
        let share = |local| self.part_of_lanes(self.levels.lanes_of(self.levels.host, local), len).1;
        Counts::Each(ranks.map(share).collect())
    }

    fn memory(&self) -> (Span, Span) {
        (Span::input(self.start, self.len), Span::output(self.start, self.len))
    }

    /// Leaves the host's sum of what goes along a lane with the rank that serves it.
    fn reduce_inside(&self, b: &mut Builder) {
        let (input, output) = self.memory();
        let levels = self.levels;
        if levels.alone() {
            return;
        }
        let (offset, len) = self.part_of_lanes(levels.my_lanes(), self.len);
        let stage = if levels.lanes == 1 {
            let (counts, whole) = (Counts::Same(self.len), Counts::Same(self.count));
            Stage { collective: Collective::Reduce { root: 0 }, counts, whole, input, output, last: false }
        } else {
            let (counts, whole) = (self.shares(self.len), self.shares(self.count));
            let output = output.part(offset, len);
            Stage { collective: Collective::ReduceScatter, counts, whole, input, output, last: false }
        };
        levels.add_inside(stage, b);
    }

    fn all_reduce_between(&self, b: &mut Builder) {
        let (input, output) = self.memory();
        let levels = self.levels;
        let input = if levels.alone() { input } else { output };
        for lane in levels.my_lanes() {
            let (offset, len) = self.part_of_lanes(lane..lane + 1, self.len);
            // All lanes share the wire: what is long for it is long for each.
            let whole = Counts::Same(self.count);
            let (input, output) = (input.part(offset, len), output.part(offset, len));
            let (collective, counts) = (Collective::AllReduce, Counts::Same(len));
            let stage = Stage { collective, counts, whole, input, output, last: true };
            levels.add_between(&levels.lane(lane), stage, b);
        }
    }

    fn hand_out_inside(&self, b: &mut Builder) {
        let (_, output) = self.memory();
        let levels = self.levels;
        let (offset, len) = self.part_of_lanes(levels.my_lanes(), self.len);
        let stage = if levels.lanes == 1 {
            let (counts, whole) = (Counts::Same(self.len), Counts::Same(self.count));
            let collective = Collective::Broadcast { root: 0 };
            Stage { collective, counts, whole, input: output, output, last: false }
        } else {
            let (counts, whole) = (self.shares(self.len), self.shares(self.count));
            let input = output.part(offset, len);
            Stage { collective: Collective::AllGather, counts, whole, input, output, last: false }
        };
        levels.add_inside(stage, b);
    }
}
