//! Messages that are posted before there is a connection, to a rank that does something else.
//!
//! Neighbours: the promises of every transport about them are in the conformance kit; here is what TCP keeps, how much
//! of it, and what becomes of it.

use std::time::{Duration, Instant};

use crate::support::{Buffer, Side, local, pattern, until_all};
use ringworld_transport::{Header, KEPT, Operation, PROMPT, Posted, SendMemory, Token, Transport};

/// Posts a message from memory that is overwritten as soon as it is the caller's again.
fn post(side: &mut Side, soon: bool, header: u8, bytes: &[u8]) -> Posted {
    let memory = Buffer::new(bytes.to_vec());
    let (header, payload) = (Header::new(&[header]).unwrap(), memory.lend_to_send());
    let message = Operation::Message { peer: 1, header, payload, token: Token(0) };
    let posted = if soon { side.tcp.post_coalesced(message) } else { side.tcp.post(message) }.unwrap();
    match posted {
        Posted::Complete => memory.overwrite(0xee),
        Posted::Pending => side.pending += 1,
    }
    posted
}

fn check(side: &Side, expected: &[Vec<u8>]) {
    assert_eq!(side.inbox.arrivals.len(), expected.len());
    for (index, (arrival, bytes)) in side.inbox.arrivals.iter().zip(expected).enumerate() {
        assert_eq!((arrival.header[0], arrival.length), (index as u8, bytes.len()));
        assert!(arrival.memory.bytes() == bytes, "message {index} of {} bytes differs", bytes.len());
    }
}

#[test]
fn a_first_message_is_complete_at_once() {
    for (soon, length) in [(false, 1), (true, 1), (false, 0), (false, 4_000), (true, 70_000), (false, PROMPT)]
    {
        let mut world = local(2, "127.0.0.1");
        assert!(!world[0].tcp.owes());
        let bytes = pattern(3, length);
        assert_eq!(post(&mut world[0], soon, 0, &bytes), Posted::Complete, "{length} bytes");
        assert!(world[0].tcp.owes());
        until_all(&mut world, "the message", |world| world[1].received == 1);
        check(&world[1], &[bytes]);
        assert!(!world[0].tcp.owes(), "everything has left");
    }
}

#[test]
fn what_is_kept_for_a_peer_has_a_bound_and_an_order() {
    let mut world = local(2, "127.0.0.1");
    let mut messages = Vec::new();
    let fits = KEPT / PROMPT;
    for index in 0..fits + 3 {
        let bytes = pattern(index as u64, PROMPT - 100);
        let posted = post(&mut world[0], index % 2 == 1, index as u8, &bytes);
        let expected = if index < fits { Posted::Complete } else { Posted::Pending };
        assert_eq!(posted, expected, "message {index}");
        messages.push(bytes);
    }
    // There is still room for a short one, which must not overtake those that wait in their own memory.
    for length in [1, 9] {
        messages.push(pattern(1, length));
        let bytes = messages[messages.len() - 1].clone();
        assert_eq!(post(&mut world[0], false, messages.len() as u8 - 1, &bytes), Posted::Complete);
    }
    // Too long to be kept.
    messages.push(pattern(2, PROMPT + 1));
    let bytes = messages[messages.len() - 1].clone();
    assert_eq!(post(&mut world[0], false, messages.len() as u8 - 1, &bytes), Posted::Pending);
    until_all(&mut world, "all", |world| world[1].received == messages.len() && world[0].all_sent());
    check(&world[1], &messages);
    assert!(!world[0].tcp.owes());
}

/// Whoever is dialled while it has messages of its own to send, by the other's connection.
#[test]
fn what_is_kept_leaves_on_whichever_connection_comes() {
    let mut world = local(2, "127.0.0.1");
    let bytes = pattern(5, 50_000);
    assert_eq!(post(&mut world[0], false, 0, &bytes), Posted::Complete);
    world[1].send(0, b"back", Buffer::new(pattern(6, 60_000)).lend_to_send());
    until_all(&mut world, "both", |world| world[0].received == 1 && world[1].received == 1);
    check(&world[1], &[bytes]);
    assert!(world[0].inbox.arrivals[0].memory.bytes() == pattern(6, 60_000));
    assert!(!world[0].tcp.owes() && !world[1].tcp.owes());
}

#[test]
fn a_sender_that_closes_delivers_what_is_kept() {
    let mut world = local(2, "127.0.0.1");
    let bytes = pattern(7, 100_000);
    assert_eq!(post(&mut world[0], false, 0, &bytes), Posted::Complete);
    world[0].tcp.close();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(20) {
        world[0].poll();
    }
    assert!(!world[0].closed, "closed although the message has not been delivered");
    until_all(&mut world, "the end", |world| world[0].closed && world[1].closed_peers == [0]);
    check(&world[1], &[bytes]);
}

#[test]
fn a_sender_that_aborts_drops_what_is_kept() {
    let mut world = local(2, "127.0.0.1");
    assert_eq!(post(&mut world[0], false, 0, b"never"), Posted::Complete);
    world[0].tcp.abort();
    assert!(!world[0].tcp.owes());
    let begin = Instant::now();
    until_all(&mut world, "a pause", |_| begin.elapsed() > Duration::from_millis(50));
    assert_eq!((world[1].received, world[1].down.len()), (0, 0));
}

#[test]
fn a_peer_out_of_reach_is_down_although_the_message_was_complete() {
    let mut world = local(2, "127.0.0.1");
    drop(world.pop());
    assert_eq!(post(&mut world[0], false, 0, b"never"), Posted::Complete);
    until_all(&mut world, "PeerDown", |world| world[0].down.len() == 1);
    assert!(!world[0].tcp.owes());
}

/// A receiver that reads nothing: what the sockets do not take is owed until they do.
#[test]
fn bytes_for_which_the_wire_has_no_room_are_owed() {
    let mut world = local(2, "127.0.0.1");
    world[0].send(1, b"hello", SendMemory::empty());
    until_all(&mut world, "connected", |world| world[1].received == 1);
    assert!(!world[0].tcp.owes());
    world[0].send(1, b"big", Buffer::new(vec![1; 64 << 20]).lend_to_send());
    assert!(world[0].tcp.owes());
    until_all(&mut world, "the message", |world| world[1].received == 2 && world[0].all_sent());
    assert!(!world[0].tcp.owes());
    // What is coalesced leaves with the next poll.
    let mut small = |_| post(&mut world[0], true, 0, b"small");
    assert_eq!([0, 1].map(&mut small), [Posted::Complete; 2]);
    assert!(world[0].tcp.owes());
    world[0].poll();
    assert!(!world[0].tcp.owes());
}
