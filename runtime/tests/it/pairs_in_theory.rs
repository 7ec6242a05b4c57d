//! Who notices when ranks do not call the same collective, decided from their schedules alone: somebody always does.
//!
//! Every rank follows the schedule of its own call as far as it gets, and looks at what has come, at the latest at its
//! end. Then either a message has reached a rank that called something else, or a rank waits for one that did, and
//! reminds it, or asks what it has left behind. `pairs` shows the same with threads and wires, for fewer ways to
//! differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringworld_collectives::{Action, Collective, Counts, Order, Request, Schedule, Tuning, schedule};

/// One collective as all ranks that call it see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    collective: Collective,
    count: usize,
    /// Counts that differ from rank to rank, and that the others do not know where there is a root.
    varied: bool,
}

impl Call {
    fn schedule(&self, rank: usize, size: usize) -> Schedule {
        let Call { collective, count, varied } = *self;
        let each: Arc<[usize]> = (0..size).map(|rank| count * (rank + 1)).collect();
        let counts = match (varied, collective) {
            (false, _) => Counts::Same(count),
            (true, Collective::Gather { root } | Collective::Scatter { root }) if root != rank => {
                Counts::Own(each[rank])
            }
            (true, Collective::AllToAll) => {
                Counts::Pairs { send: vec![each[rank]; size].into(), recv: Arc::clone(&each) }
            }
            (true, _) => Counts::Each(each),
        };
        let order = Order::Free;
        let request = Request { collective, rank, size, counts, element: 4, order, in_place: false };
        schedule(&request, &Tuning::default()).unwrap()
    }
}

fn calls(size: usize, counts: &[usize]) -> Vec<Call> {
    let roots: BTreeSet<usize> = [0, 1, size - 1].into();
    let collectives: Vec<Collective> = roots.into_iter().flat_map(Collective::family).collect();
    let mut calls: Vec<Call> = Vec::new();
    for collective in collectives {
        let varied = matches!(
            collective,
            Collective::AllGather
                | Collective::ReduceScatter
                | Collective::Gather { .. }
                | Collective::Scatter { .. }
                | Collective::AllToAll
        );
        for count in counts {
            for varied in [false, true].into_iter().take(1 + usize::from(varied)) {
                let count = if collective == Collective::Barrier { 0 } else { *count };
                let call = Call { collective, count, varied };
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
        }
    }
    calls
}

/// How somebody notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Notice {
    /// A message reaches a rank of another call which still waits for others.
    Waiting,
    /// A message reaches a rank of another call which waits for none, and has to look of itself.
    Looking,
    /// A rank waits for one that has called something else, and which sends it nothing.
    Reminded,
}

/// One rank on its way through its schedule.
struct Walk {
    schedule: Schedule,
    waits: Vec<usize>,
    ready: Vec<u32>,
    /// Receives begun, by sender and number of the message, and the step.
    posted: BTreeMap<(usize, u32), u32>,
    /// Sends that the receiver has not taken, likewise.
    offered: BTreeMap<(usize, u32), u32>,
}

impl Walk {
    fn new(schedule: Schedule) -> Self {
        let waits = (0..schedule.len()).map(|step| schedule.dependencies(step)).collect();
        let ready = schedule.roots().to_vec();
        Self { schedule, waits, ready, posted: BTreeMap::new(), offered: BTreeMap::new() }
    }

    fn complete(&mut self, step: u32) {
        for later in self.schedule.dependents(step as usize) {
            let waits = &mut self.waits[*later as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push(*later);
            }
        }
    }
}

