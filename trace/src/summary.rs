//! A timeline in numbers: time by operation, share of waiting, who waited for whom, and how fast long transfers were.
//!
//! *To wait for a rank* is, in a collective, the time from one's own call to that of the last rank that made it, where
//! one was held until then; in a receive, the time until its message had left its sender. So it is counted whether a
//! thread slept or polled, however short it was.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::align::Trust;
use super::timeline::{Call, Collective, Host, Line, Message, Timeline};

/// All calls of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Such as `all_reduce`.
    pub name: String,
    /// How many, of all ranks.
    pub calls: u64,
    /// How long they took in all, in nanoseconds.
    pub time: u64,
    /// Of which they waited for other ranks.
    pub waited: u64,
    /// Of which they reduced elements.
    pub reducing: u64,
    /// The longest one.
    pub longest: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// The algorithms of collectives, and how often each.
    pub algorithms: BTreeMap<String, u64>,
    /// Of calls of [`LONG`] bytes and more: bytes a second, on average.
    pub achieved: Option<f64>,
    /// The same of the quickest tenth of them, or the one that was quickest: what the machine can do.
    pub possible: Option<f64>,
}

/// Shorter calls say little of bandwidth.
pub const LONG: u64 = 64 << 10;

/// One rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Which.
    pub rank: usize,
    /// Its host.
    pub host: String,
    /// How long is known of it.
    pub time: u64,
    /// Of which it was in calls.
    pub calling: u64,
    /// Of which it waited for others.
    pub waited: u64,
    /// Of which others waited for it.
    pub waited_for: u64,
    /// Slots that were lost.
    pub lost: u64,
    /// It ended well.
    pub closed: bool,
}

/// One that waited for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debt {
    /// Who waited.
    pub waiter: usize,
    /// For whom.
    pub late: usize,
    /// For how long in all.
    pub time: u64,
    /// In how many calls.
    pub calls: u64,
    /// In which most: its name and place.
    pub mostly: String,
}

/// A host, and its clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Its name.
    pub host: String,
    /// By how much it is ahead of the first, in nanoseconds.
    pub ahead: i64,
    /// To within how much; `None`: as the dates of the hosts say, for want of messages.
    pub within: Option<u64>,
}

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// From first to last, in nanoseconds.
    pub length: u64,
    /// How many ranks the world had.
    pub size: usize,
    /// Those that took longest first.
    pub operations: Vec<Operation>,
    /// By rank.
    pub ranks: Vec<Share>,
    /// The longest waits first.
    pub debts: Vec<Debt>,
    /// Messages of which both ends are known.
    pub messages: u64,
    /// Their median time, from having left to having come.
    pub latency: Option<u64>,
    /// Of each host; the first is what others are compared with.
    pub clocks: Vec<Clock>,
}

/// A call that waited: of which line, which call, for whom and how long.
struct Waited {
    line: usize,
    call: usize,
    late: usize,
    time: u64,
}

/// Those that a collective was held up by.
fn late_in_collectives(timeline: &Timeline, waited: &mut Vec<Waited>) {
    let mut groups: HashMap<(Collective, &str), Vec<(usize, usize)>> = HashMap::new();
    for (at, line) in timeline.lines.iter().enumerate() {
        for (index, call) in line.calls.iter().enumerate() {
            if let Some(collective) = call.collective {
                groups.entry((collective, line.name(call).0)).or_default().push((at, index));
            }
        }
    }
    let call = |(line, call): (usize, usize)| timeline.lines.get(line).and_then(|line| line.calls.get(call));
    for group in groups.into_values() {
        let last = group.iter().filter_map(|at| Some((call(*at)?.when.begin, at.0))).max();
        let Some((last, late)) = last else { continue };
        let Some(late) = timeline.lines.get(late).map(|line| line.info().rank) else { continue };
        for (line, index) in group {
            // Whoever was through before had not waited for it.
            if let Some(call) = call((line, index)).filter(|call| call.when.end >= last)
                && call.when.begin < last
            {
                waited.push(Waited { line, call: index, late, time: last - call.when.begin });
            }
        }
    }
}

/// Those whose messages a receive waited for.
fn late_senders(timeline: &Timeline, waited: &mut Vec<Waited>) {
    let mut coming: HashMap<usize, Vec<&Message>> = HashMap::new();
    timeline.messages.iter().for_each(|message| coming.entry(message.to).or_default().push(message));
    for (at, line) in timeline.lines.iter().enumerate() {
        let Some(coming) = coming.get(&line.info().rank) else { continue };
        for (index, call) in line.calls.iter().enumerate() {
            if line.name(call).0 != "recv" {
                continue;
            }
            // By the time at which they came; the last one within the call is what it waited for.
            let end = coming.partition_point(|message| message.came <= call.when.end);
            let last = end.checked_sub(1).and_then(|at| coming.get(at));
            if let Some(message) = last.filter(|message| message.came >= call.when.begin)
                && message.sent > call.when.begin
            {
                let time = message.sent - call.when.begin;
                waited.push(Waited { line: at, call: index, late: message.from, time });
            }
        }
    }
}

