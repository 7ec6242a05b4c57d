//! The polling side: what has arrived at a rank becomes placements, copies and events.
//!
//! Invariant: notices are handled in the order of arrival, and none of a peer that is down. Neighbours:
//! `engine` fills the inbox, `sim` calls [`Engine::poll`].

use ringworld_transport::{Cause, Event, Header, Placer, Rank};

use crate::end::{Incoming, Link, LinkState, Notice, Stage};
use crate::engine::Engine;
use crate::wire::Packet;

impl Engine {
    /// See [`Transport::poll`](ringworld_transport::Transport::poll).
    pub(crate) fn poll(&mut self, rank: Rank, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        self.run_due();
        let idle = self.ends[rank].inbox.is_empty() && self.ends[rank].due.is_empty();
        if idle && self.config.auto_advance {
            self.advance();
        }
        let before = events.len();
        let mut moved = false;
        events.append(&mut self.ends[rank].due);
        while let Some(notice) = self.ends[rank].inbox.pop_front() {
            moved = true;
            match notice {
                Notice::Left { peer, token } => {
                    if let Some(link) = self.ends[rank].links.get_mut(&peer) {
                        link.open_sends = link.open_sends.saturating_sub(1);
                    }
                    events.push(Event::Sent { token });
                }
                Notice::Arrived { peer, flight, packet } => {
                    self.take(rank, peer, packet, placer, events);
                    self.fragment_taken(peer, rank, flight);
                }
            }
            events.append(&mut self.ends[rank].due);
        }
        let end = &mut self.ends[rank];
        if end.stage == Stage::Closing && end.links.values().all(|link| link.is_down() || link.acked) {
            end.stage = Stage::Closed;
            end.exposures.clear();
            events.push(Event::Closed);
        }
        for event in &events[before..] {
            self.trace.report(self.now, rank, event);
        }
        moved || events.len() > before
    }

    fn take(
        &mut self,
        rank: Rank,
        peer: Rank,
        packet: Packet,
        placer: &mut dyn Placer,
        events: &mut Vec<Event>,
    ) {
        let taken = match packet {
            Packet::Message { opening, bytes } => {
                self.take_message(rank, peer, opening, &bytes, placer, events)
            }
            Packet::Put { id, offset, bytes } => self.take_put(rank, peer, id, offset, &bytes, events),
            Packet::Fin => {
                self.read_fin(rank, peer, events);
                Ok(())
            }
            Packet::FinAck => {
                if let Some(link) = self.ends[rank].links.get_mut(&peer) {
                    link.acked = true;
                }
                Ok(())
            }
            Packet::Lost(cause) => {
                self.take_lost(rank, peer, cause);
                Ok(())
            }
        };
        if let Err(reason) = taken {
            self.take_down(rank, peer, Cause::Protocol(reason));
        }
    }

    fn take_message(
        &mut self,
        rank: Rank,
        peer: Rank,
        opening: Option<(Header, usize)>,
        bytes: &[u8],
        placer: &mut dyn Placer,
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let Some(link) = self.ends[rank].links.get_mut(&peer) else { return Ok(()) };
        if let Some((header, length)) = opening {
            let placement = placer.place(peer, header.as_bytes(), length)?;
            let (memory, token) = (placement.memory, placement.token);
            link.incoming = Some(Incoming { memory, token, arrived: 0, length });
        }
        let Some(incoming) = &mut link.incoming else { return Ok(()) };
        let room = incoming.memory.as_mut_slice();
        let start = incoming.arrived.min(room.len());
        let end = room.len().min(incoming.arrived + bytes.len());
        room[start..end].copy_from_slice(&bytes[..end - start]);
        incoming.arrived += bytes.len();
        if incoming.arrived == incoming.length {
            let token = incoming.token;
            link.incoming = None;
            events.push(Event::Received { peer, token });
        }
        Ok(())
    }

    fn take_put(
        &mut self,
        rank: Rank,
        peer: Rank,
        id: u64,
        offset: usize,
        bytes: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), String> {
        let exposure = self.ends[rank].exposures.get_mut(&id).filter(|exposure| exposure.peer == peer);
        let Some(exposure) = exposure else {
            return Err(format!("a put to exposure {id}, which is not open to rank {peer} (any more)"));
        };
        let memory = exposure.memory.as_mut_slice();
        let (length, end) = (memory.len(), offset + bytes.len());
        let Some(room) = memory.get_mut(offset..end) else {
            return Err(format!("a put to bytes {offset}..{end} of an exposure of {length} bytes"));
        };
        if !exposure.written.add(offset, end) {
            return Err(format!("a put to bytes {offset}..{end} of exposure {id}, written before"));
        }
        room.copy_from_slice(bytes);
        if exposure.written.is_whole(length) {
            events.push(Event::Filled { token: exposure.token });
            self.ends[rank].exposures.remove(&id);
        }
        Ok(())
    }

    fn read_fin(&mut self, rank: Rank, peer: Rank, events: &mut Vec<Event>) {
        let Some(link) = self.ends[rank].links.get_mut(&peer) else { return };
        link.state = LinkState::Finished;
        link.owes_ack = true;
        events.push(Event::PeerClosed { peer });
        if self.ends[rank].exposures.values().any(|exposure| exposure.peer == peer) {
            // The peer has sent all it ever will, so these exposures can only end this way.
            self.signal(rank, peer, Packet::FinAck);
            self.ends[rank].take_down(peer, Cause::Finished);
            events.push(Event::PeerDown { peer, cause: Cause::Finished });
        } else {
            self.send_fin(rank, peer);
        }
    }

    fn take_lost(&mut self, rank: Rank, peer: Rank, cause: Cause) {
        let end = &mut self.ends[rank];
        let settled = |link: &Link| matches!(link.state, LinkState::Finished) && link.open_sends == 0;
        let quiet = end.links.get(&peer).is_some_and(settled);
        // What waits at a rank that was not there has not gone anywhere.
        let refused = matches!(cause, Cause::Unreachable(_) | Cause::Rejected(_));
        let is_complete = |link: &Link| link.messages.iter().any(|message| message.token.is_none());
        if refused && end.links.get(&peer).is_some_and(is_complete) {
            end.due.push(Event::Undelivered { peer });
        }
        if end.take_down(peer, cause.clone()) && !quiet {
            end.due.push(Event::PeerDown { peer, cause });
        }
    }
}
