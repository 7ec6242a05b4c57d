//! Records under a lane whose data is encrypted: what the lane writes is sealed, what it reads is opened.
//!
//! ```text
//! bytes 0..2   length of the record that follows, little-endian
//! bytes 2..    the record: up to [`RECORD`] bytes of the lane, and their tag
//! ```
//!
//! A lane writes and reads as if this were its socket. Invariants: after [`Sealed::receive`] has said `AGAIN`, nothing
//! that was opened is left, so that a poll which waits for the socket misses nothing; bytes that were sealed and not
//! taken by the kernel are told by [`Sealed::owes`]. The length is not sealed, but another one ends in a record that
//! cannot be opened. Neighbour: `lane.rs`.

use std::io::IoSlice;

use ringworld_auth::{AuthError, OVERHEAD, Session};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use socket2::Socket;

/// The most bytes of a lane in a record.
const RECORD: usize = 16 << 10;
const HEAD: usize = 2;
/// Records sealed for one write.
const BATCH: usize = 4;
/// A whole record on the wire.
const WHOLE: usize = HEAD + RECORD + OVERHEAD;

/// Both directions of one lane.
pub(crate) struct Sealed {
    session: Session,
    /// Bytes of the lane on their way into a record.
    gathered: Vec<u8>,
    /// Records, of which the kernel has taken the first `sent` bytes.
    outgoing: Vec<u8>,
    sent: usize,
    /// What has been read and not been opened: `start..end`.
    incoming: Box<[u8]>,
    start: usize,
    end: usize,
    /// What has been opened and not been taken by the lane: from `taken` on.
    opened: Vec<u8>,
    taken: usize,
}

/// A record could not be opened.
pub(crate) const FORGED: Errno = Errno::BADMSG;

impl Sealed {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            gathered: Vec::with_capacity(RECORD),
            outgoing: Vec::with_capacity(BATCH * WHOLE),
            sent: 0,
            incoming: vec![0; BATCH * WHOLE].into_boxed_slice(),
            start: 0,
            end: 0,
            opened: Vec::with_capacity(RECORD),
            taken: 0,
        }
    }

    /// Whether something sealed waits for room in the socket.
    pub(crate) fn owes(&self) -> bool {
        self.sent < self.outgoing.len()
    }

    /// Writes what is sealed, as far as the socket takes it; whether all of it is gone.
    pub(crate) fn push(&mut self, socket: &Socket) -> Result<bool, Errno> {
        while self.owes() {
            match rustix::net::send(socket, &self.outgoing[self.sent..], SendFlags::NOSIGNAL) {
                Ok(sent) => self.sent += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Seals and writes `slices`, until the socket is full; returns how many bytes were taken over.
    pub(crate) fn send(&mut self, socket: &Socket, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let mut taken = 0;
        let mut rest = slices.iter().map(|slice| &slice[..]);
        let mut slice: &[u8] = rest.next().unwrap_or_default();
        while self.push(socket)? {
            let before = taken;
            for _ in 0..BATCH {
                self.gathered.clear();
                while self.gathered.len() < RECORD {
                    if slice.is_empty() {
                        let Some(next) = rest.next() else { break };
                        slice = next;
                    }
                    let (part, left) = slice.split_at(slice.len().min(RECORD - self.gathered.len()));
                    self.gathered.extend_from_slice(part);
                    slice = left;
                }
                if self.gathered.is_empty() {
                    break;
                }
                self.seal()?;
                taken += self.gathered.len();
            }
            if taken == before {
                break;
            }
        }
        Ok(taken)
    }

    /// What was gathered, as a record behind the others.
    fn seal(&mut self) -> Result<(), Errno> {
        let length = self.gathered.len() + OVERHEAD;
        let at = self.outgoing.len();
        // A record is far below 64 KiB.
        self.outgoing.extend_from_slice(&(length as u16).to_le_bytes());
        self.outgoing.resize(at + HEAD + length, 0);
        let sealed = self.session.sealer.seal(&self.gathered, &mut self.outgoing[at + HEAD..]);
        sealed.map(|_| ()).map_err(|_| Errno::OVERFLOW)
    }

    /// The length of the next record, if all of it is here.
    fn complete(&self) -> Option<usize> {
        let here = &self.incoming[self.start..self.end];
        let length = usize::from(u16::from_le_bytes(*here.first_chunk()?));
        // One that is too long is never complete; it is refused as soon as its head is here.
        (here.len() >= HEAD + length || length > RECORD + OVERHEAD).then_some(length)
    }

    /// Whether there is something to take without reading from the socket.
    pub(crate) fn has_more(&self) -> bool {
        self.taken < self.opened.len() || self.complete().is_some()
    }

    /// Fills `first` and, when that is full, `second` with what the peer has sealed; returns how many bytes there were,
    /// 0 at the end.
    ///
    /// # Errors
    ///
    /// [`FORGED`], or what the socket says.
    pub(crate) fn receive(
        &mut self,
        socket: &Socket,
        first: &mut [u8],
        second: &mut [u8],
    ) -> Result<usize, Errno> {
        loop {
            if self.taken < self.opened.len() {
                let left = &self.opened[self.taken..];
                let (direct, ahead) = left.split_at(left.len().min(first.len()));
                first[..direct.len()].copy_from_slice(direct);
                let ahead = &ahead[..ahead.len().min(second.len())];
                second[..ahead.len()].copy_from_slice(ahead);
                let count = direct.len() + ahead.len();
                self.taken += count;
                return Ok(count);
            }
            if let Some(length) = self.complete() {
                let bytes = length.saturating_sub(OVERHEAD);
                if !(OVERHEAD + 1..=RECORD + OVERHEAD).contains(&length) {
                    return Err(FORGED);
                }
                let at = self.start + HEAD;
                let record = &self.incoming[at..at + length];
                self.start = at + length;
                let opener = &mut self.session.opener;
                let forged = |_: AuthError| FORGED;
                if bytes <= first.len() {
                    return opener.open(record, first).map_err(forged);
                }
                self.opened.resize(bytes, 0);
                self.taken = bytes;
                opener.open(record, &mut self.opened).map_err(forged)?;
                self.taken = 0;
                continue;
            }
            self.incoming.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            match rustix::net::recv(socket, &mut self.incoming[self.end..], RecvFlags::empty())? {
                (0, _) => return Ok(0),
                (read, _) => self.end += read,
            }
        }
    }
}
