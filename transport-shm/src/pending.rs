//! Connections whose handshake is under way: sockets, and what has been said on them.
//!
//! Invariant: a connection of somebody who has not shown that it knows the secret costs one place and one descriptor; there
//! are at most [`MAX_UNAUTHENTICATED`], of which the oldest makes room for the next. A process of this job says who it is
//! as soon as it is connected, so its Hello has come when it is accepted, and only others ever wait here without one.
//! Neighbours: `connect.rs` decides what becomes of them.

use std::os::fd::OwnedFd;

use ringworld_auth::Session;
use ringworld_transport::Rank;

use crate::handshake::Initiator;
use crate::memory::Mapping;

/// The most connections that were accepted and are not established.
pub(crate) const MAX_UNAUTHENTICATED: usize = 256;

/// What a connection waits for.
#[derive(Debug)]
pub(crate) enum Role {
    /// Dialled; waits for Welcome.
    Greeting(Rank, Initiator),
    /// Dialled; waits for Accept. The memory of the link, and the number in it.
    Offering(Rank, Session, Mapping, u64),
    /// Accepted; waits for Hello.
    Unauthenticated,
    /// Accepted, and waits for the end of an attempt of this side, which has precedence.
    Parked(Rank),
    /// Accepted and answered; waits for Offer.
    Answered(Rank, Session),
}

impl Role {
    /// Whom the connection is with, as far as that has been said.
    fn peer(&self) -> Option<Rank> {
        match self {
            Self::Greeting(peer, _)
            | Self::Offering(peer, ..)
            | Self::Parked(peer)
            | Self::Answered(peer, _) => Some(*peer),
            Self::Unauthenticated => None,
        }
    }

    fn was_dialled(&self) -> bool {
        matches!(self, Self::Greeting(..) | Self::Offering(..))
    }
}

/// A connection in its handshake.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) socket: OwnedFd,
    pub(crate) role: Role,
    /// The higher, the later it came.
    age: u64,
}

/// All of them; each has a slot.
#[derive(Debug, Default)]
pub(crate) struct PendingHandshakes {
    slots: Vec<Option<Pending>>,
    next: u64,
}

impl PendingHandshakes {
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    /// A slot for a connection, which `watch` is told before.
    pub(crate) fn insert<E>(
        &mut self,
        socket: OwnedFd,
        role: Role,
        watch: impl FnOnce(&OwnedFd, usize) -> Result<(), E>,
    ) -> Result<usize, E> {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        watch(&socket, slot)?;
        let pending = Some(Pending { socket, role, age: self.next });
        self.next += 1;
        match self.slots.get_mut(slot) {
            Some(free) => *free = pending,
            None => self.slots.push(pending),
        }
        Ok(slot)
    }

    pub(crate) fn get(&mut self, slot: usize) -> Option<&mut Pending> {
        self.slots.get_mut(slot)?.as_mut()
    }

    pub(crate) fn take(&mut self, slot: usize) -> Option<Pending> {
        self.slots.get_mut(slot)?.take()
    }

    /// Closes whatever is under way with a peer.
    pub(crate) fn drop_all_of(&mut self, peer: Rank) {
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|pending| pending.role.peer() == Some(peer)) {
                *slot = None;
            }
        }
    }

    /// Closes the oldest accepted connections that are too many.
    pub(crate) fn make_room(&mut self) {
        let accepted = |pending: &Pending| !pending.role.was_dialled();
        while self.slots.iter().flatten().filter(|pending| accepted(pending)).count() >= MAX_UNAUTHENTICATED {
            let slots = self.slots.iter_mut().filter(|slot| slot.as_ref().is_some_and(accepted));
            match slots.min_by_key(|slot| slot.as_ref().map(|pending| pending.age)) {
                Some(oldest) => *oldest = None,
                None => return,
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}
