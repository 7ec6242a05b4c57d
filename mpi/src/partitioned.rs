//! Partitioned communication: a message whose parts become ready one by one (MPI 5.0, chapter 4).
//!
//! Each part is a message of its own on the communicator's twin, sent when it is ready. Which sends meet which
//! receives is by the order in which they were initialized, for each peer and tag; so both count them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringworld::foreign::{Call, Pending};
use ringworld::{Source, Tag};

use crate::comms::{Comm, Peer};
use crate::datatypes::{Buffer, Owned};
use crate::error::{Result, fail};
use crate::standard::{ERR_ARG, ERR_REQUEST, ERR_TRUNCATE};
use crate::status::Status;

/// One side of a partitioned message.
pub(crate) struct Partitioned {
    comm: Arc<Comm>,
    peer: Peer,
    /// What of the twin's tags is this message's.
    tag: u32,
    /// That of the program, for the status.
    status: Status,
    buffer: Buffer,
    parts: usize,
    sends: bool,
    state: Mutex<State>,
    cancelled: AtomicBool,
}

#[derive(Default)]
struct State {
    parts: Vec<Part>,
    /// How many messages have come, of as many as the sender has parts.
    came: usize,
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

/// Which part it is, and of how many.
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
        let Ok(parts @ 1..) = usize::try_from(parts) else {
            return fail(ERR_ARG, format!("{parts} parts cannot be; there must be one at least"));
        };
        let counted = match peer {
            Peer::Nobody => 0,
            Peer::Rank(peer) => comm.count_partitioned(peer, tag, sends),
        };
        let status = Status { source: rank, tag, ..Status::EMPTY };
        Ok(Self {
            comm: Arc::clone(comm),
            peer,
            // Tags of 31 bits are for collectives.
            tag: 0x8000_0000
                | (tag as u32).rotate_left(12).wrapping_mul(0x9e37_79b9) >> 1 & !0x3ff
                | counted & 0x3ff,
            status,
            buffer,
            parts,
            sends,
            state: Mutex::default(),
            cancelled: AtomicBool::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All parts wait anew.
    pub(crate) fn start(&self) -> Result<()> {
        let mut state = self.state();
        let parts = (0..self.parts).map(|_| Part::Waits).collect();
        *state = State { parts, filled: vec![0; self.parts], ..State::default() };
        if self.peer == Peer::Nobody {
            state.parts.iter_mut().for_each(|part| *part = Part::Ended);
        }
        Ok(())
    }

    fn part(&self, place: usize) -> Buffer {
        self.buffer.part((place * self.buffer.count) as i64, self.buffer.count)
    }

    /// A part of the sender's is ready.
    pub(crate) fn ready(&self, place: i64) -> Result<()> {
        let Some(place) = usize::try_from(place).ok().filter(|place| *place < self.parts) else {
            return fail(ERR_ARG, format!("there is no part {place} of {}", self.parts));
        };
        if !self.sends {
            return fail(ERR_REQUEST, "the request receives; only parts of a send become ready");
        }
        let Peer::Rank(to) = self.peer else { return Ok(()) };
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
        // The place goes with it: parts may become ready in any order.
        let packed = self.part(place).pack();
        let mut message = Owned::new(packed.bytes().len() + HEADER);
        let (header, rest) = message.bytes_mut().split_at_mut(HEADER);
        header[..8].copy_from_slice(&(place as u64).to_le_bytes());
        header[8..].copy_from_slice(&(self.parts as u64).to_le_bytes());
        rest.copy_from_slice(packed.bytes());
        let call = Call::Send { to, tag: self.tag, synchronous: false };
        let pending = self.comm.twin.begin_foreign(&call, Some(message.foreign()), None)?;
        state.parts[place] = Part::UnderWay(pending, message);
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
        self.look()?;
        let state = self.state();
        Ok(state.parts.is_empty() || matches!(state.parts[place], Part::Ended))
    }

    /// The end, when all parts have been sent or have come.
    pub(crate) fn poll(&self) -> Option<Result<Status>> {
        if let Err(why) = self.look() {
            return Some(Err(why));
        }
        let mut state = self.state();
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
        if self.cancelled.load(Ordering::Relaxed) {
            return Some(Ok(Status { cancelled: true, ..Status::EMPTY }));
        }
        Some(Ok(match (self.sends, self.peer) {
            (true, _) => Status::EMPTY,
            (false, Peer::Nobody) => Status::FROM_NOBODY,
            (false, Peer::Rank(_)) => Status { bytes: state.bytes as i64, ..self.status },
        }))
    }

    /// Receives what has come, from whichever part of the sender's.
    fn look(&self) -> Result<()> {
        let Peer::Rank(from) = self.peer else { return Ok(()) };
        if self.sends {
            return Ok(());
        }
        let mut state = self.state();
        while state.parts.iter().any(|part| matches!(part, Part::Waits)) {
            let tag = Tag::Value(self.tag);
            let Some(message) = self.comm.twin.try_probe_matched(Source::Rank(from), tag)? else {
                return Ok(());
            };
            let (bytes, _) = message.recv_vec::<ringworld::Raw>()?;
            let bytes: &[u8] = ringworld::bytemuck::cast_slice(&bytes);
            let Some((header, bytes)) = bytes.split_first_chunk::<HEADER>() else { continue };
            let number =
                |at: usize| header[at..].iter().take(8).rev().fold(0, |n, byte| n << 8 | usize::from(*byte));
            let (offset, parts) = (number(0).saturating_mul(bytes.len()), number(8));
            self.place(&mut state.broken, offset, bytes)?;
            state.came += 1;
            state.bytes += bytes.len();
            let size = self.buffer.bytes();
            for place in 0..self.parts {
                let (begin, end) = (place * size, (place + 1) * size);
                state.filled[place] += (offset + bytes.len()).min(end).saturating_sub(offset.max(begin));
                if size > 0 && state.filled[place] >= size {
                    state.parts[place] = Part::Ended;
                }
            }
            if state.came >= parts {
                // The sender may have less than there is room for, and end within an element.
                for (place, (bytes, _)) in std::mem::take(&mut state.broken) {
                    self.buffer.part(place as i64, 1).unpack(&bytes);
                }
                state.parts.iter_mut().for_each(|part| *part = Part::Ended);
            }
        }
        Ok(())
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
