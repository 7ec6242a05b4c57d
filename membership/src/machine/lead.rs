//! The leader's part: gathers who is ready, then has the voters decide.

use std::collections::BTreeSet;
use std::time::Duration;

use super::attempt::{Attempt, Phase};
use super::planted::Planted;
use super::{Action, Machine, Standing};
use crate::message::{Ballot, Message};
use crate::table::{Id, Node, Table};

impl Machine {
    /// Goes on as the leader, if this process is the leader and there is something to do.
    pub(super) fn lead(&mut self, now: Duration) {
        if self.over || !self.leads() {
            return;
        }
        let orphaned = || self.ready.is_empty() && self.spoken() == self.table.members.len();
        if self.gathering.is_none()
            && (!self.ready.is_empty()
                || (self.standing == Standing::Arbiter && !self.newcomers.is_empty() && orphaned()))
        {
            (self.gathering, self.repeat_at) = (Some(now), now + self.patience.repeat);
            self.summon();
        }
        if self.attempt.is_none() && self.due(now) {
            self.prepare(now);
        }
    }

    /// Asks the members of which nothing is known, if anybody waits for them: what they said may be lost, or have gone
    /// to somebody else who leads.
    pub(super) fn summon(&mut self) {
        if self.gathering.is_none() || self.attempt.is_some() || !self.leads() {
            return;
        }
        let generation = self.table.generation;
        for member in self.silent() {
            self.send(&member, Message::Summons { generation });
        }
    }

    /// How many members are ready, or out of reach; none is both.
    fn spoken(&self) -> usize {
        let arbiter = self.table.arbiter.as_ref().is_some_and(|node| self.down.contains_key(&node.id));
        self.ready.len() + self.down.len() - usize::from(arbiter)
    }

    /// The members of which nothing is known.
    fn silent(&self) -> Vec<Node> {
        let unknown =
            |id: &Id| *id != self.me.id && !self.ready.contains_key(id) && !self.down.contains_key(id);
        self.table.members.iter().filter(|member| unknown(&member.id)).cloned().collect()
    }

    /// Whether there is nobody to wait for any longer, and enough are there.
    fn due(&self, now: Duration) -> bool {
        let Some(since) = self.gathering else { return false };
        let all = self.spoken() == self.table.members.len();
        (all || now >= since + self.patience.gather) && self.candidates() >= self.limits.least
    }

    /// How many would be in a table proposed now.
    pub(super) fn candidates(&self) -> usize {
        let stay = self.ready.values().filter(|leaving| !**leaving).count();
        (stay + self.newcomers.len()).min(self.limits.most)
    }

    /// Begins an attempt, higher than all that were heard of.
    fn prepare(&mut self, now: Duration) {
        let Some(voter) = self.table.voters().position(|voter| voter.id == self.me.id) else { return };
        // Two attempts never have the same ballot: after the last there is none.
        let Some(round) = self.round.checked_add(1) else { return };
        self.round = round;
        let ballot = Ballot { round, voter: u32::try_from(voter).unwrap_or(u32::MAX) };
        let phase = Phase::Preparing { votes: BTreeSet::new(), accepted: None };
        self.attempt = Some(Attempt { ballot, since: now, phase });
        let generation = self.table.generation;
        self.send_voters(|| Message::Prepare { generation, ballot });
        match self.vote.prepare(ballot) {
            Ok(accepted) => self.promised(now, self.me.id, ballot, accepted),
            Err(promised) => self.refused(promised),
        }
    }

