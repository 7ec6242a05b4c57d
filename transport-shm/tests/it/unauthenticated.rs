//! Somebody on this host who is no process of the job, and finds the socket: it costs a bounded number of descriptors,
//! is told nothing, and keeps nobody out.

use std::os::fd::OwnedFd;

use ringworld_transport::Transport as _;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with,
};

use crate::support::{Side, until, world};

/// More than are let wait at once.
const MANY: usize = 700;

/// A connection to a rank, of somebody who has read its address.
fn knock(side: &Side) -> OwnedFd {
    let mut name = b"ringworld-shm-".to_vec();
    name.extend(&side.shm.address().as_bytes()[17..33]);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    connect(&socket, &SocketAddrUnix::new_abstract_name(&name).unwrap()).unwrap();
    socket
}

/// Whether the rank has closed a connection.
fn is_closed(socket: &OwnedFd) -> bool {
    let mut room = [0; 64];
    match recv(socket, &mut room[..], RecvFlags::empty()) {
        Ok((_, 0)) | Err(Errno::CONNRESET) => true,
        Err(Errno::AGAIN) => false,
        other => panic!("it was told something: {other:?}"),
    }
}

#[test]
fn those_who_say_nothing_make_room_and_keep_nobody_out() {
    let mut world = world(3);
    let silent: Vec<OwnedFd> = (0..MANY).map(|_| knock(&world[0])).collect();
    for rank in [1, 2] {
        world[rank].send(0, b"x");
    }
    until(&mut world, "messages beside a crowd", |world| world[0].received().count() == 2);
    let left = silent.iter().filter(|socket| !is_closed(socket)).count();
    assert!(left <= 256, "{left} of {MANY} connections are kept");
    assert!(world.iter().all(|side| side.down.is_empty() && side.broken.is_empty()));
}

#[test]
fn nonsense_is_answered_by_the_end_and_by_nothing_else() {
    let mut world = world(2);
    world[1].send(0, b"x");
    until(&mut world, "the first message", |world| world[0].received().count() == 1);
    let mut hello = b"RINGWSHM\x01\0\0\0".to_vec();
    hello.resize(12 + 96, 7);
    let long = vec![b'R'; 4_000];
    let nonsense: [&[u8]; 6] = [b"?", b"RINGWSHM", b"RINGWSHM\xff\xff\0\0", &hello[..50], &hello, &long];
    let sockets = nonsense.map(|bytes| {
        let socket = knock(&world[0]);
        assert_eq!(send(&socket, bytes, SendFlags::NOSIGNAL), Ok(bytes.len()));
        socket
    });
    until(&mut world, "the end of what says nonsense", |_| sockets.iter().all(is_closed));
    world[1].send(0, b"y");
    until(&mut world, "the second message", |world| world[0].received().count() == 2);
    assert!(world.iter().all(|side| side.down.is_empty() && side.broken.is_empty()));
}

#[test]
fn ranks_that_all_dial_one_at_once_are_all_let_in() {
    const SIZE: usize = 300;
    let mut world = world(SIZE);
    world[1..].iter_mut().for_each(|side| side.send(0, b"x"));
    // The one polls seldom: many of the others wait at once.
    for _ in 0..5 {
        world[1..].iter_mut().for_each(Side::poll);
    }
    until(&mut world, "all messages", |world| world[0].received().count() == SIZE - 1);
    assert!(world.iter().all(|side| side.down.is_empty() && side.broken.is_empty()));
}
