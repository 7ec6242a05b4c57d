//! Two levels: reduce-scatter inside the hosts, then between them, in lanes.
//!
//! ```text
//! host 0   0 1      rings inside, one for the blocks of each host: 0 has the host's sums of blocks 0 and 2,
//! host 1   2 3      1 of 1 and 3; then a ring in each lane between hosts: 0 with 2, 1 with 3
//! ```
//!
//! Long blocks: as the all-gather of two levels, backwards. A ring between the hosts begins as soon as the sums of the
//! first host's blocks stand. Short ones are reduced to the rank that leads the host, reduced and scattered between the
//! leaders, and scattered inside. Bytes out of each host's wire: the blocks of the others, once. Scratch: of each host
//! a block for each lane; of short blocks all, twice. Blocks may differ in length. Chosen: operations that commute,
//! where some ranks share a host and not all.

use super::{Staged, ring};
use crate::levels::{Levels, Packed, Stage, one_level};
use crate::{Builder, Choice, Collective, Counts, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    if levels.lanes == 1 { by_leaders(request, &levels, b) } else { in_lanes(request, &levels, choice, b) }
}

fn in_lanes(request: &Request, levels: &Levels<'_>, choice: &Choice, b: &mut Builder) {
    let blocks = request.blocks();
    let (hosts, mine) = (levels.placement().hosts(), levels.neighbours());
    let all = Span::input(0, blocks.total());
    // The block of a host's rank in a lane, where it lies in the input.
    let block = |host: usize, lane: usize| {
        let (offset, len) = levels.rank_in(host, lane).map_or((0, 0), |rank| blocks.block(rank));
        all.part(offset, len)
    };
    let rounds = levels.rounds();
    let staged = Staged::new(request, b);
    let nothing = Span::scratch(0, 0);
    let memory = (all, Span::output(0, blocks.block(request.rank).1));

    // This host's sums, of each host and lane that is this rank's.
    let my_lanes = levels.my_lanes();
    let mut sums = vec![nothing; hosts * my_lanes.len()];
    let at = |host: usize, lane: usize| (lane - my_lanes.start) * hosts + host;
    for host in 0..hosts {
        for lane in my_lanes.clone() {
            let input = block(host, lane);
            sums[at(host, lane)] = if levels.alone() { input } else { b.scratch(input.len) };
        }
    }
    if !levels.alone() {
        // Two of these rings have slots of their own, so that one goes round while the next begins.
        let mark = b.scratch_mark();
        let mut room = 0;
        // In the order in which they are wanted.
        for step in 1..=hosts {
            let host = (levels.host + hosts - step) % hosts;
            b.scratch_from(mark + step % 2 * room);
            let begin = b.scratch_mark();
            for round in 0..rounds {
                let block = |local: usize| {
                    levels.lane_in_round(local, round).map_or(nothing, |lane| block(host, lane))
                };
                let into =
                    levels.lane_in_round(levels.local, round).map_or(nothing, |lane| sums[at(host, lane)]);
                b.within(mine, memory, false, |b| {
                    ring::reduce_round(levels.local, mine.len(), block, into, choice, b);
                });
            }
            room = room.max(b.scratch_mark() - begin);
        }
        b.scratch_from(mark + 2 * room);
    }
    for lane in my_lanes.clone() {
        let ranks = levels.lane(lane);
        let own = levels.rank_in(levels.host, lane).is_some_and(|rank| rank == request.rank);
        let into = if own { staged.span } else { nothing };
        b.within(&ranks, memory, true, |b| {
            ring::reduce_round(levels.host, hosts, |host| sums[at(host, lane)], into, choice, b);
        });
    }
    staged.finish(b);
}

/// One rank of each host for all of it.
fn by_leaders(request: &Request, levels: &Levels<'_>, b: &mut Builder) {
    let packed = Packed::new(request, levels);
    let (blocks, total) = (request.blocks(), packed.total());
    let mut all = Span::input(0, total);
    if !packed.in_order() {
        all = b.scratch(total);
        for rank in 0..request.size {
            let ((into, len), (from, _)) = (packed.block_of_rank(rank), blocks.block(rank));
            b.copy(Span::input(from, len), all.part(into, len));
        }
    }
    let leads = levels.local == 0;
    let nothing = Span::scratch(0, 0);
    let same = |count| (Counts::Same(count), Counts::Same(count));
    let mut sums = all;
    if !levels.alone() {
        sums = if leads { b.scratch(total) } else { nothing };
        let ((counts, whole), collective) = (same(total), Collective::Reduce { root: 0 });
        levels.add_inside(Stage { collective, counts, whole, input: all, output: sums, last: false }, b);
    }
    let here = packed.blocks_of_host(levels.host).1;
    let mine = if leads { b.scratch(here) } else { nothing };
    let (counts, collective) = (packed.counts_by_host(), Collective::ReduceScatter);
    let stage = Stage { collective, whole: counts.clone(), counts, input: sums, output: mine, last: true };
    levels.add_between(&levels.leaders(None), stage, b);

    // Not into the result at once: in place, others may still be sent what lies there.
    let len = blocks.block(request.rank).1;
    let counts = if leads { packed.counts_inside(levels.host) } else { Counts::Own(len) };
    let collective = Collective::Scatter { root: 0 };
    let output = Span::output(0, len);
    let stage = Stage { collective, whole: counts.clone(), counts, input: mine, output, last: false };
    levels.add_inside(stage, b);
}
