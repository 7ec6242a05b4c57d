//! One established lane: a non-blocking socket, what waits to be written to it, and what has been read.
//!
//! Invariants: after [`Lane::flush`] or [`Lane::receive`] has returned, whatever is left needs the
//! socket to become ready again, so level-triggered polling misses nothing; staging never holds a
//! complete frame between calls; memory handed in is touched by these two calls only. Neighbours:
//! `framing.rs` (bytes of a frame), `ringworld_transport::puts` (fragments and exposures), `peer.rs` (the lanes of a
//! peer).

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};

use ringworld_auth::Session;
use ringworld_transport::puts::{Exposures, Fragment, PutQueue};
use ringworld_transport::watched::Watched;
use ringworld_transport::{Cause, Event, Placement, Placer, Posted, Rank, RecvMemory, SendMemory, Token};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use socket2::{SockAddr, Socket};

use crate::fins::PeerFins;
use crate::framing::{Frame, Prelude, append_message, decode};
use crate::sealed::{FORGED, Sealed};
use crate::silence::{Ends, Silence, given_up};
use crate::staging::{Rest, STAGING, Staging};

/// The most bytes of a put in one frame.
pub(crate) const FRAGMENT: usize = 512 << 10;
/// The same on one host while nothing is expected from the peer.
const LONG_FRAGMENT: usize = 2 << 20;
/// Bytes read ahead, instead of [`STAGING`], once a long payload has come: another is likely to follow, and is then
/// read to where it belongs. Measured with two ranks at 64 KiB: a stream takes 13.9 us a message instead of 15.8, both
/// ways at once 20.3 instead of 23.3, an all-reduce 17.8 instead of 18.9, and half a round trip 10.2 instead of 9.8,
/// for one more call. At 16 KiB that call costs as much as the copy.
const GLANCE: usize = 1 << 10;
/// From here on a payload is long.
const LONG: usize = 32 << 10;
/// The most bytes of one write and of one read: large calls thrash the cache that both ends share. One way on one
/// host long writes are faster all the same, because the peer reads while the kernel copies: see [`Lane::longest`].
const CALL: usize = FRAGMENT;
/// The most bytes one lane may move per poll, so that no peer starves the others.
const BUDGET: usize = 4 << 20;
/// The most bytes [`Lane::write_now`] moves, so that posting stays short.
const POST_BUDGET: usize = 1 << 20;
/// Payloads up to this many bytes are copied behind their prelude and written as one.
pub(crate) const SMALL: usize = 400;
/// Messages up to this many bytes are copied to be coalesced, if that is allowed: it costs less than a write.
const WORTH_A_COPY: usize = 2 << 10;
/// Longer ones are coalesced where they lie, up to this many bytes: what is written together fills the kernel's
/// segments.
const WORTH_WAITING: usize = 64 << 10;
/// The most bytes that wait for one another in a copy.
const BATCH: usize = 16 << 10;
/// Frames gathered into one write.
const GATHER: usize = 16;

/// A frame that the kernel has not taken entirely.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) prelude: Prelude,
    pub(crate) payload: Payload,
    /// Bytes of prelude and payload that the kernel has taken.
    pub(crate) sent: usize,
}

/// What follows a prelude.
#[derive(Debug)]
pub(crate) enum Payload {
    Nothing,
    Owned {
        memory: SendMemory,
        token: Token,
    },
    Fragment(Fragment),
    /// Whole frames of messages that are coalesced, or kept until there is a connection.
    Batch(Vec<u8>),
}

impl Outgoing {
    pub(crate) fn control(prelude: Prelude) -> Self {
        Self { prelude, payload: Payload::Nothing, sent: 0 }
    }

    /// Frames that have their preludes with them.
    fn ready_made(payload: Payload) -> Self {
        Self { prelude: Prelude::none(), payload, sent: 0 }
    }

    fn payload<'a>(&'a self, puts: &'a PutQueue) -> &'a [u8] {
        match &self.payload {
            Payload::Nothing => &[],
            Payload::Owned { memory, .. } => memory.as_slice(),
            Payload::Fragment(fragment) => puts.bytes(fragment),
            Payload::Batch(frames) => frames,
        }
    }

