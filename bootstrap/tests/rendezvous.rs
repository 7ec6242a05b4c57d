//! What the rendezvous promises: any start order, the right ranks, one table for all, clear refusals.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use common::{Rank, finish, free_port, join, settings, spawn, world, world_at};
use ringworld_bootstrap::{Answer, Error, Joining, Master, MasterConfig, Outcome, Settings, Sighting};

fn same_table(ranks: &[Rank]) {
    let size = ranks.len();
    for (index, rank) in ranks.iter().enumerate() {
        let session = &rank.session;
        assert_eq!((session.rank, session.size, session.local_size), (index, size, size));
        assert_eq!(session.members, ranks[0].session.members);
        assert_eq!(session.job, ranks[0].session.job);
    }
    let names: BTreeSet<_> = ranks[0].session.members.iter().map(|m| m.addresses[0].1.clone()).collect();
    assert_eq!(names.len(), size, "everybody appears once");
    let locals: BTreeSet<_> = ranks.iter().map(|rank| rank.session.local_rank).collect();
    assert_eq!(locals, (0..size).collect());
}

/// Waits until the master that these settings lead to has let in so many of a world that is forming. Who has started
/// first need not come first on a machine that does much else.
fn until_joined(wanted: usize, settings: &Settings) {
    let begin = Instant::now();
    loop {
        let answer = Sighting::of(settings, "127.0.0.1", &[]).unwrap().answer;
        if matches!(answer, Answer::Forming { joined, .. } if joined == wanted) {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(15), "{answer:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_world_of_one_needs_no_network() {
    let joining = Joining::begin(&Settings::default()).unwrap();
    assert!(joining.local_addresses().is_empty());
    let session = joining.join(vec![("x".into(), vec![1])], Box::new(|_| {})).unwrap();
    assert_eq!((session.rank, session.size, session.local_rank, session.local_size), (0, 1, 0, 1));
    assert_eq!(session.members[0].host, ringworld_bootstrap::host_name());
    session.abort(1, "nobody listens".into());
    session.finish();
}

#[test]
fn worlds_of_many_sizes_form_and_end() {
    for size in [2, 3, 8, 64] {
        let begin = Instant::now();
        let ranks = world(size, &[]);
        assert!(begin.elapsed() < Duration::from_secs(15), "{size} ranks took {:?}", begin.elapsed());
        same_table(&ranks);
        assert_eq!(ranks.iter().filter(|rank| rank.session.serves()).count(), 1);
        finish(ranks);
    }
}

#[test]
fn whoever_asks_hears_how_the_world_stands_and_takes_no_place() {
    let port = free_port();
    let ask = |more: &[(&str, &str)]| {
        let sighting = Sighting::of(&settings(port, 2, more), "127.0.0.1", &[]).unwrap();
        assert!(sighting.here);
        assert_eq!(sighting.addresses, ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
        sighting.answer
    };
    assert!(matches!(ask(&[]), Answer::Nobody(why) if why.contains("refused")));
    let first = spawn(settings(port, 2, &[]), "first");
    until_joined(1, &settings(port, 2, &[]));
    assert_eq!(ask(&[]), Answer::Forming { joined: 1, size: 2 });
    assert!(matches!(ask(&[("secret", "x")]), Answer::Secret(why) if why.contains("missing at the master")));
    let second = join(&settings(port, 2, &[]), "second").unwrap();
    let ranks = vec![first.join().unwrap().unwrap(), second];
    assert_eq!(ask(&[]), Answer::Running { alive: 2, size: 2 });
    finish(ranks);

    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = stream.read(&mut [0; 64]);
    });
    let sighting = Sighting::of(&settings(port, 2, &[]), "127.0.0.1", &[]).unwrap();
    assert!(matches!(sighting.answer, Answer::Other(_)), "{:?}", sighting.answer);
    answers.join().unwrap();
    let sighting = Sighting::of(&settings(port, 2, &[]), "no-such-host.invalid", &[]).unwrap();
    assert!(matches!(sighting.answer, Answer::Unknown(_)) && !sighting.here, "{sighting:?}");
}

#[test]
fn start_order_and_pauses_do_not_matter() {
    let port = free_port();
    let mut threads = Vec::new();
    for index in [3, 1, 2, 0] {
        let rank = index.to_string();
        threads.push(spawn(settings(port, 4, &[("rank", &rank)]), &rank));
        std::thread::sleep(Duration::from_millis(40 * index));
    }
    let mut ranks: Vec<Rank> = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    for (rank, expected) in ranks.iter().zip([3, 1, 2, 0]) {
        assert_eq!(rank.session.rank, expected);
        assert_eq!(rank.session.members[expected].addresses[0].1, expected.to_string().into_bytes());
    }
    ranks.sort_by_key(|rank| rank.session.rank);
    same_table(&ranks);
    finish(ranks);
}

#[test]
fn a_process_that_comes_before_its_external_master_waits_for_it() {
    let port = free_port();
    let early: Vec<_> = (0..2)
        .map(|index| spawn(settings(port, 2, &[("master_external", "1")]), &format!("{index}")))
        .collect();
    std::thread::sleep(Duration::from_millis(150));
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let master = Master::serve(listener, MasterConfig::new(2, &settings(port, 2, &[]))).unwrap();
    let ranks: Vec<Rank> = early.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    assert!(ranks.iter().all(|rank| !rank.session.serves() && rank.session.job == master.job()));
    assert_eq!(master.outcome(), None);
    finish(ranks);
    assert_eq!(master.wait(Some(Duration::from_secs(5))), Some(Outcome::Finished));
}

#[test]
fn the_port_is_free_for_the_next_job_at_once() {
    let port = free_port();
    for _ in 0..5 {
        let ranks = world_at(port, 3, &[]);
        same_table(&ranks);
        finish(ranks);
    }
}

#[test]
fn a_process_of_the_next_job_waits_while_the_last_one_ends() {
    let port = free_port();
    let (server, others) = common::split_server(world_at(port, 2, &[]));
    finish(others);
    let next: Vec<_> = (0..2).map(|index| spawn(settings(port, 2, &[]), &format!("{index}"))).collect();
    std::thread::sleep(Duration::from_millis(200));
    let old = server.session.job;
    finish(vec![server]);
    let ranks: Vec<Rank> = next.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
    assert!(ranks.iter().all(|rank| rank.session.job != old));
    finish(ranks);
}

#[test]
fn ipv6_and_names_work_like_ipv4() {
    for node in ["::1", "localhost"] {
        if node == "::1" && TcpListener::bind("[::1]:0").is_err() {
            eprintln!("SKIPPED: this host has no IPv6 loopback");
            continue;
        }
        let port = free_port();
        let ranks = world_at(port, 3, &[("master_node", node)]);
        same_table(&ranks);
        finish(ranks);
    }
}

#[test]
fn a_real_address_of_this_host_is_served_and_offered_first() {
    let interfaces = ringworld_bootstrap::interfaces::enumerate().unwrap();
    let choice = ringworld_bootstrap::interfaces::choose(&interfaces, &Settings::default()).unwrap();
    for (interface, _) in choice.chosen.iter().filter(|(interface, _)| !interface.loopback) {
        let node = interface.addr.to_string();
        let settings = settings(free_port(), 2, &[("master_node", &node)]);
        let joining = Joining::begin(&settings).unwrap();
        assert_eq!(joining.local_addresses()[0], interface.addr);
        assert!(joining.local_addresses().iter().all(|address| !address.is_loopback()));
    }
}

#[test]
fn this_hosts_own_name_is_served_even_if_it_means_loopback() {
    use std::net::ToSocketAddrs;
    let name = ringworld_bootstrap::host_name();
    if (name.as_str(), 1).to_socket_addrs().is_err() {
        eprintln!("SKIPPED: this host's name {name} does not resolve");
        return;
    }
    let ranks = world_at(free_port(), 2, &[("master_node", &name)]);
    same_table(&ranks);
    finish(ranks);
}

#[test]
fn a_rank_given_twice_is_refused_to_the_second() {
    let port = free_port();
    let first = spawn(settings(port, 2, &[("rank", "1")]), "first");
    until_joined(1, &settings(port, 2, &[]));
    let error = join(&settings(port, 2, &[("rank", "1")]), "second").err().unwrap();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("rank 1 was given twice") && text.contains("RANK"), "{text}");
    let other = spawn(settings(port, 2, &[]), "third");
    let ranks = vec![first.join().unwrap().unwrap(), other.join().unwrap().unwrap()];
    assert_eq!(ranks.iter().map(|rank| rank.session.rank).collect::<Vec<_>>(), [1, 0]);
    finish(ranks);
}

