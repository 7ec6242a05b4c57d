//! Worlds of a few ranks, played through step by step: answers are taken at any moments, and what is judged from them
//! is held against what the world really does afterwards.

use std::collections::VecDeque;
use std::time::Duration;

use super::*;

/// What a rank does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Send(usize),
    Recv(usize),
    RecvAny,
    Compute,
}

#[derive(Clone, Debug, Default)]
struct Rank {
    program: VecDeque<Step>,
    /// Sleeps in the call in front, under this number.
    asleep: Option<u64>,
    /// Messages that have come, by their senders.
    here: Vec<usize>,
    begun: u64,
    sent: u64,
    received: u64,
    waits: u64,
}

/// Ranks, and the messages between each two.
#[derive(Clone, Debug)]
struct World {
    ranks: Vec<Rank>,
    wires: Vec<Vec<u64>>,
}

impl World {
    fn new(programs: &[Vec<Step>]) -> Self {
        let size = programs.len();
        let rank =
            |program: &Vec<Step>| Rank { program: program.iter().copied().collect(), ..Rank::default() };
        Self { ranks: programs.iter().map(rank).collect(), wires: vec![vec![0; size]; size] }
    }

    /// Whether a rank has what it waits for.
    fn is_served(&self, rank: usize) -> bool {
        let Rank { program, here, .. } = &self.ranks[rank];
        match program.front() {
            Some(Step::Recv(from)) => here.contains(from),
            Some(Step::RecvAny) => !here.is_empty(),
            _ => true,
        }
    }

    /// Lets a rank go one step, if it can.
    fn step(&mut self, rank: usize) -> bool {
        let served = self.is_served(rank);
        let me = &mut self.ranks[rank];
        let Some(step) = me.program.front().copied() else { return false };
        match step {
            Step::Compute => {}
            Step::Send(to) => {
                me.begun += 1;
                me.sent += 1;
                self.wires[rank][to] += 1;
            }
            Step::Recv(_) | Step::RecvAny => {
                if !served {
                    if me.asleep.is_some() {
                        return false;
                    }
                    me.begun += 1;
                    me.waits += 1;
                    me.asleep = Some(me.waits);
                    return true;
                }
                me.begun += u64::from(me.asleep.take().is_none());
                let taken =
                    me.here.iter().position(|from| step == Step::RecvAny || step == Step::Recv(*from));
                me.here.swap_remove(taken.unwrap());
            }
        }
        self.ranks[rank].program.pop_front();
        true
    }

    /// Lets a message arrive, if one is on its way.
    fn arrive(&mut self, from: usize, to: usize) -> bool {
        if self.wires[from][to] == 0 {
            return false;
        }
        self.wires[from][to] -= 1;
        self.ranks[to].received += 1;
        self.ranks[to].here.push(from);
        true
    }

    fn tell(&self, rank: usize) -> Whereabouts {
        let me = &self.ranks[rank];
        let waiting = |number| {
            let peers = match me.program.front() {
                Some(Step::Recv(from)) => vec![*from as u64],
                _ => Vec::new(),
            };
            let waited = Duration::from_secs(1);
            Waiting { number, waited, stalled: true, call: "recv".into(), any: peers.is_empty(), peers }
        };
        Whereabouts {
            begun: me.begun,
            sent: me.sent,
            received: me.received,
            others: Some(0),
            // A rank whose thread has not noticed its message yet is none that waits.
            waits: me.asleep.filter(|_| !self.is_served(rank)).map(waiting).into_iter().collect(),
            ..Whereabouts::default()
        }
    }

    /// Whether nobody can move, and somebody would like to.
    fn is_stuck(&self) -> bool {
        let mut later = self.clone();
        let size = self.ranks.len();
        let moved = (0..size).any(|rank| later.step(rank))
            || (0..size).any(|from| (0..size).any(|to| later.arrive(from, to)));
        !moved && self.ranks.iter().any(|rank| !rank.program.is_empty())
    }

