//! Who has joined, and which rank each gets. Pure: no socket, no clock.
//!
//! Ranks that were given are kept; the others are handed out by host, contiguous per host, the master's
//! host first, within a host by local rank and then by arrival. Hosts are ordered by name, not by
//! arrival, so that the same job gets the same ranks when it runs again. Neighbour: `hub` feeds it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::program::Program;
use crate::waiting::sentence;
use crate::wire::{Addresses, Hello, Member};

struct Joiner {
    hello: Hello,
    addresses: Option<Addresses>,
}

/// What one rank is told about itself, and where it is reached.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) connection: u64,
    pub(super) local_rank: usize,
    pub(super) local_size: usize,
    pub(super) serves: bool,
    pub(super) program: Program,
    pub(super) member: Member,
}

/// The joiners of a world that has not formed yet, by connection; connections are numbered by arrival.
pub(super) struct Roster {
    size: usize,
    num_nodes: Option<u64>,
    job: Option<String>,
    joiners: BTreeMap<u64, Joiner>,
    /// Which connection has which of the ranks that were given.
    given: HashMap<u64, u64>,
    /// How many joiners have said where they are reached.
    reachable: usize,
    /// Who did not get in: why, who, and how many more.
    refused: Vec<Refused>,
}

/// What to do where two jobs without names meet: whoever comes first is in the world, of whichever job.
pub(super) fn two_jobs() -> &'static str {
    "; if two jobs have met here, ranks of both may be in this world: give each a RINGWORLD_JOB or a MASTER_PORT of \
     its own"
}

/// Those who did not get in for one reason.
struct Refused {
    reason: String,
    /// The first few.
    who: Vec<String>,
    count: usize,
}

/// How many reasons are kept for the message that says why the world did not form.
const REASONS: usize = 8;
/// How many of those who share one are named.
const NAMED: usize = 3;
/// How many hosts are named to those who wait.
const HOSTS_NAMED: usize = 8;
/// How many ranks are named.
const SHOWN: usize = 64;

impl Roster {
    pub(super) fn new(size: usize, num_nodes: Option<usize>, job: Option<String>) -> Self {
        let num_nodes = num_nodes.map(|nodes| nodes as u64);
        Self {
            size,
            num_nodes,
            job,
            joiners: BTreeMap::new(),
            given: HashMap::new(),
            reachable: 0,
            refused: Vec::new(),
        }
    }

    /// Gives a process a place, or the reason why it gets none.
    pub(super) fn admit(&mut self, connection: u64, hello: Hello) -> Result<(), String> {
        let verdict = self.judge(&hello);
        match &verdict {
            Ok(()) => {
                self.num_nodes = self.num_nodes.or(hello.num_nodes);
                if let Some(rank) = hello.rank {
                    self.given.insert(rank, connection);
                }
                self.joiners.insert(connection, Joiner { hello, addresses: None });
            }
            Err(reason) => self.turned_away(&process(&hello), reason, REASONS),
        }
        verdict
    }

    /// Notes an unauthenticated connection. However many reasons they give, there is room for those of the job's own
    /// processes.
    pub(super) fn note_unauthenticated(&mut self, who: &str, reason: &str) {
        self.turned_away(who, reason, REASONS / 2);
    }

    /// Notes who did not get in, and why, up to so many reasons.
    fn turned_away(&mut self, who: &str, reason: &str, limit: usize) {
        let known = self.refused.iter().position(|refused| refused.reason == reason);
        if known.is_none() && self.refused.len() < limit {
            self.refused.push(Refused { reason: reason.into(), who: Vec::new(), count: 0 });
        }
        let place = known.unwrap_or(self.refused.len().saturating_sub(1));
        let Some(refused) = self.refused.get_mut(place).filter(|refused| refused.reason == reason) else {
            return;
        };
        refused.count += 1;
        if refused.who.len() < NAMED && !refused.who.iter().any(|known| known == who) {
            refused.who.push(who.into());
        }
    }

