//! The traces of a world, put together: what each rank did when, by one clock.
//!
//! Times are nanoseconds since the first thing that is known of any rank. Neighbours: `align` compares clocks; `chrome`
//! and `summary` say what is here.

use std::collections::{BTreeMap, HashMap};

use super::align::{Alignment, Passage, align};
use super::layout::Info;
use super::read::Trace;
use super::slot::{Kind, NOBODY, Slot};

/// From one moment to another, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// The first.
    pub begin: u64,
    /// The last.
    pub end: u64,
}

impl Window {
    /// How long it is.
    #[must_use]
    pub fn length(self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// What was spent in reductions within a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reduced {
    /// In all, in nanoseconds.
    pub time: u64,
    /// How many bytes of results.
    pub bytes: u64,
    /// How often.
    pub times: u32,
}

/// Which collective it is: the same on all its ranks.
pub(crate) type Collective = (u16, u32);

/// A call of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When.
    pub when: Window,
    pub(crate) label: u16,
    pub(crate) algorithm: u16,
    /// Of messages: the bytes of the message. Of collectives: of the longer of input and output.
    pub bytes: u64,
    /// The communicator (folded) and its number in it.
    pub collective: Option<(u16, u32)>,
    /// Of a call that sends: to whom.
    pub to: Option<usize>,
    /// Reductions within it.
    pub reduced: Option<Reduced>,
}

/// A thread that slept in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When it waited.
    pub when: Window,
    pub(crate) label: u16,
    /// One that it waited for.
    pub peer: Option<usize>,
    /// How many those were.
    pub peers: u32,
    /// The rank was killed, or still ran, before it ended.
    pub open: bool,
}

/// A message of which both ends are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// From whom.
    pub from: usize,
    /// To whom.
    pub to: usize,
    /// When it had left.
    pub sent: u64,
    /// When all of it had come.
    pub came: u64,
    /// How long it was.
    pub bytes: u64,
}

/// What one rank did.
#[derive(Clone, Debug)]
pub struct Line {
    trace: Trace,
    /// What is known of it.
    pub when: Window,
    /// By their beginning.
    pub calls: Vec<Call>,
    /// By their beginning.
    pub waits: Vec<Wait>,
    /// Bytes put into memory of other ranks.
    pub put: u64,
    /// Which of the hosts it runs on.
    pub host: usize,
}

impl Line {
    /// Whose it is.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.trace.info
    }

    /// How many slots have gone for want of room.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.trace.lost
    }

    /// The rank has ended its part, and was not killed.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.trace.closed
    }

    /// The name of a call and where it stands.
    #[must_use]
    pub fn name(&self, call: &Call) -> (&str, Option<&str>) {
        named(self.trace.label(call.label))
    }

    /// The same of a wait.
    #[must_use]
    pub fn name_of_wait(&self, wait: &Wait) -> (&str, Option<&str>) {
        named(self.trace.label(wait.label))
    }

    /// The algorithm of a collective.
    #[must_use]
    pub fn algorithm(&self, call: &Call) -> Option<&str> {
        Some(self.trace.label(call.algorithm).0).filter(|name| !name.is_empty() && call.collective.is_some())
    }
}

fn named<'a>((name, place): (&'a str, Option<&'a str>)) -> (&'a str, Option<&'a str>) {
    (if name.is_empty() { "call" } else { name }, place)
}

/// A host, and how its clock was compared.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its clock.
    pub clock: Alignment,
}

/// See the file's head.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// By rank; not all ranks of the world need be here.
    pub lines: Vec<Line>,
    /// Messages of which both ends are known, by the time at which they had come.
    pub messages: Vec<Message>,
    /// The first is the one whose clock the others are compared with.
    pub hosts: Vec<Host>,
    /// From the first to the last.
    pub length: u64,
    /// Of how many ranks the world was.
    pub size: usize,
}

/// Of each pair of ranks and number: when, by the clock of its own host, and how many bytes.
type Ends = HashMap<(usize, usize, u32), (i128, u64)>;

