//! One queue pair with its slots, its credits and the accounting of its send queue.
//!
//! Invariant: the pair is the first field, so it is destroyed before the memory that it might touch; a slot of
//! the peer's is never filled without a credit or a place in the reserve. Neighbours: `link.rs` has all lanes to
//! one peer, `sending.rs` and `receiving.rs` use them.

use std::io;

use ringworld_transport::{Rank, SendMemory};

use super::device::{Qp, Registered, Slab, Write};
use crate::credits::Credits;
use crate::send_queue::{SendQueue, Work};
use crate::wire::{Kind, PRELUDE, Prelude};

/// The longest that any device is asked to copy while posting.
const MAX_INLINE: usize = 256;
/// Fragments of puts under way on one queue pair. They are large, and small messages wait behind them.
const MAX_FRAGMENTS: usize = 4;

/// What the number of a work request says about it. Queue pairs are counted from 0 for each peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// A slot of this peer's own: of which queue pair, and which.
    Receive(Rank, usize, usize),
    /// A slot of the shared queue: of which slab, and which.
    Shared(usize, usize),
    /// Of the send queue of one of this peer's queue pairs.
    Send(Rank, usize, u32),
}

impl Id {
    pub(super) fn encode(self) -> u64 {
        // No completion queue has room for as many ranks as would need more than 24 bits.
        let word = |kind: u64, lane: usize, high: usize, low: u64| {
            kind << 62 | (lane as u64) << 56 | (high as u64) << 32 | low
        };
        match self {
            Self::Receive(rank, lane, slot) => word(0, lane, rank, slot as u64),
            Self::Shared(slab, slot) => word(1, 0, slab, slot as u64),
            Self::Send(rank, lane, number) => word(2, lane, rank, u64::from(number)),
        }
    }

    pub(super) fn decode(word: u64) -> Self {
        let (lane, high, low) = ((word << 2 >> 58) as usize, (word << 8 >> 40) as usize, word as u32);
        match word >> 62 {
            0 => Self::Receive(high, lane, low as usize),
            1 => Self::Shared(high, low as usize),
            _ => Self::Send(high, lane, low),
        }
    }
}

/// Where a message has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A slot of one of the peer's lanes.
    Own(usize, usize),
    /// A slot of the shared queue: of which slab, and which. Only first lanes use it.
    Shared(usize, usize),
}

impl Place {
    pub(super) fn lane(self) -> usize {
        match self {
            Self::Own(lane, _) => lane,
            Self::Shared(..) => 0,
        }
    }
}

/// See the module.
pub(super) struct Lane {
    pub(super) pair: Qp,
    send: Slab,
    /// `None` when receives are shared.
    pub(super) receive: Option<Slab>,
    queue: SendQueue,
    /// Where short messages are put together.
    inline: [u8; MAX_INLINE],
    rank: Rank,
    /// Which of the peer's.
    index: usize,
    /// From when the peer's offer is known.
    pub(super) credits: Option<Credits>,
    /// The peer can receive.
    pub(super) ready: bool,
    /// Something has completed since the last look.
    pub(super) heard: bool,
}

impl Lane {
    /// Lane `index` to `rank`; posts the receives of its own.
    pub(super) fn new(
        (rank, index): (Rank, usize),
        pair: Qp,
        send: Slab,
        receive: Option<Slab>,
    ) -> io::Result<Self> {
        let queue = SendQueue::default();
        let mut lane = Self {
            pair,
            send,
            receive,
            queue,
            inline: [0; MAX_INLINE],
            rank,
            index,
            credits: None,
            ready: false,
            heard: true,
        };
        for slot in 0..lane.receive.as_ref().map_or(0, Slab::slots) {
            lane.post_receive(slot)?;
        }
        Ok(lane)
    }

    /// Lends slot `slot` of this peer's own to the device, again or for the first time.
    pub(super) fn post_receive(&mut self, slot: usize) -> io::Result<()> {
        let id = Id::Receive(self.rank, self.index, slot).encode();
        self.receive.as_mut().map_or(Ok(()), |slab| self.pair.post_receive(slab, slot, id))
    }

    /// Whether anything may be sent at all.
    pub(super) fn is_open(&self) -> bool {
        self.ready && self.credits.is_some()
    }

    /// Whether credits have gathered that should travel though nothing else does.
    pub(super) fn owes(&self) -> bool {
        self.credits.as_ref().is_some_and(Credits::should_return)
    }

    /// Takes a credit if `needed`; `false` when there is none, or no connection yet.
    fn admit(&mut self, needed: bool) -> bool {
        match &mut self.credits {
            Some(credits) if self.ready => !needed || credits.take(),
            _ => false,
        }
    }