    fn judge(&self, hello: &Hello) -> Result<(), String> {
        if let Some(reason) = of_another_job(&self.job, &hello.job) {
            return Err(reason);
        }
        if hello.world_size != self.size as u64 {
            return Err(format!(
                "the master expects {} ranks and this process {}; set WORLD_SIZE, or NUM_NODES and \
                 LOCAL_WORLD_SIZE, alike for all processes",
                self.size, hello.world_size
            ));
        }
        if let (Some(ours), Some(theirs)) = (self.num_nodes, hello.num_nodes)
            && ours != theirs
        {
            return Err(format!(
                "the others say that there are {ours} hosts and this process says {theirs}; set NUM_NODES alike \
                 for all processes"
            ));
        }
        if let Some(rank) = hello.rank {
            if rank >= self.size as u64 {
                return Err(format!(
                    "rank {rank} was given, but the world has {} ranks, from 0 to {}",
                    self.size,
                    self.size.saturating_sub(1)
                ));
            }
            if let Some(other) = self.given.get(&rank).and_then(|connection| self.joiners.get(connection)) {
                return Err(format!(
                    "rank {rank} was given twice: to {} and to {}; give each process its own RANK, or none{}",
                    process(&other.hello),
                    process(hello),
                    self.or_two_jobs()
                ));
            }
        }
        if self.joiners.len() >= self.size {
            return Err(format!(
                "all {} ranks have joined already; start fewer processes or raise WORLD_SIZE{}",
                self.size,
                self.or_two_jobs()
            ));
        }
        Ok(())
    }

