//! Connections whose handshake is under way: sockets, partial frames, and who may stay how long.
//!
//! Invariant: an unauthenticated connection costs one slot and one descriptor, never memory that grows and never time
//! of a connection that is established. One that sends nothing is closed after [`PATIENCE`], and the oldest is closed
//! when there are too many. An initiator is never hurried: its peer may be computing. Neighbours: `handshake.rs` checks
//! the bytes, `connect.rs` decides what follows.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ringworld_auth::Nonce;
use ringworld_transport::Rank;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use socket2::Socket;

use crate::handshake::{
    ANSWER, HELLO, Identity, Initiator, InitiatorStep, REPLY, Rejection, Responder, reject,
};
use crate::silence::Silence;

/// How long an unauthenticated connection may take for its Hello, and how long one that was turned away may take to
/// leave.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// An unauthenticated connection that has sent nothing for so long makes room for others when descriptors are short.
/// Whoever belongs to the job speaks as soon as it is connected.
pub(crate) const HURRY: Duration = Duration::from_secs(1);
/// The most unauthenticated connections at a time.
pub(crate) const MAX_UNAUTHENTICATED: usize = 1024;

/// Which part of the handshake a connection is in.
pub(crate) enum Role {
    /// Made from here; `connected` once the system says so.
    Outbound { initiator: Initiator, hello: [u8; HELLO], peer: Rank, lane: usize, connected: bool },
    /// Accepted; has not said who it is.
    Unauthenticated,
    /// Accepted; says that it is a rank of this job, and has been asked to prove it.
    Challenged(Responder),
    /// Accepted and believed; waits for the decision whether it is wanted.
    Verified { from: Rank, lane: usize },
    /// Turned away; stays only so that it can read the reason.
    Leaving,
}

/// How an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system could not connect.
    Unreachable(String),
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
    /// This outbound connection is made.
    Established,
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
    pub(crate) socket: Socket,
    pub(crate) remote: SocketAddr,
    pub(crate) born: Instant,
    pub(crate) role: Role,
    /// Whether epoll has been asked to report that the socket is writable.
    pub(crate) wants_write: bool,
    pub(crate) silence: Silence,
    inbox: [u8; HELLO],
    have: usize,
    outbox: [u8; HELLO],
    unsent: std::ops::Range<usize>,
}

// One buffer serves every frame.
const _: () = assert!(REPLY <= HELLO && ANSWER <= HELLO);