    /// Sends what fits into one slot; `false` when that has to wait.
    pub(super) fn send(
        &mut self,
        kind: Kind,
        (id, length): (u32, u64),
        header: &[u8],
        payload: &[u8],
    ) -> io::Result<bool> {
        let total = PRELUDE + header.len() + payload.len();
        let inline = total <= self.pair.inline();
        if !self.has_place(inline) || !self.admit(kind.takes_credit()) {
            return Ok(false);
        }
        let credits = self.credits.as_mut().map_or(0, Credits::settle);
        let prelude = Prelude { kind, header: header.len(), credits, id, length }.encode();
        let work = if kind == Kind::FinAck { Work::FinAck } else { Work::Copy };
        self.post_copy(&[&prelude, header, payload], None, work)
    }

    /// Writes a few bytes into the peer's memory, copied before this returns; `false` when that has to wait.
    pub(super) fn write_copy(&mut self, bytes: &[u8], write: Write) -> io::Result<bool> {
        let inline = bytes.len() <= self.pair.inline();
        if !self.has_place(inline) || !self.admit(true) {
            return Ok(false);
        }
        self.post_copy(&[bytes], Some(write), Work::Copy)
    }

    fn has_place(&self, inline: bool) -> bool {
        if inline { self.queue.has_room() } else { self.queue.slot().is_some() }
    }

    /// The longest that [`Lane::write_copy`] takes.
    pub(super) fn copy_limit(&self) -> usize {
        self.send.slot_size()
    }

    fn post_copy(&mut self, parts: &[&[u8]], write: Option<Write>, work: Work) -> io::Result<bool> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let (number, signal) = self.queue.next(work);
        let id = self.id(number);
        if total <= self.pair.inline() {
            gather(parts, &mut self.inline);
            self.pair.send_inline(&self.inline[..total], write, id, signal)?;
            self.queue.posted(work, None);
            return Ok(true);
        }
        let slot = self.queue.slot().ok_or(io::ErrorKind::WouldBlock)?;
        gather(parts, self.send.bytes_mut(slot).ok_or(io::ErrorKind::InvalidData)?);
        self.pair.send_slot(&mut self.send, (slot, total), write, id, signal)?;
        self.queue.posted(work, Some(slot));
        Ok(true)
    }

    fn id(&self, number: u32) -> u64 {
        Id::Send(self.rank, self.index, number).encode()
    }

    /// Begins to write a fragment of put number `put`; `false` when that has to wait.
    pub(super) fn write_fragment(
        &mut self,
        source: &Registered<SendMemory>,
        (offset, length): (usize, usize),
        write: Write,
        put: u32,
    ) -> io::Result<bool> {
        if !self.queue.has_room() || self.queue.fragments() >= MAX_FRAGMENTS || !self.admit(true) {
            return Ok(false);
        }
        let work = Work::Fragment { put };
        let (number, _) = self.queue.next(work);
        self.pair.write(source, (offset, length), write, self.id(number))?;
        self.queue.posted(work, None);
        Ok(true)
    }

    /// Work request `number` is done, and with it all before. Frees their slots; tells what they were for.
    pub(super) fn done(&mut self, number: u32, mut each: impl FnMut(Work)) -> Result<(), String> {
        let Some(done) = self.queue.done(number) else {
            return Err(format!(
                "the device reports the end of work request {number}, which is not under way"
            ));
        };
        for (work, slot) in done {
            if let Some(slot) = slot {
                self.send.take_back(slot);
            }
            each(work);
        }
        Ok(())
    }

    /// Finds out whether the peer is there, unless that is being done or other work will tell.
    pub(super) fn probe(&mut self) -> io::Result<()> {
        if !self.is_open() || !self.queue.has_room() || self.queue.is_probing() {
            return Ok(());
        }
        let (number, _) = self.queue.next(Work::Probe);
        self.pair.probe(self.id(number))?;
        self.queue.posted(Work::Probe, None);
        Ok(())
    }
}

fn gather(parts: &[&[u8]], into: &mut [u8]) {
    let mut at = 0;
    for part in parts {
        into[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_work_requests_say_what_they_are() {
        let received = [Id::Receive(70_000, 15, 63), Id::Receive(0, 0, 0), Id::Shared(70_000, 15)];
        let sent = [Id::Send(0, 0, u32::MAX), Id::Send((1 << 24) - 1, 15, 0), Id::Send(1, 15, 1 << 31)];
        for id in received.into_iter().chain(sent) {
            assert_eq!(Id::decode(id.encode()), id);
        }
    }
}
