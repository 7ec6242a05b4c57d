//! Latency and bandwidth of the bare transport between two threads, beside plain sockets, for tuning.
//!
//! `cargo run --release -p ringworld-transport-tcp --example pingpong`
//!
//! The environment variables `LANES`, `BUFFER` (bytes, 0 for the system's choice) and `CONGESTION` try
//! other settings; `ENCRYPT=1` encrypts, and `REPEATS` (21)
//! says how often each is measured. Every line is the median of several repetitions, with the fastest and the slowest.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement, not a product")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use ringworld_auth::Secret;
use ringworld_transport::{RemoteKey, SendMemory, Token, Transport};
use ringworld_transport_tcp::Config;
use support::{Buffer, Side};

#[path = "../tests/support/mod.rs"]
mod support;

const LARGE: usize = 64 << 20;
const ROUNDS: usize = 20_000;

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

fn repeats() -> usize {
    setting("REPEATS").unwrap_or(21)
}

/// Waits for one more message than all calls before; counting, because the next may come early.
fn receive(side: &mut Side) {
    side.awaited += 1;
    while side.received < side.awaited {
        side.poll();
    }
}

/// Sends one empty message and waits for one.
fn synchronise(side: &mut Side, peer: usize) {
    side.send(peer, b"", SendMemory::empty());
    receive(side);
}

/// Exchanges keys, then puts and is filled as asked; the time until both ends have finished.
fn transfer(side: &mut Side, peer: usize, out: Option<&Buffer>, into: Option<&Buffer>) -> Duration {
    let key = into
        .map(|into| side.tcp.expose(peer, into.lend(), Token(1)).unwrap().as_bytes().to_vec())
        .unwrap_or_default();
    side.send(peer, &key, SendMemory::empty());
    receive(side);
    let key = RemoteKey::new(&side.inbox.last_header).unwrap();
    let start = Instant::now();
    let filled = side.filled + usize::from(into.is_some());
    if let Some(out) = out {
        side.put(peer, key, 0, out.lend_to_send());
    }
    while side.filled < filled || !side.all_sent() {
        side.poll();
    }
    synchronise(side, peer);
    start.elapsed()
}

fn report(name: &str, mut times: Vec<Duration>, per: u32) {
    times.sort();
    let at = |index: usize| times[index].as_secs_f64() * 1e6 / f64::from(per);
    println!("{name:<44} {:>10.2} us  ({:.2} to {:.2})", at(times.len() / 2), at(0), at(times.len() - 1));
}

/// One end; only the first reports.
fn run(mut side: Side, reports: bool) {
    let peer = if reports { 1 } else { 0 };
    side.inbox.frugal = true;
    let say = |name: &str, times: Vec<Duration>, per: usize| {
        if reports {
            report(name, times, per as u32);
        }
    };
    synchronise(&mut side, peer);
    std::thread::sleep(Duration::from_millis(20));
    for size in [8, 4096, 65_536] {
        let payload = Buffer::new(vec![1; size]);
        let mut times = Vec::new();
        for _ in 0..repeats() {
            synchronise(&mut side, peer);
            let start = Instant::now();
            for _ in 0..ROUNDS / 20 {
                if reports {
                    side.send(peer, b"", payload.lend_to_send());
                }
                receive(&mut side);
                if !reports {
                    side.send(peer, b"", payload.lend_to_send());
                }
                while !side.all_sent() {
                    side.poll();
                }
            }
            times.push(start.elapsed());
        }
        say(&format!("message, half round trip, {size} B"), times, 2 * ROUNDS / 20);
    }
    let (out, into) = (Buffer::new(vec![1; LARGE]), Buffer::new(vec![2; LARGE]));
    let mut one = |reverse: bool| -> Vec<Duration> {
        let sends = reports != reverse;
        (0..repeats())
            .map(|_| transfer(&mut side, peer, sends.then_some(&out), (!sends).then_some(&into)))
            .collect()
    };
    let (there, back) = (one(false), one(true));
    say("put, lower to higher rank, 64 MiB", there, 1);
    say("put, higher to lower rank, 64 MiB", back, 1);
    let both = (0..repeats()).map(|_| transfer(&mut side, peer, Some(&out), Some(&into))).collect();
    say("put, both ways at once, 64 MiB each", both, 1);
    side.close();
}

/// The same with blocking sockets: what the kernel gives to the simplest program.
fn plain() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (here, _) = listener.accept().unwrap();
    let end = |mut stream: TcpStream, first: bool| {
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 8];
        let mut spin = |stream: &mut TcpStream| {
            while let Err(error) = stream.read_exact(&mut bytes) {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
            }
        };
        stream.set_nonblocking(true).unwrap();
        let mut times = Vec::new();
        for _ in 0..repeats() {
            let start = Instant::now();
            for _ in 0..ROUNDS / 20 {
                if first {
                    stream.write_all(&[1; 8]).unwrap();
                }
                spin(&mut stream);
                if !first {
                    stream.write_all(&[1; 8]).unwrap();
                }
            }
            times.push(start.elapsed());
        }
        if first {
            report("plain sockets, half round trip, 8 B", times, 2 * (ROUNDS / 20) as u32);
        }
        stream.set_nonblocking(false).unwrap();
        let mut memory = vec![1; LARGE];
        let mut times = Vec::new();
        for _ in 0..repeats() {
            let start = Instant::now();
            if first {
                stream.write_all(&memory).unwrap();
                stream.read_exact(&mut [0]).unwrap();
            } else {
                stream.read_exact(&mut memory).unwrap();
                stream.write_all(&[1]).unwrap();
            }
            times.push(start.elapsed());
        }
        if first {
            report("plain sockets, one way, 64 MiB", times, 1);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| end(there, true));
        scope.spawn(|| end(here, false));
    });
}

fn main() {
    let configs = (0..2)
        .map(|rank| {
            let mut config = Config::new(rank, 2, 1, vec![Ipv4Addr::LOCALHOST.into()]);
            config.lanes = setting("LANES").unwrap_or(config.lanes);
            if let Some(bytes) = setting("BUFFER") {
                config.socket_buffer = Some(bytes).filter(|bytes| *bytes > 0);
            }
            config.congestion = setting("CONGESTION");
            if setting::<u8>("ENCRYPT") == Some(1) {
                config.secret = Secret::new(b"a secret to measure with".to_vec());
                config.encrypt = true;
            }
            config
        })
        .collect();
    let mut sides = support::world(configs).into_iter();
    let (first, second) = (sides.next().unwrap(), sides.next().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| run(first, true));
        scope.spawn(|| run(second, false));
    });
    if setting::<u8>("PLAIN") != Some(0) {
        plain();
    }
}
