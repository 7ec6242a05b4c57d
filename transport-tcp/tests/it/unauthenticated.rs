//! Whoever does not belong never disturbs, and whoever belongs but is set up wrongly is told why.
//!
//! Neighbours: `src/handshake.rs` has the unit tests of each rejection; `sockets.rs` has the rest.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{Side, exchange, listener, local, until_all, world};
use ringworld_auth::Secret;
use ringworld_transport::{Address, Cause, SendMemory, Transport};
use ringworld_transport_tcp::{Config, Tcp};

/// An address of the transport's own encoding.
fn address_of(addresses: &[SocketAddr]) -> Address {
    let mut bytes = vec![1];
    for address in addresses {
        let SocketAddr::V4(address) = address else { panic!("the test uses IPv4") };
        bytes.push(4);
        bytes.extend(address.ip().octets());
        bytes.extend(address.port().to_be_bytes());
    }
    Address::new(bytes)
}

fn config(rank: usize, job: u64, secret: &str) -> Config {
    let mut config = Config::new(rank, 2, job, vec![Ipv4Addr::LOCALHOST.into()]);
    config.secret = Secret::new(secret.into());
    config
}

#[test]
fn unauthenticated_connections_are_dropped_before_during_and_after_connecting() {
    let mut sides = local(2, "127.0.0.1");
    let listeners: Vec<_> = sides.iter().map(|side| listener(&side.tcp.address())).collect();
    let mut silent = Vec::new();
    for round in 0..3 {
        let mut talkers = Vec::new();
        for listener in &listeners {
            for greeting in
                [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0xff; 4096], b"R", b"RINGWTCP\x07\0\0\0"]
            {
                let mut other = TcpStream::connect(listener).unwrap();
                other.write_all(greeting).unwrap();
                talkers.push((other, greeting.len()));
            }
            silent.push(TcpStream::connect(listener).unwrap());
            // Comes and goes.
            drop(TcpStream::connect(listener).unwrap());
        }
        exchange(&mut sides);
        for (mut other, length) in talkers {
            if length == 1 {
                continue;
            }
            // Whoever said something wrong is hung up on, perhaps with a reason.
            other.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let deadline = Instant::now() + Duration::from_secs(10);
            let mut answer = [0; 512];
            loop {
                sides.iter_mut().for_each(|side| {
                    side.poll();
                });
                match other.read(&mut answer) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => break,
                }
                assert!(
                    Instant::now() < deadline,
                    "round {round}: a connection that sent {length} bytes was left"
                );
                let _ = other.shutdown(std::net::Shutdown::Write);
            }
        }
    }
    sides.iter_mut().for_each(|side| side.tcp.close());
    until_all(&mut sides, "closing in spite of silent connections", |s| s.iter().all(|side| side.closed));
}

