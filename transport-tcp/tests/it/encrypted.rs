//! Encrypted lanes: somebody in between can neither read nor alter what travels.
//!
//! Neighbour: `conformance.rs` runs the whole kit over encrypted lanes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Buffer, Side, until_all, world};
use ringworld_auth::Secret;
use ringworld_transport::{Address, Cause, Transport};
use ringworld_transport_tcp::{Config, Tcp};

fn config(rank: usize, secret: &str, encrypt: bool) -> Config {
    let mut config = Config::new(rank, 2, 1, vec![Ipv4Addr::LOCALHOST.into()]);
    config.secret = Secret::new(secret.into());
    config.encrypt = encrypt;
    config
}

/// Carries bytes to a listener and back.
#[derive(Clone, Default)]
struct Between {
    /// Everything that has passed.
    seen: Arc<Mutex<Vec<u8>>>,
    /// Which byte towards the listener to alter, counted from the beginning; 0 for none.
    alter: Arc<AtomicUsize>,
}

impl Between {
    fn carry(&self, mut from: TcpStream, mut to: TcpStream, inward: bool) {
        let between = self.clone();
        std::thread::spawn(move || {
            let (mut bytes, mut passed) = ([0; 4096], 0);
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                let alter = between.alter.load(Ordering::SeqCst);
                if inward && alter > 0 && (passed..passed + read).contains(&alter) {
                    bytes[alter - passed] ^= 1;
                }
                passed += read;
                between.seen.lock().unwrap().extend_from_slice(&bytes[..read]);
                if to.write_all(&bytes[..read]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
    }
}

/// The address that an address of the transport's own encoding begins with, and that encoding of another.
fn listener(address: &Address) -> SocketAddr {
    let bytes = address.as_bytes();
    SocketAddr::from(([bytes[2], bytes[3], bytes[4], bytes[5]], u16::from_be_bytes([bytes[6], bytes[7]])))
}

/// Two ranks of which rank 0 reaches rank 1 through somebody in between.
fn sides(encrypt: bool) -> (Vec<Side>, Between) {
    let configs = (0..2).map(|rank| config(rank, "a secret of the job", encrypt)).collect();
    let mut sides = world(configs);
    let real = listener(&sides[1].tcp.address());
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = door.local_addr().unwrap().port();
    let address = Address::new([&[1, 4, 127, 0, 0, 1][..], &port.to_be_bytes()].concat());
    sides[0].tcp.connect(1, &address).unwrap();
    let between = Between::default();
    let carrier = between.clone();
    std::thread::spawn(move || {
        for near in door.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(real).unwrap());
            carrier.carry(near.try_clone().unwrap(), far.try_clone().unwrap(), true);
            carrier.carry(far, near, false);
        }
    });
    (sides, between)
}

const TEXT: &[u8] = b"what nobody else should read";

#[test]
fn what_travels_cannot_be_read_on_its_way() {
    for encrypt in [false, true] {
        let (mut sides, between) = sides(encrypt);
        let bytes = Buffer::new(TEXT.repeat(10_000));
        sides[0].send(1, b"header", bytes.lend_to_send());
        until_all(&mut sides, "a message", |s| s[1].received == 1);
        assert_eq!(sides[1].inbox.arrivals[0].memory.bytes(), bytes.bytes());
        let seen = between.seen.lock().unwrap();
        let readable = seen.windows(TEXT.len()).any(|part| part == TEXT);
        assert_eq!(readable, !encrypt);
        assert!(seen.len() >= bytes.bytes().len());
    }
}

#[test]
fn a_byte_that_somebody_alters_ends_the_connection_by_name() {
    // In the length of a record, in its bytes, and in a later record: behind 92 bytes of Hello and 20 of proof.
    for at in [112, 113, 130, 20_000, 100_000] {
        let (mut sides, between) = sides(true);
        between.alter.store(at, Ordering::SeqCst);
        let bytes = Buffer::new(TEXT.repeat(10_000));
        sides[0].send(1, b"header", bytes.lend_to_send());
        until_all(&mut sides, "the refusal", |s| !s[1].down.is_empty());
        let [(0, Cause::Protocol(text))] = &sides[1].down[..] else { panic!("{at}: {:?}", sides[1].down) };
        assert!(text.contains("rank 0") && text.contains("altered on its way"), "{text}");
        assert_eq!(sides[1].received, 0);
    }
}

#[test]
fn a_peer_that_does_not_encrypt_is_refused_with_the_remedy() {
    let mut sides = world(vec![config(0, "same", true), config(1, "same", false)]);
    sides[0].send(1, b"x", ringworld_transport::SendMemory::empty());
    until_all(&mut sides, "the refusal", |s| !s[0].down.is_empty());
    let [(1, Cause::Rejected(text))] = &sides[0].down[..] else { panic!("{:?}", sides[0].down) };
    assert!(text.contains("RINGWORLD_ENCRYPT"), "{text}");
}

#[test]
fn encryption_without_a_secret_is_refused() {
    let error = Tcp::bind(config(0, "", true)).unwrap_err().to_string();
    assert!(error.contains("RINGWORLD_SECRET") && error.contains("RINGWORLD_ENCRYPT"), "{error}");
}
