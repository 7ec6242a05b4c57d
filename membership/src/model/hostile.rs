//! What no process that keeps to the rules would say, and a thousand ranks: nothing panics, grows without end or takes
//! long, and what was decided stays.

use std::time::Instant;

use fastrand::Rng;

use super::{ms, node};
use crate::{Action, Ballot, Id, Limits, Machine, Message, Node, PLACE_LIMIT, Patience, Table};

fn table(members: u64) -> Table {
    Table {
        generation: 0,
        members: (1..=members).map(node).collect(),
        arbiter: None,
        serves: Id(1),
        broken: Vec::new(),
    }
}

/// Some number, often one at the edge.
fn number(rng: &mut Rng) -> u64 {
    match rng.u8(0..5) {
        0 => u64::MAX,
        1 => u64::MAX - 1,
        2 => rng.u64(..),
        _ => rng.u64(0..4),
    }
}

fn anybody(rng: &mut Rng) -> Node {
    let place = if rng.u8(0..50) == 0 { vec![0; PLACE_LIMIT + 1] } else { Vec::new() };
    Node { id: Id(if rng.bool() { rng.u64(0..8) } else { number(rng) }), place }
}

fn any_ballot(rng: &mut Rng) -> Ballot {
    let voter = if rng.bool() { rng.u32(0..4) } else { u32::MAX };
    Ballot { round: number(rng), voter }
}

fn any_table(rng: &mut Rng) -> Table {
    let members = (0..rng.usize(0..6)).map(|_| anybody(rng)).collect();
    let arbiter = (rng.u8(0..4) == 0).then(|| anybody(rng));
    // Mostly of the past: whoever tells of the future is believed, as all who know the secret are.
    let generation = if rng.u8(0..20) == 0 { number(rng) } else { rng.u64(0..2) };
    Table { generation, members, arbiter, serves: Id(rng.u64(0..8)), broken: Vec::new() }
}

fn any_message(rng: &mut Rng) -> Message {
    let generation = number(rng);
    match rng.u8(0..13) {
        0 => {
            let lost = rng.bool().then(|| anybody(rng).id);
            Message::Ready { generation, leaving: rng.bool(), lost }
        }
        1 => Message::Summons { generation },
        2 => Message::Prepare { generation, ballot: any_ballot(rng) },
        3 => {
            let accepted = rng.bool().then(|| (any_ballot(rng), any_table(rng)));
            Message::Promise { generation, ballot: any_ballot(rng), accepted }
        }
        4 => Message::Accept { ballot: any_ballot(rng), table: any_table(rng) },
        5 => Message::Accepted { generation, ballot: any_ballot(rng) },
        6 => Message::Refused { generation, ballot: any_ballot(rng) },
        7 => Message::Decided { table: any_table(rng) },
        8 => Message::Ask { generation },
        9 => Message::Knock { generation, node: anybody(rng) },
        10 => Message::Missing { generation, ranks: (0..rng.usize(0..9)).map(|_| number(rng)).collect() },
        11 => Message::Over { generation },
        _ => Message::Waiting { generation, count: number(rng) },
    }
}

#[test]
fn nothing_that_is_said_makes_a_machine_panic_or_run_on() {
    for seed in 0..3_000 {
        let mut rng = Rng::with_seed(seed);
        let first = table(rng.u64(1..=5));
        let limits =
            Limits { least: rng.usize(0..3), most: if rng.bool() { usize::MAX } else { rng.usize(0..6) } };
        let edge = |rng: &mut Rng| match rng.u8(0..3) {
            0 => std::time::Duration::ZERO,
            1 => std::time::Duration::MAX,
            _ => ms(rng.u64(0..100)),
        };
        let patience = Patience {
            gather: edge(&mut rng),
            limit: edge(&mut rng),
            retry: edge(&mut rng),
            repeat: edge(&mut rng),
        };
        let mut machine = match rng.u8(0..3) {
            0 => Machine::newcomer(ms(0), node(9), first, limits, patience),
            1 => {
                let arbiter = Some(node(9));
                Machine::arbiter(node(9), Table { arbiter, serves: Id(9), ..first }, limits, patience)
            }
            _ => Machine::member(node(1), first, limits, patience),
        }
        .expect("a table that can be");
        let mut now = ms(0);
        for _ in 0..60 {
            match rng.u8(0..12) {
                10 => machine.lost(anybody(&mut rng).id),
                11 => machine.ended(now, number(&mut rng), rng.bool()),
                0 => machine.go_on(now, rng.bool()),
                1 => machine.down(now, anybody(&mut rng).id, rng.bool()),
                2 => machine.up(now, anybody(&mut rng).id),
                3 => {
                    now = machine.next_tick().unwrap_or(now).max(now).min(now + ms(1_000_000));
                    machine.tick(now);
                    assert!(machine.next_tick().is_none_or(|next| next > now), "seed {seed}");
                }
                _ => machine.receive(now, &anybody(&mut rng), any_message(&mut rng)),
            }
            // Nothing that a machine hears once is answered more than once to each.
            let actions = machine.actions().count();
            assert!(actions <= 40, "seed {seed}: {actions} actions");
        }
    }
}

