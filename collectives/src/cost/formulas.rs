//! The formulas of the table in [`super`], one method for the algorithms of a collective.
//!
//! Invariant: every algorithm has one, which the compiler sees to.

use super::model::Model;
use crate::builder::parts;
use crate::{Algorithm, Choice, Collective, Counts, Order, Request, Tuning, select};

/// The letters of the formulas.
pub(super) struct Terms<'a> {
    request: &'a Request,
    choice: &'a Choice,
    model: Model,
    /// Ranks.
    n: f64,
    /// `ceil(log2 n)`.
    rounds: f64,
    /// `floor(log2 n)`.
    halvings: f64,
    /// `(p - 1) / p`.
    most: f64,
    /// Whether `n` is no power of two.
    folded: bool,
    /// Bytes of the vector or block.
    bytes: f64,
}

impl Model {
    /// A message.
    fn send(&self, bytes: f64) -> f64 {
        self.alpha + bytes * self.beta
    }

    /// A message and the reduction of what it brings.
    fn reduce(&self, bytes: f64) -> f64 {
        self.send(bytes) + bytes * self.gamma
    }
}

impl<'a> Terms<'a> {
    pub(super) fn new(request: &'a Request, choice: &'a Choice, model: Model) -> Self {
        let size = request.size;
        let halvings = size.ilog2();
        let folded = !size.is_power_of_two();
        Self {
            request,
            choice,
            model,
            n: size as f64,
            rounds: f64::from(halvings + u32::from(folded)),
            halvings: f64::from(halvings),
            most: 1.0 - (-f64::from(halvings)).exp2(),
            folded,
            bytes: request.bytes() as f64,
        }
    }

    pub(super) fn seconds(&self, algorithm: Algorithm) -> f64 {
        let (model, n) = (&self.model, self.n);
        let (segments, each) = self.segments_of_share(1);
        match algorithm {
            Algorithm::BarrierDissemination => self.rounds * model.send(0.0),
            Algorithm::BarrierDirect => (n - 1.0) * model.send(0.0),
            Algorithm::BroadcastDirect | Algorithm::AllGatherDirect => (n - 1.0) * model.send(self.bytes),
            Algorithm::BroadcastBinomial => segments * self.rounds * model.send(each),
            Algorithm::BroadcastChain => (segments + n - 2.0) * model.send(each),
            Algorithm::BroadcastDoubleTree => self.double_tree(Model::send),
            Algorithm::BroadcastScatterAllGather => {
                segments * 2.0 * (self.rounds * model.alpha + (n - 1.0) / n * each * model.beta)
            }

            Algorithm::ReduceBinomial => {
                let to_the_root = if self.free() || self.root() == 0 { 0.0 } else { model.send(each) };
                segments * (self.rounds * model.reduce(each) + to_the_root)
            }
            Algorithm::ReduceChain => self.reduce_chain(),
            Algorithm::ReduceLeftChain => {
                let results = match self.root() {
                    root if root + 1 == self.request.size => 0.0,
                    0 => 1.0,
                    _ => segments,
                };
                (segments + n - 2.0) * model.reduce(each) + results * model.send(each)
            }
            Algorithm::ReduceDoubleTree => self.double_tree(Model::reduce),
            Algorithm::ReduceDirect => (n - 1.0) * model.reduce(self.bytes),
            Algorithm::ReduceGather => self.gather_and_fold(),
            Algorithm::ReduceLeftExchange => self.exchange_parts(n - 1.0),
            Algorithm::ReduceScatterGather => {
                segments * (self.halving_and_doubling(each) + self.folding(model.reduce(each), 0.0))
            }

            Algorithm::AllReduceDirect => (n - 1.0) * segments * model.reduce(each),
            Algorithm::AllReduceRecursiveDoubling => {
                let fold = self.folding(model.reduce(each), model.send(each));
                segments * (self.halvings * model.reduce(each) + fold)
            }
            Algorithm::AllReduceRabenseifner => {
                segments
                    * (self.halving_and_doubling(each) + self.folding(model.reduce(each), model.send(each)))
            }
            Algorithm::AllReduceDoubleTree => self.there_and_back(),
            Algorithm::AllReduceRing => {
                let (blocks, chunk) = self.segments_of_share(self.request.size);
                blocks * (n - 1.0) * (model.reduce(chunk) + model.send(chunk))
            }
            Algorithm::AllReduceLeftChain => (segments + n - 2.0) * (model.reduce(each) + model.send(each)),
            Algorithm::AllReduceGatherBroadcast => {
                self.gather_and_fold() + segments * self.rounds * model.send(each)
            }
            Algorithm::AllReduceLeftExchange => self.exchange_parts(self.rounds),
            Algorithm::BarrierTwoLevel
            | Algorithm::BroadcastTwoLevel
            | Algorithm::ReduceTwoLevel
            | Algorithm::AllReduceTwoLevel
            | Algorithm::AllGatherTwoLevel
            | Algorithm::ReduceScatterTwoLevel
            | Algorithm::AllToAllTwoLevel => self.two_level(),

            Algorithm::AllGatherRecursiveDoubling | Algorithm::AllGatherBruck => {
                self.rounds * model.alpha + (n - 1.0) * self.bytes * model.beta
            }
            Algorithm::AllGatherRing | Algorithm::AllToAllPairwise => segments * (n - 1.0) * model.send(each),

            Algorithm::ReduceScatterDirect | Algorithm::ReduceScatterRing => {
                segments * (n - 1.0) * model.reduce(each)
            }
            Algorithm::ReduceScatterRecursiveHalving => self.reduce_scatter_by_halving(),

            Algorithm::ReduceScatterBruck => self.bruck() + (n - 1.0) * self.bytes * model.gamma,

            Algorithm::GatherDirect | Algorithm::ScatterDirect => (n - 1.0) * model.send(self.bytes),
            Algorithm::GatherBinomial | Algorithm::ScatterBinomial => self.tree_of_blocks(),
            Algorithm::AllToAllBruck => self.bruck(),

            Algorithm::ScanChain | Algorithm::ExclusiveScanChain => (segments + n - 2.0) * model.reduce(each),
            Algorithm::ScanDirect | Algorithm::ExclusiveScanDirect => (n - 1.0) * model.reduce(self.bytes),
            Algorithm::ScanRecursiveDoubling => segments * self.rounds * model.reduce(each),
            // Two sums, one of them without the own contribution.
            Algorithm::ExclusiveScanRecursiveDoubling => {
                segments * self.rounds * (model.reduce(each) + each * model.gamma)
            }
            Algorithm::ScanTranspose | Algorithm::ExclusiveScanTranspose => self.exchange_parts(n - 1.0),
            Algorithm::ScanGatherScatter | Algorithm::ExclusiveScanGatherScatter => {
                self.gather_and_fold() + self.tree_of_blocks()
            }
        }
    }