    /// What else it may mean that somebody comes who is one too many.
    fn or_two_jobs(&self) -> &'static str {
        match self.job {
            Some(_) => "",
            None => two_jobs(),
        }
    }

    /// Frees the place of a process that left; answers who it was.
    pub(super) fn leave(&mut self, connection: u64) -> Option<String> {
        let joiner = self.joiners.remove(&connection)?;
        if let Some(rank) = joiner.hello.rank {
            self.given.remove(&rank);
        }
        self.reachable -= usize::from(joiner.addresses.is_some());
        Some(process(&joiner.hello))
    }

    /// Notes where a process is reached; `false` if it has no place or said so before.
    pub(super) fn ready(&mut self, connection: u64, addresses: Addresses) -> bool {
        match self.joiners.get_mut(&connection) {
            Some(joiner) if joiner.addresses.is_none() => {
                joiner.addresses = Some(addresses);
                self.reachable += 1;
                true
            }
            _ => false,
        }
    }

    /// Everybody is there and reachable.
    pub(super) fn complete(&self) -> bool {
        self.joiners.len() == self.size && self.reachable == self.size
    }

    /// The connections of those who have joined.
    pub(super) fn connections(&self) -> impl Iterator<Item = u64> + '_ {
        self.joiners.keys().copied()
    }

    /// Gives out the ranks; the index of a seat is its rank.
    pub(super) fn assign(mut self, master_host: u64) -> Vec<Seat> {
        let mut seats: Vec<Option<(u64, Joiner)>> = (0..self.size).map(|_| None).collect();
        let mut unranked = Vec::new();
        for (connection, joiner) in std::mem::take(&mut self.joiners) {
            let given = joiner.hello.rank.and_then(|rank| usize::try_from(rank).ok());
            match given.and_then(|rank| seats.get_mut(rank)) {
                Some(seat @ None) => *seat = Some((connection, joiner)),
                _ => unranked.push((connection, joiner)),
            }
        }
        unranked.sort_by_cached_key(|(connection, joiner)| {
            let hello = &joiner.hello;
            let local = hello.local_rank.unwrap_or(u64::MAX);
            (hello.host_id != master_host, natural(&hello.host), hello.host_id, local, *connection)
        });
        let mut unranked = unranked.into_iter();
        for seat in seats.iter_mut().filter(|seat| seat.is_none()) {
            *seat = unranked.next();
        }
        let seats: Vec<(u64, Joiner)> = seats.into_iter().flatten().collect();
        let locals = local_ranks(&seats);
        seats
            .into_iter()
            .zip(locals)
            .map(|((connection, joiner), (local_rank, local_size))| Seat {
                connection,
                local_rank,
                local_size,
                serves: joiner.hello.serves,
                program: joiner.hello.program,
                member: Member {
                    host: joiner.hello.host,
                    host_id: joiner.hello.host_id,
                    pid: joiner.hello.process.pid,
                    addresses: joiner.addresses.unwrap_or_default(),
                },
            })
            .collect()
    }

    /// Whom this world still waits for; `None` when nobody has joined, or nobody is missing.
    pub(super) fn waiting(&self) -> Option<String> {
        if self.joiners.is_empty() || self.complete() {
            return None;
        }
        let missing = self.size - self.joiners.len().min(self.size);
        if missing == 0 {
            let silent = self.joiners.values().filter(|joiner| joiner.addresses.is_none());
            let silent: Vec<String> = silent.map(|joiner| process(&joiner.hello)).collect();
            let who = sentence(&silent, HOSTS_NAMED);
            return Some(format!("all {} ranks have joined; waiting for the addresses of {who}", self.size));
        }
        let hosts = self.hosts().into_iter().map(|(host, ranks)| match ranks.len() {
            1 => host.to_string(),
            ranks => format!("{host} ({ranks} ranks)"),
        });
        let hosts: Vec<String> = hosts.collect();
        let which = self.absent().map_or(String::new(), |absent| format!(" (rank {absent})"));
        let have = if hosts.len() == 1 { "has" } else { "have" };
        let joined = sentence(&hosts, HOSTS_NAMED);
        Some(format!("waiting for {missing} of {} ranks{which}; {joined} {have} joined", self.size))
    }

    /// Whether nobody has joined from another host than this one.
    pub(super) fn only_from(&self, host: u64) -> bool {
        self.joiners.values().all(|joiner| joiner.hello.host_id == host)
    }

    /// What to say where the ranks are on another number of hosts than was stated.
    pub(super) fn other_hosts_than_stated(&self) -> Option<String> {
        let stated = usize::try_from(self.num_nodes?).ok()?;
        let hosts = self.hosts();
        if hosts.len() == stated {
            return None;
        }
        let names: Vec<String> =
            hosts.iter().map(|(host, ranks)| format!("{host} ({} ranks)", ranks.len())).collect();
        Some(format!(
            "{stated} hosts were stated (NUM_NODES or --nnodes), and the {} ranks of this world are on {}: {}; if that \
             is not meant, start the launcher once on each host, and nothing twice",
            self.joiners.len(),
            hosts.len(),
            sentence(&names, HOSTS_NAMED)
        ))
    }

    /// Everybody who has joined, by host.
    fn hosts(&self) -> Vec<(&str, Vec<String>)> {
        let mut hosts = BTreeMap::new();
        for joiner in self.joiners.values() {
            let hello = &joiner.hello;
            let who = match hello.rank {
                Some(rank) => format!("rank {rank}"),
                None => format!("process {}", hello.process.pid),
            };
            let entry = hosts.entry((natural(&hello.host), hello.host_id));
            entry.or_insert_with(|| (hello.host.as_str(), Vec::new())).1.push(who);
        }
        hosts.into_values().collect()
    }

    /// The ranks that are missing, where all that are there were given theirs.
    fn absent(&self) -> Option<String> {
        if self.joiners.is_empty() || self.joiners.values().any(|joiner| joiner.hello.rank.is_none()) {
            return None;
        }
        let here: BTreeSet<u64> = self.joiners.values().filter_map(|joiner| joiner.hello.rank).collect();
        let absent = (0..self.size as u64).filter(|rank| !here.contains(rank)).take(SHOWN + 1);
        let absent: Vec<String> = absent.map(|rank| rank.to_string()).collect();
        (!absent.is_empty()).then(|| shorten(&absent))
    }

    /// Who is there, who is not, and who was turned away, for the message when `time` is up.
    pub(super) fn describe(&self, time: Duration) -> String {
        let present: Vec<String> =
            self.hosts().into_iter().map(|(host, who)| format!("{host} ({})", shorten(&who))).collect();
        let present = if present.is_empty() { "nobody".into() } else { present.join(", ") };
        let missing = self.size - self.joiners.len().min(self.size);
        let mut text = format!("{} of {} ranks joined: {present}", self.joiners.len(), self.size);
        if missing > 0 {
            text += &format!("; {missing} missing");
        }
        if let Some(absent) = self.absent() {
            text += &format!(" (rank {absent})");
        }
        text += &format!(
            " after {:.1} s; start the others, check their MASTER_NODE and MASTER_PORT, or raise RINGWORLD_TIMEOUT",
            time.as_secs_f64()
        );
        for Refused { reason, who, count } in &self.refused {
            let others = match count - who.len().min(*count) {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            text += &format!("\n  turned away: {}{others}: {reason}", who.join(", "));
        }
        text
    }
}

