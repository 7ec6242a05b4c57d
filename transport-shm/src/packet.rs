//! Packets on Unix sockets, and descriptors that travel with them.
//!
//! Sockets of the kind `SOCK_SEQPACKET` keep the borders of packets, so nothing is ever read in part. Neighbours:
//! `handshake.rs` makes the packets, `pending.rs` owns the sockets.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// The longest packet that anybody sends here.
pub(crate) const LONGEST: usize = 256;
/// The most descriptors that come with one.
pub(crate) const FDS: usize = 4;

/// What has come.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing yet.
    Nothing,
    /// A packet, and the descriptors that came with it.
    Packet(Vec<u8>, Vec<OwnedFd>),
    /// Nothing will come any more.
    End,
}

/// Sends one packet.
///
/// # Errors
///
/// What the system says: no packet here is so long, and none of them so many, that there would be no room for it.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS))];
    send_by(socket, bytes, fds, &mut space)
}

/// The same with up to 16 descriptors, which is more than anybody here hands over.
#[cfg(any(test, fuzzing))]
pub(crate) fn send_many(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    send_by(socket, bytes, fds, &mut space)
}

fn send_by(
    socket: impl AsFd,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    space: &mut [MaybeUninit<u8>],
) -> Result<(), Errno> {
    let mut control = SendAncillaryBuffer::new(space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::INVAL);
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives one packet if there is one.
///
/// # Errors
///
/// What the system says; `MFILE` when descriptors came that this process has no room for, and `MSGSIZE` when more came
/// than with any packet here.
pub(crate) fn receive(socket: impl AsFd) -> Result<Received, Errno> {
    receive_by(socket, RecvFlags::empty())
}

/// The same, but a packet stays where it is while this process lacks what it takes to receive it, and comes next time.
pub(crate) fn receive_or_leave(socket: impl AsFd) -> Result<Received, Errno> {
    let received = receive_by(&socket, RecvFlags::PEEK)?;
    if matches!(received, Received::Packet(..)) {
        // Descriptors that come with it have been received, and are not received again.
        rustix::net::recv(&socket, &mut [0; LONGEST], RecvFlags::empty())?;
    }
    Ok(received)
}

fn receive_by(socket: impl AsFd, flags: RecvFlags) -> Result<Received, Errno> {
    let mut bytes = [0; LONGEST + 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let answer = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC | flags,
    );
    let received = match answer {
        Err(Errno::AGAIN | Errno::INTR) => return Ok(Received::Nothing),
        other => other?,
    };
    let fds = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.collect(),
        _ => Vec::new(),
    });
    let fds: Vec<OwnedFd> = fds.collect();
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(if fds.len() >= FDS { Errno::MSGSIZE } else { Errno::MFILE });
    }
    if received.bytes == 0 {
        return Ok(Received::End);
    }
    Ok(Received::Packet(bytes[..received.bytes].to_vec(), fds))
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).unwrap()
    }

    #[test]
    fn packets_keep_their_borders_and_their_descriptors() {
        let (one, other) = pair();
        assert!(matches!(receive(&other), Ok(Received::Nothing)));
        send(&one, b"first", &[]).unwrap();
        send(&one, b"second", &[one.as_fd(), other.as_fd()]).unwrap();
        let mut all = Vec::new();
        while let Ok(Received::Packet(bytes, fds)) = receive(&other) {
            all.push((bytes, fds.len()));
        }
        assert_eq!(all, [(b"first".to_vec(), 0), (b"second".to_vec(), 2)]);
        drop(one);
        assert!(matches!(receive(&other), Ok(Received::End)));
        assert!(send(&other, b"late", &[]).is_err());
    }

    #[test]
    fn a_packet_that_may_be_left_is_received_once() {
        let (one, other) = pair();
        assert!(matches!(receive_or_leave(&other), Ok(Received::Nothing)));
        send(&one, b"first", &[one.as_fd()]).unwrap();
        send(&one, b"second", &[]).unwrap();
        for (expected, with) in [(&b"first"[..], 1), (b"second", 0)] {
            let received = receive_or_leave(&other).unwrap();
            assert!(
                matches!(received, Received::Packet(bytes, fds) if bytes == expected && fds.len() == with)
            );
        }
        drop(one);
        assert!(matches!(receive_or_leave(&other), Ok(Received::End)));
    }

    #[test]
    fn more_descriptors_than_are_expected_are_refused() {
        let (one, other) = pair();
        send_many(&one, b"x", &[one.as_fd(); 2 * FDS]).unwrap();
        // Not for want of room for them.
        assert!(matches!(receive(&other), Err(Errno::MSGSIZE)));
    }
}
