//! What the system's TCP knows of a connection, and the longest pause between its repetitions.
//!
//! Two options of Linux that no crate offers by a safe function: so two foreign calls stand here, and no other `unsafe`
//! code in this crate. The bytes of `TCP_INFO` are part of the kernel's interface: fields keep their places, newer ones
//! follow at the end. Neighbours: `silence.rs` judges by it, `watch.rs` asks.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::Socket;

use crate::silence::Sample;

/// More than any kernel has to say so far (6.18: 248 bytes).
const ROOM: usize = 512;
/// `TCP_RTO_MAX_MS`, since Linux 6.15.
const RTO_MAX_MS: libc::c_int = 44;
/// The pauses that it takes.
const RTO_MAX: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(120));

/// How the connection of `socket` stands.
///
/// # Errors
///
/// What the system says, or `UnexpectedEof` when it has not said enough (before Linux 4.6).
pub(crate) fn sample(socket: &Socket) -> io::Result<Sample> {
    let mut bytes = [0; ROOM];
    let mut length = ROOM as libc::socklen_t;
    // SAFETY: `bytes` has room for the `length` bytes that the kernel may write at most, and any bytes are valid there.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    parse(bytes.get(..length as usize).unwrap_or(&bytes)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// `struct tcp_info` of `linux/tcp.h`.
fn parse(bytes: &[u8]) -> Option<Sample> {
    let word = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes);
    let millis = |at| word(at).map(|ms| Duration::from_millis(ms.into()));
    Some(Sample {
        retransmissions: *bytes.get(2)?,
        probes: *bytes.get(3)?,
        unacknowledged: word(24)?,
        sent_again: word(100)?,
        data_heard: millis(52)?,
        ack_heard: millis(56)?,
        acknowledged: bytes.get(120..)?.first_chunk().copied().map(u64::from_ne_bytes)?,
        window: word(228),
    })
}

/// Has data and probes that nobody acknowledges repeated at least once in `pause`, where the kernel can do that: by
/// itself it pauses for up to two minutes, in which nothing would show that a peer who does not read is still there.
pub(crate) fn bound_pauses(socket: &Socket, pause: Duration) -> io::Result<()> {
    let pause = pause.clamp(RTO_MAX.0, RTO_MAX.1).as_millis() as libc::c_int;
    // SAFETY: the kernel reads the `c_int` at this address, which outlives the call.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            RTO_MAX_MS,
            (&raw const pause).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    let error = (answer != 0).then(io::Error::last_os_error);
    match error {
        // An older kernel.
        Some(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
        Some(error) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_has_been_acknowledged_and_heard_is_where_the_kernel_puts_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        here.write_all(&[7; 1000]).unwrap();
        there.read_exact(&mut [0; 1000]).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        there.write_all(&[1]).unwrap();
        here.read_exact(&mut [0]).unwrap();
        let [here, there] = [here, there].map(|stream| sample(&Socket::from(stream)).unwrap());
        // The kernel counts the byte of the connection's beginning on the side that opened it.
        assert_eq!(here.acknowledged, 1001, "{here:?}");
        assert_eq!((here.unacknowledged, here.retransmissions, here.probes), (0, 0, 0), "{here:?}");
        assert!(here.window.is_none_or(|window| window > 10_000), "{here:?}");
        assert!(here.data_heard < Duration::from_millis(200), "{here:?}");
        assert!(there.data_heard >= Duration::from_millis(250), "{there:?}");
        assert!(
            there.data_heard < Duration::from_secs(20) && there.ack_heard <= there.data_heard,
            "{there:?}"
        );
    }

    #[test]
    fn what_an_old_kernel_says_is_enough_or_an_error_but_never_made_up() {
        assert!(parse(&[0; 104]).is_none());
        assert_eq!(parse(&[0; 128]).unwrap().window, None);
        assert_eq!(parse(&[0; 232]).unwrap().window, Some(0));
    }
}
