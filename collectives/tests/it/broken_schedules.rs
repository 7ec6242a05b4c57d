//! The checker finds what is broken: every algorithm's schedules with one thing changed at a time. Proves that the
//! tests of correct schedules can fail.

// Clippy's leave for tests does not reach their helper functions.
use crate::common::{all, choice, collectives, orders, request, uneven};
use ringworld_collectives::check::{Fault, check, structure};
use ringworld_collectives::{
    Action, Algorithm, Buffer, Collective, Counts, Layout, Order, Request, Schedule, Span,
};

type Steps = Vec<(Action, Vec<u32>)>;

/// The same schedule with other steps.
fn with_steps(schedule: &Schedule, steps: Steps) -> Schedule {
    let (rank, size, scratch) = (schedule.rank(), schedule.size(), schedule.scratch());
    Schedule::from_steps(schedule.name(), rank, size, schedule.layout(), scratch, steps)
        .expect("dependencies")
}

/// Calls `test` with many correct sets of schedules and the requests of all ranks, in every order.
fn each(test: impl Fn(&[Request], &[Schedule])) {
    for size in [2, 5, 8] {
        for collective in collectives(size) {
            for &order in orders(collective) {
                for in_place in [false, true] {
                    let request = request(collective, size, 19, order, in_place);
                    let equal = (0..size).map(|rank| Request { rank, ..request.clone() }).collect();
                    let uneven = uneven(collective, size, order, in_place, |i| (i * 5 + 3) % 7);
                    for requests in [Some(equal), uneven].into_iter().flatten() {
                        for algorithm in requests[0].algorithms() {
                            test(&requests, &all(&requests, &choice(algorithm, 3, 2)));
                        }
                    }
                }
            }
        }
    }
}

/// Changes the steps of one rank and returns what the checker says.
fn after(
    requests: &[Request],
    schedules: &[Schedule],
    rank: usize,
    change: impl FnOnce(&mut Steps),
) -> Option<Fault> {
    let mut steps = schedules[rank].to_steps();
    change(&mut steps);
    let mut broken = schedules.to_vec();
    broken[rank] = with_steps(&schedules[rank], steps);
    check(requests, &broken).err()
}

/// The ranks to break: the first, one in the middle, and the last.
fn some_ranks(requests: &[Request]) -> [usize; 3] {
    [0, requests.len() / 2, requests.len() - 1]
}

#[test]
fn a_dropped_step_is_found() {
    each(|requests, schedules| {
        for rank in some_ranks(requests) {
            for dropped in 0..schedules[rank].len() {
                let fault = after(requests, schedules, rank, |steps| {
                    let (_, inherited) = steps.remove(dropped);
                    let gone = dropped as u32;
                    for (_, dependencies) in &mut steps[dropped..] {
                        if dependencies.contains(&gone) {
                            dependencies.extend(&inherited);
                        }
                        dependencies.retain(|on| *on != gone);
                        for on in dependencies {
                            *on -= u32::from(*on > gone);
                        }
                    }
                });
                assert!(fault.is_some(), "{}, rank {rank}, step {dropped}", schedules[rank].name());
            }
        }
    });
}

#[test]
fn swapped_operands_are_found_when_the_operation_does_not_commute() {
    let swaps = std::cell::Cell::new(0);
    each(|requests, schedules| {
        for rank in some_ranks(requests) {
            for (step, action) in schedules[rank].actions().iter().enumerate() {
                let Action::Reduce { left, right, into, last } = *action else { continue };
                let fault = after(requests, schedules, rank, |steps| {
                    steps[step].0 = Action::Reduce { left: right, right: left, into, last };
                });
                if requests[0].order != Order::Free {
                    assert!(
                        matches!(fault, Some(Fault::Combine { .. })),
                        "{}, rank {rank}, step {step}: {fault:?}",
                        schedules[rank].name()
                    );
                    swaps.set(swaps.get() + 1);
                }
            }
        }
    });
    assert!(swaps.get() > 500, "only {} swaps", swaps.get());
}

