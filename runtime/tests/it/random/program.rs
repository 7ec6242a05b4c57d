//! Random programs: from a seed to a world, a tree of communicators, and what is done on them, round by round.
//!
//! Pure: the same seed gives the same program, whatever runs it. Every round is one that MPI allows and that
//! cannot deadlock; how each rank takes part is drawn too.

use super::call::Call;
use super::messages::Messages;
use super::rng::Rng;

/// What the rounds of a program are mostly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// One collective after the other.
    Collectives,
    /// Several non-blocking collectives under way, waited for in any order.
    Batches,
    /// Messages.
    Messages,
    /// Everything, and two threads on each rank.
    Everything,
}

/// How new communicators are made of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Making {
    /// Color and key by rank.
    Split(Vec<(Option<usize>, usize)>),
    SplitByHost,
    Duplicate,
    /// Ranks of the parent, in the new order.
    Create(Vec<usize>),
}

/// A collective of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    Broadcast,
    Gather,
    AllGather,
    Scatter,
    Reduce,
    AllReduce,
}

impl Objects {
    const ALL: [Self; 6] =
        [Self::Broadcast, Self::Gather, Self::AllGather, Self::Scatter, Self::Reduce, Self::AllReduce];
}

#[derive(Clone, Debug)]
pub(crate) enum Round {
    /// Makes the communicators `made`, all by one call.
    Make {
        from: usize,
        making: Making,
        made: std::ops::Range<usize>,
    },
    /// One collective, `times` times; persistent on ranks that prepare it.
    Repeat {
        call: Call,
        times: u64,
    },
    /// Collectives begun in this order, on any communicators; waited for in another order, by two threads
    /// on ranks where `threads` says so.
    Batch {
        calls: Vec<Call>,
        threads: Vec<bool>,
        seed: u64,
    },
    Messages(Messages),
    /// Pairs of ranks send objects to one another, the first of a pair first; then all take part in a
    /// collective of objects.
    Objects {
        on: usize,
        pairs: Vec<(usize, usize)>,
        then: Objects,
        root: usize,
        seed: u64,
    },
    /// Every rank exchanges with those `distance` away, round the circle or not.
    Shift {
        on: usize,
        distance: usize,
        open: bool,
        replace: bool,
        length: usize,
        seed: u64,
    },
    /// Two threads on each rank, each with a communicator of its own.
    Threads([Vec<Round>; 2]),
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Ranks of the world by rank, for each communicator; the first is the world.
    pub(crate) communicators: Vec<Vec<usize>>,
    pub(crate) rounds: Vec<Round>,
    /// The limits of the protocol are small.
    pub(crate) small: bool,
    pub(crate) segment: usize,
    /// The world is.
    pub(crate) reproducible: bool,
    pub(crate) ranks_per_host: usize,
}

impl Program {
    pub(crate) fn draw(seed: u64, about: About) -> Self {
        let mut rng = Rng::new(seed);
        let size = rng.pick(&[1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9]);
        let mut program = Self {
            communicators: vec![(0..size).collect()],
            rounds: Vec::new(),
            small: rng.chance(70),
            segment: rng.pick(&[64, 512, 4096, 256 * 1024]),
            reproducible: rng.chance(15),
            ranks_per_host: rng.between(1, 3),
        };
        let rounds = rng.between(3, 8);
        for _ in 0..rounds {
            let round = program.round(&mut rng, about);
            program.rounds.push(round);
        }
        program
    }

    pub(crate) fn size(&self) -> usize {
        self.communicators[0].len()
    }

    fn round(&mut self, rng: &mut Rng, about: About) -> Round {
        if rng.chance(20) {
            return self.make(rng);
        }
        let on = rng.below(self.communicators.len());
        let usual = rng.chance(70);
        match about {
            About::Collectives if usual => self.repeat(rng, on),
            About::Batches if usual => self.batch(rng, None),
            About::Messages if usual => Round::Messages(Messages::draw(rng, on, self.size_of(on))),
            _ if self.communicators.len() > 1 && rng.chance(30) => self.threads(rng),
            _ => self.any(rng, on),
        }
    }

    fn size_of(&self, on: usize) -> usize {
        self.communicators[on].len()
    }

