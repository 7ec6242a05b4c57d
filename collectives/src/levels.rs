//! Two levels of ranks: inside each host, and between the hosts.
//!
//! ```text
//! host 0   0 1 2 3 ┐           lane 0: ranks 0, 4, 8
//! host 1   4 5 6 7 ├ 4 lanes   lane 1: ranks 1, 5, 8       host 2 has one rank, which is in every lane
//! host 2   8       ┘ ...
//! ```
//!
//! A *lane* has one rank of each host, and carries its share of what goes between the hosts; so all ranks of a host
//! fill its wire together, and the wire carries every byte once, however many they are. A host with fewer ranks than
//! there are lanes gives each of its ranks a run of lanes; with one lane, the first rank of each host leads it.
//!
//! The `two_level.rs` of each collective says what is done on which level; [`Levels`] does that by algorithms of one
//! level on a part of the ranks, which the selection chooses as it would for these ranks alone.

use std::ops::Range;

use crate::builder::{part, parts};
use crate::{
    Builder, Choice, Collective, Counts, Hosts, Order, Placement, Request, Span, Tuning, flat, select,
};

/// Where one rank stands.
pub(crate) struct Levels<'a> {
    request: &'a Request,
    choice: &'a Choice,
    hosts: &'a Hosts,
    /// The host of this rank.
    pub(crate) host: usize,
    /// Its place among the ranks of that host.
    pub(crate) local: usize,
    /// How many lanes there are.
    pub(crate) lanes: usize,
}

/// What a part of the ranks does together.
pub(crate) struct Stage {
    pub(crate) collective: Collective,
    /// Of this block.
    pub(crate) counts: Counts,
    /// Of the whole vector, by which the algorithm is chosen, so that all blocks have the same.
    pub(crate) whole: Counts,
    pub(crate) input: Span,
    pub(crate) output: Span,
    /// Whether results of reductions are final.
    pub(crate) last: bool,
}

impl<'a> Levels<'a> {
    /// `None` where there is one level only.
    pub(crate) fn new(request: &'a Request, choice: &'a Choice) -> Option<Self> {
        let hosts = choice.hosts.as_ref().filter(|hosts| hosts.placement.has_two_levels())?;
        let placement = &hosts.placement;
        let host = placement.host(request.rank);
        let local = placement.ranks(host).iter().take_while(|rank| **rank < request.rank).count();
        let lanes = hosts.lanes(request);
        Some(Self { request, choice, hosts, host, local, lanes })
    }

    pub(crate) fn placement(&self) -> &'a Placement {
        &self.hosts.placement
    }

    /// The ranks of this rank's host.
    pub(crate) fn neighbours(&self) -> &'a [usize] {
        self.placement().ranks(self.host)
    }

    /// Whether this rank is alone on its host.
    pub(crate) fn alone(&self) -> bool {
        self.neighbours().len() == 1
    }

    /// The lanes that a rank serves, by its place on its host.
    pub(crate) fn lanes_of(&self, host: usize, local: usize) -> Range<usize> {
        let ranks = self.placement().ranks(host).len();
        (local * self.lanes).div_ceil(ranks)..((local + 1) * self.lanes).div_ceil(ranks)
    }

    /// A rank of several lanes takes them in turn, one in each round: the lane of a neighbour in a round, if it has one
    /// then.
    pub(crate) fn lane_in_round(&self, local: usize, round: usize) -> Option<usize> {
        self.lanes_of(self.host, local).nth(round)
    }

    /// How many rounds all lanes of this rank's host take.
    pub(crate) fn rounds(&self) -> usize {
        let lanes = (0..self.neighbours().len()).map(|local| self.lanes_of(self.host, local).len());
        lanes.max().unwrap_or(0)
    }

    /// The lanes that this rank serves.
    pub(crate) fn my_lanes(&self) -> Range<usize> {
        self.lanes_of(self.host, self.local)
    }

    /// The rank of a host that serves a lane.
    pub(crate) fn serving(&self, host: usize, lane: usize) -> usize {
        let ranks = self.placement().ranks(host);
        ranks[lane * ranks.len() / self.lanes]
    }

    /// The ranks of a lane, one of each host, in the order of the hosts.
    pub(crate) fn lane(&self, lane: usize) -> Vec<usize> {
        (0..self.placement().hosts()).map(|host| self.serving(host, lane)).collect()
    }

    /// The rank of a host whose own block goes along a lane, if there are as many lanes as ranks on the widest host:
    /// the block of each rank goes along the first of its lanes.
    pub(crate) fn rank_in(&self, host: usize, lane: usize) -> Option<usize> {
        let ranks = self.placement().ranks(host);
        let local = lane * ranks.len() / self.lanes;
        (self.lanes_of(host, local).start == lane).then(|| ranks[local])
    }

    /// The ranks that lead their hosts, in the order of the hosts: the first of each, but `root` that of its own.
    pub(crate) fn leaders(&self, root: Option<usize>) -> Vec<usize> {
        let placement = self.placement();
        let mut leaders: Vec<usize> =
            (0..placement.hosts()).filter_map(|host| placement.ranks(host).first().copied()).collect();
        if let Some(root) = root {
            leaders[placement.host(root)] = root;
        }
        leaders
    }

    /// The place of a rank of this host among those of the host.
    pub(crate) fn place_inside(&self, rank: usize) -> usize {
        self.neighbours().iter().take_while(|neighbour| **neighbour < rank).count()
    }

    /// Into how many blocks a vector is cut, each of which goes through all levels by itself.
    pub(crate) fn blocks(&self, len: usize) -> usize {
        parts(len, self.choice.segment)
    }

    /// Builds a vector of `count` elements block by block: `build` gets offset and length of each. No more than
    /// `in_flight` blocks are under way, and they share their scratch memory.
    pub(crate) fn each_block(
        &self,
        count: usize,
        blocks: usize,
        b: &mut Builder,
        mut build: impl FnMut(usize, usize, &mut Builder),
    ) {
        let sets = self.choice.in_flight.clamp(1, blocks);
        let mark = b.scratch_mark();
        let mut room = 0;
        let mut ends = Vec::with_capacity(blocks);
        for block in 0..blocks {
            let (offset, len) = part(count, blocks, block);
            b.scratch_from(mark + block % sets * room);
            b.gate_later_steps(block.checked_sub(sets).and_then(|earlier| ends[earlier]));
            build(offset, len, b);
            if block == 0 {
                room = b.scratch_mark() - mark;
            }
            ends.push(b.latest());
        }
        b.gate_later_steps(None);
    }

    /// A stage inside of this rank's host.
    pub(crate) fn add_inside(&self, stage: Stage, b: &mut Builder) {
        self.add_stage(self.neighbours(), &self.hosts.inside, false, stage, b);
    }

    /// A stage between hosts, among one rank of each.
    pub(crate) fn add_between(&self, ranks: &[usize], stage: Stage, b: &mut Builder) {
        // The length of blocks is that of segments between the hosts: they are cut already.
        let cut = stage.counts != stage.whole;
        let between = &self.hosts.between;
        // A ring moves no fewer bytes than halving: whether its steps pay is a matter of what goes along one lane.
        let lanes = |chunk: usize| chunk.saturating_mul(self.lanes);
        let (halving_chunk, ring_chunk) = (lanes(between.halving_chunk), lanes(between.ring_chunk));
        let tuning = Tuning { halving_chunk, ring_chunk, ..between.clone() };
        self.add_stage(ranks, &tuning, cut, stage, b);
    }

    fn add_stage(&self, ranks: &[usize], tuning: &Tuning, cut: bool, stage: Stage, b: &mut Builder) {
        let Some(rank) = ranks.iter().position(|rank| *rank == self.request.rank) else { return };
        let Stage { collective, counts, whole, input, output, last } = stage;
        let (size, element) = (ranks.len(), self.request.element);
        let in_place = b.is_same(input, output);
        let request = Request { collective, rank, size, counts, element, order: Order::Free, in_place };
        let choice = select(&Request { counts: whole, rank: 0, ..request.clone() }, tuning);
        let segment = match collective {
            _ if cut => usize::MAX,
            // What comes over the wire goes on inside, segment by segment.
            Collective::Broadcast { .. } => choice.segment.min(self.choice.segment),
            _ => choice.segment,
        };
        let choice = Choice { segment, ..choice };
        b.within(ranks, (input, output), last, |b| flat::steps(&request, &choice, b));
    }
}

