//! Connections whose handshake is under way: sockets, partial frames, and who may stay how long.
//!
//! Invariant: an unauthenticated connection costs one slot and one descriptor, never memory that grows and never time
//! of a connection that is established. One that sends nothing is closed after [`PATIENCE`], one whose Hello was good
//! after [`VOUCHED_PATIENCE`], and the oldest is closed when there are too many of a kind. An initiator is never
//! hurried: its peer may be computing. Neighbours: `handshake.rs` checks the bytes, `connect.rs` decides what follows.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ringworld_auth::Session;
use ringworld_transport::Rank;
use ringworld_transport::watched::Watched;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use socket2::Socket;

use crate::handshake::{
    Answer, HELLO, Identity, Initiator, InitiatorStep, RECORD, REPLY, Rejection, Responder, reject,
};
use crate::silence::Silence;

/// How long an unauthenticated connection may take for its Hello, and how long one that was turned away may take to
/// leave.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// An unauthenticated connection that has sent nothing for so long makes room for others when descriptors are short.
/// Whoever belongs to the job speaks as soon as it is connected.
pub(crate) const HURRY: Duration = Duration::from_secs(1);
/// How long whoever has sent a good Hello may take to prove that it is no recorded one. Long, because it may compute;
/// who is closed so dials again.
pub(crate) const VOUCHED_PATIENCE: Duration = Duration::from_secs(60);
/// The most unauthenticated connections of each kind at a time: those without, and those with a good Hello. Fewer where
/// that would be more than a quarter of the files that this process may open.
pub(crate) const MAX_UNAUTHENTICATED: usize = 1024;
/// The most bytes that are read in one go from a connection that was turned away, and in all until it is closed: so
/// much as lets an honest one read why.
const DRAIN: usize = 4 << 10;
const DRAIN_IN_ALL: usize = 64 << 10;

/// Which part of the handshake a connection is in.
pub(crate) enum Role {
    /// Made from here; `connected` once the system says so.
    Outbound { initiator: Initiator, hello: [u8; HELLO], peer: Rank, lane: usize, connected: bool },
    /// Accepted; has not said who it is.
    Unauthenticated,
    /// Accepted; its Hello was made with the secret, and it has been asked to prove that it was not a recorded one.
    Challenged(Box<Responder>),
    /// Accepted and believed; waits for the decision whether it is wanted.
    Verified(Box<Responder>),
    /// Turned away; stays only so that it can read the reason. So many bytes of it have been read since.
    Leaving { drained: usize },
}

/// How an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system could not connect.
    Unreachable(String),
    /// Nobody has answered.
    Unanswered(String),
    /// Somebody was there and hung up before the handshake was over.
    HungUp(String),
    /// Somebody was there and is not the peer, or does not want us.
    Rejected(String),
    /// The peer has closed.
    Finished,
}

/// What came of driving a connection.
#[derive(Debug)]
pub(crate) enum Progress {
    /// Nothing to decide yet.
    Wait,
    /// The system has connected this outbound connection.
    Connected,
    /// This outbound connection has sent its proof.
    Committed,
    /// This outbound connection is made, with these keys.
    Established(Box<Session>),
    /// This inbound connection is who it says.
    Verified,
    /// An outbound connection has failed.
    Failed(Failure),
    /// An inbound connection has been refused; it stays while its role is [`Role::Leaving`].
    TurnedAway(Rejection),
    /// An inbound connection has ended.
    Gone,
}

/// One connection whose handshake is under way.
pub(crate) struct Pending {
    pub(crate) socket: Watched<Socket>,
    pub(crate) remote: SocketAddr,
    pub(crate) born: Instant,
    pub(crate) role: Role,
    /// Whether epoll has been asked to report that the socket is writable.
    pub(crate) wants_write: bool,
    pub(crate) silence: Silence,
    /// It has been said that the peer is late.
    pub(crate) mentioned: bool,
    inbox: [u8; HELLO],
    have: usize,
    outbox: [u8; HELLO],
    unsent: std::ops::Range<usize>,
}

