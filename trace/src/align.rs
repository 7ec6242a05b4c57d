//! The clocks of hosts, compared by the messages between them.
//!
//! A message of host a to host b takes some time, and the clock of b is ahead by x: so it seems to take x longer, and
//! one back x less. The quickest of each direction bound x from both sides; in the middle is the estimate, as with NTP,
//! and half of what both take together is how far it may be off. That is done for the earlier and the later half of the
//! messages, because clocks do not run equally fast. From the host of the lowest rank on, each host is compared over
//! those that are known best. A host of which there are not messages both ways is put where the system's own date says.

use std::collections::BTreeMap;

/// How far the clock of a host is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is the one that others are compared with.
    Reference,
    /// By messages, to within so many nanoseconds.
    Messages(u64),
    /// By the dates of the hosts, which may be seconds apart.
    Dates,
}

/// Of a host: what is to be taken from its clock to have that of the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    /// At this nanosecond of the host's clock, so many are to be taken away.
    from: (i128, i128),
    /// And at this one so many.
    to: (i128, i128),
    /// How far that is to be believed.
    pub trust: Trust,
}

impl Alignment {
    fn fixed(ahead: i128, trust: Trust) -> Self {
        Self { from: (0, ahead), to: (0, ahead), trust }
    }

    /// A nanosecond of the host's clock by that of the reference.
    pub(crate) fn common(&self, own: i128) -> i128 {
        let ((start, ahead), (end, then)) = (self.from, self.to);
        let span = end - start;
        if span <= 0 {
            return own - ahead;
        }
        own - ahead - (then - ahead) * (own - start) / span
    }

    /// By how much the clock is ahead of the reference in the middle, in nanoseconds.
    #[must_use]
    pub fn ahead(&self) -> i64 {
        i64::try_from(self.from.1.midpoint(self.to.1)).unwrap_or(i64::MAX)
    }
}

/// A message between hosts, each time by the clock of its own host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// Positions of the hosts.
    pub(crate) hosts: (usize, usize),
    pub(crate) sent: i128,
    pub(crate) came: i128,
}

/// The quickest message, and when it was sent.
type Quickest = BTreeMap<(usize, usize), i128>;

fn quickest<'a>(passages: impl Iterator<Item = &'a Passage>) -> Quickest {
    let mut quickest = Quickest::new();
    for passage in passages {
        let took = passage.came - passage.sent;
        quickest.entry(passage.hosts).and_modify(|least| *least = took.min(*least)).or_insert(took);
    }
    quickest
}

/// How far b is ahead of a, and to within what.
fn ahead(quickest: &Quickest, a: usize, b: usize) -> Option<(i128, u64)> {
    let (there, back) = (*quickest.get(&(a, b))?, *quickest.get(&(b, a))?);
    // A message may be noted as sent just after it has left.
    Some(((there - back) / 2, u64::try_from((there + back).max(0) / 2).unwrap_or(u64::MAX)))
}

/// Compares the clocks of `hosts`, of which the first is the reference. `dates` says for each what is to be added to
/// its clock to have its date.
pub(crate) fn align(dates: &[i128], passages: &[Passage]) -> Vec<Alignment> {
    let whole = quickest(passages.iter());
    let halves = halves(passages);
    let Some(first) = dates.first() else { return Vec::new() };
    let by_date = |host: &i128| Alignment::fixed(first - host, Trust::Dates);
    let mut known: Vec<Alignment> = dates.iter().map(by_date).collect();
    known[0] = Alignment::fixed(0, Trust::Reference);
    // How far each may be off; the best of those that are not done yet goes next.
    let mut done = vec![false; dates.len()];
    let mut best: Vec<Option<(u64, usize)>> = vec![None; dates.len()];
    let (mut next, mut off) = (Some(0), 0);
    while let Some(host) = next {
        done[host] = true;
        for (other, best) in best.iter_mut().enumerate().filter(|(other, _)| !done[*other]) {
            if let Some((_, within)) = ahead(&whole, host, other) {
                let total = off + within;
                if best.is_none_or(|(least, _)| total < least) {
                    *best = Some((total, host));
                }
            }
        }
        let candidates = best.iter().enumerate().filter(|(other, _)| !done[*other]);
        let chosen = candidates.filter_map(|(other, best)| best.map(|(off, over)| (off, other, over))).min();
        next = chosen.map(|(total, other, over)| {
            known[other] = over_another(&known[over], &whole, &halves, over, other, total);
            off = total;
            other
        });
    }
    known
}

/// The earlier and the later half of the messages, with the middle of their time by the clock of the receiver.
struct Halves([(Quickest, BTreeMap<usize, i128>); 2]);

