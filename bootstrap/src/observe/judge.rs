//! Who is late, or whether nobody can move: decided from two answers of every rank.
//!
//! # Why a deadlock is one
//!
//! Answers are of different moments. But all ranks are asked a second time only when all have answered the first time:
//! so there is a moment *T* after every first answer and before every second. Whatever is the same in both answers of a
//! rank, and never comes back once it has changed, was so at *T*, on all ranks at once: the calls that its threads
//! sleep in (their numbers are used once), how many calls it had begun, how many messages it had sent and how many had
//! come (these only grow). So if nothing of that differs, both answers together are a picture of one moment, and in it:
//!
//! 1. every rank has a thread that waits in a call whose end has not come;
//! 2. as many messages have come as were sent, between ranks that have not left, and no message comes that was not
//!    sent: so none is on its way. Those who have left have had all of theirs taken before. Bytes that are no message
//!    (puts, into memory that the receiver has offered) are excluded by what their sender and their receiver say:
//!    *moves*. What a rank shows in shared memory instead of sending it is there at once, and so on no way: whoever
//!    looks for it, and has not taken it, says *moves*;
//! 3. no rank does anything that needs no call: *moves* again, and *leaves*, since the end of a world is no message.
//!
//! A call ends by a message, or by a call of another thread of its rank. The first is impossible by 2 and 3. The second
//! is impossible where the process has no other thread than those that wait and the library's own: then it is certain
//! that nobody will ever move. Where there are other threads, of an executor, of an interpreter, only they could make a
//! call, and that is said. Threads are counted after the first look at the calls, and threads that wait make none.
//!
//! # Who is late
//!
//! From the calls that wait, whom they wait for, whom those wait for, and so on: who comes at the end, and does not
//! wait itself, is late. A call that any rank could answer says nothing of one of them; it is followed only when
//! nothing else leads anywhere.

use std::collections::BTreeSet;

use super::{Waiting, Whereabouts};

/// One rank, as it has answered twice. Ranks that have left are not among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rank: usize,
    pub(crate) first: Option<Whereabouts>,
    pub(crate) second: Option<Whereabouts>,
}

impl Seen {
    /// Both answers, if there are two.
    fn both(&self) -> Option<(&Whereabouts, &Whereabouts)> {
        Some((self.first.as_ref()?, self.second.as_ref()?))
    }

    /// The later answer.
    pub(crate) fn latest(&self) -> Option<&Whereabouts> {
        self.second.as_ref().or(self.first.as_ref())
    }

    /// The calls in which it has waited from the first answer to the second.
    pub(crate) fn waits(&self) -> impl Iterator<Item = &Waiting> {
        let both = self.both();
        both.into_iter().flat_map(|(first, second)| {
            second.waits.iter().filter(|waits| first.waits.iter().any(|before| before.number == waits.number))
        })
    }

    /// Whether such a call has waited for longer than it should.
    pub(crate) fn is_stalled(&self) -> bool {
        self.waits().any(|waits| waits.stalled)
    }

    fn waits_at_all(&self) -> bool {
        self.waits().next().is_some()
    }

    /// Whether nothing has changed between the answers, and nothing but other threads' calls could change it, with so
    /// many ranks that have left.
    fn stands_still(&self, left: usize) -> bool {
        let Some((first, second)) = self.both() else { return false };
        let numbers = |seen: &Whereabouts| -> BTreeSet<u64> { seen.waits.iter().map(|w| w.number).collect() };
        let counts = |seen: &Whereabouts| (seen.begun, seen.sent, seen.received, seen.left);
        [first, second].iter().all(|seen| !(seen.moves || seen.leaves || seen.over || seen.busy))
            && !second.waits.is_empty()
            && numbers(first) == numbers(second)
            && counts(first) == counts(second)
            && second.left == left as u64
    }
}

/// What is to be said of a world in which somebody waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nobody waits for long enough, or what was seen has changed meanwhile.
    Nothing,
    /// These are waited for and do not wait.
    Late { late: BTreeSet<usize>, waiting: BTreeSet<usize> },
    /// These wait for one another, and others do something else.
    Circle { waiting: BTreeSet<usize> },
    /// All wait, and something is on its way: so many messages, if they are known, or bytes.
    OnItsWay { messages: u64 },
    /// All wait, and nothing is on its way. Only other threads of these ranks could go on, if there are any.
    Deadlock { others: BTreeSet<usize> },
}

/// Judges a world from the answers of those who have not left, of whom there are `left`. `from`: whose waits are to be
/// explained.
pub(crate) fn judge(seen: &[Seen], left: usize, from: impl Fn(&Seen) -> bool) -> Verdict {
    let asking: Vec<usize> =
        seen.iter().filter(|rank| rank.waits_at_all() && from(rank)).map(|s| s.rank).collect();
    if asking.is_empty() {
        return Verdict::Nothing;
    }
    if seen.iter().all(|rank| rank.stands_still(left)) {
        let latest = || seen.iter().filter_map(Seen::latest);
        let (sent, received) = (latest().map(|seen| seen.sent), latest().map(|seen| seen.received));
        // Saturating: what a rank says of itself is not believed to be small.
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let (sent, received) = (sum(&mut sent.into_iter()), sum(&mut received.into_iter()));
        if sent != received {
            return Verdict::OnItsWay { messages: sent.saturating_sub(received) };
        }
        let others = seen.iter().filter(|seen| seen.latest().is_none_or(|seen| seen.others != Some(0)));
        return Verdict::Deadlock { others: others.map(|seen| seen.rank).collect() };
    }
    let (mut late, mut waiting, any) = follow(seen, &asking);
    if late.is_empty() && any {
        late = seen.iter().filter(|seen| !seen.waits_at_all()).map(|seen| seen.rank).collect();
    }
    // Who has left is not there to be late.
    waiting.retain(|rank| !late.contains(rank));
    if !late.is_empty() {
        return Verdict::Late { late, waiting };
    }
    if seen.iter().all(Seen::waits_at_all) {
        Verdict::OnItsWay { messages: 0 }
    } else {
        Verdict::Circle { waiting }
    }
}

/// Follows who waits for whom: who comes at the end, who waits on the way, and whether any rank would do for somebody.
fn follow(seen: &[Seen], from: &[usize]) -> (BTreeSet<usize>, BTreeSet<usize>, bool) {
    let (mut late, mut waiting, mut any) = (BTreeSet::new(), BTreeSet::new(), false);
    let mut next: Vec<usize> = from.to_vec();
    while let Some(rank) = next.pop() {
        let Ok(at) = seen.binary_search_by_key(&rank, |seen| seen.rank) else { continue };
        if !seen[at].waits_at_all() {
            late.insert(rank);
        } else if waiting.insert(rank) {
            for waits in seen[at].waits() {
                if waits.any {
                    any = true;
                } else {
                    next.extend(waits.peers.iter().filter_map(|peer| usize::try_from(*peer).ok()));
                }
            }
        }
    }
    (late, waiting, any)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