    /// Both answers of everybody, now.
    fn seen_now(&self) -> Vec<Seen> {
        let told = |rank| Some(self.tell(rank));
        (0..self.ranks.len()).map(|rank| Seen { rank, first: told(rank), second: told(rank) }).collect()
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Plays a world through, with answers taken at moments that chance chooses; whether it ended in a deadlock.
fn play(programs: &[Vec<Step>], dice: &mut Dice) -> bool {
    let size = programs.len();
    let mut world = World::new(programs);
    let mut seen: Vec<Seen> = (0..size).map(|rank| Seen { rank, ..Seen::default() }).collect();
    for _ in 0..60 {
        let rank = dice.below(size);
        match dice.below(4) {
            0 => drop(world.arrive(rank, dice.below(size))),
            1 => {
                // Nobody is asked a second time before all have answered.
                if seen.iter().all(|seen| seen.first.is_some()) {
                    seen[rank].second.get_or_insert_with(|| world.tell(rank));
                } else {
                    seen[rank].first.get_or_insert_with(|| world.tell(rank));
                }
            }
            _ => drop(world.step(rank)),
        }
        if seen.iter().all(|seen| seen.second.is_some()) {
            if matches!(judge(&seen, 0, |_| true), Verdict::Deadlock { .. }) {
                assert!(world.is_stuck(), "{programs:?}\n{seen:?}\n{world:?}");
            }
            seen.iter_mut().for_each(|seen| (seen.first, seen.second) = (None, None));
        }
    }
    // To the end.
    while (0..size).any(|rank| world.step(rank))
        || (0..size).any(|from| (0..size).any(|to| world.arrive(from, to)))
    {}
    let stuck = world.ranks.iter().all(|rank| !rank.program.is_empty());
    let verdict = judge(&world.seen_now(), 0, |_| true);
    assert_eq!(stuck, matches!(verdict, Verdict::Deadlock { .. }), "{programs:?}: {verdict:?}\n{world:?}");
    stuck
}

#[test]
fn every_program_of_two_ranks_and_two_steps_is_called_a_deadlock_exactly_if_it_is_one() {
    let steps =
        |me: usize| [Step::Compute, Step::RecvAny, Step::Send(1 - me), Step::Recv(1 - me), Step::Send(me)];
    let programs = |me: usize| {
        let pairs = steps(me).into_iter().flat_map(move |a| steps(me).map(|b| vec![a, b]));
        pairs.collect::<Vec<_>>()
    };
    let mut dice = Dice(1);
    let mut stuck = 0;
    for a in programs(0) {
        for b in programs(1) {
            for _ in 0..40 {
                stuck += usize::from(play(&[a.clone(), b.clone()], &mut dice));
            }
        }
    }
    assert!(stuck > 1000, "only {stuck} deadlocks");
}

#[test]
fn programs_of_more_ranks_and_steps_are_called_a_deadlock_only_if_they_are_one() {
    let mut dice = Dice(7);
    let mut stuck = 0;
    for _ in 0..30_000 {
        let size = 2 + dice.below(3);
        let step = |dice: &mut Dice| match dice.below(7) {
            0 => Step::Compute,
            1 => Step::RecvAny,
            2..=4 => Step::Send(dice.below(size)),
            _ => Step::Recv(dice.below(size)),
        };
        let mut program = || (0..1 + dice.below(6)).map(|_| step(&mut dice)).collect::<Vec<_>>();
        let programs: Vec<_> = (0..size).map(|_| program()).collect();
        stuck += usize::from(play(&programs, &mut dice));
    }
    assert!(stuck > 1000, "only {stuck} deadlocks");
}

// ---- one answer after the other ------------------------------------------------------------------

fn waiting(number: u64, peers: &[u64]) -> Waiting {
    let waited = Duration::from_secs(30);
    Waiting { number, waited, stalled: true, call: "recv".into(), peers: peers.to_vec(), any: false }
}

fn told(waits: &[Waiting]) -> Whereabouts {
    Whereabouts {
        others: Some(0),
        begun: 3,
        sent: 2,
        received: 2,
        waits: waits.to_vec(),
        ..Whereabouts::default()
    }
}

fn answered(rank: usize, told: Whereabouts) -> Seen {
    Seen { rank, first: Some(told.clone()), second: Some(told) }
}

/// Two ranks that wait for one another.
fn stuck() -> Vec<Seen> {
    vec![answered(0, told(&[waiting(1, &[1])])), answered(1, told(&[waiting(9, &[0])]))]
}

fn is_deadlock(seen: &[Seen]) -> bool {
    matches!(judge(seen, 0, |_| true), Verdict::Deadlock { .. })
}

#[test]
fn whatever_may_still_move_is_no_deadlock() {
    assert_eq!(judge(&stuck(), 0, |_| true), Verdict::Deadlock { others: BTreeSet::new() });
    type Change = fn(&mut Whereabouts);
    let changes: [(&str, Change); 9] = [
        ("bytes are on their way", |told| told.moves = true),
        ("it is leaving", |told| told.leaves = true),
        ("it knows of a failure", |told| told.over = true),
        ("it could not be asked", |told| told.busy = true),
        ("a call has begun meanwhile", |told| told.begun += 1),
        ("a message has been sent meanwhile", |told| told.sent += 1),
        ("a message has come meanwhile", |told| told.received += 1),
        ("the wait is another", |told| told.waits[0].number += 1),
        ("it counts without those who have left", |told| told.left = 1),
    ];
    for (what, change) in changes {
        for rank in 0..2 {
            for of in [0, 1] {
                let mut seen = stuck();
                let Seen { first, second, .. } = &mut seen[rank];
                [first, second].into_iter().skip(of).flatten().for_each(change);
                // The same in both answers is no change; that the numbers add up is another test.
                let same = of == 0 && (what.contains("meanwhile") || what.contains("another"));
                let adds_up = !(what.contains("sent") || what.contains("come"));
                assert_eq!(is_deadlock(&seen), same && adds_up, "{what}, rank {rank}, from answer {of} on");
            }
        }
    }
}

#[test]
fn a_rank_that_computes_or_does_not_answer_is_late_and_no_deadlock() {
    let mut seen = stuck();
    seen[0].first.as_mut().unwrap().waits.clear();
    assert!(!is_deadlock(&seen), "it has begun to wait only now");
    seen[1].second = None;
    let verdict = judge(&seen, 0, |_| true);
    assert_eq!(verdict, Verdict::Nothing, "nobody is known to have waited all the time");
    let mut seen = stuck();
    seen[1].second = None;
    let late = Verdict::Late { late: [1].into(), waiting: [0].into() };
    assert_eq!(judge(&seen, 0, |_| true), late);
    seen[1] = answered(1, told(&[]));
    assert_eq!(judge(&seen, 0, |_| true), late);
}

#[test]
fn a_message_that_is_on_its_way_is_told_and_counted() {
    let mut seen = stuck();
    let Seen { first, second, .. } = &mut seen[1];
    for told in [first, second].into_iter().flatten() {
        told.sent += 3;
    }
    assert_eq!(judge(&seen, 0, |_| true), Verdict::OnItsWay { messages: 3 });
}

#[test]
fn ranks_that_have_left_count_for_nobody() {
    let left = |told: Whereabouts| Whereabouts { left: 1, ..told };
    let seen =
        vec![answered(0, left(told(&[waiting(1, &[2])]))), answered(2, left(told(&[waiting(2, &[0])])))];
    assert_eq!(judge(&seen, 1, |_| true), Verdict::Deadlock { others: BTreeSet::new() });
    assert!(!is_deadlock(&seen), "they have counted without one of whom nobody knows that it has left");
}

#[test]
fn other_threads_make_it_uncertain_and_are_named() {
    let mut seen = stuck();
    seen[1].second.as_mut().unwrap().others = Some(2);
    assert_eq!(judge(&seen, 0, |_| true), Verdict::Deadlock { others: [1].into() });
    seen[0].second.as_mut().unwrap().others = None;
    assert_eq!(judge(&seen, 0, |_| true), Verdict::Deadlock { others: [0, 1].into() });
}

#[test]
fn who_is_at_the_end_of_the_chain_is_late() {
    // 0 waits for 1, which waits for 2, which computes; 3 waits for 0; 4 and 5 have nothing to do with it.
    let chain = |at: usize| match at {
        0 => told(&[waiting(1, &[1])]),
        1 => told(&[waiting(1, &[2])]),
        3 => told(&[waiting(1, &[0])]),
        _ => told(&[]),
    };
    let seen: Vec<Seen> = (0..6).map(|rank| answered(rank, chain(rank))).collect();
    let verdict = judge(&seen, 0, |_| true);
    assert_eq!(verdict, Verdict::Late { late: [2].into(), waiting: [0, 1, 3].into() });
    let of_one = judge(&seen, 0, |seen| seen.rank == 1);
    assert_eq!(of_one, Verdict::Late { late: [2].into(), waiting: [1].into() });
}

#[test]
fn a_wait_for_any_rank_blames_nobody_as_long_as_another_wait_leads_to_somebody() {
    let any = Waiting { any: true, ..waiting(1, &[]) };
    let of = |rank: usize| match rank {
        0 => told(std::slice::from_ref(&any)),
        1 => told(&[waiting(1, &[2])]),
        _ => told(&[]),
    };
    let seen: Vec<Seen> = (0..4).map(|rank| answered(rank, of(rank))).collect();
    assert_eq!(judge(&seen, 0, |_| true), Verdict::Late { late: [2].into(), waiting: [0, 1].into() });
    let alone = judge(&seen, 0, |seen| seen.rank == 0);
    assert_eq!(alone, Verdict::Late { late: [2, 3].into(), waiting: [0].into() });
}

#[test]
fn ranks_that_wait_for_one_another_while_others_compute_are_a_circle() {
    let mut seen = stuck();
    seen.push(answered(2, told(&[])));
    assert_eq!(judge(&seen, 0, |_| true), Verdict::Circle { waiting: [0, 1].into() });
}

#[test]
fn peers_that_do_not_exist_and_counts_without_measure_are_borne() {
    let mut absurd = told(&[waiting(1, &[7, u64::MAX])]);
    (absurd.sent, absurd.received) = (u64::MAX, 0);
    let seen = vec![answered(0, absurd.clone()), answered(1, absurd)];
    assert_eq!(judge(&seen, 0, |_| true), Verdict::OnItsWay { messages: u64::MAX });
    assert_eq!(judge(&[], 0, |_| true), Verdict::Nothing);
}