#[test]
fn a_last_reduction_that_is_not_marked_and_a_mark_in_the_wrong_place_are_found() {
    let marks = std::cell::Cell::new([0, 0]);
    each(|requests, schedules| {
        for (rank, schedule) in schedules.iter().enumerate() {
            for (step, action) in schedule.actions().iter().enumerate() {
                let Action::Reduce { left, right, into, last } = *action else { continue };
                let fault = after(requests, schedules, rank, |steps| {
                    steps[step].0 = Action::Reduce { left, right, into, last: !last };
                });
                assert!(
                    matches!(fault, Some(Fault::Combine { .. } | Fault::Result { .. })),
                    "{}, rank {rank}, step {step}, marked {last}: {fault:?}",
                    schedule.name()
                );
                let [open, marked] = marks.get();
                marks.set([open + usize::from(!last), marked + usize::from(last)]);
            }
        }
    });
    assert!(marks.get().into_iter().all(|count| count > 500), "only {:?} marks", marks.get());
}

#[test]
fn a_wrong_tag_length_or_peer_is_found() {
    each(|requests, schedules| {
        for rank in some_ranks(requests) {
            for (step, action) in schedules[rank].actions().iter().enumerate() {
                let broken = match *action {
                    Action::Send { to, from, tag } => [
                        Action::Send { to, from, tag: tag + 1000 },
                        Action::Send { to, from: Span { len: from.len.wrapping_sub(1), ..from }, tag },
                        Action::Send { to: rank, from, tag },
                    ],
                    Action::Recv { from, into, tag } => [
                        Action::Recv { from, into, tag: tag + 1000 },
                        Action::Recv { from, into: Span { len: into.len.wrapping_sub(1), ..into }, tag },
                        Action::Recv { from: requests.len(), into, tag },
                    ],
                    _ => continue,
                };
                for action in broken {
                    let fault = after(requests, schedules, rank, |steps| steps[step].0 = action);
                    assert!(
                        matches!(fault, Some(Fault::Match { .. } | Fault::Step { .. })),
                        "{}, rank {rank}, step {step}, {action}: {fault:?}",
                        schedules[rank].name()
                    );
                }
            }
        }
    });
}

#[test]
fn elements_sent_from_the_wrong_place_are_found() {
    each(|requests, schedules| {
        for rank in some_ranks(requests) {
            for (step, action) in schedules[rank].actions().iter().enumerate() {
                let Action::Send { to, from, tag } = *action else { continue };
                if from.len == 0 {
                    continue;
                }
                for offset in [from.offset + 1, from.offset.wrapping_sub(1)] {
                    let action = Action::Send { to, from: Span { offset, ..from }, tag };
                    let fault = after(requests, schedules, rank, |steps| steps[step].0 = action);
                    assert!(fault.is_some(), "{}, rank {rank}, step {step}", schedules[rank].name());
                }
            }
        }
    });
}

/// Whether two steps may not run side by side. In place, the builder names no input, so names are memory here.
fn conflict(a: &Action, b: &Action) -> bool {
    let reads = |x: &Action| x.reads().into_iter().flatten().collect::<Vec<_>>();
    let meet = |write: Option<Span>, spans: Vec<Span>| {
        write.is_some_and(|write| spans.iter().any(|span| span.overlaps(&write)))
    };
    meet(a.writes(), reads(b))
        || meet(b.writes(), reads(a))
        || meet(a.writes(), b.writes().into_iter().collect())
}

/// Whether `to` waits for `from`, directly or not.
fn reaches(steps: &Steps, from: u32, to: u32) -> bool {
    from == to || steps[to as usize].1.iter().any(|&on| on >= from && reaches(steps, from, on))
}

#[test]
fn a_missing_dependency_is_found() {
    let removed = std::cell::Cell::new(0);
    each(|requests, schedules| {
        let rank = requests.len() / 2;
        for (later, (action, dependencies)) in schedules[rank].to_steps().into_iter().enumerate() {
            for on in dependencies {
                let mut steps = schedules[rank].to_steps();
                steps[later].1.retain(|other| *other != on);
                let needed = conflict(&action, &steps[on as usize].0) && !reaches(&steps, on, later as u32);
                let fault = after(requests, schedules, rank, |old| *old = steps);
                if needed {
                    removed.set(removed.get() + 1);
                    assert!(
                        matches!(fault, Some(Fault::Race { .. })),
                        "{}, rank {rank}, {on} -> {later}: {fault:?}",
                        schedules[rank].name()
                    );
                }
            }
        }
    });
    assert!(removed.get() > 1000, "only {} dependencies were needed", removed.get());
}

