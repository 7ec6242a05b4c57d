//! Communicators made out of communicators: who is in them, that their messages never mix, whatever the
//! threads do, and that ranks that disagree all hear of it.

use std::collections::HashSet;

use crate::common::{small, wires, world};
use ringworld::testing::Choice;
use ringworld::{Communicator, Comparison, Error, Group, Op, Source};

/// Sends to every rank, itself included, and receives from anybody: what comes must be of this
/// communicator, by a token that only its messages carry.
fn only_hears_itself(communicator: &Communicator, token: u64) {
    let size = communicator.size();
    let sends: Vec<_> =
        (0..size).map(|to| communicator.start_send(vec![token, communicator.rank() as u64], to, 5)).collect();
    let mut sources = HashSet::new();
    for _ in 0..size {
        let mut came = [0u64; 2];
        let status = communicator.recv(&mut came, Source::Any, 5).unwrap();
        assert_eq!(came, [token, status.source as u64], "a message of another communicator");
        assert!(sources.insert(status.source), "one message of each rank");
    }
    for send in sends {
        send.unwrap().wait().unwrap();
    }
}

/// The number that a communicator shows for debugging.
fn number(communicator: &Communicator) -> u32 {
    let text = format!("{communicator:?}");
    let digits = text.trim_start_matches("Communicator(").split(':').next().unwrap();
    digits.parse().unwrap()
}

#[test]
fn a_split_gives_each_color_its_ranks_in_order_of_key() {
    for wire in wires() {
        world(wire, 6, &small(), |rank| {
            let me = rank.rank();
            // Rank 5 stays out; the others by parity, the highest first.
            let part = rank.split((me != 5).then_some(me % 2), 10 - me).unwrap();
            let Some(part) = part else {
                assert_eq!(me, 5);
                return;
            };
            let expected: &[usize] = if me % 2 == 0 { &[4, 2, 0] } else { &[3, 1] };
            assert_eq!(part.group().ranks(), expected);
            assert_eq!(expected[part.rank()], me);
            let mut sum = [me as u64];
            part.all_reduce(&mut sum, Op::Sum).unwrap();
            assert_eq!(sum[0], expected.iter().sum::<usize>() as u64);
            only_hears_itself(&part, me as u64 % 2);
        });
    }
}

#[test]
fn the_largest_colors_are_colors_like_any_other() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let part = rank.split(Some(usize::MAX - rank.rank()), 0).unwrap().unwrap();
            assert_eq!(part.size(), 1);
        });
    }
}

#[test]
fn a_split_of_a_split_speaks_of_the_right_ranks() {
    for wire in wires() {
        world(wire, 6, &small(), |rank| {
            let back = rank.split(Some(0), 6 - rank.rank()).unwrap().unwrap();
            let odd = back.split(Some(back.rank() % 2), back.rank()).unwrap().unwrap();
            // Ranks 0..6 turned round are 5 4 3 2 1 0.
            let expected: &[usize] = if back.rank() % 2 == 0 { &[5, 3, 1] } else { &[4, 2, 0] };
            assert_eq!(odd.group().ranks(), expected);
            only_hears_itself(&odd, back.rank() as u64 % 2);
            let same = odd.duplicate().unwrap();
            assert_eq!(odd.compare(&same), Comparison::Congruent);
            assert_eq!(odd.compare(&back), Comparison::Different);
            assert_eq!(back.compare(rank), Comparison::Similar);
            assert_eq!(back.compare(&back.clone()), Comparison::Identical);
        });
    }
}

#[test]
fn ranks_of_one_host_find_one_another() {
    let choice = Choice { ranks_per_host: 2, ..small() };
    for wire in wires() {
        world(wire, 5, &choice, |rank| {
            let here = rank.split_by_host().unwrap();
            let expected: &[usize] = [&[0, 1][..], &[2, 3], &[4]][rank.rank() / 2];
            assert_eq!(here.group().ranks(), expected);
            assert_eq!((here.rank(), here.size()), (rank.local_rank(), rank.local_size()));
            only_hears_itself(&here, rank.rank() as u64 / 2);
            // Among fewer ranks the place on the host differs from that in the world.
            let odd = rank.split(Some(rank.rank() % 2), 0).unwrap().unwrap();
            let alone = odd.split_by_host().unwrap();
            assert_eq!((alone.size(), alone.local_rank()), (1, rank.local_rank()));
        });
    }
}

