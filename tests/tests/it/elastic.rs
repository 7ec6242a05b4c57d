//! Worlds that go on: ranks that are killed, replaced, cut off, stopped, that leave and come.
//!
//! The agreement itself is checked in `membership`, without a network. Here are processes and hosts. The numbers are
//! those of the program (`member`): a vector that follows from the number of steps alone, whoever took part in them.

use std::time::{Duration, Instant};

use ringworld_tests::clock;
use ringworld_tests::host::Network;
use ringworld_tests::job::Job;
use ringworld_tests::line::Line;
use ringworld_tests::process::{PATIENCE, Process};
use ringworld_tests::random::Random;
use rustix::process::Signal;

use super::namespaces::{possible, usual};
use super::programs::{FAILED, LEFT, MEMBER};

/// From a kill to the first step of the next generation.
const PROMISE: Duration = Duration::from_secs(1);
/// What a machine that also builds and runs other tests may add.
const SLACK: Duration = Duration::from_secs(2);

fn job(size: usize) -> Job {
    let job = Job::new(MEMBER, size).with("RINGWORLD_ELASTIC", Some("1"));
    job.with("RINGWORLD_RECOVER_TIMEOUT", Some("20s"))
}

/// What one process has said of the generation that it entered as its `index`th.
fn entered(process: &Process, index: usize) -> Line {
    process.wait_events("entered", index + 1, PATIENCE).swap_remove(index)
}

/// All have come to the same end, with the same numbers.
fn done(processes: &mut [&mut Process], size: usize) {
    let mut ends = Vec::new();
    for process in processes.iter_mut() {
        let line = process.wait_event("done");
        assert_eq!(line.number("size"), size as u64, "{}", process.transcript());
        ends.push((line.number("generation"), line.number("step"), line.value("digest").unwrap().to_owned()));
        process.succeeds();
    }
    ends.dedup();
    assert_eq!(ends.len(), 1, "{ends:?}");
}

fn others(processes: &mut [Process], victim: usize) -> Vec<&mut Process> {
    processes.iter_mut().enumerate().filter(|(rank, _)| *rank != victim).map(|(_, other)| other).collect()
}

#[test]
fn whoever_is_killed_the_others_go_on_in_their_order() {
    for (victim, transport) in (0..4).flat_map(|victim| ["shm", "tcp"].map(|name| (victim, name))) {
        let job = job(4).with("RINGWORLD_TRANSPORT", Some(transport));
        let mut processes = job.start_ranks(4, &["--steps", "150", "--pause", "5"]);
        for process in &processes {
            process.wait_event("step");
        }
        let killed = processes[victim].kill();
        let mut slowest = Duration::ZERO;
        for (rank, process) in processes.iter().enumerate().filter(|(rank, _)| *rank != victim) {
            let line = entered(process, 1);
            assert_eq!(line.rank(), rank - usize::from(rank > victim), "{}", process.transcript());
            assert_eq!((line.number("size"), line.number("generation")), (3, 1));
            assert_eq!(line.number("previous"), rank as u64);
            let step = process.wait_events("step", 2, PATIENCE).swap_remove(1);
            slowest = slowest.max(clock::between(killed, step.number("at")));
        }
        println!("  {transport}, rank {victim}: {:.1} ms to the next step", slowest.as_secs_f64() * 1e3);
        assert!(slowest < PROMISE + SLACK, "{slowest:?}");
        done(&mut others(&mut processes, victim), 3);
    }
}

#[test]
fn a_replacement_takes_part_whoever_died_and_however_it_is_started() {
    // The first knows that it comes later; the second is started as the dead one was, at once, and so finds the port of
    // the rendezvous free where the dead one served it.
    for (victim, variables) in [
        (2, &[("RINGWORLD_REJOIN", "1")][..]),
        (0, &[("RINGWORLD_REJOIN", "1")]),
        (0, &[("RANK", "0")]),
        (3, &[("RANK", "3")]),
    ] {
        println!("  rank {victim}, {variables:?}");
        let job = job(4);
        let arguments = ["--steps", "400", "--pause", "5"];
        let mut processes = job.start_ranks(4, &arguments);
        for process in &processes {
            process.wait_event("step");
        }
        processes[victim].kill();
        let mut replacement = job.start(variables, &arguments);
        let line = entered(&replacement, 0);
        assert_eq!((line.rank(), line.number("size")), (3, 4), "{}", replacement.transcript());
        assert_eq!(line.value("previous"), Some("none"));
        let mut all = others(&mut processes, victim);
        all.push(&mut replacement);
        done(&mut all, 4);
    }
}