#[test]
fn disagreement_about_the_world_is_refused_with_both_values() {
    let port = free_port();
    let first = spawn(settings(port, 2, &[("num_nodes", "1"), ("job", "a")]), "first");
    until_joined(1, &settings(port, 2, &[]));
    let refused = |size, more: &[(&str, &str)], parts: [&str; 2]| {
        let text = join(&settings(port, size, more), "other").err().unwrap().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(3, &[("job", "a")], ["2 ranks", "this process 3"]);
    refused(2, &[("job", "a"), ("num_nodes", "2")], ["1 hosts", "says 2"]);
    refused(2, &[("job", "b")], ["\"a\"", "\"b\""]);
    refused(2, &[], ["\"a\"", "none"]);
    let second = spawn(settings(port, 2, &[("job", "a")]), "second");
    finish(vec![first.join().unwrap().unwrap(), second.join().unwrap().unwrap()]);
}

/// Like [`settings`], with what `srun` tells one of four tasks of a step of this job, and no port.
fn task(job: u64, rank: usize, more: &[(&str, &str)]) -> Settings {
    let (job, rank) = (job.to_string(), rank.to_string());
    let env = [
        ("SLURM_JOB_ID", job.as_str()),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_STEP_NUM_TASKS", "4"),
        ("SLURM_PROCID", rank.as_str()),
        ("MASTER_NODE", "127.0.0.1"),
    ];
    let env = env.iter().chain(more).map(|(name, value)| ((*name).to_string(), (*value).to_string()));
    Settings::load(&[], &env.collect()).unwrap()
}

#[test]
fn two_steps_of_slurm_that_meet_at_one_address_are_two_worlds() {
    // Job ids that no other test, and hardly anything on this machine, has the ports of.
    let job = u64::from(std::process::id()) * 2;
    let tasks = (0..8).map(|index| (job + index as u64 % 2, index / 2));
    let joining: Vec<_> =
        tasks.map(|(job, rank)| (job, spawn(task(job, rank, &[]), &format!("{job}/{rank}")))).collect();
    let joined = joining.into_iter().map(|(job, thread)| (job, thread.join().unwrap().unwrap()));
    let (one, other): (Vec<_>, Vec<_>) = joined.partition(|(of, _)| *of == job);
    for world in [one, other] {
        let prefix = format!("{}/", world[0].0);
        let mut ranks: Vec<Rank> = world.into_iter().map(|(_, rank)| rank).collect();
        ranks.sort_by_key(|rank| rank.session.rank);
        let named =
            |member: &ringworld_bootstrap::Member| member.addresses[0].1.starts_with(prefix.as_bytes());
        assert!(ranks.iter().all(|rank| rank.session.members.iter().all(named)), "{prefix} is mixed");
        same_table(&ranks);
        finish(ranks);
    }
}

#[test]
fn a_master_of_another_job_refuses_at_once_and_both_are_named() {
    let port = free_port().to_string();
    let at = [("MASTER_PORT", port.as_str())];
    let first = spawn(task(41, 0, &at), "first");
    let other = || {
        let begin = Instant::now();
        let text = join(&task(42, 1, &at), "other").err().unwrap().to_string();
        assert!(text.contains("\"slurm-41.0\"") && text.contains("\"slurm-42.0\""), "{text}");
        assert!(text.contains("MASTER_PORT") && begin.elapsed() < Duration::from_secs(1), "{text}");
    };
    until_joined(1, &task(41, 1, &at));
    other();
    let rest: Vec<_> = (1..4).map(|rank| spawn(task(41, rank, &at), "rest")).collect();
    let all = std::iter::once(first).chain(rest).map(|thread| thread.join().unwrap().unwrap());
    let ranks: Vec<Rank> = all.collect();
    other();
    finish(ranks);
}

#[test]
fn of_two_jobs_without_names_that_meet_those_who_are_too_many_are_told_so() {
    for ranks in [[Some("0"), Some("1"), Some("0"), Some("1")], [None; 4]] {
        let port = free_port();
        let (tell, told) = std::sync::mpsc::channel();
        for rank in ranks {
            let more: Vec<_> = rank.map(|rank| ("rank", rank)).into_iter().collect();
            let (settings, tell) = (settings(port, 2, &more), tell.clone());
            std::thread::spawn(move || drop(tell.send(join(&settings, "one of four"))));
        }
        let next = || told.recv_timeout(Duration::from_secs(30)).unwrap();
        let (mut world, mut refused) = (Vec::new(), Vec::new());
        while world.len() < 2 {
            match next() {
                Ok(rank) => world.push(rank),
                Err(error) => refused.push(error.to_string()),
            }
        }
        // Whoever comes when that world has ended finds nobody. One that serves and is refused ends only with the world
        // that it serves.
        let others = if world.iter().any(|rank| rank.session.serves()) { 2 } else { 1 };
        while refused.len() < others {
            refused.push(next().err().expect("a world of two has formed already").to_string());
        }
        world.sort_by_key(|rank: &Rank| rank.session.rank);
        finish(world);
        while refused.len() < 2 {
            refused.push(next().err().expect("a world of two has formed already").to_string());
        }
        for text in refused {
            for part in ["two jobs have met", "RINGWORLD_JOB", "MASTER_PORT"] {
                assert!(text.contains(part), "{text}");
            }
        }
    }
}

#[test]
fn an_address_that_is_told_to_others_is_served_though_no_interface_has_it() {
    let port = free_port();
    let behind = [("master_node", "203.0.113.9"), ("advertise", "203.0.113.9")];
    let hidden: Vec<_> = (0..2).map(|_| spawn(settings(port, 3, &behind), "hidden")).collect();
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody serves");
        std::thread::sleep(Duration::from_millis(5));
    }
    // As if it came through the address translation.
    let third = join(&settings(port, 3, &[]), "third").unwrap();
    let hidden = hidden.into_iter().map(|thread| thread.join().unwrap().unwrap());
    let ranks: Vec<Rank> = hidden.chain([third]).collect();
    assert!(ranks[..2].iter().any(|rank| rank.session.serves()) && !ranks[2].session.serves());
    finish(ranks);
}