    /// How many segments the vector makes when one of `shares` equal shares of it is cut, and their bytes.
    fn segments_of_share(&self, shares: usize) -> (f64, f64) {
        let segments = parts(self.request.count().div_ceil(shares), self.choice.segment) as f64;
        (segments, self.bytes / shares as f64 / segments)
    }

    fn free(&self) -> bool {
        self.request.commutes()
    }

    fn root(&self) -> usize {
        self.request.collective.root().unwrap_or(0)
    }

    /// What folding to a power of two and back costs in each segment, if there is need.
    fn folding(&self, there: f64, back: f64) -> f64 {
        if self.folded { there + back } else { 0.0 }
    }

    /// Halving a segment of so many bytes down to a share for each rank, and putting it together again.
    fn halving_and_doubling(&self, bytes: f64) -> f64 {
        let Model { alpha, beta, gamma, .. } = self.model;
        2.0 * self.halvings * alpha + self.most * bytes * (2.0 * beta + gamma)
    }

    /// Two trees, one way: a rank passes each segment to two others, or takes it from two.
    fn double_tree(&self, hop: impl Fn(&Model, f64) -> f64) -> f64 {
        let (segments, each) = self.segments_of_share(2);
        (2.0 * segments + 2.0 * self.rounds - 2.0) * hop(&self.model, each)
    }

    /// Two trees, up and down: once there are segments everywhere, a rank receives four for each of them, one
    /// from each child, one result from its parent, and one where it is a leaf.
    fn there_and_back(&self) -> f64 {
        let model = &self.model;
        let (segments, each) = self.segments_of_share(2);
        let depth = (self.n + 1.0).log2().floor();
        // On two ranks each has one child, and no more than two messages a segment.
        let children = (self.n - 1.0).min(2.0);
        depth * children * (model.reduce(each) + model.send(each))
            + (segments - 1.0) * children * (2.0 * model.send(each) + each * model.gamma)
    }

    /// One chain towards the root; two when rank order counts and the root is at neither end.
    fn reduce_chain(&self) -> f64 {
        let (segments, each) = self.segments_of_share(1);
        let (root, last) = (self.root(), self.request.size - 1);
        let hops = if self.free() || root == 0 || root == last {
            segments + self.n - 2.0
        } else {
            2.0 * segments + root.max(last - root) as f64 - 1.0
        };
        hops * self.model.reduce(each)
    }

    /// A binomial tree that carries a block for each rank: the root's bytes count.
    fn tree_of_blocks(&self) -> f64 {
        self.rounds * self.model.alpha + (self.n - 1.0) * self.bytes * self.model.beta
    }

    /// All vectors to one rank, which folds them.
    fn gather_and_fold(&self) -> f64 {
        self.tree_of_blocks() + (self.n - 1.0) * self.bytes * self.model.gamma
    }