impl Timeline {
    /// Puts traces of one world together; of a rank of which there are several only the first counts.
    #[must_use]
    pub fn new(mut traces: Vec<Trace>) -> Self {
        traces.sort_by_key(|trace| trace.info.rank);
        traces.dedup_by_key(|trace| trace.info.rank);
        let size = traces.iter().map(|trace| trace.info.size).max().unwrap_or(0);
        let mut ids: Vec<u64> = Vec::new();
        let mut host_of = Vec::new();
        for trace in &traces {
            let known = ids.iter().position(|id| *id == trace.info.host_id);
            host_of.push(known.unwrap_or_else(|| {
                ids.push(trace.info.host_id);
                ids.len() - 1
            }));
        }
        let first_of = |host: usize| host_of.iter().position(|of| *of == host).and_then(|at| traces.get(at));
        let dates: Vec<i128> =
            (0..ids.len()).map(|host| first_of(host).map_or(0, |trace| trace.wall)).collect();
        let (sent, came) = ends(&traces);
        let by_rank: BTreeMap<usize, usize> =
            traces.iter().zip(&host_of).map(|(trace, host)| (trace.info.rank, *host)).collect();
        let passages: Vec<Passage> = came
            .iter()
            .filter_map(|(key, (came, _))| {
                let hosts = (*by_rank.get(&key.0)?, *by_rank.get(&key.1)?);
                let (sent, _) = *sent.get(key)?;
                (hosts.0 != hosts.1).then_some(Passage { hosts, sent, came: *came })
            })
            .collect();
        let clocks = align(&dates, &passages);
        let common = |rank: usize, own: i128| {
            let clock = by_rank.get(&rank).and_then(|host| clocks.get(*host));
            clock.map_or(own, |clock| clock.common(own))
        };
        let begins = traces.iter().filter_map(|trace| {
            let all = trace.slots.iter().filter(|slot| slot.kind().is_some());
            all.map(|slot| common(trace.info.rank, trace.nanoseconds(slot.begin()))).min()
        });
        let start = begins.min().unwrap_or(0);
        let since = |rank: usize, own: i128| u64::try_from(common(rank, own) - start).unwrap_or(0);
        let mut messages: Vec<Message> = came
            .iter()
            .filter_map(|(&key, &(came, _))| {
                let (from, to, _) = key;
                let (sent, bytes) = *sent.get(&key)?;
                let (sent, came) = (since(from, sent), since(to, came));
                // To within what clocks and looks at them allow.
                Some(Message { from, to, sent: sent.min(came), came, bytes })
            })
            .collect();
        messages.sort_unstable_by_key(|message| (message.came, message.from, message.to, message.sent));
        let names: Vec<String> = (0..ids.len())
            .map(|host| first_of(host).map_or_else(String::new, |trace| trace.info.host.clone()))
            .collect();
        let lines: Vec<Line> =
            traces.into_iter().zip(host_of).map(|(trace, host)| line(trace, host, since)).collect();
        let length = lines.iter().map(|line| line.when.end).max().unwrap_or(0);
        let hosts = names.into_iter().zip(clocks).map(|(name, clock)| Host { name, clock }).collect();
        Self { lines, messages, hosts, length, size }
    }

    /// The line of a rank.
    #[must_use]
    pub fn line(&self, rank: usize) -> Option<&Line> {
        let at = self.lines.binary_search_by_key(&rank, |line| line.info().rank).ok()?;
        self.lines.get(at)
    }
}

fn ends(traces: &[Trace]) -> (Ends, Ends) {
    let (mut sent, mut came) = (Ends::new(), Ends::new());
    for trace in traces {
        for slot in &trace.slots {
            let (rank, peer) = (trace.info.rank, slot.peer() as usize);
            let (ends, key) = match slot.kind() {
                Some(Kind::Sent) => (&mut sent, (rank, peer, slot.number())),
                Some(Kind::Came) => (&mut came, (peer, rank, slot.number())),
                _ => continue,
            };
            ends.insert(key, (trace.nanoseconds(slot.end()), slot.bytes()));
        }
    }
    (sent, came)
}

