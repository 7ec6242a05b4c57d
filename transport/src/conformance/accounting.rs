//! The accounting of one rank: every operation, placement and exposure, and how each stands.
//!
//! Invariant: an entry ends once; an event that would end it again, or that names a peer whose end was
//! reported before, is a fault. Memory is overwritten as soon as its entry has ended. Neighbours:
//! `harness` (feeds the events in), `buffer` (the memory).

use super::buffer::Buffer;
use crate::{Cause, Event, Placement, Placer, Rank, RegionId, Token, Transport};

/// Overwrites memory that a sender has back.
pub(super) const SENT: u8 = 0xe5;
/// Overwrites memory that a receiver has back.
pub(super) const TAKEN: u8 = 0xd7;

/// How an operation stands in the accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Accepted and not ended.
    Pending,
    /// Completed in good order.
    Done,
    /// Ended by `PeerDown` or `abort`.
    Lost,
}

/// A message or put that was accepted.
pub(super) struct Sending {
    pub(super) peer: Rank,
    pub(super) state: State,
    pub(super) buffer: Buffer,
}

/// A message whose header has arrived.
pub(super) struct Arrival {
    pub(super) peer: Rank,
    pub(super) header: Vec<u8>,
    /// What the transport said the payload's length is.
    pub(super) length: usize,
    pub(super) state: State,
    /// What was in the placed memory when `Received` was reported.
    pub(super) bytes: Vec<u8>,
    pub(super) buffer: Buffer,
}

/// Memory opened to a peer.
pub(super) struct Exposure {
    pub(super) peer: Rank,
    pub(super) state: State,
    /// What was in the memory when `Filled` was reported.
    pub(super) bytes: Vec<u8>,
    pub(super) buffer: Buffer,
}

/// Decides how much room a message gets, or refuses its header.
pub(super) type Policy = Box<dyn FnMut(Rank, &[u8], usize) -> Result<usize, String>>;

/// The receiving side of one rank: answers the transport's question and remembers every answer.
pub(super) struct Desk {
    pub(super) policy: Policy,
    arrivals: Vec<Arrival>,
    silent: Vec<Rank>,
    refused: Vec<Rank>,
    pub(super) fault: Option<String>,
    /// Has enough whenever a message has come.
    pub(super) easily_content: bool,
}

impl Placer for Desk {
    fn has_enough(&self) -> bool {
        self.easily_content && !self.arrivals.is_empty()
    }

    fn place(&mut self, peer: Rank, header: &[u8], length: usize) -> Result<Placement, String> {
        if self.silent.contains(&peer) {
            self.fault = Some(format!("placement asked for rank {peer} after its end was reported"));
        }
        if self.refused.contains(&peer) {
            self.fault = Some(format!("placement asked again for rank {peer} after its header was refused"));
        }
        let room = (self.policy)(peer, header, length).inspect_err(|_| self.refused.push(peer))?;
        let buffer = Buffer::new(vec![TAKEN; room]);
        let memory = buffer.lend_to_receive();
        let token = Token(self.arrivals.len() as u64);
        self.arrivals.push(Arrival {
            peer,
            header: header.to_vec(),
            length,
            state: State::Pending,
            bytes: Vec::new(),
            buffer,
        });
        Ok(Placement { token, memory })
    }
}

/// One rank: its transport and its accounting.
pub(super) struct End {
    pub(super) transport: Option<Box<dyn Transport>>,
    pub(super) desk: Desk,
    pub(super) sendings: Vec<Sending>,
    pub(super) exposures: Vec<Exposure>,
    /// Memory of which operations use parts, here so that it outlives the transport.
    pub(super) memories: Vec<Buffer>,
    /// The names of all regions that were ever registered.
    pub(super) regions: Vec<RegionId>,
    pub(super) down: Vec<(Rank, Cause)>,
    /// Peers for which something that was complete never left.
    pub(super) undelivered: Vec<Rank>,
    pub(super) closed_peers: Vec<Rank>,
    pub(super) closed: bool,
    /// Whether [`Harness::step`] polls it.
    pub(super) polled: bool,
    pub(super) aborted: bool,
}