/// The blocks of all ranks, packed in the order of the hosts instead of that of the ranks.
pub(crate) struct Packed<'a> {
    request: &'a Request,
    placement: &'a Placement,
    /// Where the block of each rank lies, and its length.
    ranks: Vec<(usize, usize)>,
    total: usize,
}

impl<'a> Packed<'a> {
    pub(crate) fn new(request: &'a Request, levels: &Levels<'a>) -> Self {
        let placement = levels.placement();
        let mut ranks = vec![(0, 0); request.size];
        let mut total = 0;
        for rank in (0..placement.hosts()).flat_map(|host| placement.ranks(host)) {
            let len = request.counts.of(*rank);
            ranks[*rank] = (total, len);
            total += len;
        }
        Self { request, placement, ranks, total }
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Whether that is the order of the ranks.
    pub(crate) fn in_order(&self) -> bool {
        self.ranks.is_sorted_by_key(|(offset, len)| (*offset, *len))
    }

    /// Offset and length of a rank's block.
    pub(crate) fn block_of_rank(&self, rank: usize) -> (usize, usize) {
        self.ranks[rank]
    }

    /// Offset and length of the blocks of a host.
    pub(crate) fn blocks_of_host(&self, host: usize) -> (usize, usize) {
        let ranks = self.placement.ranks(host);
        let offset = ranks.first().map_or(0, |rank| self.ranks[*rank].0);
        (offset, ranks.iter().map(|rank| self.ranks[*rank].1).sum())
    }

    /// The lengths by host.
    pub(crate) fn counts_by_host(&self) -> Counts {
        Counts::Each((0..self.placement.hosts()).map(|host| self.blocks_of_host(host).1).collect())
    }

    /// The lengths of the blocks of a host.
    pub(crate) fn counts_inside(&self, host: usize) -> Counts {
        Counts::Each(self.placement.ranks(host).iter().map(|rank| self.request.counts.of(*rank)).collect())
    }
}

/// The one level there is where no two share a host, or all do.
pub(crate) fn one_level(request: &Request, choice: &Choice, b: &mut Builder) {
    let default = Tuning::default();
    let tuning = match &choice.hosts {
        Some(hosts) if hosts.placement.hosts() == 1 => &hosts.inside,
        Some(hosts) => &hosts.between,
        None => &default,
    };
    let algorithm = select(&Request { rank: 0, ..request.clone() }, tuning);
    let segment = algorithm.segment.min(choice.segment);
    flat::steps(request, &Choice { segment, ..algorithm }, b);
}