    fn call(&self, rng: &mut Rng, on: usize) -> Call {
        Call::draw(rng, on, self.size_of(on), self.reproducible)
    }

    fn repeat(&self, rng: &mut Rng, on: usize) -> Round {
        let call = self.call(rng, on);
        Round::Repeat { call, times: rng.pick(&[1, 1, 1, 2, 3]) }
    }

    /// On any communicators, or on one.
    fn batch(&self, rng: &mut Rng, on: Option<usize>) -> Round {
        let calls = rng.between(2, 6);
        let calls = (0..calls)
            .map(|_| {
                let on = on.unwrap_or_else(|| rng.below(self.communicators.len()));
                self.call(rng, on)
            })
            .collect();
        let threads = (0..self.size()).map(|_| rng.chance(20)).collect();
        Round::Batch { calls, threads, seed: rng.draw() }
    }

    /// A round on communicator `on` only.
    fn any(&self, rng: &mut Rng, on: usize) -> Round {
        let size = self.size_of(on);
        match rng.below(8) {
            0 | 1 => self.repeat(rng, on),
            2 | 3 => self.batch(rng, Some(on)),
            4 | 5 => Round::Messages(Messages::draw(rng, on, size)),
            6 => {
                let mut ranks: Vec<usize> = (0..size).collect();
                rng.shuffle(&mut ranks);
                let pairs = ranks.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                Round::Objects {
                    on,
                    pairs,
                    then: rng.pick(&Objects::ALL),
                    root: rng.below(size),
                    seed: rng.draw(),
                }
            }
            _ => Round::Shift {
                on,
                distance: rng.below(size + 1),
                open: rng.chance(40),
                replace: rng.chance(50),
                length: rng.pick(&[0, 1, 200, 257, 1025, 30_000]),
                seed: rng.draw(),
            },
        }
    }

    /// Two communicators, each with a thread; how threads take turns is not the program's business.
    fn threads(&self, rng: &mut Rng) -> Round {
        let one = rng.below(self.communicators.len());
        let other = (one + rng.between(1, self.communicators.len() - 1)) % self.communicators.len();
        Round::Threads([one, other].map(|on| {
            let rounds = rng.between(1, 3);
            (0..rounds).map(|_| self.any(rng, on)).collect()
        }))
    }

    fn make(&mut self, rng: &mut Rng) -> Round {
        let from = rng.below(self.communicators.len());
        let parent = self.communicators[from].clone();
        let size = parent.len();
        let first = self.communicators.len();
        let world = |ranks: &[usize]| ranks.iter().map(|rank| parent[*rank]).collect::<Vec<_>>();
        let making = match rng.below(6) {
            0..=2 => {
                let colors = rng.between(1, 3);
                let mut part = |_| (rng.chance(90).then(|| rng.below(colors) * 5), rng.below(4));
                Making::Split((0..size).map(&mut part).collect())
            }
            3 => Making::SplitByHost,
            4 => Making::Duplicate,
            _ => {
                let mut ranks: Vec<usize> = (0..size).collect();
                rng.shuffle(&mut ranks);
                ranks.truncate(rng.between(1, size));
                Making::Create(ranks)
            }
        };
        match &making {
            Making::Split(parts) => {
                for color in [0, 5, 10] {
                    let mut members: Vec<usize> =
                        (0..size).filter(|rank| parts[*rank].0 == Some(color)).collect();
                    members.sort_by_key(|rank| (parts[*rank].1, *rank));
                    if !members.is_empty() {
                        self.communicators.push(world(&members));
                    }
                }
            }
            Making::SplitByHost => {
                let host = |rank: &usize| rank / self.ranks_per_host;
                let mut hosts: Vec<usize> = parent.iter().map(host).collect();
                hosts.sort_unstable();
                hosts.dedup();
                for one in hosts {
                    let members = parent.iter().copied().filter(|rank| host(rank) == one).collect();
                    self.communicators.push(members);
                }
            }
            Making::Duplicate => self.communicators.push(parent),
            Making::Create(ranks) => self.communicators.push(world(ranks)),
        }
        Round::Make { from, making, made: first..self.communicators.len() }
    }
}
