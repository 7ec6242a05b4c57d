//! Ends of a world: all leave at once, and somebody comes when all is over.

use std::collections::VecDeque;

use super::{ms, node};
use crate::{Action, Failure, Id, Limits, Machine, Message, Patience, Table};

const LIMITS: Limits = Limits { least: 1, most: 8 };

fn table(members: u64, arbiter: bool) -> Table {
    let arbiter = arbiter.then(|| node(members + 1));
    let serves = arbiter.as_ref().map_or(Id(1), |arbiter| arbiter.id);
    Table { generation: 0, members: (1..=members).map(node).collect(), arbiter, serves, broken: Vec::new() }
}

/// The members of a table, and its arbiter; machine `i` is that of `node(i + 1)`.
fn machines(table: &Table) -> Vec<Machine> {
    let patience = Patience::default();
    let member = |node: &crate::Node| Machine::member(node.clone(), table.clone(), LIMITS, patience);
    let arbiter = |node: &crate::Node| Machine::arbiter(node.clone(), table.clone(), LIMITS, patience);
    let all = table.members.iter().map(member).chain(table.arbiter.iter().map(arbiter));
    all.map(|machine| machine.expect("a table that can be")).collect()
}

/// Carries all that is said at once, in order; what else each machine did.
fn settle(machines: &mut [Machine]) -> Vec<Vec<Action>> {
    let mut done = vec![Vec::new(); machines.len()];
    let mut queue = VecDeque::new();
    loop {
        for (at, machine) in machines.iter_mut().enumerate() {
            queue.extend(machine.actions().map(|action| (at, action)));
        }
        let Some((from, action)) = queue.pop_front() else { return done };
        match action {
            Action::Send { to, message } => {
                if let Some(machine) = machines.get_mut(to.id.0 as usize - 1) {
                    machine.receive(ms(1), &node(from as u64 + 1), message);
                }
            }
            other => done[from].push(other),
        }
    }
}

#[test]
fn when_all_leave_nobody_waits_for_others() {
    for arbiter in [false, true] {
        let mut machines = machines(&table(3, arbiter));
        machines[..3].iter_mut().for_each(|machine| machine.go_on(ms(1), true));
        let done = settle(&mut machines);
        assert!(done[..3].iter().all(|actions| *actions == [Action::Left]), "arbiter: {arbiter}, {done:?}");
    }
}

#[test]
fn one_that_goes_on_is_a_world_of_its_own() {
    let mut machines = machines(&table(3, false));
    machines.iter_mut().zip([true, false, true]).for_each(|(machine, leaves)| machine.go_on(ms(1), leaves));
    let done = settle(&mut machines);
    assert!(matches!(&done[1][..], [Action::Decided(table)] if table.members == [node(2)]), "{done:?}");
    assert_eq!((&done[0][..], &done[2][..]), (&[Action::Left][..], &[Action::Left][..]));
}

#[test]
fn whoever_may_come_back_gets_the_time_of_one_that_is_not_ready() {
    let mut machines = machines(&table(2, false));
    machines[0].down(ms(0), Id(2), false);
    machines[0].go_on(ms(1), true);
    assert_eq!(settle(&mut machines)[0], []);
    let gather = Patience::default().gather;
    while machines[0].next_tick().is_some_and(|next| next <= ms(1) + gather) {
        let next = machines[0].next_tick().expect("it has one");
        machines[0].tick(next);
    }
    assert_eq!(settle(&mut machines)[0], [Action::Left]);
}

#[test]
fn who_comes_when_all_is_over_is_told_so() {
    let table = table(2, true);
    let mut machines = machines(&table);
    let newcomer = |machines: &mut Vec<Machine>, id| {
        let machine = Machine::newcomer(ms(1), node(id), table.clone(), LIMITS, Patience::default());
        machines.push(machine.expect("a table"));
        settle(machines).pop().expect("it is one of them")
    };
    assert!(newcomer(&mut machines, 4).is_empty(), "it waits");
    machines[2].ended(ms(2), 7, true);
    assert!(settle(&mut machines)[3].is_empty(), "that was of another generation");
    machines[2].ended(ms(2), 0, true);
    let ended = [Action::Failed(Failure::Ended { generation: 0 })];
    assert_eq!(settle(&mut machines)[3], ended, "who waited");
    assert_eq!(newcomer(&mut machines, 5), ended, "who comes later");
    // Whoever else may know better: members decide nothing by it.
    machines[0].receive(ms(2), &node(3), Message::Over { generation: 0 });
    assert!(!machines[0].is_over());
}

#[test]
fn newcomers_go_on_without_members_only_when_these_have_died() {
    let table = table(2, true);
    let mut machines = machines(&table);
    let newcomer = Machine::newcomer(ms(1), node(4), table, LIMITS, Patience::default());
    machines.push(newcomer.expect("a table"));
    [1, 2].into_iter().for_each(|id| machines[2].down(ms(2), Id(id), true));
    assert!(settle(&mut machines)[3].is_empty(), "they may have finished");
    machines[2].ended(ms(3), 0, false);
    let decided = settle(&mut machines).pop().unwrap_or_default();
    assert!(matches!(&decided[..], [Action::Decided(table)] if table.members == [node(4)]), "{decided:?}");
}