/// Why a process may not come in where the world runs already.
pub(crate) fn not_elastic() -> String {
    "its world runs and is elastic, and this process is not; set RINGWORLD_ELASTIC=1 to join it".into()
}

/// Why a process may not come in that names another job than the master does.
pub(crate) fn of_another_job(ours: &Option<String>, theirs: &Option<String>) -> Option<String> {
    let name = |job: &Option<String>| job.as_ref().map_or("none".into(), |job| format!("{job:?}"));
    (ours != theirs).then(|| {
        format!(
            "the master serves job {} and this process belongs to job {}; give each job a MASTER_PORT of its own, or, \
             if they are one, set RINGWORLD_JOB alike for all processes",
            name(ours),
            name(theirs)
        )
    })
}

fn process(hello: &Hello) -> String {
    format!("process {} on {}", hello.process.pid, hello.host)
}

fn shorten(names: &[String]) -> String {
    if names.len() <= SHOWN {
        return names.join(", ");
    }
    format!("{}, …", names[..SHOWN].join(", "))
}

/// Place and number of ranks on its host, for each rank. Given local ranks are kept where a host's
/// make sense together; else the order of ranks counts.
fn local_ranks(seats: &[(u64, Joiner)]) -> Vec<(usize, usize)> {
    let mut hosts: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (rank, (_, joiner)) in seats.iter().enumerate() {
        hosts.entry(joiner.hello.host_id).or_default().push(rank);
    }
    let mut locals = vec![(0, 1); seats.len()];
    for ranks in hosts.into_values() {
        let given: Vec<Option<u64>> = ranks.iter().map(|&rank| seats[rank].1.hello.local_rank).collect();
        let sensible =
            (0..ranks.len() as u64).all(|wanted| given.iter().filter(|g| **g == Some(wanted)).count() == 1);
        for (place, &rank) in ranks.iter().enumerate() {
            let local = match given[place] {
                Some(local) if sensible => usize::try_from(local).unwrap_or(place),
                _ => place,
            };
            locals[rank] = (local, ranks.len());
        }
    }
    locals
}

/// A part of a host name: digits compare as numbers, so that `n2` comes before `n10`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Chunk {
    Number(u64),
    Text(String),
}