impl Pending {
    pub(crate) fn new(socket: Socket, remote: SocketAddr, born: Instant, role: Role) -> Self {
        Self {
            socket,
            remote,
            born,
            role,
            wants_write: false,
            silence: Silence::default(),
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

    /// Tells an inbound connection why it must go, and lets it go by itself.
    pub(crate) fn turn_away(&mut self, rejection: Rejection, now: Instant) -> Progress {
        // Something that does not speak the protocol would not understand.
        if rejection != Rejection::Magic && self.send_frame(&reject(rejection)).is_ok() {
            self.role = Role::Leaving;
            self.born = now;
        }
        Progress::TurnedAway(rejection)
    }

    /// Does whatever the socket permits.
    pub(crate) fn drive(&mut self, identity: &Identity, now: Instant) -> Progress {
        match self.role {
            Role::Outbound { .. } => self.drive_outbound(identity).unwrap_or_else(|error| {
                let what = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "it hung up without an answer".to_owned(),
                    _ => error.to_string(),
                };
                Progress::Failed(Failure::HungUp(what))
            }),
            Role::Leaving => {
                let mut scratch = [0; 512];
                loop {
                    match rustix::net::recv(&self.socket, &mut scratch, RecvFlags::empty()) {
                        Ok((0, _)) => return Progress::Gone,
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(Errno::AGAIN) => return Progress::Wait,
                        Err(_) => return Progress::Gone,
                    }
                }
            }
            // It may say nothing now, so this only notices that it leaves.
            Role::Verified { .. } => match self.read(1) {
                Ok(false) => Progress::Wait,
                _ => Progress::Gone,
            },
            _ => self.drive_inbound(identity, now).unwrap_or(Progress::Gone),
        }
    }

    fn drive_outbound(&mut self, identity: &Identity) -> io::Result<Progress> {
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
        if !self.read(REPLY)? {
            return Ok(Progress::Wait);
        }
        let reply = self.inbox;
        let Role::Outbound { initiator, peer, .. } = &mut self.role else { return Ok(Progress::Wait) };
        let peer = *peer;
        let rejected = |why: &str| Ok(Progress::Failed(Failure::Rejected(why.to_owned())));
        match initiator.on_reply(identity, &reply) {
            InitiatorStep::Prove(answer) => {
                self.send_frame(&answer)?;
                Ok(Progress::Committed)
            }
            InitiatorStep::Ready => Ok(Progress::Established),
            InitiatorStep::Rejected(Rejection::Finished) => Ok(Progress::Failed(Failure::Finished)),
            InitiatorStep::Rejected(rejection) => rejected(rejection.advice()),
            InitiatorStep::Impostor(answer) => {
                // If it does not arrive, the other side merely does not learn why.
                let _ = self.send_frame(&answer);
                rejected(&format!(
                    "whoever answers cannot prove to be rank {peer} of this job; set the same secret on every host"
                ))
            }
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
                return Ok(self.turn_away(rejection, now));
            }
            if !complete? {
                return Ok(Progress::Wait);
            }
            let nonce = Nonce::fresh().map_err(io::Error::other)?;
            match Responder::on_hello(identity, &self.inbox, nonce) {
                Ok((responder, welcome)) => {
                    self.role = Role::Challenged(responder);
                    self.send_frame(&welcome)?;
                }
                Err(rejection) => return Ok(self.turn_away(rejection, now)),
            }
        }
        let Role::Challenged(_) = self.role else { return Ok(Progress::Wait) };
        if !self.read(ANSWER)? {
            return Ok(Progress::Wait);
        }
        let Some(answer) = self.inbox.first_chunk::<ANSWER>().copied() else { return Ok(Progress::Wait) };
        let Role::Challenged(responder) = &self.role else { return Ok(Progress::Wait) };
        match responder.on_answer(identity, &answer) {
            Ok(()) => {
                self.role = Role::Verified { from: responder.from, lane: responder.lane };
                Ok(Progress::Verified)
            }
            Err(rejection) => Ok(self.turn_away(rejection, now)),
        }
    }
}

/// All connections whose handshake is under way, by slot.
#[derive(Default)]
pub(crate) struct PendingHandshakes {
    slots: Vec<Option<Box<Pending>>>,
    free: Vec<usize>,
}

impl PendingHandshakes {
    pub(crate) fn insert(&mut self, pending: Pending) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(Box::new(pending));
        slot
    }

    pub(crate) fn find(&mut self, slot: usize) -> Option<&mut Pending> {
        self.slots.get_mut(slot)?.as_deref_mut()
    }

    pub(crate) fn remove(&mut self, slot: usize) -> Option<Box<Pending>> {
        let pending = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(pending)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Slots of which `wanted` is true.
    pub(crate) fn select(&self, wanted: impl Fn(&Pending) -> bool) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, p)| p.as_deref().is_some_and(&wanted)).map(|(slot, _)| slot).collect()
    }

    /// The number of unauthenticated connections and, of the oldest, the slot and when it came.
    pub(crate) fn unauthenticated(&self) -> (usize, Option<(usize, Instant)>) {
        let slots = self.select(|p| matches!(p.role, Role::Unauthenticated | Role::Leaving));
        let born = |slot: usize| self.slots[slot].as_deref().map(|p| (slot, p.born));
        (slots.len(), slots.iter().filter_map(|slot| born(*slot)).min_by_key(|(_, born)| *born))
    }
}