#[test]
fn a_world_grows_and_shrinks_while_it_works() {
    let job = job(2);
    // At step 300 whoever is rank 3 or more leaves; nobody has begun before there were 8.
    let arguments = ["--steps", "400", "--wait-for", "8", "--leave", "300:3"];
    let mut processes = job.start_ranks(2, &arguments);
    for process in &processes {
        assert_eq!(entered(process, 0).number("size"), 2);
    }
    for _ in 0..6 {
        processes.push(job.start(&[("RINGWORLD_REJOIN", "1")], &arguments));
    }
    for process in &processes {
        process.wait_event("step");
    }
    let (mut stay, mut left) = (Vec::new(), Vec::new());
    for process in &mut processes {
        match process.wait_event("step").rank() {
            0..3 => stay.push(process),
            _ => left.push(process),
        }
    }
    assert_eq!((stay.len(), left.len()), (3, 5));
    for process in left {
        process.ends_with(LEFT);
    }
    done(&mut stay, 3);
}

#[test]
fn half_of_a_world_goes_on_with_its_first_rank_and_without_it_ends_by_name() {
    for (victim, goes_on) in [(1, true), (0, false)] {
        let mut processes = job(2).start_ranks(2, &["--steps", "300", "--pause", "5"]);
        for process in &processes {
            process.wait_event("step");
        }
        processes[victim].kill();
        let survivor = &mut processes[1 - victim];
        if goes_on {
            done(&mut [survivor], 1);
            continue;
        }
        let text = survivor.wait_event("gone").value("text").unwrap().to_owned();
        for part in ["recover failed", "of the 2 ranks of generation 0 only 1 rank (1)", "more than half"] {
            assert!(text.contains(part), "no {part:?} in {text:?}");
        }
        survivor.ends_with(FAILED);
    }
}

#[test]
fn too_few_ranks_wait_for_others_and_say_so_in_the_end() {
    let job = job(3).with("RINGWORLD_MIN_RANKS", Some("3"));
    let arguments = ["--steps", "2000", "--pause", "5"];
    let waiting = job.with("RINGWORLD_RECOVER_TIMEOUT", Some("8s"));
    let mut processes = waiting.start_ranks_served_by_the_first(3, &arguments);
    for process in &processes {
        process.wait_event("step");
    }
    // The one that serves, whose door another takes; and then that one.
    processes[0].kill();
    std::thread::sleep(Duration::from_millis(500));
    assert!(processes[1].events("entered").len() == 1, "it went on with too few");
    let mut replacement = waiting.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
    entered(&replacement, 0);
    processes[1].kill();
    std::thread::sleep(Duration::from_millis(500));
    processes[1] = waiting.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
    entered(&processes[1], 0);
    replacement.kill();
    let texts: Vec<String> = [1, 2]
        .iter()
        .map(|rank| processes[*rank].wait_event("gone").value("text").unwrap().to_owned())
        .collect();
    let too_few = |text: &String| text.contains("there are 2 ranks") && text.contains("min_ranks");
    // Whoever gives up later may see that the other has.
    let alone = |text: &String| text.contains("of the 3 ranks of generation 2 only 1 rank");
    assert!(texts.iter().any(too_few) && texts.iter().all(|text| too_few(text) || alone(text)), "{texts:?}");
    [1, 2].iter().for_each(|rank| processes[*rank].ends_with(FAILED));
}

