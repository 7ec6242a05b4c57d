//! One collective call of a random program, as all its ranks see it, and how such calls are drawn.

use ringworld_collectives::{Algorithm, Collective, Counts, Order, Request};

use super::element::{Kind, Operation};
use super::rng::Rng;

/// Which collective, and its arguments beyond the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Barrier,
    Broadcast {
        root: usize,
        count: usize,
    },
    Reduce {
        root: usize,
        count: usize,
    },
    AllReduce {
        count: usize,
    },
    AllReduceMany {
        lengths: Vec<usize>,
    },
    ReduceScatter {
        count: usize,
    },
    ReduceScatterVaried {
        counts: Vec<usize>,
    },
    AllGather {
        count: usize,
    },
    AllGatherVaried {
        counts: Vec<usize>,
    },
    Gather {
        root: usize,
        count: usize,
    },
    GatherVaried {
        root: usize,
        counts: Vec<usize>,
    },
    Scatter {
        root: usize,
        count: usize,
    },
    ScatterVaried {
        root: usize,
        counts: Vec<usize>,
    },
    AllToAll {
        count: usize,
    },
    /// `counts[from][to]`
    AllToAllVaried {
        counts: Vec<Vec<usize>>,
    },
    Scan {
        count: usize,
    },
    ExclusiveScan {
        count: usize,
    },
}

/// How one rank makes the call. Ranks that make it in different ways must understand one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The blocking call with separate buffers, where there are two.
    Blocking,
    /// The blocking call in place, where there are two.
    InPlace,
    /// `start_*`, waited for.
    Started,
    /// `start_*`, polled as a future.
    Polled,
    /// In a scope, waited for inside.
    Scoped,
    /// In a scope, waited for by its end.
    Left,
    /// `prepare_*`, run once.
    Prepared,
    /// `prepare_*`, started, its handle dropped, the buffers asked for later.
    Dropped,
}

impl Way {
    const ALL: [Self; 8] = [
        Self::Blocking,
        Self::InPlace,
        Self::Started,
        Self::Polled,
        Self::Scoped,
        Self::Left,
        Self::Prepared,
        Self::Dropped,
    ];
}

/// One collective call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// On which communicator of the program.
    pub(crate) on: usize,
    pub(crate) shape: Shape,
    pub(crate) element: Kind,
    pub(crate) operation: Operation,
    pub(crate) reproducible: bool,
    pub(crate) algorithm: Option<&'static str>,
    pub(crate) segment: Option<usize>,
    /// Of the data.
    pub(crate) seed: u64,
    /// By rank of the communicator.
    pub(crate) ways: Vec<Way>,
}

impl Shape {
    pub(crate) fn reduces(&self) -> bool {
        matches!(
            self,
            Self::Reduce { .. }
                | Self::AllReduce { .. }
                | Self::AllReduceMany { .. }
                | Self::ReduceScatter { .. }
                | Self::ReduceScatterVaried { .. }
                | Self::Scan { .. }
                | Self::ExclusiveScan { .. }
        )
    }

    /// As the crate of schedules is asked by `rank`; `bytes` of what is only moved.
    fn request(&self, rank: usize, size: usize, element: usize, order: Order) -> Option<Request> {
        let moved = if self.reduces() { 1 } else { element };
        let each = |counts: &[usize]| counts.iter().map(|count| count * moved).collect();
        let at_root = |root: usize, counts: &[usize]| {
            if rank == root { Counts::Each(each(counts)) } else { Counts::Own(counts[rank] * moved) }
        };
        let (collective, counts) = match self {
            Self::Barrier => (Collective::Barrier, Counts::Same(0)),
            &Self::Broadcast { root, count } => (Collective::Broadcast { root }, Counts::Same(count * moved)),
            &Self::Reduce { root, count } => (Collective::Reduce { root }, Counts::Same(count)),
            &Self::AllReduce { count } => (Collective::AllReduce, Counts::Same(count)),
            // How it is cut is the library's business.
            Self::AllReduceMany { .. } => return None,
            &Self::ReduceScatter { count } => (Collective::ReduceScatter, Counts::Same(count)),
            Self::ReduceScatterVaried { counts } => (Collective::ReduceScatter, Counts::Each(each(counts))),
            &Self::AllGather { count } => (Collective::AllGather, Counts::Same(count * moved)),
            Self::AllGatherVaried { counts } => (Collective::AllGather, Counts::Each(each(counts))),
            &Self::Gather { root, count } => (Collective::Gather { root }, Counts::Same(count * moved)),
            &Self::GatherVaried { root, ref counts } => (Collective::Gather { root }, at_root(root, counts)),
            &Self::Scatter { root, count } => (Collective::Scatter { root }, Counts::Same(count * moved)),
            &Self::ScatterVaried { root, ref counts } => {
                (Collective::Scatter { root }, at_root(root, counts))
            }
            &Self::AllToAll { count } => (Collective::AllToAll, Counts::Same(count * moved)),
            Self::AllToAllVaried { counts } => {
                let recv: Vec<usize> = counts.iter().map(|to| to[rank]).collect();
                (Collective::AllToAll, Counts::Pairs { send: each(&counts[rank]), recv: each(&recv) })
            }
            &Self::Scan { count } => (Collective::Scan, Counts::Same(count)),
            &Self::ExclusiveScan { count } => (Collective::ExclusiveScan, Counts::Same(count)),
        };
        let element = if self.reduces() { element } else { 1 };
        Some(Request { collective, rank, size, counts, element, order, in_place: false })
    }
}

