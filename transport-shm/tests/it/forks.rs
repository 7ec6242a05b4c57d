//! A peer's process ends, and a child that it has forked lives on with copies of its descriptors.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringworld_transport::{Address, Cause, Transport as _};
use ringworld_transport_shm::{Config, Shm};
use rustix::process::{ForeignRawFd, Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::support::{BOUND, Side, until};

const ADDRESS: &str = "RINGWORLD_TEST_ADDRESS";

fn bind(rank: usize) -> Side {
    Side::new(Shm::bind(Config::new(rank, 2, 77)).unwrap())
}

/// Rank 1, which another test starts: sends a message, and is killed.
#[test]
#[ignore = "started by the other test"]
fn peer() {
    let text = std::env::var(ADDRESS).unwrap();
    let address = text.split(',').map(|byte| byte.parse().unwrap()).collect();
    let mut side = bind(1);
    side.shm.connect(0, &Address::new(address)).unwrap();
    side.send(0, b"here");
    let begin = Instant::now();
    while begin.elapsed() < BOUND {
        side.poll();
    }
}

#[test]
fn the_end_of_a_process_is_noticed_though_a_copy_of_its_socket_is_open() {
    let side = bind(0);
    let address: Vec<String> = side.shm.address().as_bytes().iter().map(ToString::to_string).collect();
    let mut peer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "forks::peer", "--ignored", "--nocapture"])
        .env(ADDRESS, address.join(","))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(peer.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut world = [side];
    until(&mut world, "the message", |world| world[0].received().count() == 1);
    // To the kernel the same as a child: whoever has these keeps every connection open.
    let pid = Pid::from_child(&peer);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let listed = std::fs::read_dir(format!("/proc/{}/fd", peer.id())).unwrap();
    let numbers = listed.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap());
    let copy = |number: ForeignRawFd| pidfd_getfd(&pidfd, number, PidfdGetfdFlags::empty());
    let copies: Result<Vec<OwnedFd>, _> = numbers.filter(|number| *number > 2).map(copy).collect();
    peer.kill().unwrap();
    peer.wait().unwrap();
    let Ok(copies) = copies else {
        eprintln!("SKIPPED: this system does not let a test have another process's descriptors");
        return;
    };
    let begin = Instant::now();
    // Whoever sleeps is woken.
    let [side] = &mut world;
    while side.down.is_empty() && begin.elapsed() < BOUND {
        side.poll();
        assert!(!side.down.is_empty() || side.sleep(Duration::from_secs(5)), "nothing woke this side");
    }
    assert!(matches!(&side.down[..], [(1, Cause::Lost(_))]), "{:?}", side.down);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    side.poll();
    assert!(!side.sleep(Duration::from_millis(100)), "it is woken by what it knows already");
    drop(copies);
}
