//! Whoever does not know the secret: at the master's door, and in between.
//!
//! A program of its own, because it needs more open files than most.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Rank, finish, free_port, settings, spawn, world_at};
use ringworld_bootstrap::{ControlEvent, Master, MasterConfig, raise_descriptor_limit};

/// Listens with a queue that is not filled at once.
fn listen(port: u16) -> TcpListener {
    let address: std::net::SocketAddr = ([127, 0, 0, 1], port).into();
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket.listen(4096).unwrap();
    socket.into()
}

/// Somebody who keeps many connections open at a port, each new as soon as it was dropped.
struct Knocking {
    made: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Knocking {
    fn at(port: u16, count: usize, greeting: &'static [u8]) -> Self {
        let (made, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, ended) = (Arc::clone(&made), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut open: Vec<Option<TcpStream>> = (0..count).map(|_| None).collect();
            for place in (0..count).cycle() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                if open[place].as_mut().is_some_and(is_open) {
                    continue;
                }
                let address = ([127, 0, 0, 1], port).into();
                open[place] = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok();
                if let Some(stream) = &mut open[place] {
                    counter.fetch_add(1, Ordering::Relaxed);
                    let _ = stream.write_all(greeting);
                    let _ = stream.set_nonblocking(true);
                }
            }
        });
        Self { made, stop, thread }
    }

    fn wait_for(&self, count: usize) {
        while self.made.load(Ordering::Relaxed) < count {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.made.load(Ordering::Relaxed)
    }
}

fn is_open(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn a_world_forms_however_many_knock_at_the_masters_door() {
    raise_descriptor_limit(16_000).expect("room for the connections of both sides");
    // A whole first message, made without the secret, is as good as silence.
    let mut forged = b"RINGWCTL\x05\0".to_vec();
    forged.extend([7; 48]);
    for greeting in [&b""[..], b"RINGWCTL", forged.leak()] {
        let port = free_port();
        let listener = listen(port);
        let with = &[("secret", "a secret of the job"), ("master_external", "1")][..];
        let master = Master::serve(listener, MasterConfig::new(4, &settings(port, 4, with))).unwrap();
        let knocking = Knocking::at(port, 3_500, greeting);
        knocking.wait_for(3_500);
        let begin = Instant::now();
        let ranks = world_at(port, 4, with);
        let took = begin.elapsed();
        println!("{} connections; the world formed in {took:?}", knocking.stop());
        assert!(took < Duration::from_secs(10), "{took:?}");
        finish(ranks);
        drop(master);
    }
}

/// Carries bytes between whoever connects and the master; then alters one, or adds some.
struct Between {
    port: u16,
    /// 1: alter a byte for the master; 2: for the rank; 3: add what was said before.
    deed: Arc<AtomicU8>,
}

fn carry(mut from: TcpStream, mut to: TcpStream, deed: &AtomicU8, mine: u8) {
    let mut bytes = [0; 4096];
    let mut before = Vec::new();
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        let asked = deed.load(Ordering::SeqCst);
        if asked == mine {
            bytes[read / 2] ^= 1;
        } else if asked == 3 && mine == 1 && !before.is_empty() {
            let _ = to.write_all(&before);
        }
        before = bytes[..read].to_vec();
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

impl Between {
    fn new(master: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let deed = Arc::new(AtomicU8::new(0));
        let shared = Arc::clone(&deed);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let rank = stream.unwrap();
                let Ok(master) = TcpStream::connect(("127.0.0.1", master)) else { return };
                for (from, to, mine) in [(&rank, &master, 1), (&master, &rank, 2)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let deed = Arc::clone(&shared);
                    std::thread::spawn(move || carry(from, to, &deed, mine));
                }
            }
        });
        Self { port, deed }
    }
}

/// A world of two in which rank 1 reaches the master through somebody in between.
fn world_with_somebody_between(with: &[(&str, &str)]) -> (Vec<Rank>, Between) {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut with = with.to_vec();
    with.extend([("master_external", "1"), ("peer_timeout", "2s")]);
    let _master = Master::serve(listener, MasterConfig::new(2, &settings(port, 2, &with))).unwrap();
    let between = Between::new(port);
    let direct = spawn(settings(port, 2, &[&with[..], &[("rank", "0")]].concat()), "direct");
    let through = spawn(settings(between.port, 2, &[&with[..], &[("rank", "1")]].concat()), "through");
    (vec![direct.join().unwrap().unwrap(), through.join().unwrap().unwrap()], between)
}

#[test]
fn frames_that_somebody_in_between_alters_or_adds_are_refused_by_name() {
    for (deed, what) in [(1, "an altered byte for the master"), (3, "what was said before, again")] {
        let (ranks, between) = world_with_somebody_between(&[("secret", "a secret of the job")]);
        between.deed.store(deed, Ordering::SeqCst);
        let cause = ranks[0].hears_death(1, Duration::from_secs(5));
        assert!(cause.contains("forged, or altered on its way"), "{what}: {cause}");
    }
    let (ranks, between) = world_with_somebody_between(&[("secret", "a secret of the job")]);
    between.deed.store(2, Ordering::SeqCst);
    let lost =
        ranks[1].hears(Duration::from_secs(5), |event| matches!(event, ControlEvent::MasterLost { .. }));
    let ControlEvent::MasterLost { cause } = lost else { unreachable!() };
    assert!(cause.contains("forged, or altered on its way"), "{cause}");
}

#[test]
fn who_merely_carries_the_bytes_changes_nothing() {
    let (ranks, _between) = world_with_somebody_between(&[("secret", "a secret of the job")]);
    std::thread::sleep(Duration::from_secs(1));
    assert!(ranks.iter().all(|rank| rank.events.try_recv().is_err()));
    finish(ranks);
}