    /// A voter has promised.
    pub(super) fn promised(
        &mut self,
        now: Duration,
        from: Id,
        ballot: Ballot,
        accepted: Option<(Ballot, Table)>,
    ) {
        if !self.table.votes(from) {
            return;
        }
        let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.ballot == ballot) else { return };
        let Phase::Preparing { votes, accepted: highest } = &mut attempt.phase else { return };
        votes.insert(from);
        if let Some((ballot, table)) = accepted
            && highest.as_ref().is_none_or(|(highest, _)| *highest < ballot)
        {
            *highest = Some((ballot, table));
        }
        let highest = highest.clone();
        if !self.is_enough() {
            return;
        }
        // What may have been decided already must be what is proposed.
        let table = match highest {
            Some((_, table)) => table,
            None if self.candidates() < self.limits.least => {
                self.attempt = None;
                return;
            }
            None => {
                let stays = |id| match self.ready.get(&id) {
                    Some(leaving) => !leaving,
                    None => self.has(Planted::CountsTheSilent),
                };
                let mut table = self.table.successor(self.me.id, stays, &self.newcomers, self.limits.most);
                if self.has(Planted::OutOfOrder) {
                    table.members.reverse();
                }
                table
            }
        };
        if let Some(attempt) = &mut self.attempt {
            attempt.phase = Phase::Accepting { votes: BTreeSet::new(), table: table.clone() };
        }
        self.send_voters(|| Message::Accept { ballot, table: table.clone() });
        match self.vote.accept(ballot, table) {
            Ok(()) => self.accepted(now, self.me.id, ballot),
            Err(promised) => self.refused(promised),
        }
    }

    /// Whether those voters may decide.
    fn is_enough(&self) -> bool {
        let votes = match self.attempt.as_ref().map(|attempt| &attempt.phase) {
            Some(Phase::Preparing { votes, .. } | Phase::Accepting { votes, .. }) => votes,
            Some(Phase::Lost) | None => return false,
        };
        let count = votes.len();
        self.table.is_quorum(votes)
            || (self.has(Planted::HalfIsEnough) && 2 * count >= self.table.voters().count())
            || (self.has(Planted::DecidesAlone) && count > 0)
    }

    /// A voter has accepted.
    pub(super) fn accepted(&mut self, now: Duration, from: Id, ballot: Ballot) {
        if !self.table.votes(from) {
            return;
        }
        let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.ballot == ballot) else { return };
        let Phase::Accepting { votes, table } = &mut attempt.phase else { return };
        votes.insert(from);
        let table = table.clone();
        if !self.is_enough() {
            return;
        }
        self.tell(&table);
        self.adopt(now, table);
    }

    /// A voter has promised more to somebody else.
    pub(super) fn refused(&mut self, promised: Ballot) {
        self.round = self.round.max(promised.round);
        // The next one begins when `retry` is over, so that whoever is higher has its time.
        if let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.ballot < promised) {
            attempt.phase = Phase::Lost;
        }
    }

    /// When an attempt has come to nothing.
    pub(super) fn attempt_ends(&self) -> Option<Duration> {
        let attempt = self.attempt.as_ref()?;
        let place = self.table.voters().position(|voter| voter.id == self.me.id).unwrap_or(0);
        // Those that try at the same time wait for different times.
        let factor = 1 + u32::try_from(place % 8).unwrap_or(0);
        Some(attempt.since + self.patience.retry * factor)
    }

    /// Tells a decision to everybody whom it concerns.
    fn tell(&mut self, table: &Table) {
        let arbiter = self.table.arbiter.iter();
        let everybody = self.table.members.iter().chain(arbiter).chain(&table.members).chain(&self.newcomers);
        let mut told = BTreeSet::from([self.me.id]);
        let everybody: Vec<Node> = everybody.filter(|node| told.insert(node.id)).cloned().collect();
        for node in everybody {
            self.send(&node, Message::Decided { table: table.clone() });
        }
    }

    fn send_voters(&mut self, message: impl Fn() -> Message) {
        let others = |voter: &&Node| voter.id != self.me.id && !self.down.contains_key(&voter.id);
        for voter in self.table.voters().filter(others).cloned().collect::<Vec<_>>() {
            self.actions.push_back(Action::Send { to: voter, message: message() });
        }
    }
}
