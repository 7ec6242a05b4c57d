//! What all ranks do, for those who want to know: has them asked, and says what follows from their answers.
//!
//! Neighbours: `inquiry` is when ranks are asked, `observe` what is made of their answers.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Hub, State};
use crate::master::inquiry::{ASKERS, Next, REST, Wanted};
use crate::observe::judge::{Seen, Verdict, judge};
use crate::observe::words;
use crate::observe::{JobStatus, RankStatus, Standing};
use crate::wire::ToRank;

impl Hub {
    /// Somebody asks how the job stands. Those who are too many are not answered.
    pub(super) fn status_asked(&mut self, reply: oneshot::Sender<JobStatus>) {
        if self.formed.is_none() {
            drop(reply.send(self.status(&[], &Verdict::Nothing, String::new())));
            return;
        }
        self.wanted_next.statuses.retain(|waiting| !waiting.is_closed());
        if self.wanted_next.statuses.len() < ASKERS {
            self.wanted_next.statuses.push(reply);
            self.begin_inquiry();
        }
    }

    fn status(&self, seen: &[Seen], verdict: &Verdict, story: String) -> JobStatus {
        let present = match &self.roster {
            Some(roster) => roster.connections().count(),
            None => self.alive,
        };
        let ranks = self.ranks.iter().enumerate().map(|(rank, of)| RankStatus {
            host: of.host.clone(),
            pid: of.pid,
            standing: match of.state {
                State::Alive => Standing::Present,
                State::Finished => Standing::Finished,
                State::Down => Standing::Down,
            },
            late: matches!(verdict, Verdict::Late { late, .. } if late.contains(&rank)),
            told: seen
                .binary_search_by_key(&rank, |seen| seen.rank)
                .ok()
                .and_then(|at| seen[at].latest().cloned()),
        });
        JobStatus {
            job: self.job.clone(),
            size: self.size as u64,
            present: present as u64,
            age: self.formed.map(|formed| formed.elapsed()),
            story,
            deadlock: matches!(verdict, Verdict::Deadlock { .. }),
            ranks: ranks.collect(),
        }
    }

    pub(super) fn wants_inquiry(&self) -> bool {
        !self.inquiry.is_under_way() && !self.wanted_next.is_empty()
    }

    /// Asks everybody, if somebody wants to know and nobody is being asked, or was a moment ago.
    pub(super) fn begin_inquiry(&mut self) {
        let hurries = !self.wanted_next.stories.is_empty();
        if !self.wants_inquiry() || (!hurries && Instant::now() < self.rests_until) {
            return;
        }
        self.wanted = std::mem::take(&mut self.wanted_next);
        let alive = self.ranks.iter().enumerate().filter(|(_, rank)| rank.state == State::Alive);
        let next = self.inquiry.begin(Instant::now(), alive.map(|(rank, _)| rank));
        self.inquire(next);
    }

    pub(super) fn inquire(&mut self, next: Option<Next>) {
        match next {
            None => {}
            Some(Next::Ask(number)) => self.tell_all(&ToRank::AskWhere { number }),
            Some(Next::Done) => {
                self.rests_until = Instant::now() + REST;
                let seen = self.inquiry.take();
                let wanted = std::mem::take(&mut self.wanted);
                self.explain(&seen, wanted);
                self.begin_inquiry();
            }
        }
    }

    /// All have answered: tells those who wanted to know.
    fn explain(&mut self, seen: &[Seen], mut wanted: Wanted) {
        let left = self.ranks.iter().filter(|rank| rank.state == State::Finished).count();
        let host = |rank: usize| self.ranks.get(rank).map_or_else(String::new, |rank| rank.host.clone());
        if let Some(lines) = wanted.lines.checked_sub(1) {
            let verdict = judge(seen, left, Seen::is_stalled);
            if lines > 0 && matches!(verdict, Verdict::OnItsWay { .. }) {
                // A reminder may have been on its way, which is no news of anybody.
                self.wanted_next.lines = self.wanted_next.lines.max(lines);
            } else if let Some(text) = words::verdict(&verdict, seen, &host)
                && let Some(speaker) = self.said.is_due(seen, &verdict)
            {
                let deadlock = matches!(verdict, Verdict::Deadlock { .. });
                let connection = self.ranks[speaker].connection;
                self.send(connection, &ToRank::Stall { text, deadlock });
            }
        }
        if wanted.stories.is_empty() && wanted.statuses.is_empty() {
            return;
        }
        let verdict = judge(seen, left, |_| true);
        if matches!(verdict, Verdict::OnItsWay { .. }) && !wanted.again && !wanted.stories.is_empty() {
            // It may be a reminder, here too; there is time for one more try before the error has to be made.
            self.wanted_next.stories.extend(wanted.stories.drain());
            self.wanted_next.again = true;
        }
        let text = words::verdict(&verdict, seen, &host).unwrap_or_default();
        for connection in wanted.stories {
            self.send(connection, &ToRank::Story { text: text.clone() });
        }
        let status = self.status(seen, &verdict, text);
        for asker in wanted.statuses {
            // Who has gone needs no answer.
            let _ = asker.send(status.clone());
        }
    }
}