    fn length(&self) -> usize {
        let payload = match &self.payload {
            Payload::Nothing => 0,
            Payload::Owned { memory, .. } => memory.len(),
            Payload::Fragment(fragment) => fragment.len(),
            Payload::Batch(frames) => frames.len(),
        };
        self.prelude.as_bytes().len() + payload
    }
}

/// Copies a whole frame to the end of `queue`: behind others that have been copied, up to [`BATCH`] bytes together, or
/// into memory of its own, which is taken from `spare` if there is any.
pub(crate) fn copy_behind(
    queue: &mut VecDeque<Outgoing>,
    spare: &mut Vec<Vec<u8>>,
    prelude: &Prelude,
    body: &[u8],
) {
    let head = prelude.as_bytes();
    match queue.back_mut() {
        Some(Outgoing { payload: Payload::Batch(frames), sent: 0, .. })
            if frames.len() + head.len() + body.len() <= BATCH =>
        {
            frames.extend_from_slice(head);
            frames.extend_from_slice(body);
        }
        _ => {
            let mut frames = spare.pop().unwrap_or_default();
            frames.reserve(head.len() + body.len());
            frames.extend_from_slice(head);
            frames.extend_from_slice(body);
            queue.push_back(Outgoing::ready_made(Payload::Batch(frames)));
        }
    }
}

/// How a lane ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The peer closed the connection.
    Eof,
    /// The system reports an error.
    Broken(Errno),
    /// The network is silent, as these words say.
    Silent(String),
    /// The peer sent something that cannot be.
    Protocol(String),
}

impl Ended {
    /// What the runtime is told.
    pub(crate) fn cause(self, lane: usize) -> Cause {
        match self {
            Self::Eof => Cause::Lost("the peer's process closed it without saying goodbye".to_owned()),
            Self::Broken(errno) => Cause::Lost(format!("lane {lane}: {errno}")),
            Self::Silent(text) => Cause::Lost(format!("lane {lane}: {text}")),
            Self::Protocol(what) => Cause::Protocol(what),
        }
    }
}

/// Everything that bytes coming in on a lane may touch.
pub(crate) struct Inward<'a> {
    pub(crate) rank: Rank,
    pub(crate) lane: usize,
    pub(crate) exposures: &'a mut Exposures,
    pub(crate) fins: &'a mut PeerFins,
    pub(crate) placer: &'a mut dyn Placer,
    pub(crate) events: &'a mut Vec<Event>,
}

/// What the next byte in staging, or else in the socket, belongs to.
enum Reading {
    Prelude,
    Message { token: Token, memory: RecvMemory, filled: usize, left: usize },
    Put { key: u64, at: usize, left: usize },
}

/// One lane.
pub(crate) struct Lane {
    pub(crate) socket: Watched<Socket>,
    pub(crate) queue: VecDeque<Outgoing>,
    /// Whether epoll has been asked to report that the socket is writable.
    pub(crate) wants_write: bool,
    /// Through which everything passes, if data is encrypted.
    sealed: Option<Box<Sealed>>,
    /// Both ends are on one host.
    near: bool,
    /// This end and the peer's.
    pub(crate) ends: Ends,
    pub(crate) silence: Silence,
    /// Why it is broken, if nobody answers.
    pub(crate) silent: Option<String>,
    /// A write failed; whatever can still be read is read before the lane is given up.
    pub(crate) broken: Option<Errno>,
    /// The poll after which a message that may be coalesced was last written at once.
    hurried: u64,
    /// Empty memory for batches, or for a small frame as a whole.
    spare: Vec<Vec<u8>>,
    reading: Reading,
    /// What is left in staging between calls.
    rest: Rest,
    /// The last payload was long.
    glances: bool,
}

impl Lane {
    pub(crate) fn new(socket: Watched<Socket>, queue: VecDeque<Outgoing>) -> Self {
        let end = |address: io::Result<SockAddr>| address.ok()?.as_socket();
        let ends = end(socket.local_addr()).zip(end(socket.peer_addr()));
        let near = ends.is_some_and(|(here, there)| here.ip() == there.ip());
        Self {
            socket,
            queue,
            wants_write: false,
            sealed: None,
            near,
            ends,
            silence: Silence::default(),
            silent: None,
            broken: None,
            hurried: u64::MAX,
            spare: Vec::new(),
            reading: Reading::Prelude,
            rest: Rest::NONE,
            glances: false,
        }
    }

