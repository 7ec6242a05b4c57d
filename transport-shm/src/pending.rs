//! Connections whose handshake is under way: sockets, and what has been said on them.
//!
//! Invariant: a connection of somebody who has not shown that it knows the secret costs one place and one descriptor;
//! there are at most [`MAX_UNAUTHENTICATED`], of which the oldest makes room for the next, and none is kept for longer
//! than [`SILENCE`] by a process that is awake. A process of this job says who it is as soon as it is connected, so
//! only others ever wait here for long without having done so. Those who have shown that they belong here are bounded
//! by the size of the world. Neighbours: `connect.rs` decides what becomes of them.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ringworld_auth::Session;
use ringworld_transport::Rank;
use ringworld_transport::watched::Watched;

use crate::handshake::Initiator;
use crate::memory::Mapping;
use crate::outbox::TheirOutbox;

/// The most connections of whoever has not said who it is.
pub(crate) const MAX_UNAUTHENTICATED: usize = 256;
/// How long a connection may say nothing.
const SILENCE: Duration = Duration::from_secs(10);

/// What a connection waits for.
#[derive(Debug)]
pub(crate) enum Role {
    /// Dialled; waits for Welcome.
    Greeting(Rank, Initiator),
    /// Dialled; waits for Accept. The memory of the link, the number in it, and the room for the peer's outbox.
    Offering(Rank, Session, Mapping, u64, TheirOutbox),
    /// Accepted; waits for Hello.
    Unauthenticated { since: Instant },
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
            Self::Unauthenticated { .. } => None,
        }
    }

    /// Since when nothing has been said on a connection.
    fn silent_since(&self) -> Option<Instant> {
        match self {
            Self::Unauthenticated { since } => Some(*since),
            _ => None,
        }
    }
}

/// A connection in its handshake.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) socket: Watched<OwnedFd>,
    pub(crate) role: Role,
}

/// All of them; each has a slot.
#[derive(Debug, Default)]
pub(crate) struct PendingHandshakes {
    slots: Vec<Option<Pending>>,
    /// How many are of whoever has not said who it is, and how many of others.
    unauthenticated: usize,
    known: usize,
}

impl PendingHandshakes {
    /// Whether a connection waits of somebody who belongs here.
    #[inline]
    pub(crate) fn has_known(&self) -> bool {
        self.known > 0
    }

    /// Whether one waits of somebody who has not said who it is.
    #[inline]
    pub(crate) fn has_unauthenticated(&self) -> bool {
        self.unauthenticated > 0
    }

    /// Whether this side has answered an attempt of a peer, which goes on.
    pub(crate) fn is_answered(&self, peer: Rank) -> bool {
        let answered = |pending: &Pending| matches!(pending.role, Role::Answered(other, _) if other == peer);
        self.known > 0 && self.slots.iter().flatten().any(answered)
    }

    /// A slot for a connection, which `watch` is told before.
    pub(crate) fn insert<E>(
        &mut self,
        socket: Watched<OwnedFd>,
        role: Role,
        watch: impl FnOnce(&Watched<OwnedFd>, usize) -> Result<(), E>,
    ) -> Result<usize, E> {
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        watch(&socket, slot)?;
        *self.count(&role) += 1;
        let pending = Some(Pending { socket, role });
        match self.slots.get_mut(slot) {
            Some(free) => *free = pending,
            None => self.slots.push(pending),
        }
        Ok(slot)
    }

    fn count(&mut self, role: &Role) -> &mut usize {
        if role.silent_since().is_some() { &mut self.unauthenticated } else { &mut self.known }
    }

    pub(crate) fn get(&mut self, slot: usize) -> Option<&mut Pending> {
        self.slots.get_mut(slot)?.as_mut()
    }

    pub(crate) fn take(&mut self, slot: usize) -> Option<Pending> {
        let pending = self.slots.get_mut(slot)?.take()?;
        *self.count(&pending.role) -= 1;
        Some(pending)
    }

    /// Closes those that `goes` says.
    fn drop_if(&mut self, goes: impl Fn(&Role) -> bool) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].as_ref().is_some_and(|pending| goes(&pending.role)) {
                self.take(slot);
            }
        }
    }

    /// Closes whatever is under way with a peer.
    pub(crate) fn drop_all_of(&mut self, peer: Rank) {
        if self.known > 0 {
            self.drop_if(|role| role.peer() == Some(peer));
        }
    }

    /// Closes what a peer has dialled before, which it has given up if it dials again: so one is left of each.
    pub(crate) fn drop_accepted_from(&mut self, peer: Rank) {
        let is_accepted = |role: &Role| matches!(role, Role::Parked(_) | Role::Answered(..));
        if self.known > 0 {
            self.drop_if(|role| is_accepted(role) && role.peer() == Some(peer));
        }
    }

    /// Closes connections that have said nothing for too long.
    pub(crate) fn drop_silent(&mut self, now: Instant) {
        if self.unauthenticated > 0 {
            self.drop_if(|role| role.silent_since().is_some_and(|since| now - since >= SILENCE));
        }
    }

    /// Closes the connection that has said nothing for longest, if there is one.
    pub(crate) fn drop_oldest_unauthenticated(&mut self) -> bool {
        let silent = self.slots.iter().enumerate().filter_map(|(slot, pending)| {
            pending.as_ref().and_then(|pending| Some((pending.role.silent_since()?, slot)))
        });
        let oldest = silent.min();
        oldest.is_some_and(|(_, slot)| self.take(slot).is_some())
    }

    /// Closes the oldest of those that have said nothing, until there are fewer than `most`.
    pub(crate) fn make_room(&mut self, most: usize) {
        while self.unauthenticated >= most.max(1) && self.drop_oldest_unauthenticated() {}
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use rustix::event::{EventfdFlags, eventfd};

    use ringworld_transport::watched::EpollSet;

    use super::*;

    fn insert(pending: &mut PendingHandshakes, role: Role) -> usize {
        let socket = eventfd(0, EventfdFlags::empty()).unwrap();
        let socket = Watched::new(socket, &EpollSet::new().unwrap());
        pending.insert(socket, role, |_, _| Ok::<(), Infallible>(())).unwrap()
    }

    #[test]
    fn only_those_who_have_said_nothing_make_room() {
        let (mut pending, begin) = (PendingHandshakes::default(), Instant::now());
        for rank in 0..20 {
            insert(&mut pending, Role::Parked(rank));
            let since = begin + Duration::from_secs(20 - rank as u64);
            pending.make_room(4);
            insert(&mut pending, Role::Unauthenticated { since });
        }
        assert_eq!((pending.known, pending.unauthenticated), (20, 4));
        // The last four to come had been silent for longest, but for three that they found there.
        pending.drop_silent(begin + SILENCE + Duration::from_secs(1));
        assert_eq!(pending.unauthenticated, 3);
        for rank in 0..20 {
            pending.drop_all_of(rank);
        }
        assert!(!pending.has_known() && pending.has_unauthenticated());
        assert!(
            (0..3).all(|_| pending.drop_oldest_unauthenticated()) && !pending.drop_oldest_unauthenticated()
        );
        assert!(!pending.has_unauthenticated() && pending.slots.iter().all(Option::is_none));
    }

    #[test]
    fn a_slot_is_used_again() {
        let mut pending = PendingHandshakes::default();
        let slot = insert(&mut pending, Role::Parked(1));
        assert!(matches!(pending.take(slot), Some(Pending { role: Role::Parked(1), .. })));
        assert!(pending.take(slot).is_none() && !pending.has_known());
        assert_eq!(insert(&mut pending, Role::Parked(2)), slot);
    }
}