impl End {
    pub(super) fn new(transport: Box<dyn Transport>) -> Self {
        Self {
            transport: Some(transport),
            desk: Desk {
                policy: Box::new(|_, _, length| Ok(length)),
                arrivals: Vec::new(),
                silent: Vec::new(),
                refused: Vec::new(),
                fault: None,
                easily_content: false,
            },
            sendings: Vec::new(),
            exposures: Vec::new(),
            memories: Vec::new(),
            regions: Vec::new(),
            down: Vec::new(),
            undelivered: Vec::new(),
            closed_peers: Vec::new(),
            closed: false,
            polled: true,
            aborted: false,
        }
    }

    pub(super) fn transport(&mut self) -> &mut dyn Transport {
        self.transport.as_deref_mut().expect("the check uses a transport that it has dropped")
    }

    pub(super) fn arrivals(&self) -> &[Arrival] {
        &self.desk.arrivals
    }

    /// The messages of `peer` that have been received completely, in order of arrival.
    pub(super) fn received_from(&self, peer: Rank) -> impl Iterator<Item = &Arrival> {
        self.desk.arrivals.iter().filter(move |a| a.peer == peer && a.state == State::Done)
    }

    pub(super) fn is_down(&self, peer: Rank) -> bool {
        self.down.iter().any(|(down, _)| *down == peer)
    }

    pub(super) fn nothing_pending(&self) -> bool {
        self.sendings.iter().all(|s| s.state != State::Pending)
    }

    pub(super) fn all_sent(&self) -> bool {
        self.sendings.iter().all(|s| s.state == State::Done)
    }

    pub(super) fn all_filled(&self) -> bool {
        self.exposures.iter().all(|e| e.state == State::Done)
    }

    fn sent(&mut self, Token(token): Token) -> Result<(), String> {
        let sending =
            self.sendings.get_mut(token as usize).ok_or(format!("Sent for token {token}, never posted"))?;
        if sending.state != State::Pending {
            return Err(format!("Sent for token {token}, which has ended already ({:?})", sending.state));
        }
        sending.state = State::Done;
        sending.buffer.scribble(SENT);
        Ok(())
    }

    fn received(&mut self, peer: Rank, Token(token): Token) -> Result<(), String> {
        let index = token as usize;
        let earlier_open =
            self.desk.arrivals.iter().take(index).any(|a| a.peer == peer && a.state == State::Pending);
        let arrival =
            self.desk.arrivals.get_mut(index).ok_or(format!("Received for token {token}, never placed"))?;
        if arrival.peer != peer {
            return Err(format!("Received for token {token} names rank {peer}, not rank {}", arrival.peer));
        }
        if arrival.state != State::Pending {
            return Err(format!("Received for token {token}, which has ended already ({:?})", arrival.state));
        }
        if earlier_open {
            return Err(format!("Received for token {token} before an earlier message of rank {peer}"));
        }
        arrival.state = State::Done;
        arrival.bytes = arrival.buffer.copy_out();
        arrival.buffer.scribble(TAKEN);
        Ok(())
    }

    fn filled(&mut self, Token(token): Token) -> Result<(), String> {
        let exposure = self
            .exposures
            .get_mut(token as usize)
            .ok_or(format!("Filled for token {token}, never exposed"))?;
        if exposure.state != State::Pending {
            return Err(format!("Filled for token {token}, which has ended already ({:?})", exposure.state));
        }
        exposure.state = State::Done;
        exposure.bytes = exposure.buffer.copy_out();
        exposure.buffer.scribble(TAKEN);
        Ok(())
    }

