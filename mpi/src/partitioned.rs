//! Partitioned communication: a message whose parts become ready one by one (MPI 5.0, chapter 4).
//!
//! Each part is a message of its own on the communicator's twin, sent when it is ready. Which sends meet which
//! receives is by the order in which they were initialized, for each peer and tag; so both count them. The count is the
//! lane of their messages, beside the program's tag: nothing else on the twin has a lane, and no two that are under way
//! have the same.
//!
//! What is sent of one start never overtakes what is sent of another, for it has the same name. Each message says how
//! many there are, and a receive takes them all, also what it has no room for: the next start finds only its own. Which
//! part a message is stands in it, too.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringworld::foreign::Pending;

use crate::comms::{self, Comm, Peer};
use crate::datatypes::{Buffer, Owned};
use crate::error::{Error, Result, error, fail};
use crate::inside;
use crate::standard::{ERR_ARG, ERR_OTHER, ERR_REQUEST, ERR_TRUNCATE};
use crate::status::Status;

/// One side of a partitioned message.
pub(crate) struct Partitioned {
    comm: Arc<Comm>,
    /// To whom or from whom, and which of those with the same tag; `None`: nobody.
    peer: Option<(usize, NonZeroU32)>,
    tag: u32,
    /// That of a receive, without its length.
    status: Status,
    buffer: Buffer,
    parts: usize,
    sends: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: Vec<Part>,
    /// Whether messages are yet to come.
    awaits: bool,
    /// How many have, of as many as they say.
    came: usize,
    /// What was wrong with one, for the end.
    wrong: Option<Error>,
    /// And how many bytes of each part of this side's.
    filled: Vec<usize>,
    /// Of all parts.
    bytes: usize,
    /// Elements of which something has come, by their places: what, and how much of it.
    broken: BTreeMap<usize, (Vec<u8>, usize)>,
}

enum Part {
    Waits,
    /// The memory of the message is kept until it has left.
    UnderWay(Pending, #[expect(dead_code, reason = "it is only kept")] Owned),
    Ended,
}

impl std::fmt::Debug for Partitioned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Partitioned")
    }
}

/// Which part it is, and how many messages there are.
const HEADER: usize = 16;