/// What one rank did, by its slots.
fn line(trace: Trace, host: usize, since: impl Fn(usize, i128) -> u64) -> Line {
    let rank = trace.info.rank;
    let at = |ticks: u64| since(rank, trace.nanoseconds(ticks));
    let window = |slot: &Slot| Window { begin: at(slot.begin()), end: at(slot.end()) };
    let (mut calls, mut waits, mut put) = (Vec::new(), Vec::new(), 0);
    let mut reduced = None;
    let mut asleep: Vec<&Slot> = Vec::new();
    let (mut first, mut last) = (u64::MAX, 0);
    for slot in &trace.slots {
        let Some(kind) = slot.kind() else { continue };
        let when = window(slot);
        (first, last) = (first.min(when.begin), last.max(when.end));
        let (label, bytes) = (slot.label(), slot.bytes());
        match kind {
            Kind::Call => {
                let collective = slot.peer() != NOBODY;
                let (communicator, algorithm) = ((slot.peer() >> 16) as u16, slot.peer() as u16);
                calls.push(Call {
                    when,
                    label,
                    algorithm,
                    bytes,
                    collective: collective.then_some((communicator, slot.number())),
                    to: None,
                    reduced: reduced.take(),
                });
            }
            Kind::Sent if label > 0 => {
                let to = Some(slot.peer() as usize);
                calls.push(Call { when, label, algorithm: 0, bytes, collective: None, to, reduced: None });
            }
            Kind::Reduced => {
                reduced = Some(Reduced { time: when.length(), bytes, times: slot.number() });
            }
            Kind::Asleep => asleep.push(slot),
            Kind::Wait => {
                let same = asleep.iter().position(|other| other.begin() == slot.begin());
                if let Some(same) = same {
                    asleep.swap_remove(same);
                }
                let peer = (slot.peer() != NOBODY).then_some(slot.peer() as usize);
                waits.push(Wait { when, label, peer, peers: slot.number(), open: false });
            }
            Kind::Put => put += bytes,
            Kind::Sent | Kind::Came | Kind::Anchor => {}
        }
    }
    for slot in asleep {
        // Its trace ends with it.
        let when = Window { begin: at(slot.begin()), end: last.max(at(slot.begin())) };
        let peer = (slot.peer() != NOBODY).then_some(slot.peer() as usize);
        waits.push(Wait { when, label: slot.label(), peer, peers: slot.number(), open: true });
    }
    calls.sort_by_key(|call: &Call| (call.when.begin, std::cmp::Reverse(call.when.end)));
    waits.sort_by_key(|wait: &Wait| (wait.when.begin, std::cmp::Reverse(wait.when.end)));
    let when = Window { begin: first.min(last), end: last };
    Line { trace, when, calls, waits, put, host }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::recorder::Recorder;
    use super::*;

    pub(crate) const MICRO: u64 = 1_000;

    /// The trace of a rank whose ticks are nanoseconds, written by `write`.
    pub(crate) fn trace(rank: usize, host: u64, write: impl FnOnce(&mut Recorder)) -> Trace {
        let folder = tempfile::tempdir().unwrap();
        let info =
            Info { world: 1, rank, size: 3, host: format!("host{host}"), host_id: host, ..Info::default() };
        let mut recorder = Recorder::create(folder.path(), 1 << 20, &info).unwrap();
        write(&mut recorder);
        let path = recorder.path().to_owned();
        let mut trace = Trace::read(&path).unwrap();
        trace.plain_ticks();
        trace
    }

    #[test]
    fn calls_messages_and_waits_of_several_ranks_are_put_together() {
        let zero = trace(0, 1, |to| {
            let (send, sum) = (to.label("send", None), to.label("all_reduce", None));
            let ring = to.label("ring", None);
            to.write(Slot::new(Kind::Sent, 10 * MICRO, 12 * MICRO).labelled(send).bytes_of(8).with(1, 0));
            to.write(Slot::new(Kind::Reduced, 20 * MICRO, 23 * MICRO).bytes_of(64).with(NOBODY, 2));
            let which = Slot::collective(0, ring);
            to.write(Slot::new(Kind::Call, 20 * MICRO, 30 * MICRO).labelled(sum).with(which, 5));
        });
        let one = trace(1, 1, |to| {
            let recv = to.label("recv", None);
            to.write(Slot::new(Kind::Came, 15 * MICRO, 15 * MICRO).bytes_of(8).with(0, 0));
            to.write(Slot::new(Kind::Call, 5 * MICRO, 16 * MICRO).labelled(recv).bytes_of(8));
            to.write(Slot::new(Kind::Asleep, 5 * MICRO, 5 * MICRO).labelled(recv).with(0, 1));
            to.write(Slot::new(Kind::Wait, 5 * MICRO, 14 * MICRO).labelled(recv).with(0, 1));
            to.write(Slot::new(Kind::Asleep, 18 * MICRO, 18 * MICRO).labelled(recv).with(2, 1));
            to.write(Slot::new(Kind::Put, 40 * MICRO, 40 * MICRO).bytes_of(100).with(0, 0));
        });
        let timeline = Timeline::new(vec![one, zero]);
        assert_eq!((timeline.size, timeline.lines.len(), timeline.hosts.len()), (3, 2, 1));
        let message = Message { from: 0, to: 1, sent: 7 * MICRO, came: 10 * MICRO, bytes: 8 };
        assert_eq!(timeline.messages, [message], "since the first that is known");
        let zero = timeline.line(0).unwrap();
        assert_eq!(zero.calls.len(), 2);
        assert_eq!((zero.name(&zero.calls[0]).0, zero.calls[0].to), ("send", Some(1)));
        let sum = zero.calls[1];
        assert_eq!((sum.collective, zero.algorithm(&sum)), (Some((0, 5)), Some("ring")));
        assert_eq!(sum.reduced, Some(Reduced { time: 3 * MICRO, bytes: 64, times: 2 }));
        let one = timeline.line(1).unwrap();
        let when = |begin: u64, end: u64| Window { begin: begin * MICRO, end: end * MICRO };
        assert_eq!(one.waits.len(), 2);
        assert_eq!((one.waits[0].when, one.waits[0].open, one.waits[0].peer), (when(0, 9), false, Some(0)));
        assert_eq!((one.waits[1].when, one.waits[1].open, one.waits[1].peer), (when(13, 35), true, Some(2)));
        assert_eq!((one.put, timeline.length), (100, 35 * MICRO));
        assert!(timeline.line(2).is_none());
    }

    #[test]
    fn clocks_of_hosts_are_compared_by_messages() {
        let ahead = 5_000_000_000;
        let zero = trace(0, 1, |to| {
            for number in 0..20u32 {
                let time = u64::from(number) * 100 * MICRO + 1_000;
                to.write(Slot::new(Kind::Sent, time, time).with(1, number));
                to.write(Slot::new(Kind::Came, time + 60 * MICRO, time + 60 * MICRO).with(1, number));
            }
        });
        let one = trace(1, 2, |to| {
            for number in 0..20u32 {
                let time = u64::from(number) * 100 * MICRO + 1_000 + ahead;
                to.write(Slot::new(Kind::Came, time + 10 * MICRO, time + 10 * MICRO).with(0, number));
                to.write(Slot::new(Kind::Sent, time + 50 * MICRO, time + 50 * MICRO).with(0, number));
            }
        });
        let timeline = Timeline::new(vec![zero, one]);
        assert_eq!(timeline.hosts[1].clock.ahead(), i64::try_from(ahead).unwrap());
        assert_eq!(timeline.messages.len(), 40);
        assert!(timeline.messages.iter().all(|message| message.came - message.sent == 10 * MICRO));
    }

    #[test]
    fn nothing_makes_nothing() {
        let timeline = Timeline::new(vec![trace(0, 1, |_| ())]);
        assert_eq!((timeline.length, timeline.lines[0].calls.len()), (0, 0));
        assert_eq!(Timeline::new(vec![]).size, 0);
    }
}