fn halves(passages: &[Passage]) -> Halves {
    let mut sorted: Vec<&Passage> = passages.iter().collect();
    // By the clock of each receiver, for there is no other yet.
    sorted.sort_by_key(|passage| (passage.hosts.1, passage.came));
    let mut parts = [Vec::new(), Vec::new()];
    for group in sorted.chunk_by(|a, b| a.hosts.1 == b.hosts.1) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let middle = first.came.midpoint(last.came);
        for passage in group {
            parts[usize::from(passage.came > middle)].push(*passage);
        }
    }
    Halves(parts.map(|part| {
        let mut times: BTreeMap<usize, (i128, i128)> = BTreeMap::new();
        for passage in &part {
            let time = times.entry(passage.hosts.1).or_insert((passage.came, passage.came));
            *time = (time.0.min(passage.came), time.1.max(passage.came));
        }
        let middles = times.into_iter().map(|(host, (from, to))| (host, from.midpoint(to))).collect();
        (quickest(part.iter().copied()), middles)
    }))
}

/// Whoever has been compared for so long is known to run faster or slower; below, the error is larger than the drift.
const LONG: i128 = 10_000_000_000;

/// The alignment of `other` over `over`, whose own is known.
fn over_another(
    known: &Alignment,
    whole: &Quickest,
    halves: &Halves,
    over: usize,
    other: usize,
    off: u64,
) -> Alignment {
    let trust = Trust::Messages(off);
    let points = halves.0.each_ref().map(|(quickest, middles)| {
        let (at, (ahead, _)) = (middles.get(&other)?, ahead(quickest, over, other)?);
        // What the clock of `over` says at that moment, and how far that is ahead itself.
        let theirs = at - ahead;
        Some((*at, at - known.common(theirs)))
    });
    if let [Some(from), Some(to)] = points
        && to.0 - from.0 >= LONG
    {
        return Alignment { from, to, trust };
    }
    let ahead = ahead(whole, over, other).map_or(0, |(ahead, _)| ahead);
    let at = points.into_iter().flatten().map(|(at, _)| at).next().unwrap_or(0);
    Alignment::fixed(at - known.common(at - ahead), trust)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages both ways at these true times, each `latency` long and up to `late` more, between clocks that are
    /// `ahead` and run faster by so many parts in a million.
    fn traffic(
        hosts: (usize, usize),
        times: impl Iterator<Item = i128>,
        clock: impl Fn(usize, i128) -> i128,
        random: &mut fastrand::Rng,
    ) -> Vec<Passage> {
        let mut passages = Vec::new();
        for time in times {
            for (from, to) in [hosts, (hosts.1, hosts.0)] {
                let came = time + 5_000 + i128::from(random.u32(0..100_000));
                passages.push(Passage { hosts: (from, to), sent: clock(from, time), came: clock(to, came) });
            }
        }
        passages
    }

    #[test]
    fn hosts_are_put_where_their_messages_say_also_over_others() {
        let mut random = fastrand::Rng::with_seed(3);
        let ahead = [0, 7_000_000_000_000, -3_000_000];
        let clock = |host: usize, time: i128| time + ahead[host];
        let times = || (0..1_000).map(|n| 1_000_000 * n);
        let mut passages = traffic((0, 1), times(), clock, &mut random);
        passages.extend(traffic((1, 2), times(), clock, &mut random));
        let aligned = align(&[0, 0, 0], &passages);
        for (host, alignment) in aligned.iter().enumerate() {
            let error = alignment.common(clock(host, 500_000_000)) - 500_000_000;
            let within = match alignment.trust {
                Trust::Reference => 0,
                Trust::Messages(within) => i128::from(within),
                Trust::Dates => panic!("host {host}"),
            };
            assert!(error.abs() <= within && within < 20_000, "host {host}: {error} of {within}");
            assert!((i128::from(alignment.ahead()) - ahead[host]).abs() <= within);
        }
    }

    #[test]
    fn a_clock_that_runs_faster_is_followed() {
        let mut random = fastrand::Rng::with_seed(4);
        // 40 parts in a million, over a hundred seconds: 4 ms.
        let clock = |host: usize, time: i128| if host == 0 { time } else { 10_000 + time + time / 25_000 };
        let passages = traffic((0, 1), (0..10_000).map(|n| 10_000_000 * n), clock, &mut random);
        let aligned = align(&[0, 0], &passages);
        for seconds in [5, 50, 95] {
            let time = seconds * 1_000_000_000;
            let error = aligned[1].common(clock(1, time)) - time;
            // Within a half the quickest message may be anywhere: a quarter of the drift of the whole, at most.
            assert!(error.abs() < 1_100_000, "{error} ns at {seconds} s");
        }
    }

    #[test]
    fn without_messages_both_ways_dates_count() {
        let one_way = [Passage { hosts: (0, 1), sent: 5, came: 1_000 }];
        let aligned = align(&[100, 40], &one_way);
        assert_eq!((aligned[1].trust, aligned[1].common(1_000)), (Trust::Dates, 940));
        assert_eq!(align(&[], &[]), []);
    }

    #[test]
    fn what_is_noted_as_sent_after_it_has_come_is_no_contradiction() {
        let passages = [
            Passage { hosts: (0, 1), sent: 1_000, came: 900 },
            Passage { hosts: (1, 0), sent: 2_000, came: 1_900 },
        ];
        let aligned = align(&[0, 0], &passages);
        assert_eq!((aligned[1].trust, aligned[1].ahead()), (Trust::Messages(0), 0));
    }
}