// One buffer serves every frame.
const _: () = assert!(REPLY <= HELLO && RECORD <= HELLO);

impl Pending {
    pub(crate) fn new(socket: Watched<Socket>, remote: SocketAddr, born: Instant, role: Role) -> Self {
        Self {
            socket,
            remote,
            born,
            role,
            wants_write: false,
            silence: Silence::default(),
            mentioned: false,
            inbox: [0; HELLO],
            have: 0,
            outbox: [0; HELLO],
            unsent: 0..0,
        }
    }

    /// Whether the socket should be watched for room to write.
    pub(crate) fn needs_write(&self) -> bool {
        !self.unsent.is_empty() || matches!(self.role, Role::Outbound { connected: false, .. })
    }

    /// Whether this process connects to `rank` with it.
    pub(crate) fn is_for(&self, rank: Rank) -> bool {
        matches!(self.role, Role::Outbound { peer, .. } if peer == rank)
    }

    /// Whether this process makes it, and the peer's system has not answered yet.
    pub(crate) fn is_connecting(&self) -> bool {
        matches!(self.role, Role::Outbound { connected: false, .. })
    }

    /// Whether this process has made it, and the peer's system has taken it: the peer's program may answer late.
    pub(crate) fn has_connected(&self) -> bool {
        matches!(self.role, Role::Outbound { connected: true, .. })
    }