#[test]
fn a_rank_that_computes_is_waited_for_and_one_that_is_stopped_is_left_behind() {
    let job = job(4).with("RINGWORLD_RECOVER_TIMEOUT", Some("4s"));
    let mut processes: Vec<Process> = (0..4)
        .map(|rank| {
            let late = if rank == 2 { "700" } else { "0" };
            let rank = rank.to_string();
            job.start(&[("RANK", &rank)], &["--steps", "300", "--pause", "5", "--late", late])
        })
        .collect();
    for process in &processes {
        process.wait_event("step");
    }
    processes[3].kill();
    for process in &processes[..3] {
        assert_eq!(entered(process, 1).number("size"), 3, "{}", process.transcript());
    }
    // The one that leads, so that the next takes over; it hears, when it goes on, that the others have left it.
    processes[0].signal(Signal::STOP);
    processes[2].kill();
    drop(job.start(&[("RINGWORLD_REJOIN", "1")], &["--steps", "1"]));
    std::thread::sleep(Duration::from_millis(200));
    processes[0].signal(Signal::CONT);
    for process in &processes[..2] {
        assert_eq!(entered(process, 2).number("size"), 2, "{}", process.transcript());
    }
    let [first, second, ..] = &mut processes[..] else { panic!() };
    done(&mut [first, second], 2);
}