    /// From here on everything is encrypted, both ways.
    pub(crate) fn encrypt(&mut self, session: Session) {
        self.sealed = Some(Box::new(Sealed::new(session)));
    }

    /// Whether nothing is left to be written.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.owes_records()
    }

    /// Whether something that was taken over is sealed and not written.
    pub(crate) fn owes_records(&self) -> bool {
        self.sealed.as_ref().is_some_and(|sealed| sealed.owes())
    }

    /// Whether a frame can be written without passing others.
    pub(crate) fn is_free(&self) -> bool {
        self.queue.is_empty() && self.broken.is_none()
    }

    /// Whether a message that may be coalesced with others should: not the first since poll number `poll`, because it
    /// may be the only one, and not while the socket is full.
    pub(crate) fn may_coalesce(&mut self, length: usize, poll: u64) -> bool {
        if length > WORTH_WAITING || self.wants_write || self.broken.is_some() {
            return false;
        }
        let first = self.queue.is_empty() && self.hurried != poll;
        if first {
            self.hurried = poll;
        }
        !first
    }

    /// Queues a message to leave with others, if it [may](Lane::may_coalesce): a small one is copied, and done; of
    /// others the memory is needed until they are written.
    pub(crate) fn coalesce(&mut self, prelude: Prelude, memory: SendMemory, token: Token) -> Posted {
        if memory.len() > WORTH_A_COPY {
            self.queue.push_back(Outgoing { prelude, payload: Payload::Owned { memory, token }, sent: 0 });
            return Posted::Pending;
        }
        copy_behind(&mut self.queue, &mut self.spare, &prelude, memory.as_slice());
        Posted::Complete
    }

    /// Whether what was coalesced fills a write.
    pub(crate) fn is_due(&self) -> bool {
        self.queue.len() >= GATHER
    }

    /// Writes a frame straight to the kernel, as far as it goes; only for a free lane. Returns how many
    /// bytes of prelude and payload are gone; an error is remembered in [`Lane::broken`].
    pub(crate) fn write_now(&mut self, prelude: &Prelude, payload: &[u8]) -> usize {
        let head = prelude.as_bytes();
        if payload.len() <= SMALL {
            // Copying is cheaper than having the kernel import two slices. The queue is empty, so there is
            // no batch either, and memory for one lies idle.
            let mut flat = self.spare.pop().unwrap_or_default();
            flat.extend_from_slice(head);
            flat.extend_from_slice(payload);
            let sent = self.send_flat(&flat);
            flat.clear();
            self.spare.push(flat);
            return sent;
        }
        let first = payload.len().min(CALL);
        let asked = head.len() + first;
        let mut sent = self.send(&[IoSlice::new(head), IoSlice::new(&payload[..first])]);
        if sent < asked {
            return sent;
        }
        while sent < head.len() + payload.len() && sent < POST_BUDGET {
            let rest = &payload[sent - head.len()..];
            let asked = rest.len().min(CALL);
            let taken = self.send(&[IoSlice::new(&rest[..asked])]);
            sent += taken;
            if taken < asked {
                break;
            }
        }
        sent
    }

    /// Writes a message of at most [`SMALL`] bytes straight to the kernel; only for a free lane. `false`: nothing of it
    /// is gone. What the kernel leaves of it is queued.
    pub(crate) fn inject(&mut self, header: &[u8], payload: &[u8]) -> bool {
        let mut flat = self.spare.pop().unwrap_or_default();
        append_message(&mut flat, header, payload);
        let sent = self.send_flat(&flat);
        if sent > 0 && sent < flat.len() {
            let payload = Payload::Batch(flat);
            self.queue.push_back(Outgoing { prelude: Prelude::none(), payload, sent });
            return true;
        }
        flat.clear();
        self.spare.push(flat);
        sent > 0
    }

    /// Writes the end of the handshake; a socket that does not take it at once is given up.
    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        if self.send_flat(bytes) < bytes.len() {
            self.broken = self.broken.or(Some(Errno::CONNRESET));
        }
    }

    fn send_flat(&mut self, bytes: &[u8]) -> usize {
        if self.sealed.is_some() {
            return self.send_sealed(&[IoSlice::new(bytes)]);
        }
        self.attempt(|socket| rustix::net::send(socket, bytes, SendFlags::NOSIGNAL))
    }

    fn send(&mut self, slices: &[IoSlice<'_>]) -> usize {
        if self.sealed.is_some() {
            return self.send_sealed(slices);
        }
        self.attempt(|socket| {
            let mut control = SendAncillaryBuffer::default();
            rustix::net::sendmsg(socket, slices, &mut control, SendFlags::NOSIGNAL)
        })
    }

    /// The same, where data is encrypted.
    fn send_sealed(&mut self, slices: &[IoSlice<'_>]) -> usize {
        let Some(sealed) = &mut self.sealed else { return 0 };
        sealed.send(&self.socket, slices).unwrap_or_else(|errno| {
            self.broken = Some(errno);
            0
        })
    }

    /// One write; 0 when nothing could be written, with a failure noted in [`Lane::broken`].
    fn attempt(&mut self, mut write: impl FnMut(&Socket) -> Result<usize, Errno>) -> usize {
        loop {
            match write(&self.socket) {
                Ok(sent) => return sent,
                Err(Errno::INTR) => {}
                // Out of memory for buffers: the kernel will do better soon.
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return 0,
                Err(errno) => {
                    self.broken = Some(errno);
                    return 0;
                }
            }
        }
    }

    /// The most bytes of one write and of one fragment; `one_way` when no put of the peer is expected.
    ///
    /// Measured on one host, fragments of 512 KiB and of 2 MiB: half a round trip of 4 MiB takes 673 and 603 us, of
    /// 16 MiB 2.58 and 2.48 ms, but both ways at once 3.94 and 4.5 ms. On a network nothing is gained, and a message
    /// would wait longer behind such a fragment.
    fn longest(&self, one_way: bool) -> usize {
        if self.near && one_way { LONG_FRAGMENT } else { FRAGMENT }
    }

    /// Writes what is queued, then, if `may_pull`, fragments of `puts`, until the kernel takes no more.
    /// Returns whether anything moved.
    pub(crate) fn flush(
        &mut self,
        puts: &mut PutQueue,
        may_pull: bool,
        one_way: bool,
        events: &mut Vec<Event>,
    ) -> bool {
        let longest = self.longest(one_way);
        let mut moved = 0;
        let owed = self.owes_records();
        if owed {
            // Writes what is sealed, and nothing else yet.
            self.send_sealed(&[]);
        }
        while self.broken.is_none() && moved < BUDGET {
            if self.queue.is_empty()
                && may_pull
                && let Some((fragment, key, offset)) = puts.pull(longest)
            {
                let prelude = Prelude::put(key, offset, fragment.len());
                self.queue.push_back(Outgoing { prelude, payload: Payload::Fragment(fragment), sent: 0 });
            }
            if self.queue.is_empty() {
                break;
            }
            let (asked, sent) = self.gather(puts, longest);
            moved += sent;
            self.advance(sent, puts, events);
            if sent < asked {
                break;
            }
        }
        moved > 0 || (owed && !self.owes_records())
    }

    /// One write of as many queued frames as fit into `longest` bytes; returns bytes asked for and taken.
    fn gather(&mut self, puts: &PutQueue, longest: usize) -> (usize, usize) {
        let queue = std::mem::take(&mut self.queue);
        let mut slices = [IoSlice::new(&[]); 2 * GATHER];
        let (mut asked, mut count) = (0, 0);
        for outgoing in queue.iter().take(GATHER) {
            let (head, body) = (outgoing.prelude.as_bytes(), outgoing.payload(puts));
            let head_left = head.get(outgoing.sent..).unwrap_or(&[]);
            let body_left = &body[outgoing.sent.saturating_sub(head.len())..];
            let body_left = &body_left[..body_left.len().min(longest.saturating_sub(asked))];
            for part in [head_left, body_left] {
                if !part.is_empty() {
                    slices[count] = IoSlice::new(part);
                    count += 1;
                    asked += part.len();
                }
            }
            if asked >= longest {
                break;
            }
        }
        let sent = self.send(&slices[..count]);
        self.queue = queue;
        (asked, sent)
    }

    fn advance(&mut self, mut sent: usize, puts: &mut PutQueue, events: &mut Vec<Event>) {
        while let Some(front) = self.queue.front_mut() {
            let step = sent.min(front.length() - front.sent);
            front.sent += step;
            sent -= step;
            if front.sent < front.length() {
                return;
            }
            match self.queue.pop_front().map(|outgoing| outgoing.payload) {
                Some(Payload::Owned { token, .. }) => events.push(Event::Sent { token }),
                Some(Payload::Fragment(fragment)) => puts.written(&fragment, events),
                // As many as one write had: few, because a write is due then. What was kept before there was a
                // connection may be longer, and is not needed again.
                Some(Payload::Batch(mut frames))
                    if frames.capacity() <= 2 * BATCH && self.spare.len() < GATHER =>
                {
                    frames.clear();
                    self.spare.push(frames);
                }
                _ => {}
            }
        }
    }

    /// Reads and delivers what the socket has, up to a budget. Returns whether anything moved.
    ///
    /// # Errors
    ///
    /// When the lane has ended, after everything before the end has been delivered.
    pub(crate) fn receive(&mut self, staging: &mut Staging, inward: &mut Inward<'_>) -> Result<bool, Ended> {
        staging.resume(&self.rest);
        let result = self.receive_by(staging, inward);
        staging.leave(&mut self.rest);
        result
    }

    fn receive_by(&mut self, staging: &mut Staging, inward: &mut Inward<'_>) -> Result<bool, Ended> {
        let mut moved = 0;
        loop {
            let (asked, read) = match self.fill(staging, inward) {
                Ok((_, 0)) => return Err(self.at_end()),
                Ok(filled) => filled,
                Err(Errno::INTR) => continue,
                Err(FORGED) if self.sealed.is_some() => {
                    return Err(Ended::Protocol(format!(
                        "what came from rank {} on lane {} was forged, or altered on its way: somebody is in between",
                        inward.rank, inward.lane
                    )));
                }
                Err(Errno::AGAIN) => match self.broken {
                    Some(errno) => return Err(self.broken_by(errno)),
                    None => return Ok(moved > 0),
                },
                Err(errno) => return Err(self.broken_by(errno)),
            };
            moved += read;
            self.deliver_staged(staging, inward).map_err(Ended::Protocol)?;
            // A short read means that the socket is empty: no need to ask again.
            let opened = self.sealed.as_ref().is_some_and(|sealed| sealed.has_more());
            if ((read < asked && self.broken.is_none()) || moved >= BUDGET) && !opened {
                return Ok(true);
            }
        }
    }

    /// The system reads the end of the connection: that of the peer's process, unless a write has told more.
    fn at_end(&mut self) -> Ended {
        match self.broken {
            Some(errno @ Errno::TIMEDOUT) => self.broken_by(errno),
            _ => Ended::Eof,
        }
    }

    fn broken_by(&mut self, errno: Errno) -> Ended {
        match self.silent.take() {
            Some(text) => Ended::Silent(text),
            None if errno == Errno::TIMEDOUT => Ended::Silent(given_up(self.ends)),
            None => Ended::Broken(errno),
        }
    }

    /// One read: into the memory that the current payload goes to and, behind it, into staging.
    /// Returns bytes asked for and read.
    fn fill(&mut self, staging: &mut Staging, inward: &mut Inward<'_>) -> Result<(usize, usize), Errno> {
        let mut ahead = if self.glances { GLANCE } else { STAGING };
        let direct: &mut [u8] = match &mut self.reading {
            Reading::Prelude => &mut [],
            Reading::Message { memory, filled, left, .. } => {
                let room = memory.len().saturating_sub(*filled).min(*left);
                if room == 0 {
                    // What comes is discarded.
                    ahead = STAGING;
                }
                &mut memory.as_mut_slice()[*filled..*filled + room]
            }
            Reading::Put { key, at, left } => inward.exposures.memory(*key, *at, *left),
        };
        let whole = direct.len();
        if whole == 0 {
            let room = staging.room(ahead);
            let asked = room.len();
            if let Some(sealed) = &mut self.sealed {
                let read = sealed.receive(&self.socket, &mut [], room)?;
                staging.filled(read);
                return Ok((read, read));
            }
            let (read, _) = rustix::net::recv(&self.socket, room, RecvFlags::empty())?;
            staging.filled(read);
            return Ok((asked, read));
        }
        // While memory takes bytes directly, staging is empty: `deliver_staged` has moved all it could.
        let (asked, read) = if let Some(sealed) = &mut self.sealed {
            let read = sealed.receive(&self.socket, direct, staging.room(ahead))?;
            (read, read)
        } else if whole > CALL {
            let (read, _) = rustix::net::recv(&self.socket, &mut direct[..CALL], RecvFlags::empty())?;
            (CALL, read)
        } else {
            let mut slices = [IoSliceMut::new(direct), IoSliceMut::new(staging.room(ahead))];
            (whole + ahead, rustix::io::readv(&self.socket, &mut slices)?)
        };
        let taken = read.min(whole);
        staging.filled(read - taken);
        match &mut self.reading {
            Reading::Message { filled, left, .. } => {
                *filled += taken;
                *left -= taken;
            }
            Reading::Put { key, at, left } => {
                *at += taken;
                *left -= taken;
                inward.exposures.arrived(*key, taken, inward.events);
            }
            Reading::Prelude => {}
        }
        Ok((asked, read))
    }

    /// Moves everything in staging to where it belongs, and finishes what is complete.
    fn deliver_staged(&mut self, staging: &mut Staging, inward: &mut Inward<'_>) -> Result<(), String> {
        loop {
            let staged = staging.staged();
            match &mut self.reading {
                Reading::Prelude => {
                    let decoded = decode(staged).map_err(|error| {
                        format!("rank {} sent {error} on lane {}", inward.rank, inward.lane)
                    })?;
                    let Some((frame, used)) = decoded else { return Ok(()) };
                    if let Frame::Message { length, .. } | Frame::Put { length, .. } = frame {
                        self.glances = length >= LONG;
                    }
                    if let Frame::Message { header, length } = frame
                        && let Some(payload) = staged[used..].get(..length)
                    {
                        // All of it is here, as with every short message.
                        on_first_lane(inward)?;
                        inward.placer.deliver(inward.rank, header, payload, inward.events)?;
                        staging.consume(used + length);
                        continue;
                    }
                    self.reading = begin_payload(frame, inward)?;
                    staging.consume(used);
                }
                Reading::Message { token, memory, filled, left } => {
                    let here = staged.len().min(*left);
                    let room = memory.len().saturating_sub(*filled).min(here);
                    memory.as_mut_slice()[*filled..*filled + room].copy_from_slice(&staged[..room]);
                    // Bytes beyond the placed memory are discarded.
                    *filled += room;
                    *left -= here;
                    staging.consume(here);
                    if *left > 0 {
                        return Ok(());
                    }
                    inward.events.push(Event::Received { peer: inward.rank, token: *token });
                    self.reading = Reading::Prelude;
                }
                Reading::Put { key, at, left } => {
                    let here = staged.len().min(*left);
                    inward.exposures.memory(*key, *at, here).copy_from_slice(&staged[..here]);
                    if here > 0 {
                        inward.exposures.arrived(*key, here, inward.events);
                    }
                    *at += here;
                    *left -= here;
                    staging.consume(here);
                    if *left > 0 {
                        return Ok(());
                    }
                    self.reading = Reading::Prelude;
                }
            }
        }
    }
}

/// Lane 0 carries all messages.
fn on_first_lane(inward: &Inward<'_>) -> Result<(), String> {
    if inward.lane != 0 {
        return Err(format!("rank {} sent a message on lane {}", inward.rank, inward.lane));
    }
    Ok(())
}

/// A frame has arrived: what to do with the bytes that follow it.
fn begin_payload(frame: Frame<'_>, inward: &mut Inward<'_>) -> Result<Reading, String> {
    match frame {
        Frame::Message { header, length } => {
            on_first_lane(inward)?;
            let Placement { token, memory } = inward.placer.place(inward.rank, header, length)?;
            Ok(Reading::Message { token, memory, filled: 0, left: length })
        }
        Frame::Put { length: 0, .. } => Err(format!("rank {} sent an empty put", inward.rank)),
        Frame::Put { key, offset, length } => {
            let at = inward.exposures.claim(key, offset, length)?;
            Ok(Reading::Put { key, at, left: length })
        }
        Frame::Fin { lanes } => inward.fins.fin.read(inward.lane, lanes).map(|()| Reading::Prelude),
        Frame::FinAck { lanes } => inward.fins.fin_ack.read(inward.lane, lanes).map(|()| Reading::Prelude),
    }
}
