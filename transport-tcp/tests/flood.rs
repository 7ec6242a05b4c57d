//! Many connections of those who do not know the secret, or merely repeat what others have said.
//!
//! Beside `it`, because it raises the limit on open files. Neighbour: `it/unauthenticated.rs` has the single ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ringworld_auth::{Initiator, Secret};
use ringworld_transport::Transport;
use ringworld_transport_tcp::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Side, exchange, listener, world};

const SECRET: &str = "the secret of this job";

fn sides() -> Vec<Side> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|soft| soft < 8_000) {
        let current = Some(maximum.unwrap_or(8_000).min(8_000));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    }
    let configs = (0..2).map(|rank| {
        let mut config = Config::new(rank, 2, 7, vec![Ipv4Addr::LOCALHOST.into()]);
        config.secret = Secret::new(SECRET.into());
        config
    });
    world(configs.collect())
}

/// The Hello of rank 0 to rank 1, by the documented layout, made with `secret`.
fn hello(secret: &str) -> Vec<u8> {
    let purpose = [&b"ringworld tcp "[..], &3u32.to_le_bytes()].concat();
    let mut claim = Vec::new();
    for number in [7u64, 0, 1] {
        claim.extend(number.to_le_bytes());
    }
    claim.extend([0, 0, Config::LANES as u8, 0, 0, 0, 0, 0]);
    let (_, first) = Initiator::new(&Secret::new(secret.into()), &purpose, &claim).unwrap();
    [&b"RINGWTCP"[..], &3u32.to_le_bytes(), &first].concat()
}

/// How many of these are still connected; everything that was said to them is added to `heard`.
fn still_open(others: &mut [TcpStream], heard: &mut Vec<u8>) -> usize {
    let mut open = 0;
    for other in others {
        other.set_nonblocking(true).unwrap();
        let mut bytes = [0; 256];
        loop {
            match other.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => heard.extend_from_slice(&bytes[..read]),
                Err(error) => {
                    open += usize::from(error.kind() == ErrorKind::WouldBlock);
                    break;
                }
            }
        }
    }
    open
}

fn poll_for(sides: &mut [Side], time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        sides.iter_mut().for_each(|side| _ = side.poll());
    }
}

fn knock(sides: &mut [Side], hello: &[u8], count: usize) -> Vec<TcpStream> {
    let target = listener(&sides[1].tcp.address());
    let connect = |_| {
        let mut other = TcpStream::connect_timeout(&target, Duration::from_secs(1)).unwrap();
        other.write_all(hello).unwrap();
        sides[1].poll();
        other
    };
    (0..count).map(connect).collect()
}

#[test]
fn hellos_made_without_the_secret_are_turned_away_with_nothing_to_guess_by() {
    let mut sides = sides();
    let mut others = knock(&mut sides, &hello("a guess"), 1_500);
    exchange(&mut sides);
    poll_for(&mut sides, Duration::from_millis(200));
    let mut heard = Vec::new();
    still_open(&mut others, &mut heard);
    // Kind 3, Reject, and code 7, another secret: and zeros, so that there is nothing to compare a guess with.
    let refusal = [&[3, 0, 0, 0, 7, 0, 0, 0][..], &[0; 64]].concat();
    assert!(!heard.is_empty() && heard.len().is_multiple_of(refusal.len()));
    assert!(heard.chunks(refusal.len()).all(|words| words == refusal), "something else was told");
    exchange(&mut sides);
}

#[test]
fn repeated_hellos_are_bounded_and_keep_nobody_out() {
    let mut sides = sides();
    let mut others = knock(&mut sides, &hello(SECRET), 2_600);
    let silent = knock(&mut sides, b"", 1_500);
    exchange(&mut sides);
    poll_for(&mut sides, Duration::from_millis(200));
    let left = still_open(&mut others, &mut Vec::new());
    assert!(left <= 2_048, "{left} connections that prove nothing are kept");
    drop(silent);
    exchange(&mut sides);
}

#[test]
fn an_endless_stream_after_a_refusal_stops_nobody() {
    let mut sides = sides();
    exchange(&mut sides);
    let target = listener(&sides[1].tcp.address());
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let streams: Vec<_> = (0..4)
        .map(|_| {
            let (stop, written) = (Arc::clone(&stop), Arc::clone(&written));
            std::thread::spawn(move || {
                let megabyte = vec![0; 1 << 20];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(mut other) = TcpStream::connect(target) else { continue };
                    let _ = other.set_write_timeout(Some(Duration::from_secs(1)));
                    let mut sent = other.write_all(b"RINGWTCP\x63\0\0\0");
                    while sent.is_ok() && !stop.load(Ordering::Relaxed) {
                        sent = other.write_all(&megabyte);
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    let begin = Instant::now();
    for _ in 0..50 {
        exchange(&mut sides);
    }
    let took = begin.elapsed();
    stop.store(true, Ordering::Relaxed);
    streams.into_iter().for_each(|stream| stream.join().unwrap());
    println!("50 exchanges beside {} MiB took {took:?}", written.load(Ordering::Relaxed));
    // A poll reads 4 KiB of each at most: so much time passes only if one of them is read without end.
    assert!(took < Duration::from_secs(10), "{took:?}");
}