#[test]
fn ranks_that_die_while_a_state_is_given_are_missed_and_nothing_is_lost() {
    let mut random = Random::new("state");
    // Some megabytes, so that giving them takes a while.
    let arguments = ["--steps", "160", "--pause", "20", "--elements", "300000"];
    // Two of them may be missing at once.
    let job = job(6);
    let mut alive = job.start_ranks(6, &arguments);
    let mut dead = Vec::new();
    for process in &alive {
        process.wait_event("step");
    }
    for round in 0..6 {
        let victim = random.below(6) as usize;
        alive[victim].kill();
        let mut newcomer = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
        let entered = entered(&newcomer, 0);
        // In turns the one that takes the state, the first, which gives it, and both.
        std::thread::sleep(Duration::from_millis(random.below(12)));
        let first = (0..6).filter(|place| *place != victim);
        let first = first.min_by_key(|place| alive[*place].events("entered").last().map_or(9, Line::rank));
        if round % 3 != 1 {
            newcomer.kill();
            dead.push(newcomer);
            newcomer = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
        }
        dead.push(std::mem::replace(&mut alive[victim], newcomer));
        if round % 3 != 0 {
            let first = first.unwrap();
            alive[first].kill();
            let another = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
            dead.push(std::mem::replace(&mut alive[first], another));
        }
        // All are in one world again before the next.
        for process in &alive {
            let since = Instant::now();
            while !process.events("step").iter().any(|line| {
                line.number("size") == 6 && line.number("generation") > entered.number("generation")
            }) {
                let all = || alive.iter().chain(&dead).map(Process::transcript).collect::<String>();
                assert!(since.elapsed() < PATIENCE, "no world of 6 after round {round}:\n{}", all());
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
    done(&mut alive.iter_mut().collect::<Vec<_>>(), 6);
}

#[test]
fn the_one_that_serves_and_its_first_deputy_die_together() {
    let mut processes = job(7).start_ranks(7, &["--steps", "300", "--pause", "5"]);
    for process in &processes {
        process.wait_event("step");
    }
    for (generation, first) in [(1, 0), (2, 2)] {
        let killed = processes[first..first + 2].iter_mut().map(Process::kill).max().unwrap();
        let mut slowest = Duration::ZERO;
        for process in &processes[first + 2..] {
            let size = 7 - 2 * generation;
            let since = Instant::now();
            let step = loop {
                let steps = process.events("step");
                if let Some(step) = steps.into_iter().find(|line| line.number("size") == size) {
                    break step;
                }
                assert!(since.elapsed() < PATIENCE, "{}", process.transcript());
                std::thread::sleep(Duration::from_millis(2));
            };
            slowest = slowest.max(clock::between(killed, step.number("at")));
        }
        println!("  generation {generation}: {:.1} ms to the next step", slowest.as_secs_f64() * 1e3);
        assert!(slowest < PROMISE + SLACK, "{slowest:?}");
    }
    done(&mut processes[4..].iter_mut().collect::<Vec<_>>(), 3);
}

#[test]
fn the_one_that_serves_is_stopped_for_longer_than_it_is_waited_for_and_then_goes_on() {
    let job = job(4).with("RINGWORLD_PEER_TIMEOUT", Some("1s"));
    let mut processes = job.start_ranks_served_by_the_first(4, &["--steps", "500", "--pause", "5"]);
    for process in &processes {
        process.wait_event("step");
    }
    processes[0].signal(Signal::STOP);
    let stopped = clock::now();
    let mut slowest = Duration::ZERO;
    for process in &processes[1..] {
        assert_eq!(entered(process, 1).number("size"), 3, "{}", process.transcript());
        let step = process.wait_events("step", 2, PATIENCE).swap_remove(1);
        slowest = slowest.max(clock::between(stopped, step.number("at")));
    }
    println!("  {:.2} s to the next step", slowest.as_secs_f64());
    // To notice it takes that long, and to see that it does not answer as long again.
    assert!(slowest < Duration::from_secs(3) + SLACK, "{slowest:?}");
    processes[0].signal(Signal::CONT);
    let text = processes[0].wait_event("gone").value("text").unwrap().to_owned();
    assert!(text.contains("the others went on to generation"), "{text}");
    processes[0].ends_with(FAILED);
    done(&mut processes[1..].iter_mut().collect::<Vec<_>>(), 3);
}

#[test]
fn who_dies_while_it_knocks_is_not_waited_for() {
    let mut random = Random::new("knocking");
    let arguments = ["--steps", "400", "--pause", "10"];
    let job = job(3);
    let mut processes = job.start_ranks(3, &arguments);
    for process in &processes {
        process.wait_event("step");
    }
    for _ in 0..12 {
        let mut newcomer = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
        // The door is looked at every tenth step: some die before it has opened, some when it has, and some before they
        // have come to it.
        std::thread::sleep(Duration::from_millis(random.below(250)));
        newcomer.kill();
    }
    let last = job.start(&[("RINGWORLD_REJOIN", "1")], &arguments);
    processes.push(last);
    done(&mut processes.iter_mut().collect::<Vec<_>>(), 4);
}

/// One member on each host, which meet at the first.
fn on_hosts(network: &Network, hosts: usize, arguments: &[&str]) -> Vec<Process> {
    let size = hosts.to_string();
    let variables = variables(&size);
    let start = |host: usize| {
        let rank = host.to_string();
        let all: Vec<_> = variables.iter().copied().chain([("RANK", rank.as_str())]).collect();
        network.host(host).start(MEMBER, &all, arguments)
    };
    (0..hosts).map(start).collect()
}

fn variables(size: &str) -> [(&str, &str); 8] {
    [
        ("MASTER_NODE", "10.77.0.1,10.77.0.2,10.77.0.3"),
        ("MASTER_PORT", "29500"),
        ("WORLD_SIZE", size),
        ("RINGWORLD_ELASTIC", "1"),
        ("RINGWORLD_PEER_TIMEOUT", "1s"),
        ("RINGWORLD_RECOVER_TIMEOUT", "8s"),
        ("RINGWORLD_IF_INCLUDE", "eth0"),
        ("RINGWORLD_SECRET", "an elastic secret"),
    ]
}

#[test]
fn the_host_that_serves_loses_its_cable_and_joins_again_when_it_is_back() {
    if !possible("the_host_that_serves_loses_its_cable_and_joins_again_when_it_is_back") {
        return;
    }
    let network = usual(3);
    let arguments = ["--steps", "1500", "--pause", "10"];
    let mut processes = on_hosts(&network, 3, &arguments);
    for process in &processes {
        process.wait_event("step");
    }
    network.cut(0, "eth0");
    for process in &processes[1..] {
        let line = entered(process, 1);
        assert_eq!((line.number("size"), line.rank()), (2, line.number("previous") as usize - 1));
    }
    // One against two.
    let text = processes[0].wait_event("gone").value("text").unwrap().to_owned();
    assert!(text.contains("of the 3 ranks of generation 0 only 1 rank (0)"), "{text}");
    processes[0].ends_with(FAILED);
    network.mend(0, "eth0", 0);
    // As it was started the first time.
    let variables = variables("3");
    let all: Vec<_> = variables.iter().copied().chain([("RANK", "0")]).collect();
    let mut again = network.host(0).start(MEMBER, &all, &arguments);
    assert_eq!(
        (entered(&again, 0).number("size"), entered(&again, 0).rank()),
        (3, 2),
        "{}",
        again.transcript()
    );
    let [_, second, third] = &mut processes[..] else { panic!() };
    done(&mut [second, third, &mut again], 3);
}

#[test]
fn of_two_halves_exactly_one_goes_on() {
    if !possible("of_two_halves_exactly_one_goes_on") {
        return;
    }
    // Hosts 0 and 3 against 1 and 2: the half with rank 0 goes on.
    let network = usual(4);
    let mut processes = on_hosts(&network, 4, &["--steps", "600", "--pause", "10"]);
    for process in &processes {
        process.wait_event("step");
    }
    for host in [1, 2] {
        network.cut(host, "eth0");
        network.mend(host, "eth0", 1);
    }
    let texts: Vec<String> = [1, 2]
        .iter()
        .map(|rank| processes[*rank].wait_event("gone").value("text").unwrap().to_owned())
        .collect();
    let both = |text: &String| text.contains("of the 4 ranks of generation 0 only 2 ranks (1, 2)");
    let one = |text: &String| text.contains("of the 4 ranks of generation 0 only 1 rank");
    // Whoever gives up later may see that the other has.
    assert!(texts.iter().any(both) && texts.iter().all(|text| both(text) || one(text)), "{texts:?}");
    [1, 2].iter().for_each(|rank| processes[*rank].ends_with(FAILED));
    let [first, _, _, last] = &mut processes[..] else { panic!() };
    done(&mut [first, last], 2);
}

/// Three, of which two do not reach one another from their first step on: `part` makes it so. Each waits for as long as
/// `patience` says until it gives up a connection that it makes.
fn two_apart(patience: [&str; 3], part: impl Fn(&Network)) {
    let network = usual(3);
    let variables = variables("3");
    // They go on until all is seen that is to be: how long any number of steps takes nobody knows on a busy machine.
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let start = |host: usize| {
        let rank = host.to_string();
        let own = [("RANK", rank.as_str()), ("RINGWORLD_TIMEOUT", patience[host])];
        // Nobody is to be taken for gone that only waits for a processor: here links fail, and no process does.
        let long = [("RINGWORLD_PEER_TIMEOUT", "5s"), ("RINGWORLD_RECOVER_TIMEOUT", "20s")];
        let all: Vec<_> = variables.iter().copied().chain(own).chain(long).collect();
        let arguments = ["--steps", "10", "--until", end.to_str().unwrap(), "--pause", "5"];
        network.host(host).start(MEMBER, &all, &arguments)
    };
    let mut processes: Vec<Process> = (0..3).map(start).collect();
    for process in &processes {
        process.wait_event("step");
    }
    // The first reaches both, and so do they it.
    part(&network);
    let line = entered(&processes[0], 1);
    assert_eq!(line.number("size"), 3, "once may be chance: {}", processes[0].transcript());
    let line = entered(&processes[0], 2);
    assert_eq!(line.number("size"), 2, "{}", processes[0].transcript());
    // Of two with as many such links it is the higher rank, whichever has said so first.
    let out = 2;
    let text = processes[out].wait_event("gone").value("text").unwrap().to_owned();
    assert!(text.contains("its link to rank 1 has failed in two generations"), "{text}");
    processes[out].ends_with(FAILED);
    std::fs::write(&end, "").unwrap();
    done(&mut others(&mut processes, out), 2);
}

#[test]
fn of_two_that_do_not_reach_one_another_one_is_left_out_by_name() {
    if possible("of_two_that_do_not_reach_one_another_one_is_left_out_by_name") {
        two_apart(["3s"; 3], |network| {
            network.host(1).forbid("10.77.0.3");
            network.host(2).forbid("10.77.0.2");
        });
    }
}

#[test]
fn whoever_says_so_first_it_is_the_same_one_that_is_left_out() {
    if possible("whoever_says_so_first_it_is_the_same_one_that_is_left_out") {
        // The one that hears nothing of the other says so first, both times.
        two_apart(["3s", "3s", "6s"], |network| network.host(2).lose("10.77.0.2"));
        two_apart(["3s", "6s", "3s"], |network| network.host(1).lose("10.77.0.3"));
    }
}
