//! Ports that nobody else uses while a test runs.
//!
//! A port that is found by binding port 0 and letting go may be given to anybody's next connection. These
//! are taken from below the system's range of ephemeral ports instead, and reserved against other tests,
//! of this process and any other, by a UDP socket on the same number; TCP stays free for the job.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 12_000;
const COUNT: u32 = 18_000;

/// A reserved port; dropped, it is free again.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _reservation: UdpSocket,
}

impl Port {
    /// Reserves a port on which nothing listens.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn free() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..COUNT {
            // Processes begin at places of their own, so that they rarely try the same numbers.
            let start = std::process::id().wrapping_mul(97);
            let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
            let number = u16::try_from(FIRST + offset).unwrap();
            let Ok(reservation) = UdpSocket::bind(("0.0.0.0", number)) else { continue };
            if TcpListener::bind(("0.0.0.0", number)).is_ok() {
                return Self { number, _reservation: reservation };
            }
        }
        panic!("no free port from {FIRST} to {}", FIRST + COUNT - 1)
    }

    /// The number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ports_differ_and_can_be_listened_on() {
        let ports: Vec<Port> = (0..20).map(|_| Port::free()).collect();
        let mut numbers: Vec<u16> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20);
        assert!(TcpListener::bind(("127.0.0.1", numbers[0])).is_ok());
    }
}