    fn peer_down(&mut self, peer: Rank, cause: Cause) -> Result<(), String> {
        if self.is_down(peer) {
            return Err(format!("a second PeerDown for rank {peer} ({cause})"));
        }
        self.down.push((peer, cause));
        self.desk.silent.push(peer);
        self.lose(|owner| owner == peer);
        Ok(())
    }

    fn peer_closed(&mut self, peer: Rank) -> Result<(), String> {
        if self.desk.silent.contains(&peer) {
            return Err(format!("PeerClosed for rank {peer}, whose end was reported already"));
        }
        if let Some(open) = self.desk.arrivals.iter().find(|a| a.peer == peer && a.state == State::Pending) {
            return Err(format!(
                "PeerClosed for rank {peer} before its message {:02x?} was received",
                open.header
            ));
        }
        self.closed_peers.push(peer);
        self.desk.silent.push(peer);
        Ok(())
    }

    /// Marks everything of the chosen peers as lost; its memory is ours again, so it is overwritten.
    pub(super) fn lose(&mut self, chosen: impl Fn(Rank) -> bool) {
        for s in self.sendings.iter_mut().filter(|s| s.state == State::Pending && chosen(s.peer)) {
            s.state = State::Lost;
            s.buffer.scribble(SENT);
        }
        for a in self.desk.arrivals.iter_mut().filter(|a| a.state == State::Pending && chosen(a.peer)) {
            a.state = State::Lost;
            a.buffer.scribble(TAKEN);
        }
        for e in self.exposures.iter_mut().filter(|e| e.state == State::Pending && chosen(e.peer)) {
            e.state = State::Lost;
            e.buffer.scribble(TAKEN);
        }
    }

    pub(super) fn note(&mut self, event: Event) -> Result<(), String> {
        if self.aborted {
            return Err(format!("{event:?} after abort"));
        }
        match event {
            Event::Sent { token } => self.sent(token),
            Event::Received { peer, token } => self.received(peer, token),
            Event::Filled { token } => self.filled(token),
            Event::Undelivered { peer } if self.is_down(peer) => {
                Err(format!("Undelivered for rank {peer} after its PeerDown"))
            }
            Event::Undelivered { peer } => {
                self.undelivered.push(peer);
                Ok(())
            }
            Event::PeerDown { peer, cause } => self.peer_down(peer, cause),
            Event::PeerClosed { peer } => self.peer_closed(peer),
            Event::Closed if self.closed => Err("a second Closed".to_owned()),
            Event::Closed if !self.nothing_pending() => {
                Err("Closed was reported while an accepted operation was pending".to_owned())
            }
            Event::Closed => {
                self.closed = true;
                Ok(())
            }
            Event::Broken { cause } => Err(format!("the transport gives up: {cause}")),
        }
    }

    /// Memory that was given back must still hold what it was overwritten with.
    pub(super) fn untouched(&self) -> Result<(), String> {
        let arrivals = self.desk.arrivals.iter().filter(|a| a.state != State::Pending).map(|a| &a.buffer);
        let exposures = self.exposures.iter().filter(|e| e.state != State::Pending).map(|e| &e.buffer);
        match arrivals.chain(exposures).any(|b| b.copy_out().iter().any(|byte| *byte != TAKEN)) {
            true => Err("memory was written after it had been given back".to_owned()),
            false => Ok(()),
        }
    }

    pub(super) fn summary(&self) -> String {
        let pending =
            |states: &mut dyn Iterator<Item = State>| states.filter(|s| *s == State::Pending).count();
        format!(
            "sends pending {}/{}, placements pending {}/{}, exposures pending {}/{}, down {:?}, peers closed {:?}, \
             closed {}",
            pending(&mut self.sendings.iter().map(|s| s.state)),
            self.sendings.len(),
            pending(&mut self.desk.arrivals.iter().map(|a| a.state)),
            self.desk.arrivals.len(),
            pending(&mut self.exposures.iter().map(|e| e.state)),
            self.exposures.len(),
            self.down,
            self.closed_peers,
            self.closed
        )
    }
}