#[test]
fn a_barrier_without_one_of_its_dependencies_lets_somebody_leave_early() {
    let request = request(Collective::Barrier, 8, 0, Order::Free, false);
    let algorithm = request.algorithms().next().expect("a barrier");
    let requests: Vec<_> = (0..8).map(|rank| Request { rank, ..request.clone() }).collect();
    let schedules = all(&requests, &choice(algorithm, 1, 1));
    let last = schedules[3].len() - 2;
    assert!(matches!(schedules[3].action(last), Action::Send { .. }));
    for on in schedules[3].to_steps()[last].1.clone() {
        let fault = after(&requests, &schedules, 3, |steps| steps[last].1.retain(|other| *other != on));
        assert!(matches!(fault, Some(Fault::Early { .. })), "{fault:?}");
    }
}

const LAYOUT: Layout =
    Layout { input: 1, output: 1, alias: None, result: Span { buffer: Buffer::Output, offset: 0, len: 1 } };

fn pair(steps: impl Fn(usize) -> Steps) -> Vec<Schedule> {
    (0..2).map(|rank| Schedule::from_steps("test", rank, 2, LAYOUT, 4, steps(rank)).expect("steps")).collect()
}

#[test]
fn ranks_that_wait_for_each_other_are_a_deadlock() {
    let request = request(Collective::AllReduce, 2, 1, Order::Free, false);
    let (mine, theirs) = (Span::input(0, 1), Span::scratch(0, 1));
    // Both send before they receive: fine only as long as messages are buffered, and that is not promised.
    let schedules = pair(|rank| {
        vec![
            (Action::Send { to: 1 - rank, from: mine, tag: 0 }, vec![]),
            (Action::Recv { from: 1 - rank, into: theirs, tag: 0 }, vec![0]),
            (Action::Reduce { left: mine, right: theirs, into: Span::output(0, 1), last: true }, vec![1]),
        ]
    });
    let Err(Fault::Deadlock { left: 6, rank: 0, step: 0, .. }) = structure(&request, &schedules) else {
        panic!("no deadlock found")
    };
}

#[test]
fn steps_that_cannot_be_are_refused_with_their_reason() {
    let request = request(Collective::AllReduce, 2, 1, Order::Free, false);
    let (input, output, s) = (Span::input(0, 1), Span::output(0, 1), Span::scratch);
    let refused = |action: Action, why: &str| {
        let fault = check(&request, &pair(|_| vec![(action, vec![])])).expect_err("a broken step");
        assert!(
            matches!(fault, Fault::Step { rank: 0, step: 0, .. }) && fault.to_string().contains(why),
            "{fault}"
        );
    };
    refused(Action::Copy { from: output, into: input }, "must not write the input");
    refused(Action::Copy { from: s(0, 2), into: s(1, 2) }, "overlap");
    refused(Action::Copy { from: s(0, 2), into: s(3, 2) }, "outside its buffer");
    refused(Action::Copy { from: s(usize::MAX, 1), into: output }, "outside its buffer");
    refused(
        Action::Reduce { left: s(0, 2), right: s(2, 2), into: s(1, 2), last: true },
        "without being the same span",
    );
    refused(Action::Reduce { left: s(0, 1), right: s(2, 2), into: s(2, 2), last: true }, "differ in length");
}

#[test]
fn trees_that_differ_between_ranks_are_found_even_if_each_is_right() {
    // Each rank puts its own contribution first: right for a sum of integers, not for the bits of floats.
    let request = request(Collective::AllReduce, 2, 1, Order::Free, false);
    let (mine, theirs) = (Span::input(0, 1), Span::scratch(0, 1));
    let schedules = pair(|rank| {
        vec![
            (Action::Send { to: 1 - rank, from: mine, tag: 0 }, vec![]),
            (Action::Recv { from: 1 - rank, into: theirs, tag: 0 }, vec![]),
            (Action::Reduce { left: mine, right: theirs, into: Span::output(0, 1), last: true }, vec![1]),
        ]
    });
    let fault = check(&request, &schedules).expect_err("different trees");
    assert_eq!(
        fault.to_string(),
        "rank 1, element 0 of the result: expected (x0 op x1)[0], last as on rank 0, found (x1 op x0)[0], last"
    );
}

#[test]
fn another_tree_than_that_from_the_left_is_found() {
    let rank = request(Collective::AllReduce, 4, 3, Order::Rank, false);
    let left = Request { order: Order::Left, ..rank.clone() };
    let schedules = all(&rank, &choice(Algorithm::AllReduceRecursiveDoubling, 1, 1));
    assert!(check(&rank, &schedules).is_ok());
    let fault = check(&left, &schedules).expect_err("x2 and x3 are combined first");
    assert!(matches!(fault, Fault::Combine { .. }) && fault.to_string().contains("one by one"), "{fault}");
    assert!(check(&left, &all(&left, &choice(Algorithm::AllReduceLeftChain, 1, 1))).is_ok());
}