#[test]
fn a_communicator_of_a_group_has_its_ranks_in_its_order() {
    for wire in wires() {
        world(wire, 5, &small(), |rank| {
            let group = rank.group().include([3, 0, 4]).unwrap();
            let made = rank.create(&group).unwrap();
            assert_eq!(made.is_some(), [0, 3, 4].contains(&rank.rank()));
            if let Some(made) = made {
                assert_eq!(made.group(), group);
                let mut all = [0u32; 3];
                made.all_gather(&[rank.rank() as u32], &mut all).unwrap();
                assert_eq!(all, [3, 0, 4]);
                only_hears_itself(&made, 1);
            }
            assert!(rank.create(&Group::new([]).unwrap()).unwrap().is_none(), "nobody is in an empty group");
        });
    }
}

#[test]
fn groups_that_differ_end_the_call_on_every_rank_and_the_world_goes_on() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            // The same members in another order are another group.
            let ranks = if rank.rank() == 2 { [1, 0] } else { [0, 1] };
            let error = rank.create(&Group::new(ranks).unwrap()).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::Mismatch { .. }), "{text}");
            for part in
                ["create", "rank 0 on host0", "rank 2 on host2", "gave as group differs", "communicators.rs:"]
            {
                assert!(text.contains(part), "{part:?} is missing in: {text}");
            }
            rank.barrier().unwrap();
            only_hears_itself(&rank.duplicate().unwrap(), 7);
        });
    }
}

#[test]
fn calls_that_differ_end_on_every_rank_by_name() {
    for wire in wires() {
        world(wire, 3, &small(), |rank| {
            let made = match rank.rank() {
                1 => rank.duplicate().map(Some),
                _ => rank.split(Some(0), 0),
            };
            let text = made.unwrap_err().to_string();
            assert!(
                text.contains("rank 0 on host0 called split at runtime/tests/it/communicators.rs:"),
                "{text}"
            );
            assert!(text.contains("rank 1 on host1 called duplicate"), "{text}");
            rank.barrier().unwrap();
        });
    }
}

#[test]
fn a_group_with_ranks_of_elsewhere_is_refused_without_anybody_left_waiting() {
    for wire in wires() {
        world(wire, 4, &small(), |rank| {
            let low = rank.split(Some(rank.rank() / 2), 0).unwrap().unwrap();
            // Only one of the two gives a group with ranks that are not there.
            let group = if rank.rank() % 2 == 0 { low.group() } else { rank.group() };
            let error = low.create(&group).unwrap_err();
            if rank.rank() % 2 == 0 {
                assert!(matches!(error, Error::Mismatch { .. }), "{error}");
            } else {
                assert!(matches!(error, Error::InvalidGroup { .. }), "{error}");
                assert!(error.to_string().contains("not among the 2 ranks"), "{error}");
            }
            low.barrier().unwrap();
            let error = rank.create(&Group::new([0, 4]).unwrap()).unwrap_err().to_string();
            assert!(error.contains("rank 4 of the world"), "{error}");
        });
    }
}