#[test]
fn a_silent_connection_is_closed_in_time() {
    let mut sides = local(1, "127.0.0.1");
    let mut other = TcpStream::connect(listener(&sides[0].tcp.address())).unwrap();
    other.set_nonblocking(true).unwrap();
    let start = Instant::now();
    loop {
        sides[0].poll();
        match other.read(&mut [0; 8]) {
            Ok(0) => break,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
        assert!(start.elapsed() < Duration::from_secs(20), "still there");
    }
    assert!(start.elapsed() >= Duration::from_secs(9), "an honest peer may be slow");
}

#[test]
fn many_unauthenticated_connections_do_not_keep_a_peer_out() {
    let mut sides = local(2, "127.0.0.1");
    let target = listener(&sides[1].tcp.address());
    let mut others = Vec::new();
    for _ in 0..1500 {
        // The process may run out of descriptors: that is a part of the test.
        let Ok(other) = TcpStream::connect_timeout(&target, Duration::from_secs(1)) else { break };
        others.push(other);
        sides[1].poll();
    }
    println!("{} unauthenticated connections", others.len());
    assert!(others.len() > 100);
    others.truncate(others.len() - 8);
    exchange(&mut sides);
}

#[test]
fn another_secret_is_refused_with_its_remedy_and_harms_nobody() {
    let mut sides = world(vec![config(0, 1, "right"), config(1, 1, "wrong")]);
    sides[0].send(1, b"x", SendMemory::empty());
    until_all(&mut sides, "the refusal", |s| !s[0].down.is_empty());
    let [(1, Cause::Rejected(text))] = &sides[0].down[..] else { panic!("{:?}", sides[0].down) };
    assert!(text.contains("secret"), "{text}");
    assert!(sides[1].down.is_empty() && sides[1].received == 0);
}

#[test]
fn another_job_is_refused_with_its_remedy_and_harms_nobody() {
    let mut sides = world(vec![config(0, 1, ""), config(1, 2, "")]);
    sides[0].send(1, b"x", SendMemory::empty());
    until_all(&mut sides, "the refusal", |s| !s[0].down.is_empty());
    let [(1, Cause::Rejected(text))] = &sides[0].down[..] else { panic!("{:?}", sides[0].down) };
    assert!(text.contains("job"), "{text}");
    assert!(sides[1].down.is_empty() && sides[1].received == 0);
}

#[test]
fn a_matching_secret_connects() {
    exchange(&mut world(vec![config(0, 1, "same"), config(1, 1, "same")]));
}

#[test]
fn wrong_addresses_are_passed_over() {
    // One refuses, one says nothing, one is another rank of the same job, one is right.
    let refused = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut world: Vec<Side> = (0..3)
        .map(|rank| Config::new(rank, 3, 1, vec![Ipv4Addr::LOCALHOST.into()]))
        .map(|config| Side::new(Tcp::bind(config).unwrap()))
        .collect();
    let at: Vec<_> = world.iter().map(|side| listener(&side.tcp.address())).collect();
    let mine = [refused, at[2], silent.local_addr().unwrap(), at[1]];
    world[0].tcp.connect(1, &address_of(&mine)).unwrap();
    world[0].send(1, b"x", SendMemory::empty());
    until_all(&mut world, "the right address", |s| s[1].received == 1);
    assert!(world.iter().all(|side| side.down.is_empty()));
}

#[test]
fn a_refusal_of_somebody_who_has_not_shown_who_it_is_leads_to_the_next_address() {
    // By the documented layout: kind 3, Reject; then that this rank is there twice, down, finished.
    for code in [8u8, 9, 10] {
        let liar = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let lies_at = liar.local_addr().unwrap();
        let lying = std::thread::spawn(move || {
            let (mut other, _) = liar.accept().unwrap();
            other.read_exact(&mut [0; 92]).unwrap();
            let mut words = [0; 72];
            (words[0], words[4]) = (3, code);
            other.write_all(&words).unwrap();
        });
        let mut sides = world(vec![config(0, 1, "secret"), config(1, 1, "secret")]);
        let real = listener(&sides[1].tcp.address());
        sides[0].tcp.connect(1, &address_of(&[lies_at, real])).unwrap();
        sides[0].send(1, b"x", SendMemory::empty());
        until_all(&mut sides, "the real one", |s| s[1].received == 1);
        lying.join().unwrap();
        assert!(sides.iter().all(|side| side.down.is_empty()), "code {code}: {:?}", sides[0].down);
    }
}

#[test]
fn a_peer_out_of_reach_is_down_with_every_address_named() {
    let gone = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let addresses = [gone(), gone()];
    let mut sides = local(2, "127.0.0.1");
    sides[0].tcp.connect(1, &address_of(&addresses)).unwrap();
    let start = Instant::now();
    sides[0].send(1, b"x", SendMemory::empty());
    assert!(sides[0].until(|side| !side.down.is_empty()));
    assert!(start.elapsed() < Duration::from_secs(1), "a refusal is known at once");
    let [(1, Cause::Unreachable(text))] = &sides[0].down[..] else { panic!("{:?}", sides[0].down) };
    assert!(addresses.iter().all(|address| text.contains(&address.to_string())), "{text}");
}

#[test]
fn who_is_reachable_from_one_side_only_is_reached() {
    // Both dial at once; the lower rank, whose connection would have precedence, dials in vain.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut sides = local(2, "127.0.0.1");
    sides[0].tcp.connect(1, &address_of(&[silent.local_addr().unwrap()])).unwrap();
    exchange(&mut sides);
}