#[test]
fn a_prefix_of_too_many_or_too_few_ranks_is_found() {
    let scan = request(Collective::Scan, 4, 2, Order::Rank, false);
    let exclusive = Request { collective: Collective::ExclusiveScan, ..scan.clone() };
    let of_scan = all(&scan, &choice(Algorithm::ScanChain, 9, 1));
    let of_exclusive = all(&exclusive, &choice(Algorithm::ExclusiveScanChain, 9, 1));
    // The result of rank 0 tells the two apart by their layouts; behind it, only the prefixes do.
    let mixed = |first: &[Schedule], others: &[Schedule]| [&first[..1], &others[1..]].concat();
    let fault = check(&scan, &mixed(&of_scan, &of_exclusive)).expect_err("one rank too few");
    assert!(matches!(fault, Fault::Result { rank: 1, .. }), "{fault}");
    let fault = check(&exclusive, &mixed(&of_exclusive, &of_scan)).expect_err("one rank too many");
    assert!(matches!(fault, Fault::Result { rank: 1, .. }), "{fault}");
}

#[test]
fn writing_beside_the_result_is_found() {
    for in_place in [false, true] {
        // Rank 0 of an exclusive scan has no result, and its output is to stay as it was.
        let scan = request(Collective::ExclusiveScan, 3, 2, Order::Free, in_place);
        let mut schedules = all(&scan, &choice(Algorithm::ExclusiveScanChain, 9, 1));
        let mut steps = schedules[0].to_steps();
        let after = (0..steps.len() as u32).collect();
        let one = |at| Span { buffer: Buffer::Output, offset: at, len: 1 };
        let from = if in_place { one(1) } else { Span::input(1, 1) };
        steps.push((Action::Copy { from, into: one(0) }, after));
        schedules[0] = with_steps(&schedules[0], steps);
        let fault = check(&scan, &schedules).expect_err("it was overwritten");
        assert!(fault.to_string().contains("as before, beside the result"), "in place {in_place}: {fault}");
    }
}

#[test]
fn requests_that_contradict_each_other_are_refused() {
    let good = uneven(Collective::AllToAll, 3, Order::Free, false, |pair| pair % 4).expect("counts per pair");
    let schedules = all(&good, &choice(Algorithm::AllToAllPairwise, 9, 1));
    assert!(check(&good, &schedules).is_ok());
    let mut bad = good.clone();
    let more = |list: &[usize]| list.iter().map(|count| count + 1).collect();
    if let Counts::Pairs { send, recv } = &good[1].counts {
        bad[1].counts = Counts::Pairs { send: more(send), recv: more(recv) };
    }
    let fault = check(&bad, &schedules).expect_err("rank 1 counts otherwise");
    assert!(matches!(fault, Fault::Set { .. }) && fault.to_string().contains("contradict"), "{fault}");
    let fault = check(&good[0], &schedules).expect_err("what the others send does not follow");
    assert!(fault.to_string().contains("one request of each rank"), "{fault}");

    let mut gather =
        uneven(Collective::Gather { root: 1 }, 3, Order::Free, false, |rank| rank).expect("counts");
    let schedules = all(&gather, &choice(Algorithm::GatherDirect, 9, 1));
    gather[2].counts = Counts::Own(7);
    assert!(matches!(check(&gather, &schedules), Err(Fault::Set { index: 2, .. })));
}

#[test]
fn a_set_that_does_not_fit_the_request_is_refused() {
    let asked = request(Collective::AllReduce, 3, 4, Order::Free, false);
    let algorithm = asked.algorithms().next().expect("an algorithm");
    let mut schedules = all(&asked, &choice(algorithm, 1, 1));
    assert!(
        schedules
            .iter()
            .flat_map(Schedule::actions)
            .all(|a| a.writes().is_none_or(|w| w.buffer != Buffer::Input))
    );
    assert!(matches!(
        check(&Request { counts: Counts::Same(5), ..asked.clone() }, &schedules),
        Err(Fault::Set { index: 0, .. })
    ));
    schedules.swap(1, 2);
    assert!(matches!(check(&asked, &schedules), Err(Fault::Set { index: 1, .. })));
    schedules.pop();
    assert!(matches!(check(&asked, &schedules), Err(Fault::Set { .. })));
    let huge = Request { size: usize::MAX, ..asked };
    assert!(matches!(check(&huge, &schedules), Err(Fault::Set { .. })), "and no memory is set aside for it");
}
