//! Where a rank can be reached: ports, addresses that are translated, addresses that are gone, and hosts that do not
//! answer.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Side, until_all};
use ringworld_transport::{Address, Cause, SendMemory, Transport};
use ringworld_transport_tcp::{BindError, Config, Tcp};
use socket2::{Domain, SockAddr, Socket, Type};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn config(rank: usize) -> Config {
    Config::new(rank, 2, 1, vec![HERE])
}

/// The address of a rank that listens there.
fn address(at: SocketAddr) -> Address {
    let IpAddr::V4(ip) = at.ip() else { panic!("{at}") };
    Address::new([&[1, 4], &ip.octets()[..], &at.port().to_be_bytes()].concat())
}

/// Where others are told that a rank listens, if that is one place.
fn told(tcp: &Tcp) -> SocketAddr {
    match tcp.address().as_bytes() {
        [1, 4, a, b, c, d, high, low] => {
            SocketAddr::new(Ipv4Addr::new(*a, *b, *c, *d).into(), u16::from_be_bytes([*high, *low]))
        }
        other => panic!("not one address: {other:?}"),
    }
}

#[test]
fn an_address_that_is_gone_is_left_out_and_none_left_is_an_error() {
    // TEST-NET-1, which no interface has.
    let gone = IpAddr::from([192, 0, 2, 1]);
    let tcp = Tcp::bind(Config::new(0, 2, 1, vec![gone, HERE])).unwrap();
    assert_eq!(told(&tcp).ip(), HERE);
    let error = Tcp::bind(Config::new(0, 2, 1, vec![gone])).unwrap_err();
    assert!(matches!(error, BindError::NoneLeft(_)) && error.to_string().contains("192.0.2.1"), "{error}");
}

#[test]
fn ports_are_taken_from_the_range_also_after_a_job_that_has_just_ended() {
    let other = TcpListener::bind((HERE, 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let at = |ports| {
        let mut config = config(0);
        config.ports = Some(ports);
        Tcp::bind(config)
    };
    let error = at(port..=port).unwrap_err();
    assert!(matches!(error, BindError::Ports { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("RINGWORLD_TCP_PORTS") && text.contains(&port.to_string()), "{text}");
    // Two ranks of one host, beside what is there already.
    let last = port.saturating_add(40);
    let [one, two] = [at(port..=last).unwrap(), at(port..=last).unwrap()].map(|tcp| told(&tcp).port());
    assert!((port..=last).contains(&one) && (port..=last).contains(&two), "{one} {two}");
    // The side that closes first lingers at that port.
    let far = TcpStream::connect((HERE, port)).unwrap();
    drop(other.accept().unwrap());
    drop((far, other));
    assert_eq!(told(&at(port..=port).unwrap()).port(), port);
}

#[test]
fn ranks_meet_at_an_address_that_is_translated_on_the_way() {
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let mut translated = config(1);
    translated.advertise = vec![ELSEWHERE];
    let (mut here, there) = (Tcp::bind(config(0)).unwrap(), Tcp::bind(translated).unwrap());
    let door = told(&there);
    assert_eq!(door.ip(), ELSEWHERE);
    // What a router would do.
    let (listener, passed) = (TcpListener::bind(door).unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&passed);
    std::thread::spawn(move || {
        for outside in listener.incoming().flatten() {
            let inside = TcpStream::connect((HERE, door.port())).unwrap();
            let ways = [(outside.try_clone().unwrap(), inside.try_clone().unwrap()), (inside, outside)];
            for (mut from, mut to) in ways {
                let count = Arc::clone(&count);
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(read @ 1..) = from.read(&mut bytes) {
                        count.fetch_add(read, Ordering::Relaxed);
                        let _ = to.write_all(&bytes[..read]);
                    }
                });
            }
        }
    });
    here.connect(1, &there.address()).unwrap();
    let mut world = [Side::new(here), Side::new(there)];
    world[0].send(1, b"hello", SendMemory::empty());
    until_all(&mut world, "a message", |world| world[1].received == 1);
    assert!(passed.load(Ordering::Relaxed) > 100, "it went another way");
}

/// A listener whose queue is full: Linux drops further requests for connections, as a firewall would.
fn deaf() -> (Socket, Vec<TcpStream>, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::from(SocketAddr::new(HERE, 0))).unwrap();
    socket.listen(0).unwrap();
    let at = socket.local_addr().unwrap().as_socket().unwrap();
    let brief = Duration::from_millis(200);
    let waiting = std::iter::from_fn(|| TcpStream::connect_timeout(&at, brief).ok()).take(8).collect();
    (socket, waiting, at)
}

#[test]
fn a_host_that_does_not_answer_is_unreachable_after_the_timeout() {
    let (_socket, waiting, at) = deaf();
    assert!(waiting.len() < 8, "the queue is not full");
    let mut settings = config(0);
    settings.connect_timeout = Duration::from_secs(1);
    let mut tcp = Tcp::bind(settings).unwrap();
    tcp.connect(1, &address(at)).unwrap();
    let mut side = Side::new(tcp);
    let begin = Instant::now();
    side.send(1, b"hello", SendMemory::empty());
    assert!(side.until(|side| !side.down.is_empty()));
    let late = begin.elapsed();
    let [(1, Cause::Unreachable(text))] = &side.down[..] else { panic!("{:?}", side.down) };
    for part in [&at.to_string(), "no answer for 1 s", "RINGWORLD_TIMEOUT", "firewall"] {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
    assert!((Duration::from_secs(1)..Duration::from_secs(3)).contains(&late), "after {late:?}");
}

#[test]
fn a_program_that_does_not_answer_is_waited_for() {
    // Its kernel accepts connections; it may be a rank that computes.
    let silent = TcpListener::bind((HERE, 0)).unwrap();
    let mut settings = config(0);
    settings.connect_timeout = Duration::from_millis(200);
    settings.silence = Some(Duration::from_millis(400));
    let mut tcp = Tcp::bind(settings).unwrap();
    tcp.connect(1, &address(silent.local_addr().unwrap())).unwrap();
    let mut side = Side::new(tcp);
    side.send(1, b"hello", SendMemory::empty());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        side.poll();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(side.down.is_empty(), "{:?}", side.down);
    drop(silent);
    assert!(side.until(|side| !side.down.is_empty()), "its end is noticed");
}
