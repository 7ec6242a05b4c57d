//! The leader's part: gathers who is ready, then has the voters decide.

use std::collections::BTreeSet;
use std::time::Duration;

use super::attempt::{Attempt, Phase};
use super::links;
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
        let orphaned = || self.orphaned && self.spoken() == self.table.members.len();
        if self.gathering.is_none() && (!self.ready.is_empty() || (!self.newcomers.is_empty() && orphaned()))
        {
            (self.gathering, self.repeat_at) = (Some(now), now + self.patience.repeat);
            self.summon();
        }
        if self.attempt.is_some() {
            return;
        }
        if self.due(now) {
            self.prepare(now);
        } else if self.all_leave(now) {
            self.disband();
        }
    }

    /// Whether nobody is left who would be in a next generation: all leave, and those who wait are too few.
    fn all_leave(&self, now: Duration) -> bool {
        let Some(since) = self.gathering else { return false };
        let leave = !self.ready.is_empty() && self.ready.values().all(|said| said.leaving);
        let all = self.spoken() == self.table.members.len() && self.candidates() < self.limits.least;
        // Who may come back may want to go on, and gets as long as one that is not ready.
        let gone = self.down.values().all(|certain| *certain) || now >= since + self.patience.gather;
        let at_once = self.has(Planted::DisbandsAtOnce) && self.wish.is_some_and(|wish| wish.leaving);
        (leave && all && gone) || at_once
    }

    /// No generation follows.
    fn disband(&mut self) {
        let generation = self.table.generation;
        let ready = |member: &&Node| self.ready.contains_key(&member.id) && member.id != self.me.id;
        for member in self.table.members.iter().filter(ready).cloned().collect::<Vec<_>>() {
            self.send(&member, Message::Over { generation });
        }
        self.turn_away();
        match self.standing {
            Standing::Arbiter => {
                // Who has not heard it says so again.
                self.ready.clear();
                self.gathering = None;
            }
            _ => self.leave(),
        }
    }

    /// Nobody is let in any more.
    pub(super) fn turn_away(&mut self) {
        self.ended = true;
        // Nobody needs to hear that nobody waits any more.
        (self.waiting, self.told) = (0, 0);
        let generation = self.table.generation;
        for newcomer in std::mem::take(&mut self.newcomers) {
            self.send(&newcomer, Message::Over { generation });
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
        self.ready.len() + self.missed()
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
        let stay = self.ready.values().filter(|said| !said.leaving).count();
        let left_out = links::left_out(&self.table, &self.broken_links()).len();
        (stay - left_out + self.newcomers.len()).min(self.limits.most)
    }

    /// The links between two that go on which have ended this generation. Where anybody is missed that is why, and
    /// links that failed tell nothing.
    fn broken_links(&self) -> Vec<(Id, Id)> {
        let all = self.ready.len() == self.table.members.len();
        if !all || self.ready.values().all(|said| said.lost.is_none()) {
            return Vec::new();
        }
        let stays = |id: &Id| self.ready.get(id).is_some_and(|said| !said.leaving);
        let said = self.ready.iter().filter_map(|(id, said)| Some((*id, said.lost?)));
        links::pairs(&self.table, said.filter(|(a, b)| stays(a) && stays(b)))
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
                let broken = self.broken_links();
                let left_out = match self.has(Planted::KeepsBrokenLinks) {
                    true => BTreeSet::new(),
                    false => links::left_out(&self.table, &broken),
                };
                let stays = |id| match self.ready.get(&id) {
                    Some(said) => !said.leaving && !left_out.contains(&id),
                    None => self.has(Planted::CountsTheSilent),
                };
                let (newcomers, most) = (&self.newcomers, self.limits.most);
                let mut table = self.table.successor(self.me.id, stays, newcomers, most, broken);
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