#[test]
fn the_last_ballot_is_not_used_twice() {
    let mut machine = Machine::member(node(1), table(3), Limits { least: 1, most: 8 }, Patience::default())
        .expect("a member");
    machine.down(ms(0), Id(2), true);
    let highest = Ballot { round: u64::MAX, voter: 1 };
    machine.receive(ms(0), &node(3), Message::Refused { generation: 0, ballot: highest });
    machine.receive(ms(0), &node(3), Message::Ready { generation: 0, leaving: false, lost: None });
    machine.go_on(ms(0), false);
    let said: Vec<Action> = machine.actions().collect();
    let prepares = |action: &Action| matches!(action, Action::Send { message: Message::Prepare { .. }, .. });
    assert!(!said.iter().any(prepares), "{said:?}");
}

#[test]
fn of_newcomers_that_wait_only_those_count_for_whom_there_is_room() {
    let mut machine = Machine::member(node(1), table(1), Limits { least: 1, most: 3 }, Patience::default())
        .expect("a member");
    for id in 10..1000 {
        machine.receive(ms(id), &node(id), Message::Knock { generation: 0, node: node(id) });
    }
    assert_eq!(machine.waiting(), 2, "beside the one that is there");
    let mut full = Machine::member(node(1), table(3), Limits { least: 1, most: 3 }, Patience::default())
        .expect("a member");
    full.receive(ms(1), &node(9), Message::Knock { generation: 0, node: node(9) });
    let told = |machine: &mut Machine| {
        machine
            .actions()
            .any(|action| matches!(action, Action::Send { message: Message::Waiting { .. }, .. }))
    };
    assert_eq!((full.waiting(), told(&mut full)), (0, false), "it waits until somebody is gone");
    full.down(ms(2), Id(3), true);
    assert_eq!((full.waiting(), told(&mut full)), (1, true));
}

/// Carries everything at once, in order; how many messages it took.
fn settle(machines: &mut [Machine]) -> u64 {
    let mut count = 0;
    let mut queue = std::collections::VecDeque::new();
    loop {
        for (at, machine) in machines.iter_mut().enumerate() {
            queue.extend(machine.actions().map(|action| (at, action)));
        }
        if queue.is_empty() {
            return count;
        }
        while let Some((from, action)) = queue.pop_front() {
            if let Action::Send { to, message } = action {
                count += 1;
                let Some(machine) = machines.get_mut(to.id.0 as usize - 1) else { continue };
                machine.receive(ms(1), &node(from as u64 + 1), message);
                let to = to.id.0 as usize - 1;
                queue.extend(machine.actions().map(|action| (to, action)));
            }
        }
    }
}

#[test]
fn a_thousand_ranks_agree_with_eight_messages_each() {
    let members = 1000;
    let begin = Instant::now();
    let limits = Limits { least: 1, most: 2000 };
    let mut machines: Vec<Machine> = (1..=members)
        .map(|id| Machine::member(node(id), table(members), limits, Patience::default()).expect("a member"))
        .collect();
    for machine in &mut machines {
        machine.go_on(ms(1), false);
    }
    let count = settle(&mut machines);
    println!("{members} ranks: {count} messages, {:?}", begin.elapsed());
    assert!(machines.iter().all(|machine| machine.table().generation == 1));
    assert_eq!(machines[0].table().members.len() as u64, members);
    // Ready, summons, ready once more, prepare, promise, accept, accepted, decided.
    assert!(count <= 8 * members, "{count} messages");
}

#[test]
fn a_thousand_newcomers_are_announced_a_few_times_only() {
    let limits = Limits { least: 1, most: 2000 };
    let members = 100;
    let mut leader = Machine::member(node(1), table(members), limits, Patience::default()).expect("a member");
    let mut count = 0;
    for id in 1001..2001 {
        let newcomer = node(id);
        leader.receive(ms(id - 1001), &newcomer, Message::Knock { generation: 0, node: newcomer.clone() });
        if let Some(next) = leader.next_tick()
            && ms(id - 1001) >= next
        {
            leader.tick(next);
        }
        count += leader.actions().count();
    }
    // In a second, at once and then twice.
    assert!(count <= 4 * members as usize, "{count} messages");
    assert_eq!(leader.waiting(), 1000);
}