impl Partitioned {
    pub(crate) fn new(
        comm: &Arc<Comm>,
        peer: Peer,
        rank: i32,
        tag: i32,
        buffer: Buffer,
        parts: i64,
        sends: bool,
    ) -> Result<Self> {
        let Ok(parts) = usize::try_from(parts) else {
            return fail(ERR_ARG, format!("{parts} parts cannot be; their number must not be negative"));
        };
        let status = Status { source: rank, tag, ..Status::EMPTY };
        let tag = comms::tag(tag)?;
        let peer = match peer {
            Peer::Nobody => None,
            Peer::Rank(peer) => {
                let number = comm.partitioned().give((peer, tag, sends));
                let number = number.ok_or_else(|| {
                    error(
                        ERR_OTHER,
                        format!(
                            "a partitioned message of rank {rank} and tag {tag} is still there after {} others; free \
                             it first, or use another tag",
                            u32::MAX
                        ),
                    )
                })?;
                Some((peer, number))
            }
        };
        Ok(Self { comm: Arc::clone(comm), peer, tag, status, buffer, parts, sends, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All parts wait anew.
    pub(crate) fn start(&self) -> Result<()> {
        let mut state = self.state();
        let parts = (0..self.parts).map(|_| Part::Waits).collect();
        *state = State { parts, filled: vec![0; self.parts], ..State::default() };
        match self.peer {
            None => state.parts.iter_mut().for_each(|part| *part = Part::Ended),
            Some(_) if !self.sends => state.awaits = true,
            // The receiver may have parts, if without elements, and waits for a message.
            Some((to, lane)) if self.sends && self.parts == 0 => {
                state.parts.push(self.send(to, lane, 0, &[])?);
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Sends the bytes of a part. Its place goes with it: parts may become ready in any order.
    fn send(&self, to: usize, lane: NonZeroU32, place: usize, bytes: &[u8]) -> Result<Part> {
        let mut message = Owned::new(bytes.len() + HEADER);
        let (header, rest) = message.bytes_mut().split_at_mut(HEADER);
        header[..8].copy_from_slice(&(place as u64).to_le_bytes());
        header[8..].copy_from_slice(&(self.parts.max(1) as u64).to_le_bytes());
        rest.copy_from_slice(bytes);
        let pending = self.comm.twin.begin_send_in_lane(message.foreign(), to, self.tag, lane)?;
        Ok(Part::UnderWay(pending, message))
    }

    /// A part of the sender's is ready.
    pub(crate) fn ready(&self, place: i64) -> Result<()> {
        let Some(place) = usize::try_from(place).ok().filter(|place| *place < self.parts) else {
            return fail(ERR_ARG, format!("there is no part {place} of {}", self.parts));
        };
        if !self.sends {
            return fail(ERR_REQUEST, "the request receives; only parts of a send become ready");
        }
        let Some((to, lane)) = self.peer else { return Ok(()) };
        inside::refuse("say that the part is ready")?;
        let mut state = self.state();
        match state.parts.get(place) {
            Some(Part::Waits) => {}
            _ => {
                return fail(
                    ERR_REQUEST,
                    format!("part {place} is ready already, or the request is not active"),
                );
            }
        }
        let part = self.buffer.part((place * self.buffer.count) as i64, self.buffer.count).pack();
        state.parts[place] = self.send(to, lane, place, part.bytes())?;
        Ok(())
    }

    /// Whether a part of the receiver's is there.
    pub(crate) fn arrived(&self, place: i64) -> Result<bool> {
        let Some(place) = usize::try_from(place).ok().filter(|place| *place < self.parts) else {
            return fail(ERR_ARG, format!("there is no part {place} of {}", self.parts));
        };
        if self.sends {
            return fail(ERR_REQUEST, "the request sends; only parts of a receive arrive");
        }
        inside::refuse("ask for the part")?;
        self.look()?;
        let state = self.state();
        Ok(!matches!(state.parts.get(place), Some(Part::Waits)))
    }

    /// The end, when all parts have been sent or have come.
    pub(crate) fn poll(&self) -> Option<Result<Status>> {
        if let Err(why) = self.look() {
            return Some(Err(why));
        }
        let mut state = self.state();
        if !self.sends {
            return (!state.awaits).then(|| match (state.wrong.clone(), self.peer) {
                (Some(why), _) => Err(why),
                (None, None) => Ok(Status::FROM_NOBODY),
                (None, Some(_)) => Ok(Status { bytes: state.bytes as i64, ..self.status }),
            });
        }
        for part in &mut state.parts {
            match part {
                Part::UnderWay(pending, _) if pending.is_done() => {
                    let ended = pending.wait();
                    *part = Part::Ended;
                    if let Err(why) = ended {
                        return Some(Err(why.into()));
                    }
                }
                Part::Waits | Part::UnderWay(..) => return None,
                Part::Ended => {}
            }
        }
        Some(Ok(Status::EMPTY))
    }

    /// Receives what has come, from whichever part of the sender's.
    fn look(&self) -> Result<()> {
        let Some((from, lane)) = self.peer else { return Ok(()) };
        let mut state = self.state();
        while state.awaits {
            let Some(message) = self.comm.twin.try_probe_matched_in_lane(from, self.tag, lane)? else {
                return Ok(());
            };
            let (bytes, _) = message.recv_vec::<ringworld::Raw>()?;
            let bytes: &[u8] = ringworld::bytemuck::cast_slice(&bytes);
            let Some((header, bytes)) = bytes.split_first_chunk::<HEADER>() else { continue };
            let number =
                |at: usize| header[at..].iter().take(8).rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
            let (offset, messages) = (number(0).saturating_mul(bytes.len()), number(8));
            state.came += 1;
            state.bytes += bytes.len();
            match self.place(&mut state.broken, offset, bytes) {
                Ok(()) => self.note(&mut state, offset, bytes.len()),
                Err(why) => {
                    state.wrong.get_or_insert(why);
                }
            }
            if state.came >= messages {
                // The sender may have less than there is room for, and end within an element.
                for (place, (bytes, _)) in std::mem::take(&mut state.broken) {
                    self.buffer.part(place as i64, 1).unpack(&bytes);
                }
                state.parts.iter_mut().for_each(|part| *part = Part::Ended);
                state.awaits = false;
            }
        }
        Ok(())
    }

    /// Notes of which of this side's parts bytes have come, and which are there now.
    fn note(&self, state: &mut State, offset: usize, len: usize) {
        let size = self.buffer.bytes();
        if size == 0 {
            return;
        }
        let rest = offset + len;
        for place in offset / size..rest.div_ceil(size) {
            let (begin, end) = (place * size, (place + 1) * size);
            state.filled[place] += rest.min(end) - offset.max(begin);
            if state.filled[place] >= size {
                state.parts[place] = Part::Ended;
            }
        }
    }

    /// Puts bytes into their places. Elements of which only a piece has come wait for the others: the sender's parts
    /// need not end where the receiver's elements do.
    fn place(
        &self,
        broken: &mut BTreeMap<usize, (Vec<u8>, usize)>,
        offset: usize,
        bytes: &[u8],
    ) -> Result<()> {
        let size = self.buffer.datatype.size;
        let room = self.parts * self.buffer.bytes();
        if offset.saturating_add(bytes.len()) > room {
            return fail(ERR_TRUNCATE, format!("{} bytes at {offset} do not fit into {room}", bytes.len()));
        }
        if size == 0 {
            return Ok(());
        }
        let mut piece = |at: usize, bytes: &[u8]| {
            if bytes.is_empty() {
                return;
            }
            let (place, begin) = (at / size, at % size);
            let element = || (self.buffer.part(place as i64, 1).pack().bytes().to_vec(), 0);
            let (whole, filled) = broken.entry(place).or_insert_with(element);
            whole[begin..begin + bytes.len()].copy_from_slice(bytes);
            *filled += bytes.len();
            if *filled == size {
                self.buffer.part(place as i64, 1).unpack(whole);
                broken.remove(&place);
            }
        };
        let (head, rest) = bytes.split_at(((size - offset % size) % size).min(bytes.len()));
        let (middle, tail) = rest.split_at(rest.len() - rest.len() % size);
        piece(offset, head);
        piece(offset + head.len() + middle.len(), tail);
        if !middle.is_empty() {
            self.buffer.part(((offset + head.len()) / size) as i64, middle.len() / size).unpack(middle);
        }
        Ok(())
    }
}

impl Drop for Partitioned {
    fn drop(&mut self) {
        if let Some((peer, number)) = self.peer {
            self.comm.partitioned().take_back((peer, self.tag, self.sends), number);
        }
    }
}
