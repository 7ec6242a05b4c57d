//! How messages and puts go out.
//!
//! ```text
//! message    copied into one slot or several (a short one inline), in order, each with a credit
//! put        up to a slot: copied into a slot of this side and written from there
//!            longer:       registered, unless its owner has done so, and written in fragments from where it is, over
//!                          all queue pairs
//!            without registration at this side:  copied slot by slot, and written from there
//!            without registration at the other:  copied slot by slot, sent, and copied there
//! ```
//!
//! Every write carries an immediate that names the exposure; the completion that it makes at the receiver says
//! how many bytes came. Messages go before puts: they are short. Neighbours: `link.rs` and
//! `lane.rs` post, `receiving.rs`.

use std::io;
use std::sync::Arc;

use ringworld_transport::{Event, Rank, SendMemory, Token};

use super::device::{Pd, Region, Registered, Write};
use super::link::Link;
use super::peer::{Outgoing, Peer, Put, Source, State};
use super::transport::Ibverbs;
use crate::fragments::Flying;
use crate::regions::Regions;
use crate::wire::{Kind, PRELUDE, share};

impl Outgoing {
    /// Sends as much as possible; `true` when that was all.
    pub(super) fn advance(&mut self, link: &mut Link) -> io::Result<bool> {
        let Self { header, body, begun, sent } = self;
        let bytes = body.as_slice();
        while !*begun || *sent < bytes.len() {
            let (kind, header) =
                if *begun { (Kind::More, &[][..]) } else { (Kind::Message, header.as_bytes()) };
            let front = PRELUDE + header.len();
            let end = *sent + share(bytes.len() - *sent, front, link.room, link.packet);
            if !link.first.send(kind, (0, bytes.len() as u64), header, &bytes[*sent..end])? {
                return Ok(false);
            }
            (*begun, *sent) = (true, end);
        }
        Ok(true)
    }
}

/// What came of working on a put.
enum Step {
    /// It has to wait.
    Wait,
    /// All of it has been copied.
    Copied,
    /// All of it has been posted, and the device reads it.
    Posted,
}

impl Put {
    fn advance(
        &mut self,
        link: &mut Link,
        (domain, regions): (&Arc<Pd>, &Regions<Arc<Region>>),
        flying: &mut Flying<(Registered<SendMemory>, Token)>,
        refused: &mut Option<(io::Error, usize)>,
    ) -> io::Result<Step> {
        if !link.is_open() {
            return Ok(Step::Wait);
        }
        if let Source::Plain(memory) = &mut self.source {
            let memory = std::mem::replace(memory, SendMemory::empty());
            self.source = if self.key.staged || memory.len() <= link.first.copy_limit() {
                Source::Copied(memory)
            } else {
                let around = regions.covering(memory.as_slice().as_ptr() as usize, memory.len());
                match Registered::to_read(domain, around, memory) {
                    Ok(registered) => Source::Registered(registered, flying.begin()),
                    Err((memory, error)) => {
                        *refused = Some((error, memory.len()));
                        Source::Copied(memory)
                    }
                }
            };
        }
        match &self.source {
            Source::Plain(_) => Ok(Step::Wait),
            Source::Copied(memory) => {
                let bytes = memory.as_slice();
                while self.posted < bytes.len() {
                    let staged = self.key.staged;
                    let (front, room) =
                        if staged { (PRELUDE, link.room) } else { (0, link.first.copy_limit()) };
                    let end = self.posted + share(bytes.len() - self.posted, front, room, link.packet);
                    let fragment = &bytes[self.posted..end];
                    let at = (self.offset + self.posted) as u64;
                    let sent = if staged {
                        link.first.send(Kind::Staged, (self.key.id, at), &[], fragment)?
                    } else {
                        link.first.write_copy(fragment, self.write_at(self.posted))?
                    };
                    if !sent {
                        return Ok(Step::Wait);
                    }
                    self.posted = end;
                }
                Ok(Step::Copied)
            }
            Source::Registered(source, number) => {
                while self.posted < source.len() {
                    let length = link.fragment(source.len()).min(source.len() - self.posted);
                    let write = self.write_at(self.posted);
                    if !link.write_fragment(source, (self.posted, length), write, *number)? {
                        return Ok(Step::Wait);
                    }
                    flying.fragment(*number);
                    self.posted += length;
                }
                Ok(Step::Posted)
            }
        }
    }

    fn write_at(&self, posted: usize) -> Write {
        let address = self.key.address.wrapping_add((self.offset + posted) as u64);
        Write { address, key: self.key.rkey, immediate: self.key.id }
    }
}

impl Ibverbs {
    /// Sends to `rank` what can be sent.
    pub(super) fn pump(&mut self, rank: Rank) {
        let mut refused = None;
        if let Err(error) = self.pump_some(rank, &mut refused) {
            self.trouble(rank, &error);
        }
        if let Some((error, length)) = refused {
            self.warn_of_memory(&error, length);
        }
    }

    fn pump_some(&mut self, rank: Rank, refused: &mut Option<(io::Error, usize)>) -> io::Result<()> {
        let peer = &mut self.peers[rank];
        loop {
            let Peer { state: State::Linked(link), queue, .. } = peer else { return Ok(()) };
            if !link.is_open() {
                return Ok(());
            }
            let Some(outgoing) = queue.front_mut() else { break };
            if !outgoing.advance(link)? {
                break;
            }
            self.waiting -= 1;
            if let Some(token) = peer.leave_queue() {
                self.life.defer(Event::Sent { token });
            }
        }
        let Peer { state: State::Linked(link), puts, flying, .. } = peer else { return Ok(()) };
        while let Some(put) = puts.front_mut() {
            let step = put.advance(link, (&self.domain, &self.regions), flying, refused)?;
            if matches!(step, Step::Wait) {
                break;
            }
            let Some(put) = puts.pop_front() else { break };
            self.waiting -= 1;
            let over = match put.source {
                Source::Registered(source, number) => flying.posted(number, (source, put.token)),
                _ => {
                    self.life.defer(Event::Sent { token: put.token });
                    None
                }
            };
            if let Some((source, token)) = over {
                // Deregisters the memory before its owner hears of it, unless its owner has registered it.
                drop(source);
                self.life.defer(Event::Sent { token });
            }
        }
        // After the rest, on which credits ride too.
        for lane in link.lanes_mut().filter(|lane| lane.owes()) {
            lane.send(Kind::Credits, (0, 0), &[], &[])?;
        }
        Ok(())
    }
}