/// Follows everybody as far as they get. `eager`: a send ends at once, otherwise when it is received.
fn notices(calls: &[Call], odd: u32, schedules: &[Vec<Schedule>], eager: bool) -> Vec<Notice> {
    let size = schedules[0].len();
    let of = |rank: usize| (odd >> rank & 1) as usize;
    let mut ranks: Vec<Walk> = (0..size).map(|rank| Walk::new(schedules[of(rank)][rank].clone())).collect();
    let differ = |a: usize, b: usize| calls[of(a)] != calls[of(b)];
    let mut crossed: Vec<usize> = Vec::new();
    // Messages between ranks that agree, by sender, receiver and number.
    let mut wire: BTreeSet<(usize, usize, u32)> = BTreeSet::new();
    loop {
        let mut moved = false;
        for rank in 0..size {
            while let Some(step) = ranks[rank].ready.pop() {
                moved = true;
                match *ranks[rank].schedule.action(step as usize) {
                    Action::Send { to, tag, .. } => {
                        if differ(rank, to) {
                            crossed.push(to);
                        } else {
                            wire.insert((rank, to, tag));
                        }
                        if eager {
                            ranks[rank].complete(step);
                        } else {
                            ranks[rank].offered.insert((to, tag), step);
                        }
                    }
                    Action::Recv { from, tag, .. } => {
                        ranks[rank].posted.insert((from, tag), step);
                    }
                    _ => ranks[rank].complete(step),
                }
            }
            let here: Vec<(usize, u32)> = ranks[rank]
                .posted
                .keys()
                .filter(|(from, tag)| wire.contains(&(*from, rank, *tag)))
                .copied()
                .collect();
            for (from, tag) in here {
                moved = true;
                wire.remove(&(from, rank, tag));
                let step = ranks[rank].posted.remove(&(from, tag)).unwrap();
                ranks[rank].complete(step);
                if let Some(step) = ranks[from].offered.remove(&(rank, tag)) {
                    ranks[from].complete(step);
                }
            }
        }
        if !moved {
            break;
        }
    }
    let waits = |rank: usize| !ranks[rank].posted.is_empty();
    let arrived = crossed.iter().map(|to| if waits(*to) { Notice::Waiting } else { Notice::Looking });
    let reminded = (0..size)
        .flat_map(|rank| ranks[rank].posted.keys().map(move |(from, _)| (rank, *from)))
        .filter(|(rank, from)| differ(*rank, *from))
        .map(|_| Notice::Reminded);
    arrived.chain(reminded).collect()
}

/// Which ranks make the second call, as bits: all ways on few ranks, on many the odd ones out and some halves.
fn parts(size: usize) -> Vec<u32> {
    let all = (1 << size) - 1;
    if size <= 4 {
        return (1..all).collect();
    }
    let single = (0..size).map(|rank| 1 << rank);
    single
        .clone()
        .chain(single.map(|bit| all ^ bit))
        .chain([0x55, 0xaa, 0x0f, 0xf0, 0x33, 0x3c, 0x81])
        .collect()
}

/// Every pair of calls on every set of ranks: somebody notices. `nothing`: what to say of pairs in which nobody does.
fn everybody_differs(
    size: usize,
    counts: &[usize],
    mut unnoticed: impl FnMut([Call; 2]),
) -> BTreeMap<Notice, usize> {
    let calls = calls(size, counts);
    let schedules: Vec<Vec<Schedule>> =
        calls.iter().map(|call| (0..size).map(|rank| call.schedule(rank, size)).collect()).collect();
    let mut first = BTreeMap::new();
    for a in 0..calls.len() {
        for b in (0..calls.len()).filter(|b| *b != a) {
            let pair = [calls[a], calls[b]];
            let schedules = [schedules[a].clone(), schedules[b].clone()];
            for odd in parts(size) {
                for eager in [true, false] {
                    match notices(&pair, odd, &schedules, eager).into_iter().min() {
                        Some(notice) => *first.entry(notice).or_default() += 1,
                        None => unnoticed(pair),
                    }
                }
            }
        }
    }
    first
}

#[test]
fn whatever_ranks_call_instead_of_the_same_somebody_notices() {
    for size in [2, 3, 4, 8] {
        let first =
            everybody_differs(size, &[3, 200_000], |pair| panic!("{size} ranks, {pair:?}: nobody notices"));
        println!("{size} ranks: {first:?}");
        // None of the three ways is for nothing.
        for notice in [Notice::Waiting, Notice::Looking, Notice::Reminded] {
            assert!(
                first.get(&notice).is_some_and(|times| *times > 0),
                "{size} ranks: {notice:?} is never needed"
            );
        }
    }
}

/// Calls that go together although they differ: those of no elements at all, in which nothing is sent and nobody gets
/// anything, so that it makes no difference which was called.
#[test]
fn only_collectives_of_nothing_go_together() {
    for size in [2, 3, 4] {
        let mut together = 0;
        everybody_differs(size, &[0, 3], |pair| {
            together += 1;
            for call in pair {
                assert!(call.count == 0 && call.collective != Collective::Barrier, "{pair:?}");
                assert!((0..size).all(|rank| call.schedule(rank, size).receives() == 0), "{pair:?}");
            }
        });
        assert!(together > 0);
    }
}