    /// Sends `bytes` as soon as possible. Only one frame is ever under way.
    fn send_frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.outbox[..bytes.len()].copy_from_slice(bytes);
        self.unsent = 0..bytes.len();
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match rustix::net::send(&self.socket, &self.outbox[self.unsent.clone()], SendFlags::NOSIGNAL) {
                Ok(sent) => self.unsent.start += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Reads towards a frame of `size` bytes; `true` when it is complete.
    fn read(&mut self, size: usize) -> io::Result<bool> {
        while self.have < size {
            match rustix::net::recv(&self.socket, &mut self.inbox[self.have..size], RecvFlags::empty()) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((read, _)) => self.have += read,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno.into()),
            }
        }
        self.have = 0;
        Ok(true)
    }

    /// Tells an inbound connection why it must go, in `words`, if it can be told; lets it go by itself.
    fn leave(&mut self, words: Option<&[u8]>, rejection: Rejection, now: Instant) -> Progress {
        if words.is_some_and(|words| self.send_frame(words).is_ok()) {
            self.role = Role::Leaving { drained: 0 };
            self.born = now;
        }
        Progress::TurnedAway(rejection)
    }

    /// Tells an inbound connection that has proved itself why it must go all the same.
    pub(crate) fn turn_away(&mut self, rejection: Rejection, now: Instant) -> Progress {
        let verdict = match &mut self.role {
            Role::Verified(responder) => responder.verdict(Some(rejection)).ok(),
            _ => None,
        };
        self.leave(verdict.as_ref().map(|verdict| &verdict[..]), rejection, now)
    }

    /// Does whatever the socket permits.
    pub(crate) fn drive(&mut self, identity: &Identity, now: Instant) -> Progress {
        match &mut self.role {
            Role::Outbound { .. } => self.drive_outbound().unwrap_or_else(|error| {
                let what = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "it hung up without an answer".to_owned(),
                    _ => error.to_string(),
                };
                Progress::Failed(Failure::HungUp(what))
            }),
            Role::Leaving { drained } => drain(&self.socket, drained),
            // It may say nothing now, so this only notices that it leaves.
            Role::Verified(_) => match self.read(1) {
                Ok(false) => Progress::Wait,
                _ => Progress::Gone,
            },
            _ => self.drive_inbound(identity, now).unwrap_or(Progress::Gone),
        }
    }

    fn drive_outbound(&mut self) -> io::Result<Progress> {
        if let Role::Outbound { connected: connected @ false, hello, .. } = &mut self.role {
            if let Some(error) = self.socket.take_error()? {
                return Ok(Progress::Failed(Failure::Unreachable(error.to_string())));
            }
            if self.socket.peer_addr().is_err() {
                return Ok(Progress::Wait);
            }
            *connected = true;
            let hello = *hello;
            self.send_frame(&hello)?;
            return Ok(Progress::Connected);
        }
        self.write()?;
        let Role::Outbound { initiator, .. } = &self.role else { return Ok(Progress::Wait) };
        let size = initiator.expects();
        if !self.read(size)? {
            return Ok(Progress::Wait);
        }
        let frame = self.inbox;
        let Role::Outbound { initiator, peer, .. } = &mut self.role else { return Ok(Progress::Wait) };
        let peer = *peer;
        let rejected = |why: &str| Ok(Progress::Failed(Failure::Rejected(why.to_owned())));
        match initiator.on_frame(&frame[..size]) {
            InitiatorStep::Prove(proof) => {
                self.send_frame(&proof)?;
                Ok(Progress::Committed)
            }
            InitiatorStep::Ready(session) => Ok(Progress::Established(session)),
            InitiatorStep::Rejected(Rejection::Finished) => Ok(Progress::Failed(Failure::Finished)),
            InitiatorStep::Rejected(rejection) => rejected(rejection.advice()),
            InitiatorStep::Anonymous => {
                Ok(Progress::Failed(Failure::HungUp("it hung up before it had shown who it is".to_owned())))
            }
            InitiatorStep::Impostor => rejected(&format!(
                "whoever answers cannot prove to be rank {peer} of this job; set the same secret on every host"
            )),
            InitiatorStep::Garbage => rejected("whoever answers does not speak ringworld's protocol"),
        }
    }

    fn drive_inbound(&mut self, identity: &Identity, now: Instant) -> io::Result<Progress> {
        self.write()?;
        if let Role::Unauthenticated = self.role {
            let complete = self.read(HELLO);
            // `have` starts again at a complete frame.
            let seen = if matches!(complete, Ok(true)) { HELLO } else { self.have };
            if let Err(rejection) = Responder::plausible(&self.inbox[..seen]) {
                return Ok(self.reject(rejection, now));
            }
            if !complete? {
                return Ok(Progress::Wait);
            }
            match Responder::on_hello(identity, &self.inbox) {
                Answer::Challenge(responder, welcome) => {
                    self.role = Role::Challenged(responder);
                    self.born = now;
                    self.send_frame(&welcome)?;
                }
                Answer::Refuse(rejection, words) => return Ok(self.leave(Some(&words), rejection, now)),
                Answer::Reject(rejection) => return Ok(self.reject(rejection, now)),
                Answer::Fail(error) => return Err(io::Error::other(error)),
            }
        }
        let Role::Challenged(_) = self.role else { return Ok(Progress::Wait) };
        if !self.read(RECORD)? {
            return Ok(Progress::Wait);
        }
        let Some(proof) = self.inbox.first_chunk::<RECORD>().copied() else { return Ok(Progress::Wait) };
        let Role::Challenged(mut responder) = std::mem::replace(&mut self.role, Role::Unauthenticated) else {
            return Ok(Progress::Wait);
        };
        if responder.on_proof(&proof) {
            self.role = Role::Verified(responder);
            return Ok(Progress::Verified);
        }
        // It has repeated what somebody else once said: there is nothing to tell it.
        Ok(self.leave(None, Rejection::Secret, now))
    }

    /// Turns away who has not spoken well; something that does not speak the protocol would not understand why.
    fn reject(&mut self, rejection: Rejection, now: Instant) -> Progress {
        let words = reject(rejection);
        self.leave(Some(&words[..]).filter(|_| rejection != Rejection::Magic), rejection, now)
    }
}

