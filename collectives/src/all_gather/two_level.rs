//! Two levels: all-gather between the hosts, in lanes, and inside them.
//!
//! ```text
//! host 0   0 1      lanes: 0 with 2, 1 with 3        ring between hosts: blocks of the own lane
//! host 1   2 3      then inside: 0 gives 1 what came along its lane, and takes what came along the other
//! ```
//!
//! Long blocks go round rings: in each lane ([`crate::levels`]) between the hosts, and inside each host one ring for
//! the blocks of every other, which begins as soon as the first of them have come. They arrive where they belong. Short
//! ones are gathered inside, then between the leaders, and handed out whole; where ranks do not stand in the order of
//! their hosts, what came in that order is copied to where it belongs. Bytes into each host's wire: the blocks of the
//! others, once. Scratch: none, but for short blocks of ranks out of order all of them. Blocks may differ in length.
//! Chosen: where some ranks share a host and not all.

use super::ring;
use crate::levels::{Levels, Packed, Stage, one_level};
use crate::{Builder, Choice, Collective, Counts, Request, Span};

pub(crate) fn build(request: &Request, choice: &Choice, b: &mut Builder) {
    let Some(levels) = Levels::new(request, choice) else { return one_level(request, choice, b) };
    if levels.lanes == 1 { by_leaders(request, &levels, b) } else { in_lanes(request, &levels, choice, b) }
}

fn in_lanes(request: &Request, levels: &Levels<'_>, choice: &Choice, b: &mut Builder) {
    let blocks = request.blocks();
    let (hosts, mine) = (levels.placement().hosts(), levels.neighbours());
    let (offset, len) = blocks.block(request.rank);
    let (input, all) = (Span::input(0, len), Span::output(0, blocks.total()));
    // Where the block of a host's rank in a lane lies, if it has one there.
    let block =
        |host: usize, lane: usize| levels.rank_in(host, lane).map_or((0, 0), |rank| blocks.block(rank));
    let own = |host: usize, lane: usize| match levels.rank_in(host, lane) {
        Some(rank) if rank == request.rank => input,
        _ => {
            let (offset, len) = block(host, lane);
            Span::output(offset, len)
        }
    };
    for lane in levels.my_lanes() {
        let ranks = levels.lane(lane);
        let first = own(levels.host, lane);
        b.within(&ranks, (input, all), false, |b| {
            ring::gather_round(levels.host, hosts, |host| block(host, lane), first, choice, b);
        });
    }
    // A rank of several lanes gives what came along each of them in a round of its own.
    let rounds = levels.rounds();
    // In the order in which they come.
    for step in 0..hosts {
        let host = (levels.host + hosts - step) % hosts;
        for round in 0..rounds {
            let block =
                |local: usize| levels.lane_in_round(local, round).map_or((0, 0), |lane| block(host, lane));
            let first =
                levels.lane_in_round(levels.local, round).map_or(Span::output(0, 0), |lane| own(host, lane));
            b.within(mine, (input, all), false, |b| {
                ring::gather_round(levels.local, mine.len(), block, first, choice, b);
            });
        }
    }
    b.copy(input, Span::output(offset, len));
}

/// One rank of each host for all of it.
fn by_leaders(request: &Request, levels: &Levels<'_>, b: &mut Builder) {
    let packed = Packed::new(request, levels);
    let total = packed.total();
    let all = if packed.in_order() { Span::output(0, total) } else { b.scratch(total) };
    let host = packed.blocks_of_host(levels.host);
    let here = all.part(host.0, host.1);
    let (offset, len) = packed.block_of_rank(request.rank);
    let own = all.part(offset, len);
    let inside = packed.counts_inside(levels.host);
    let stage = |collective, counts: Counts, input, output| {
        let whole = counts.clone();
        Stage { collective, counts, whole, input, output, last: false }
    };
    if levels.alone() {
        b.copy(Span::input(0, len), own);
    } else {
        levels.add_inside(stage(Collective::AllGather, inside, Span::input(0, len), here), b);
    }
    levels.add_between(
        &levels.leaders(None),
        stage(Collective::AllGather, packed.counts_by_host(), here, all),
        b,
    );
    if !levels.alone() {
        levels.add_inside(stage(Collective::Broadcast { root: 0 }, Counts::Same(total), all, all), b);
    }
    if !packed.in_order() {
        let blocks = request.blocks();
        for rank in 0..request.size {
            let ((from, len), (into, _)) = (packed.block_of_rank(rank), blocks.block(rank));
            b.copy(all.part(from, len), Span::output(into, len));
        }
    }
}