#[test]
fn a_host_that_nobody_has_chosen_is_told_when_it_is_not_reached() {
    let missing = [
        ("MASTER_NODE", ""),
        ("SLURM_STEP_NODELIST", "no-such-host[1-2].invalid"),
        ("RINGWORLD_TIMEOUT", "300ms"),
    ];
    let text = join(&task(41, 0, &missing), "x").err().unwrap().to_string();
    assert!(
        text.contains("no-such-host1.invalid is the first host of environment SLURM_STEP_NODELIST"),
        "{text}"
    );
}

#[test]
fn a_port_that_is_taken_at_another_address_is_told() {
    let port = free_port();
    let _other = TcpListener::bind(("127.0.0.2", port)).unwrap();
    let name = ringworld_bootstrap::host_name();
    let taken = settings(port, 2, &[("master_node", &name), ("timeout", "1s")]);
    let text = join(&taken, "x").err().unwrap().to_string();
    assert!(
        text.contains(&format!("port {port} is in use on this host")) && text.contains("MASTER_PORT"),
        "{text}"
    );
}

#[test]
fn one_process_too_many_is_refused_and_the_world_goes_on() {
    let port = free_port();
    let ranks = world_at(port, 2, &[]);
    let text = join(&settings(port, 2, &[]), "third").err().unwrap().to_string();
    assert!(text.contains("2 ranks is complete"), "{text}");
    assert!(ranks.iter().all(|rank| rank.events.try_recv().is_err()), "nobody heard of it");
    finish(ranks);
}