/// How many elements: none, one, a few, about the limits of messages, or up to some tens of kilobytes.
fn count(rng: &mut Rng, element: usize, blocks: usize) -> usize {
    let near = |rng: &mut Rng, bytes: usize| (bytes / element + rng.between(0, 4)).saturating_sub(2);
    match rng.below(16) {
        0 | 1 => 0,
        2 | 3 => 1,
        4..=6 => rng.between(2, 20),
        7 | 8 => near(rng, 256),
        9 | 10 => near(rng, 1024),
        11 => near(rng, 256 * blocks) / blocks,
        12 | 13 => rng.below(4096 / element / blocks.min(4) + 1),
        14 => near(rng, 4096 * blocks) / blocks,
        _ => rng.below(65_536 / element / blocks + 1),
    }
}

fn counts(rng: &mut Rng, element: usize, size: usize) -> Vec<usize> {
    (0..size).map(|_| if rng.chance(25) { 0 } else { count(rng, element, size) }).collect()
}

fn shape(rng: &mut Rng, element: usize, size: usize) -> Shape {
    let root = rng.below(size);
    match rng.below(20) {
        0 => Shape::Barrier,
        1 | 2 => Shape::Broadcast { root, count: count(rng, element, 1) },
        3 | 4 => Shape::Reduce { root, count: count(rng, element, 1) },
        5..=7 => Shape::AllReduce { count: count(rng, element, 1) },
        8 => {
            let tensors = rng.below(6);
            Shape::AllReduceMany { lengths: (0..tensors).map(|_| count(rng, element, 4)).collect() }
        }
        9 => Shape::ReduceScatter { count: count(rng, element, size) },
        10 => Shape::ReduceScatterVaried { counts: counts(rng, element, size) },
        11 => Shape::AllGather { count: count(rng, element, size) },
        12 => Shape::AllGatherVaried { counts: counts(rng, element, size) },
        13 => Shape::Gather { root, count: count(rng, element, size) },
        14 => Shape::GatherVaried { root, counts: counts(rng, element, size) },
        15 => Shape::Scatter { root, count: count(rng, element, size) },
        16 => Shape::ScatterVaried { root, counts: counts(rng, element, size) },
        17 => Shape::AllToAll { count: count(rng, element, size) },
        18 => Shape::AllToAllVaried { counts: (0..size).map(|_| counts(rng, element * 2, size)).collect() },
        _ if rng.chance(50) => Shape::Scan { count: count(rng, element, 1) },
        _ => Shape::ExclusiveScan { count: count(rng, element, 1) },
    }
}

impl Call {
    /// A call on communicator `on` of `size` ranks. `reproducible`: the world is.
    pub(crate) fn draw(rng: &mut Rng, on: usize, size: usize, reproducible: bool) -> Self {
        let element = rng.pick(&Kind::ALL);
        let shape = shape(rng, element.size(), size);
        let scan = matches!(shape, Shape::Scan { .. } | Shape::ExclusiveScan { .. });
        let all_reduce = matches!(shape, Shape::AllReduce { .. } | Shape::AllReduceMany { .. });
        // Averages of prefixes and factors outside all-reduce are refused, which other tests hold.
        let fits = |operation: &Operation| match operation {
            Operation::Builtin(ringworld::Op::Average) => !scan,
            Operation::Scaled(..) => all_reduce,
            _ => true,
        };
        let fitting: Vec<Operation> = element.operations().iter().copied().filter(fits).collect();
        let operation = rng.pick(&fitting);
        let reproducible = reproducible || rng.chance(if element.is_float() { 50 } else { 10 });
        let mut call = Self {
            on,
            shape,
            element,
            operation,
            reproducible,
            algorithm: None,
            segment: rng.chance(20).then(|| rng.between(1, 2048)),
            seed: rng.draw(),
            ways: (0..size).map(|_| rng.pick(&Way::ALL)).collect(),
        };
        if rng.chance(40) {
            let able = call.able(size);
            call.algorithm = (!able.is_empty()).then(|| rng.pick(&able));
        }
        call
    }

    /// The algorithms that can serve the call.
    fn able(&self, size: usize) -> Vec<&'static str> {
        let order = match self.operation {
            _ if !self.shape.reduces() => Order::Free,
            _ if self.reproducible => Order::Left,
            operation if operation.commutes() => Order::Free,
            _ => Order::Rank,
        };
        let requests: Vec<Request> =
            (0..size).filter_map(|rank| self.shape.request(rank, size, self.element.size(), order)).collect();
        if requests.is_empty() {
            return Vec::new();
        }
        let able = |algorithm: &&Algorithm| requests.iter().all(|request| algorithm.supports(request));
        Algorithm::ALL.iter().filter(able).map(|algorithm| algorithm.path()).collect()
    }
}