/// Throws away what a connection that was turned away still sends, so that it can read why.
fn drain(socket: &Socket, drained: &mut usize) -> Progress {
    let mut scratch = [0; DRAIN];
    loop {
        match rustix::net::recv(socket, &mut scratch, RecvFlags::empty()) {
            Ok((0, _)) => return Progress::Gone,
            Ok((read, _)) => {
                *drained += read;
                return if *drained > DRAIN_IN_ALL { Progress::Gone } else { Progress::Wait };
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Progress::Wait,
            Err(_) => return Progress::Gone,
        }
    }
}

/// All connections whose handshake is under way, by slot.
#[derive(Default)]
pub(crate) struct PendingHandshakes {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Those that were accepted, oldest first, and of these the ones whose Hello was good: slot and its use. Some are
    /// no longer what they were, which is found out when they are the oldest.
    unauthenticated: VecDeque<(usize, u64)>,
    vouched: VecDeque<(usize, u64)>,
}

/// A place for a connection; `uses` tells the connections apart that have been there.
#[derive(Default)]
struct Slot {
    pending: Option<Box<Pending>>,
    uses: u64,
}

impl PendingHandshakes {
    pub(crate) fn insert(&mut self, pending: Pending) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let place = &mut self.slots[slot];
        place.uses += 1;
        if matches!(pending.role, Role::Unauthenticated) {
            self.unauthenticated.push_back((slot, place.uses));
        }
        place.pending = Some(Box::new(pending));
        slot
    }

    pub(crate) fn find(&mut self, slot: usize) -> Option<&mut Pending> {
        self.slots.get_mut(slot)?.pending.as_deref_mut()
    }

    pub(crate) fn remove(&mut self, slot: usize) -> Option<Box<Pending>> {
        let pending = self.slots.get_mut(slot)?.pending.take()?;
        self.free.push(slot);
        Some(pending)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether `wanted` is true of one.
    pub(crate) fn any(&self, wanted: impl Fn(&Pending) -> bool) -> bool {
        self.slots.iter().any(|slot| slot.pending.as_deref().is_some_and(&wanted))
    }

    /// Slots of which `wanted` is true.
    pub(crate) fn select(&self, wanted: impl Fn(&Pending) -> bool) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, s)| s.pending.as_deref().is_some_and(&wanted)).map(|(slot, _)| slot).collect()
    }

    fn at(&self, (slot, uses): (usize, u64)) -> Option<&Pending> {
        self.slots.get(slot).filter(|place| place.uses == uses)?.pending.as_deref()
    }

    /// The oldest of the accepted connections that have not sent a good Hello, and when it came.
    pub(crate) fn oldest_unauthenticated(&mut self) -> Option<(usize, Instant)> {
        while let Some(&first) = self.unauthenticated.front() {
            match self.at(first) {
                Some(Pending { role: Role::Unauthenticated | Role::Leaving { .. }, born, .. }) => {
                    return Some((first.0, *born));
                }
                Some(Pending { role: Role::Challenged(_), .. }) => self.vouched.push_back(first),
                _ => {}
            }
            self.unauthenticated.pop_front();
        }
        None
    }

    fn oldest_vouched(&mut self) -> Option<usize> {
        while let Some(&first) = self.vouched.front() {
            if let Some(Pending { role: Role::Challenged(_), .. }) = self.at(first) {
                return Some(first.0);
            }
            self.vouched.pop_front();
        }
        None
    }

    /// Of more than `limit` connections of a kind drops the oldest; how many that were.
    pub(crate) fn make_room(&mut self, limit: usize) -> u64 {
        let mut dropped = 0;
        while self.unauthenticated.len() > limit
            && let Some((slot, _)) = self.oldest_unauthenticated()
            && self.unauthenticated.len() > limit
        {
            self.remove(slot);
            dropped += 1;
        }
        while self.vouched.len() > limit
            && let Some(slot) = self.oldest_vouched()
            && self.vouched.len() > limit
        {
            self.remove(slot);
            dropped += 1;
        }
        dropped
    }
}