#[test]
fn a_wrong_or_missing_secret_is_named_at_the_joiner_and_harms_nobody() {
    let port = free_port();
    let first = spawn(settings(port, 2, &[("secret", "right")]), "first");
    until_joined(1, &settings(port, 2, &[("secret", "right")]));
    for (more, part) in [(&[("secret", "wrong")][..], "differs"), (&[], "missing here")] {
        let error = join(&settings(port, 2, more), "another").err().unwrap();
        assert!(matches!(error, Error::Secret { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("RINGWORLD_SECRET") && text.contains(part), "{text}");
    }
    let second = spawn(settings(port, 2, &[("secret", "right")]), "second");
    finish(vec![first.join().unwrap().unwrap(), second.join().unwrap().unwrap()]);
}

#[test]
fn time_out_says_who_came_and_how_many_are_missing() {
    let begin = Instant::now();
    let port = free_port();
    let quick = &[("timeout", "700ms")][..];
    let threads = [spawn(settings(port, 4, quick), "a"), spawn(settings(port, 4, quick), "b")];
    for thread in threads {
        let text = thread.join().unwrap().err().unwrap().to_string();
        let host = ringworld_bootstrap::host_name();
        for part in ["2 of 4 ranks joined", "2 missing", &host, "0.7 s", "RINGWORLD_TIMEOUT"] {
            assert!(text.contains(part), "{text}");
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

#[test]
fn a_master_that_never_comes_is_an_error_that_says_what_was_tried() {
    let external = &[("timeout", "300ms"), ("master_external", "1")][..];
    let text = join(&settings(free_port(), 2, external), "a").err().unwrap().to_string();
    assert!(text.contains("127.0.0.1") && text.contains("refused") && text.contains("MASTER_NODE"), "{text}");
    let unknown = &[("timeout", "300ms"), ("master_node", "no-such-host.invalid")][..];
    let text = join(&settings(free_port(), 2, unknown), "a").err().unwrap().to_string();
    assert!(text.contains("no-such-host.invalid") && text.contains("cannot be resolved"), "{text}");
}

#[test]
fn another_program_on_the_port_is_recognised() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            let _ = stream.read(&mut [0; 64]);
        }
    });
    let error = join(&settings(port, 2, &[]), "a").err().unwrap();
    assert!(matches!(error, Error::NotMaster { .. }), "{error}");
    assert!(error.to_string().contains("HTTP/1.1"), "{error}");
}

#[test]
fn unauthenticated_connections_do_not_disturb() {
    let port = free_port();
    let first = spawn(settings(port, 3, &[]), "first");
    until_joined(1, &settings(port, 3, &[]));
    let mut others = Vec::new();
    let mut knock = |bytes: &[u8]| {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let _ = stream.write_all(bytes);
            others.push(stream);
        }
    };
    knock(b"");
    knock(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    knock(&[0xff; 4096]);
    knock(b"RINGWCTL");
    knock(b"RINGWCTL\x63\x00");
    let mut half = b"RINGWCTL\x01\x00".to_vec();
    half.extend([7; 32]);
    knock(&half);
    half.extend([9; 32]);
    knock(&half);
    let others = [spawn(settings(port, 3, &[]), "second"), spawn(settings(port, 3, &[]), "third")];
    let mut ranks = vec![first.join().unwrap().unwrap()];
    ranks.extend(others.into_iter().map(|thread| thread.join().unwrap().unwrap()));
    for _ in 0..20 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(ranks.iter().all(|rank| rank.events.try_recv().is_err()), "nobody heard of them");
    finish(ranks);
}

#[test]
fn a_joiner_that_leaves_before_the_world_has_formed_frees_its_place() {
    let port = free_port();
    let first = spawn(settings(port, 2, &[]), "first");
    until_joined(1, &settings(port, 2, &[]));
    let gone = Joining::begin(&settings(port, 2, &[("rank", "1")])).unwrap();
    drop(gone);
    // The place is free as soon as the master has read the end of that connection.
    until_joined(1, &settings(port, 2, &[]));
    let second = spawn(settings(port, 2, &[("rank", "1")]), "second");
    let ranks = vec![first.join().unwrap().unwrap(), second.join().unwrap().unwrap()];
    assert_eq!(ranks[0].session.members[1].addresses[0].1, b"second");
    finish(ranks);
}

#[test]
fn bytes_per_rank_grow_linearly_with_the_world() {
    let measure = |size: usize| {
        let port = free_port();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let master = Master::serve(listener, MasterConfig::new(size, &settings(port, size, &[]))).unwrap();
        let ranks = world_at(port, size, &[("master_external", "1")]);
        let per_rank = ranks.iter().map(|rank| rank.session.bytes_received).max().unwrap();
        let sent = master.bytes_sent();
        finish(ranks);
        assert!(sent <= (per_rank + 64) * size as u64, "{sent} bytes to {size} ranks of {per_rank}");
        per_rank as f64
    };
    let (small, large) = (measure(8), measure(64));
    assert!(large / small < 8.0 * 1.2, "{small} bytes for 8 ranks, {large} for 64");
    assert!(large < 64.0 * 200.0, "{large} bytes for a table of 64");
}