/// Each rank has three threads, each of which makes communicators out of one of its own, all at once: on
/// different ranks the exchanges come in different orders.
#[test]
fn threads_that_make_communicators_at_once_never_share_a_number() {
    const THREADS: usize = 3;
    const ROUNDS: usize = 12;
    for wire in wires() {
        let numbers = world(wire, 4, &small(), |rank| {
            let parents: Vec<Communicator> = (0..THREADS).map(|_| rank.duplicate().unwrap()).collect();
            let made: Vec<Communicator> = std::thread::scope(|scope| {
                let threads: Vec<_> = parents
                    .iter()
                    .enumerate()
                    .map(|(thread, parent)| {
                        scope.spawn(move || {
                            let mut made = Vec::new();
                            for round in 0..ROUNDS {
                                let child = match (thread + round) % 3 {
                                    0 => parent.duplicate().unwrap(),
                                    1 => {
                                        let color = (parent.rank() + round) % 2;
                                        parent.split(Some(color), 0).unwrap().unwrap()
                                    }
                                    _ => {
                                        let group = parent.group().exclude([round % 4]).unwrap();
                                        let Some(child) = parent.create(&group).unwrap() else { continue };
                                        child
                                    }
                                };
                                // Different on all threads, and for the two halves of a split.
                                let first = child.group().ranks()[0];
                                only_hears_itself(&child, (thread * 1000 + round * 10 + first) as u64);
                                made.push(child);
                            }
                            made
                        })
                    })
                    .collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            // They stay apart when all of them are in use together.
            let numbers: Vec<u32> = made.iter().chain(&parents).map(number).collect();
            assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len(), "{numbers:?}");
            assert!(!numbers.contains(&0), "the world's own");
            made.iter().map(|child| (number(child), child.group().ranks().to_vec())).collect::<Vec<_>>()
        });
        // One number, one group: what all members of a communicator call alike, nobody calls otherwise.
        let mut groups = std::collections::HashMap::new();
        for (number, group) in numbers.into_iter().flatten() {
            let known = groups.entry(number).or_insert_with(|| group.clone());
            assert_eq!(*known, group, "{wire:?}: number {number} stands for two groups");
        }
    }
}

#[cfg(feature = "shm")]
mod boards {
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::common::world_over;
    use ringworld::testing::Choice;
    use ringworld_transport::{
        Address, Capabilities, Cause, ConnectError, Event, Label, Operation, Placer, Posted, RecvMemory,
        Refused, RemoteKey, Showing, Shown, Token, Transport,
    };
    use ringworld_transport_shm::{Config, Shm};

    const CALLS: u64 = 100;

    /// Counts what is shown.
    struct Counting(Shm, Arc<AtomicU64>);

    impl Transport for Counting {
        fn capabilities(&self) -> &Capabilities {
            self.0.capabilities()
        }

        fn address(&self) -> Address {
            self.0.address()
        }

        fn connect(&mut self, peer: usize, address: &Address) -> Result<(), ConnectError> {
            self.0.connect(peer, address)
        }

        fn post(&mut self, operation: Operation) -> Result<Posted, Refused> {
            self.0.post(operation)
        }

        fn show(
            &mut self,
            to: &[usize],
            channel: u64,
            number: u32,
            label: &Label,
            payload: &[u8],
        ) -> Showing {
            let showing = self.0.show(to, channel, number, label, payload);
            let is_shown = matches!(showing, Showing::Done | Showing::Unsure);
            self.1.fetch_add(is_shown.into(), Ordering::SeqCst);
            showing
        }

        fn shown(&mut self, from: usize, channel: u64, number: u32) -> Option<Shown> {
            self.0.shown(from, channel, number)
        }

        fn copy_shown(&mut self, from: usize, channel: u64, number: u32, offset: usize, into: &mut [u8]) {
            self.0.copy_shown(from, channel, number, offset, into);
        }

        fn pass(&mut self, channel: u64, number: u32) -> bool {
            self.0.pass(channel, number)
        }

        fn leave(&mut self, channel: u64) {
            self.0.leave(channel);
        }

        fn expose(&mut self, peer: usize, memory: RecvMemory, token: Token) -> Result<RemoteKey, Cause> {
            self.0.expose(peer, memory, token)
        }

        fn poll(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
            self.0.poll(placer, events)
        }

        fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
            self.0.wait_fd()
        }

        fn arm(&mut self) -> bool {
            self.0.arm()
        }

        fn disconnect(&mut self, peer: usize, cause: Cause) {
            self.0.disconnect(peer, cause);
        }

        fn close(&mut self) {
            self.0.close();
        }

        fn abort(&mut self) {
            self.0.abort();
        }
    }

    /// A board has room for few communicators: those that are dropped must make room for others, whatever was called
    /// there.
    #[test]
    fn communicators_that_come_and_go_are_shown_like_the_first() {
        for (size, calls) in [2, 4].into_iter().flat_map(|size| (0..=5).map(move |calls| (size, calls))) {
            let shown: Vec<Arc<AtomicU64>> = (0..size).map(|_| Arc::default()).collect();
            let mut all: Vec<Shm> =
                (0..size).map(|rank| Shm::bind(Config::new(rank, size, 1)).unwrap()).collect();
            let addresses: Vec<Address> = all.iter().map(Transport::address).collect();
            for (rank, shm) in all.iter_mut().enumerate() {
                for (peer, address) in addresses.iter().enumerate().filter(|(peer, _)| *peer != rank) {
                    shm.connect(peer, address).unwrap();
                }
            }
            let counting = |(shm, shown): (Shm, &Arc<AtomicU64>)| {
                Box::new(Counting(shm, Arc::clone(shown))) as Box<dyn Transport>
            };
            let all = all.into_iter().zip(&shown).map(counting).collect();
            let choice = |_| Choice { shows: true, ranks_per_host: size, ..Choice::default() };
            world_over("boards", all, choice, |rank| {
                // Until all are connected.
                (0..8).for_each(|_| rank.barrier().unwrap());
                for number in 0..100 {
                    let made = rank.duplicate().unwrap();
                    (0..calls).for_each(|_| made.barrier().unwrap());
                    // Who only gives goes ahead of the others.
                    (0..number % 7).for_each(|_| made.broadcast(&mut [number; 10], calls % size).unwrap());
                }
                let last = rank.duplicate().unwrap();
                // Some may not have come to it by the first.
                last.barrier().unwrap();
                let count = || shown[rank.rank()].load(Ordering::SeqCst);
                let before = count();
                (0..CALLS).for_each(|_| last.barrier().unwrap());
                assert_eq!(count() - before, CALLS, "{size} ranks after {calls} calls");
            });
        }
    }
}