impl Summary {
    /// Of a timeline.
    #[must_use]
    pub fn of(timeline: &Timeline) -> Self {
        let mut waited = Vec::new();
        late_in_collectives(timeline, &mut waited);
        late_senders(timeline, &mut waited);
        let mut took: Vec<u64> =
            timeline.messages.iter().map(|message| message.came - message.sent).collect();
        took.sort_unstable();
        Self {
            length: timeline.length,
            size: timeline.size,
            operations: operations(timeline, &waited),
            ranks: shares(timeline, &waited),
            debts: debts(timeline, &waited),
            messages: took.len() as u64,
            latency: took.get(took.len() / 2).copied(),
            clocks: timeline.hosts.iter().map(clock).collect(),
        }
    }
}

fn clock(host: &Host) -> Clock {
    let within = match host.clock.trust {
        Trust::Reference => Some(0),
        Trust::Messages(within) => Some(within),
        Trust::Dates => None,
    };
    Clock { host: host.name.clone(), ahead: host.clock.ahead(), within }
}

/// Of calls with many bytes: how many, and how long they took.
type LongCalls = Vec<(u64, u64)>;

fn operations(timeline: &Timeline, waited: &[Waited]) -> Vec<Operation> {
    let mut waiting: HashMap<(usize, usize), u64> = HashMap::new();
    waited.iter().for_each(|one| *waiting.entry((one.line, one.call)).or_default() += one.time);
    let mut all: BTreeMap<&str, (Operation, LongCalls)> = BTreeMap::new();
    for (at, line) in timeline.lines.iter().enumerate() {
        for (index, call) in line.calls.iter().enumerate() {
            let name = line.name(call).0;
            let (operation, long) = all.entry(name).or_default();
            let time = call.when.length();
            operation.calls += 1;
            operation.time += time;
            operation.longest = operation.longest.max(time);
            operation.bytes += call.bytes;
            operation.waited += waiting.get(&(at, index)).copied().unwrap_or(0);
            operation.reducing += call.reduced.map_or(0, |reduced| reduced.time);
            if let Some(algorithm) = line.algorithm(call) {
                *operation.algorithms.entry(algorithm.to_owned()).or_default() += 1;
            }
            if call.bytes >= LONG && time > 0 {
                long.push((call.bytes, time));
            }
        }
    }
    let finish = |(name, (operation, mut long)): (&str, (Operation, LongCalls))| {
        let rate = |calls: &[(u64, u64)]| {
            let (bytes, time) = calls.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
            (time > 0).then(|| bytes as f64 * 1e9 / time as f64)
        };
        let achieved = rate(&long);
        // The quickest first: a.bytes / a.time > b.bytes / b.time.
        long.sort_by_key(|(bytes, time)| u128::from(*time) * (1 << 40) / u128::from(*bytes));
        let tenth = long.len().div_ceil(10);
        let possible = long.get(..tenth).and_then(rate);
        Operation { name: name.to_owned(), achieved, possible, ..operation }
    };
    let mut all: Vec<Operation> = all.into_iter().map(finish).collect();
    all.sort_by_key(|operation| std::cmp::Reverse(operation.time));
    all
}

/// How long a rank was in calls, of whatever threads.
fn calling(line: &Line) -> u64 {
    let (mut total, mut until) = (0, 0);
    for Call { when, .. } in &line.calls {
        total += when.end.saturating_sub(when.begin.max(until));
        until = until.max(when.end);
    }
    total
}

fn shares(timeline: &Timeline, waited: &[Waited]) -> Vec<Share> {
    let mut own: HashMap<usize, u64> = HashMap::new();
    let mut theirs: HashMap<usize, u64> = HashMap::new();
    for one in waited {
        *own.entry(one.line).or_default() += one.time;
        *theirs.entry(one.late).or_default() += one.time;
    }
    let share = |(at, line): (usize, &Line)| Share {
        rank: line.info().rank,
        host: line.info().host.clone(),
        time: line.when.length(),
        calling: calling(line),
        waited: own.get(&at).copied().unwrap_or(0),
        waited_for: theirs.get(&line.info().rank).copied().unwrap_or(0),
        lost: line.lost(),
        closed: line.closed(),
    };
    timeline.lines.iter().enumerate().map(share).collect()
}