fn natural(name: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (chunk, tail) = rest.split_at(end);
        chunks.push(match chunk.parse() {
            Ok(number) if digits => Chunk::Number(number),
            _ => Chunk::Text(chunk.into()),
        });
        rest = tail;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;

    fn numbered(pid: u32) -> Process {
        Process { pid, space: 0 }
    }

    fn hello(host: &str) -> Hello {
        Hello {
            host: host.into(),
            host_id: host.bytes().fold(7, |hash, byte| hash * 31 + u64::from(byte)),
            process: numbered(100),
            job: None,
            world_size: 4,
            num_nodes: None,
            rank: None,
            local_rank: None,
            program: Program::default(),
            serves: false,
            elastic: false,
        }
    }

    fn seated(hellos: Vec<Hello>, master_host: &str) -> Vec<(String, u64, usize, usize)> {
        let mut roster = Roster::new(hellos.len(), None, None);
        let size = hellos.len() as u64;
        for (connection, hello) in hellos.into_iter().enumerate() {
            roster.admit(connection as u64, Hello { world_size: size, ..hello }).unwrap();
            assert!(!roster.complete());
        }
        for connection in 0..size {
            assert!(roster.ready(connection, vec![("tcp".into(), vec![1])]));
        }
        assert!(roster.complete());
        let master = hello(master_host).host_id;
        let seats = roster.assign(master);
        seats.into_iter().map(|s| (s.member.host, s.connection, s.local_rank, s.local_size)).collect()
    }

    #[test]
    fn ranks_are_contiguous_per_host_and_begin_on_the_masters() {
        let order = ["n10", "n2", "n1", "n10", "n2", "n1"].map(hello).to_vec();
        let hosts: Vec<_> =
            seated(order, "n2").into_iter().map(|(host, _, local, size)| (host, local, size)).collect();
        let expected = [("n2", 0), ("n2", 1), ("n1", 0), ("n1", 1), ("n10", 0), ("n10", 1)];
        assert_eq!(hosts, expected.map(|(host, local)| (host.to_string(), local, 2)));
    }

    #[test]
    fn within_a_host_local_ranks_come_first_and_then_arrival() {
        let local = |local_rank| Hello { local_rank, ..hello("n1") };
        let seats = seated(vec![local(None), local(Some(1)), local(Some(0)), local(None)], "n1");
        assert_eq!(seats.iter().map(|seat| seat.1).collect::<Vec<_>>(), [2, 1, 0, 3]);
        assert_eq!(seats.iter().map(|seat| seat.2).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn another_number_of_hosts_than_stated_is_told() {
        let told = |hosts: &[&str], stated| {
            let mut roster = Roster::new(hosts.len(), None, None);
            for (connection, host) in hosts.iter().enumerate() {
                let world_size = hosts.len() as u64;
                let hello = Hello { world_size, num_nodes: stated, ..hello(host) };
                roster.admit(connection as u64, hello).unwrap();
            }
            roster.other_hosts_than_stated()
        };
        // Launchers that were started twice on a host make a world of fewer.
        let text = told(&["n0", "n0", "n1", "n0"], Some(3)).unwrap();
        let parts = ["3 hosts were stated", "on 2: n0 (3 ranks) and n1 (1 ranks)", "once on each host"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(told(&["n0", "n1"], Some(1)).is_some());
        assert_eq!(told(&["n0", "n0", "n1", "n2"], Some(3)), None);
        assert_eq!(told(&["n0", "n1"], None), None);
    }

    #[test]
    fn given_ranks_are_kept_and_the_rest_fills_the_gaps() {
        let given = |host, rank| Hello { rank: Some(rank), ..hello(host) };
        let seats = seated(vec![hello("n1"), given("n2", 0), given("n1", 3), hello("n2")], "n1");
        assert_eq!(seats.iter().map(|seat| seat.1).collect::<Vec<_>>(), [1, 0, 3, 2]);
    }

    #[test]
    fn given_local_ranks_are_kept_when_they_make_sense() {
        let given = |rank, local| Hello { rank: Some(rank), local_rank: Some(local), ..hello("n1") };
        let locals = |seats: Vec<(String, u64, usize, usize)>| seats.iter().map(|s| s.2).collect::<Vec<_>>();
        assert_eq!(locals(seated(vec![given(0, 1), given(1, 0)], "n1")), [1, 0]);
        assert_eq!(locals(seated(vec![given(0, 1), given(1, 1)], "n1")), [0, 1]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_both_values() {
        let mut roster = Roster::new(4, Some(2), Some("a".into()));
        let good = Hello { job: Some("a".into()), num_nodes: Some(2), rank: Some(1), ..hello("n1") };
        roster.admit(1, good.clone()).unwrap();
        let mut refused = |change: &dyn Fn(&mut Hello)| {
            let mut other = Hello { host: "n9".into(), rank: None, process: numbered(200), ..good.clone() };
            change(&mut other);
            roster.admit(2, other).unwrap_err()
        };
        for (text, parts) in [
            (refused(&|h| h.job = Some("b".into())), ["job \"a\"", "job \"b\"; give each job a MASTER_PORT"]),
            (refused(&|h| h.job = None), ["\"a\"", "none"]),
            (refused(&|h| h.world_size = 8), ["4 ranks", "8"]),
            (refused(&|h| h.num_nodes = Some(3)), ["2 hosts", "3"]),
            (refused(&|h| h.rank = Some(4)), ["rank 4", "0 to 3"]),
            (refused(&|h| h.rank = Some(1)), ["process 100 on n1", "process 200 on n9"]),
        ] {
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
        let text = roster.describe(Duration::from_secs(6));
        assert!(text.contains("\n  turned away: process 200 on n9: the master expects 4 ranks"), "{text}");
    }

    #[test]
    fn one_too_many_is_refused_until_somebody_leaves() {
        let mut roster = Roster::new(1, None, None);
        let one = Hello { world_size: 1, ..hello("n1") };
        roster.admit(1, one.clone()).unwrap();
        assert!(roster.admit(2, one.clone()).unwrap_err().contains("all 1 ranks have joined"));
        assert_eq!(roster.leave(1).as_deref(), Some("process 100 on n1"));
        roster.admit(3, one).unwrap();
        assert!(!roster.ready(1, Vec::new()), "the first has no place any more");
        assert!(roster.ready(3, Vec::new()) && roster.complete());
        roster.leave(3);
        let given = Hello { world_size: 1, rank: Some(0), ..hello("n1") };
        roster.admit(4, given.clone()).unwrap();
        assert!(!roster.complete(), "who was reachable has left");
        roster.leave(4);
        roster.admit(5, given).unwrap();
    }

    #[test]
    fn the_description_says_who_is_there_and_who_is_not() {
        let mut roster = Roster::new(4, None, None);
        roster.admit(1, Hello { rank: Some(2), ..hello("n1") }).unwrap();
        roster.admit(2, Hello { rank: Some(0), ..hello("n2") }).unwrap();
        assert_eq!(
            roster.describe(Duration::from_secs(6)),
            "2 of 4 ranks joined: n1 (rank 2), n2 (rank 0); 2 missing (rank 1, 3) after 6.0 s; start the others, check \
             their MASTER_NODE and MASTER_PORT, or raise RINGWORLD_TIMEOUT"
        );
        assert!(Roster::new(2, None, None).describe(Duration::ZERO).contains("nobody"));
    }

    #[test]
    fn those_who_wait_hear_which_hosts_are_there_and_how_many_ranks_are_not() {
        let mut roster = Roster::new(4, None, None);
        assert_eq!(roster.waiting(), None, "nobody waits");
        for (connection, host) in ["n1", "n2", "n2"].into_iter().enumerate() {
            roster.admit(connection as u64, hello(host)).unwrap();
        }
        let text = roster.waiting().unwrap();
        assert_eq!(text, "waiting for 1 of 4 ranks; n1 and n2 (2 ranks) have joined");
        roster.admit(3, hello("n3")).unwrap();
        (0..3).for_each(|connection| assert!(roster.ready(connection, Addresses::new())));
        let text = roster.waiting().unwrap();
        assert_eq!(text, "all 4 ranks have joined; waiting for the addresses of process 100 on n3");
        assert!(roster.ready(3, Addresses::new()));
        assert_eq!(roster.waiting(), None, "nobody is missing");

        let mut ranked = Roster::new(4, None, None);
        for rank in [0, 2] {
            ranked.admit(rank, Hello { rank: Some(rank), ..hello("n1") }).unwrap();
        }
        let text = ranked.waiting().unwrap();
        assert_eq!(text, "waiting for 2 of 4 ranks (rank 1, 3); n1 (2 ranks) has joined");
    }

    #[test]
    fn those_who_were_turned_away_are_grouped_by_reason_and_counted() {
        let mut roster = Roster::new(4, None, None);
        for pid in 0..7 {
            let wrong = Hello { world_size: 8, process: numbered(100 + pid), ..hello("n9") };
            roster.admit(u64::from(pid), wrong).unwrap_err();
        }
        for _ in 0..3 {
            roster.note_unauthenticated("a connection from 10.0.0.9", "it begins with \"GET / HT\"");
        }
        let text = roster.describe(Duration::from_secs(6));
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines.len(), 2, "{text}");
        let first = "  turned away: process 100 on n9, process 101 on n9, process 102 on n9 and 4 more: the master \
                     expects";
        assert!(lines[0].starts_with(first), "{text}");
        let second = "  turned away: a connection from 10.0.0.9 and 2 more: it begins with \"GET / HT\"";
        assert_eq!(lines[1], second);
    }
}