    /// Every rank reduces a share of the vector that everybody sends it; the shares of the result come back in so
    /// many messages.
    fn exchange_parts(&self, messages: f64) -> f64 {
        let (blocks, chunk) = self.segments_of_share(self.request.size);
        let back = messages * self.model.alpha + (self.n - 1.0) * chunk * self.model.beta;
        blocks * ((self.n - 1.0) * self.model.reduce(chunk) + back)
    }

    /// Half of all blocks in every round.
    fn bruck(&self) -> f64 {
        self.rounds * self.model.send((self.n / 2.0).floor() * self.bytes)
    }

    fn reduce_scatter_by_halving(&self) -> f64 {
        let model = &self.model;
        let size = self.request.size;
        let all = self.request.counts.total(size);
        let messages = |elements: usize| parts(elements, self.choice.segment) as f64;
        let halvings: f64 = (1..=size.ilog2()).map(|halving| messages(all >> halving)).sum();
        let home = if self.free() && !self.folded { 0.0 } else { model.send(self.bytes) };
        let whole = self.n * self.bytes * (model.beta + model.gamma);
        halvings * model.alpha + self.most * whole + self.folding(messages(all) * model.alpha, whole) + home
    }

    /// The same algorithms on each level as the schedule has, one after the other, as if no block overlapped with the
    /// next; a host's wire is shared by its lanes.
    fn two_level(&self) -> f64 {
        let levels = self.choice.hosts.as_ref().filter(|hosts| hosts.placement.has_two_levels());
        let Some(hosts) = levels else {
            let tuning = Tuning::default();
            return self.stage(
                self.request.collective,
                self.request.size,
                self.request.count(),
                &tuning,
                self.model,
            );
        };
        let lanes = hosts.lanes(self.request);
        let (ranks, many) = (hosts.placement.widest(), hosts.placement.hosts());
        let inside =
            |collective, count| self.stage(collective, ranks, count, &hosts.inside, self.model.inside());
        let wire = Model { beta: self.model.beta * lanes as f64, ..self.model };
        let between = |collective, count| self.stage(collective, many, count, &hosts.between, wire);
        let (count, root) = (self.request.count(), 0);
        let (reduce, broadcast) = (Collective::Reduce { root }, Collective::Broadcast { root });
        let share = count.div_ceil(lanes);
        match (self.request.collective, lanes) {
            (Collective::Broadcast { .. }, _) => between(broadcast, count) + inside(broadcast, count),
            (Collective::Reduce { .. }, _) => inside(reduce, count) + between(reduce, count),
            (Collective::AllReduce, 1) => {
                inside(reduce, count) + between(Collective::AllReduce, count) + inside(broadcast, count)
            }
            (Collective::AllReduce, _) => {
                let inside = inside(Collective::ReduceScatter, share) + inside(Collective::AllGather, share);
                inside + between(Collective::AllReduce, share)
            }
            (Collective::AllGather, 1) => {
                let inside =
                    inside(Collective::AllGather, count) + inside(broadcast, count * self.request.size);
                inside + between(Collective::AllGather, count * ranks)
            }
            (Collective::ReduceScatter, 1) => {
                let inside =
                    inside(reduce, count * self.request.size) + inside(Collective::Scatter { root }, count);
                inside + between(Collective::ReduceScatter, count * ranks)
            }
            // A ring inside for the blocks of each host.
            (collective @ (Collective::AllGather | Collective::ReduceScatter), _) => {
                between(collective, count) + many as f64 * inside(collective, count)
            }
            (Collective::AllToAll, _) => {
                let (near, local) = (self.model.inside(), ranks as f64);
                // Of each rank, for one of its host: its block, and those for the hosts that this one serves.
                let remote = (self.request.size - ranks) as f64 / local * self.bytes;
                let inside = near.send(self.bytes + remote) + near.send(remote);
                let swaps = (many as f64 - 1.0) / local;
                let alpha = swaps.ceil() * self.model.alpha;
                (local - 1.0) * inside + alpha + swaps * local * local * self.bytes * wire.beta
            }
            _ => between(Collective::Barrier, 0) + 2.0 * self.model.inside().alpha * (ranks as f64 - 1.0),
        }
    }

    /// A collective of so many ranks by the algorithm of their own choice.
    fn stage(&self, collective: Collective, size: usize, count: usize, tuning: &Tuning, model: Model) -> f64 {
        if size < 2 {
            return 0.0;
        }
        let (counts, element) = (Counts::Same(count), self.request.element);
        let request =
            Request { collective, rank: 0, size, counts, element, order: Order::Free, in_place: false };
        let choice = select(&request, tuning);
        Terms::new(&request, &choice, model).seconds(choice.algorithm)
    }
}