fn debts(timeline: &Timeline, waited: &[Waited]) -> Vec<Debt> {
    /// Time and calls, by name and place.
    type Places<'a> = HashMap<(&'a str, Option<&'a str>), u64>;
    let mut all: BTreeMap<(usize, usize), (u64, u64, Places<'_>)> = BTreeMap::new();
    for one in waited {
        let Some(line) = timeline.lines.get(one.line) else { continue };
        let Some(call) = line.calls.get(one.call) else { continue };
        let (time, calls, places) = all.entry((line.info().rank, one.late)).or_default();
        *time += one.time;
        *calls += 1;
        *places.entry(line.name(call)).or_default() += one.time;
    }
    let debt = |((waiter, late), (time, calls, places)): ((usize, usize), (u64, u64, Places<'_>))| {
        let mostly = places.into_iter().max_by_key(|(name, time)| (*time, *name)).map(|(name, _)| name);
        let mostly = match mostly {
            Some((name, Some(place))) => format!("{name} at {place}"),
            Some((name, None)) => name.to_owned(),
            None => String::new(),
        };
        Debt { waiter, late, time, calls, mostly }
    };
    let mut all: Vec<Debt> = all.into_iter().map(debt).collect();
    all.sort_by_key(|debt| (std::cmp::Reverse(debt.time), debt.waiter, debt.late));
    all
}

#[cfg(test)]
mod tests {
    use super::super::slot::{Kind, NOBODY, Slot};
    use super::super::timeline::tests::{MICRO, trace};
    use super::*;

    /// A collective of a rank.
    fn collective(rank: usize, calls: &'static [(u64, u64, u32)]) -> super::super::Trace {
        trace(rank, 1, |to| {
            let (name, ring) = (to.label("all_reduce", None), to.label("ring", None));
            for (begin, end, number) in calls {
                let which = Slot::collective(0, ring);
                let slot = Slot::new(Kind::Call, begin * MICRO, end * MICRO).labelled(name);
                to.write(slot.with(which, *number).bytes_of(100_000));
            }
        })
    }

    #[test]
    fn whoever_comes_last_is_waited_for_by_those_that_it_held() {
        let timeline = Timeline::new(vec![
            collective(0, &[(10, 52, 0), (60, 65, 1)]),
            collective(1, &[(50, 53, 0), (61, 66, 1)]),
            // It was through before the last one came, as the root of a broadcast is.
            collective(2, &[(20, 25, 0), (60, 65, 1)]),
        ]);
        let summary = Summary::of(&timeline);
        let debts: Vec<_> = summary
            .debts
            .iter()
            .map(|debt| (debt.waiter, debt.late, debt.time / MICRO, debt.calls))
            .collect();
        assert_eq!(debts, [(0, 1, 41, 2), (2, 1, 1, 1)]);
        assert_eq!(summary.debts[0].mostly, "all_reduce");
        let operation = &summary.operations[0];
        assert_eq!((operation.calls, operation.waited / MICRO), (6, 42));
        assert_eq!(operation.time / MICRO, 42 + 5 + 3 + 5 + 5 + 5);
        assert_eq!(operation.algorithms, BTreeMap::from([("ring".into(), 6)]));
        // 100,000 bytes in 3 us at best.
        let best = operation.possible.unwrap();
        assert!((best - 100_000.0 * 1e6 / 3.0).abs() < 1.0, "{best}");
        assert!(operation.achieved.unwrap() < best);
        let share = &summary.ranks[1];
        assert_eq!((share.waited, share.waited_for / MICRO, share.calling / MICRO), (0, 42, 8));
    }

    #[test]
    fn a_receive_waits_until_its_message_has_left() {
        let zero = trace(0, 1, |to| {
            let send = to.label("send", None);
            to.write(Slot::new(Kind::Sent, 40 * MICRO, 41 * MICRO).labelled(send).with(1, 7));
        });
        let one = trace(1, 1, |to| {
            let recv = to.label("recv", None);
            to.write(Slot::new(Kind::Came, 45 * MICRO, 45 * MICRO).with(0, 7));
            to.write(Slot::new(Kind::Call, 10 * MICRO, 46 * MICRO).labelled(recv).with(NOBODY, 0));
            // Of what was there already.
            to.write(Slot::new(Kind::Call, 50 * MICRO, 51 * MICRO).labelled(recv).with(NOBODY, 0));
        });
        let summary = Summary::of(&Timeline::new(vec![zero, one]));
        assert_eq!(summary.debts.len(), 1);
        let debt = &summary.debts[0];
        assert_eq!((debt.waiter, debt.late, debt.time / MICRO, debt.calls), (1, 0, 31, 1));
        assert_eq!((summary.messages, summary.latency), (1, Some(4 * MICRO)));
    }

    #[test]
    fn calls_of_threads_that_overlap_count_once() {
        let one = trace(0, 1, |to| {
            let recv = to.label("recv", None);
            for (begin, end) in [(10, 20), (12, 15), (18, 30)] {
                to.write(Slot::new(Kind::Call, begin * MICRO, end * MICRO).labelled(recv).with(NOBODY, 0));
            }
        });
        let summary = Summary::of(&Timeline::new(vec![one]));
        assert_eq!((summary.ranks[0].calling, summary.ranks[0].time), (20 * MICRO, 20 * MICRO));
        assert_eq!(Summary::of(&Timeline::new(vec![])), Summary::default());
    }
}
