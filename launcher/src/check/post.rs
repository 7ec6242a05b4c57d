//! What comes from the others by way of the master, kept until it is asked for.
//!
//! Only what the plan expects is kept, so that nobody can fill this process's memory. Whoever waits here hears of the
//! end of the rank that it waits for, and of the master's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use ringworld_bootstrap::{ControlEvent, Session};

use super::words::{Found, Word, printable};
use crate::style;

/// Where a rank is reached for a step, or why it is not.
pub(super) type Offer = Result<Vec<u8>, String>;

/// How many events may wait until they are looked at; more are dropped.
pub(super) const EVENTS: usize = 1 << 16;

/// Why there is nothing to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Vain {
    /// The rank that was waited for is gone.
    Gone(String),
    /// It has not come in time.
    Late,
    /// The check is over: the master is lost, or a rank has given up.
    Over(String),
}

/// The letter box of one rank.
pub(super) struct Post<'a> {
    session: &'a Session,
    events: Receiver<ControlEvent>,
    /// For each step of this rank its partner.
    partners: BTreeMap<u64, usize>,
    offers: BTreeMap<u64, Offer>,
    /// Of rank 0: who measures each step, and what came out.
    leaders: BTreeMap<u64, usize>,
    found: BTreeMap<u64, Found>,
    done: BTreeSet<usize>,
    /// Ranks that are gone, and why.
    gone: BTreeMap<usize, String>,
    over: Option<String>,
    /// What rank 0 has asked for, in order.
    orders: VecDeque<Order>,
}

/// What rank 0 asks of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// This step once more.
    Again(u64),
    /// All is over, and has gone well or not.
    End(bool),
}

impl<'a> Post<'a> {
    /// `partners`: with whom this rank has which step; `leaders`: who tells this rank what came out of which step.
    pub(super) fn new(
        session: &'a Session,
        events: Receiver<ControlEvent>,
        partners: BTreeMap<u64, usize>,
        leaders: BTreeMap<u64, usize>,
    ) -> Self {
        Self {
            session,
            events,
            partners,
            offers: BTreeMap::new(),
            leaders,
            found: BTreeMap::new(),
            done: BTreeSet::new(),
            gone: BTreeMap::new(),
            over: None,
            orders: VecDeque::new(),
        }
    }

    /// Says something to another rank, or to this one.
    pub(super) fn tell(&mut self, rank: usize, word: Word) {
        if rank == self.session.rank {
            self.word(rank, word);
        } else if let Err(most) = self.session.tell(rank, word.to_bytes()) {
            // Reasons are cut and addresses are short.
            style::note(&format!("a word for rank {rank} is longer than {most} bytes, and is lost"));
        }
    }

    /// What the partner offers for a step, once it does.
    pub(super) fn offer(&mut self, step: u64, until: Instant) -> Result<Offer, Vain> {
        let Some(&partner) = self.partners.get(&step) else { return Err(Vain::Late) };
        loop {
            if let Some(offer) = self.offers.remove(&step) {
                return Ok(offer);
            }
            if let Some(why) = self.gone.get(&partner) {
                return Err(Vain::Gone(why.clone()));
            }
            self.next(Some(until))?;
        }
    }

    /// Waits until every other rank has told all that it had to tell, or is gone.
    pub(super) fn all_done(&mut self, size: usize) -> Result<(), Vain> {
        let own = self.session.rank;
        while (0..size)
            .any(|rank| rank != own && !self.done.contains(&rank) && !self.gone.contains_key(&rank))
        {
            self.next(None)?;
        }
        Ok(())
    }

    /// What rank 0 asks for next, once it does.
    pub(super) fn order(&mut self) -> Result<Order, Vain> {
        loop {
            if let Some(order) = self.orders.pop_front() {
                return Ok(order);
            }
            if let Some(why) = self.gone.get(&0) {
                return Err(Vain::Gone(why.clone()));
            }
            self.next(None)?;
        }
    }

    /// Waits for what comes out of a step; `None` when who leads it is gone.
    pub(super) fn wait_found(&mut self, step: u64) -> Result<Option<Found>, Vain> {
        let Some(&leader) = self.leaders.get(&step) else { return Ok(None) };
        loop {
            if let Some(found) = self.found.remove(&step) {
                return Ok(Some(found));
            }
            if self.gone.contains_key(&leader) {
                return Ok(None);
            }
            self.next(None)?;
        }
    }

    /// What came out of a step, if anybody has said so.
    pub(super) fn found(&mut self, step: u64) -> Option<Found> {
        self.found.remove(&step)
    }

    /// Why a rank is gone, if it is.
    pub(super) fn gone(&self, rank: usize) -> Option<&str> {
        self.gone.get(&rank).map(String::as_str)
    }

    /// Hears one event.
    fn next(&mut self, until: Option<Instant>) -> Result<(), Vain> {
        if let Some(why) = &self.over {
            return Err(Vain::Over(why.clone()));
        }
        let ended = || Vain::Over("the control thread has ended".into());
        let event = match until {
            None => self.events.recv().map_err(|_| ended())?,
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.events.recv_timeout(left).map_err(|error| match error {
                    RecvTimeoutError::Timeout => Vain::Late,
                    RecvTimeoutError::Disconnected => ended(),
                })?
            }
        };
        match event {
            ControlEvent::Told { rank, words } => {
                if let Some(word) = Word::from_bytes(&words) {
                    self.word(rank, word);
                }
            }
            ControlEvent::PeerDown { rank, cause, .. } => drop(self.gone.insert(rank, printable(&cause))),
            ControlEvent::PeerFinished { rank } => {
                self.gone.entry(rank).or_insert_with(|| "it has left".into());
            }
            ControlEvent::MasterLost { cause } => self.over = Some(printable(&cause)),
            ControlEvent::Abort { rank, reason, .. } => {
                self.over = Some(format!("rank {rank} has given up: {}", printable(&reason)));
            }
            ControlEvent::Fault { .. } | ControlEvent::Left { .. } | ControlEvent::Story { .. } => {}
        }
        Ok(())
    }

    fn word(&mut self, from: usize, word: Word) {
        match word {
            Word::Offer { step, offer } if self.partners.get(&step) == Some(&from) => {
                self.offers.insert(step, offer.map_err(|why| printable(&why)));
            }
            Word::Found { step, found } if self.leaders.get(&step) == Some(&from) => {
                self.found.insert(step, found.checked());
            }
            Word::Done => drop(self.done.insert(from)),
            // As many as there are steps at most, since each is asked for once.
            Word::Again { step } if from == 0 && self.orders.len() < self.partners.len() => {
                self.orders.push_back(Order::Again(step));
            }
            Word::End { well } if from == 0 => self.orders.push_back(Order::End(well)),
            // Not expected from that rank.
            Word::Offer { .. } | Word::Found { .. } | Word::Again { .. } | Word::End { .. } => {}
        }
    }
}
