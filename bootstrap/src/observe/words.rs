//! Verdicts in words: one line, which names ranks, hosts, calls with their numbers and places, and how long.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Whereabouts;
use super::judge::{Seen, Verdict};

/// Ranks that a line describes one by one.
const DESCRIBED: usize = 8;

/// What is said of a verdict; nothing, if there is nothing to say.
pub(crate) fn verdict(verdict: &Verdict, seen: &[Seen], host: &dyn Fn(usize) -> String) -> Option<String> {
    let words = Words { seen, host };
    Some(match verdict {
        Verdict::Nothing => return None,
        Verdict::Late { late, waiting } => {
            let each = words.each(late, |rank| words.late(rank));
            let verb = if waiting.len() == 1 { "waits" } else { "wait" };
            format!("{} {verb} for {each}{}", ranks(waiting), words.longest(waiting))
        }
        Verdict::Circle { waiting } => {
            format!(
                "{} wait for one another and for nobody else, while others do something else: {}",
                ranks(waiting),
                words.each(waiting, |rank| words.waits(rank))
            )
        }
        Verdict::OnItsWay { messages } => {
            let what = match messages {
                0 => "data is on its way that does not arrive".into(),
                1 => "1 message is on its way and does not arrive".into(),
                many => format!("{many} messages are on their way and do not arrive"),
            };
            let all = words.all();
            let waits = words.each(&all, |rank| words.waits(rank));
            format!("all ranks wait, and {what}: is the network slow or stuck? {waits}")
        }
        Verdict::Deadlock { others } => {
            let all = words.all();
            let waits = words.each(&all, |rank| words.waits(rank));
            let sure = if others.is_empty() {
                "deadlock: all ranks wait and no message is on its way, so nobody will ever go on".into()
            } else {
                let them = if others.len() == 1 { "its" } else { "their" };
                format!(
                    "deadlock, unless {} {} a call in another of {them} threads: all ranks wait and no message is on \
                     its way",
                    ranks(others),
                    if others.len() == 1 { "makes" } else { "make" }
                )
            };
            format!("{sure}: {waits}")
        }
    })
}

/// Ranks, as ranges.
pub(crate) fn ranks(ranks: &BTreeSet<usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    let more = ranges.len().saturating_sub(DESCRIBED);
    let told: Vec<String> = ranges
        .iter()
        .take(DESCRIBED)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    let told = told.join(", ") + &if more > 0 { format!(" and {more} more ranges") } else { String::new() };
    if ranks.len() == 1 { format!("rank {told}") } else { format!("ranks {told}") }
}

/// What a rank does that does not wait, as the end of a sentence that begins with its name.
pub(crate) fn doing(now: &Whereabouts) -> String {
    let idle = seconds(now.idle);
    if now.busy {
        return format!("is inside a call, and busy with it; it has begun none for at least {idle}");
    }
    if now.leaves {
        return "is leaving the world".into();
    }
    match &now.last {
        None => format!("has made no call yet, and has been computing for at least {idle}"),
        Some(last) => format!("has been computing for at least {idle}, since {last}"),
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

struct Words<'a> {
    seen: &'a [Seen],
    host: &'a dyn Fn(usize) -> String,
}

impl Words<'_> {
    fn all(&self) -> BTreeSet<usize> {
        self.seen.iter().map(|seen| seen.rank).collect()
    }

    fn of(&self, rank: usize) -> Option<&Seen> {
        self.seen.iter().find(|seen| seen.rank == rank)
    }

    fn named(&self, rank: usize) -> String {
        format!("rank {rank} on {}", (self.host)(rank))
    }

    fn each(&self, ranks: &BTreeSet<usize>, describe: impl Fn(usize) -> String) -> String {
        let mut told: Vec<String> = ranks.iter().take(DESCRIBED).map(|rank| describe(*rank)).collect();
        if ranks.len() > DESCRIBED {
            told.push(format!("and {} more ranks", ranks.len() - DESCRIBED));
        }
        told.join("; ")
    }

    /// A rank that is waited for.
    fn late(&self, rank: usize) -> String {
        let name = self.named(rank);
        let Some(seen) = self.of(rank) else { return name };
        match (&seen.first, &seen.second) {
            (_, None) => {
                format!("{name}, which does not answer: it is stopped, or its host is busy or out of reach")
            }
            (Some(first), Some(second)) if first.begun != second.begun => {
                let last = second.last.as_deref().unwrap_or("a call");
                format!("{name}, which goes on with other calls, lately {last}")
            }
            (_, Some(second)) => match second.waits.first() {
                Some(waits) => format!("{name}, which has just begun to wait in {}", waits.call),
                None => format!("{name}, which {}", doing(second)),
            },
        }
    }

    /// A rank that waits.
    fn waits(&self, rank: usize) -> String {
        let calls = self.of(rank).map(|seen| {
            let each = seen.waits().map(|waits| format!("for {} in {}", seconds(waits.waited), waits.call));
            each.collect::<Vec<_>>().join(" and ")
        });
        format!("{} {}", self.named(rank), calls.unwrap_or_default())
    }

    /// The call that has waited longest.
    fn longest(&self, waiting: &BTreeSet<usize>) -> String {
        let calls = waiting.iter().filter_map(|rank| self.of(*rank));
        let calls = calls.flat_map(|seen| seen.waits().map(|waits| (waits.waited, seen.rank, &waits.call)));
        calls.max_by_key(|(waited, rank, _)| (*waited, std::cmp::Reverse(*rank))).map_or_else(
            String::new,
            |(waited, rank, call)| {
                format!("; longest {}, for {} in {call}", self.named(rank), seconds(waited))
            },
        )
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
