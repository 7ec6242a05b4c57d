//! What rank 0 prints: each host, the matrices, what is slow, and who does not reach whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use ringworld::pair::Needed;
use serde::Serialize;

use super::plan::{Pair, Plan};
use super::slow::{self, Slow, What};
use super::words::{Facts, Found, Measured};
use crate::{style, units};

/// Below this part of the usual bandwidth a link is slow.
const SLOW: f64 = 0.5;
/// A latency of more than so many times the usual is long, unless that is less than [`FEW`] seconds more: what a busy
/// processor does to a message, too.
const LONG: f64 = 3.0;
const FEW: f64 = 100e-6;
/// Clocks that are further apart than this are told, in seconds.
const APART: f64 = 0.1;
/// Columns of a matrix that a person can still read.
const COLUMNS: usize = 16;

/// Everything that is known in the end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    ranks: Vec<Rank>,
    /// Of which only the first rank of each is shown to people.
    #[serde(skip)]
    hosts: Vec<Vec<usize>>,
    files_needed: u64,
    files_needed_at_least: u64,
    links: Vec<Link>,
    #[serde(skip)]
    pub(super) grids: Vec<Grid>,
    /// What should be looked at, in words; the worst first.
    slow: Vec<String>,
    /// What must be mended, in words.
    broken: Vec<String>,
    /// What is only worth knowing.
    notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Rank {
    rank: usize,
    host: String,
    #[serde(flatten)]
    facts: Facts,
    /// The host's clock less that of rank 0's host, and by how much that may be wrong.
    clock: Option<(f64, f64)>,
}

#[derive(Clone, Debug, Serialize)]
struct Link {
    low: usize,
    high: usize,
    transport: String,
    #[serde(flatten)]
    found: Found,
}

/// All links of some ranks over one transport.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) title: String,
    transport: String,
    pub(super) ranks: Vec<usize>,
    pub(super) names: Vec<String>,
    /// Bytes per second, from the row to the column, by place in `ranks`.
    pub(super) rates: Vec<Vec<Option<f64>>>,
    /// In seconds.
    latencies: Vec<Vec<Option<f64>>>,
    pub(super) failed: Vec<Pair>,
    pub(super) slow: Vec<Slow>,
    /// Whose latency is long; as rates, of messages per second.
    late: Vec<Slow>,
}

impl Report {
    /// `found`: what came out, for each pair and transport that was tried.
    pub(super) fn new(
        hosts: Vec<String>,
        facts: &[Facts],
        plan: &Plan,
        found: Vec<(Pair, String, Found)>,
        needed: Needed,
    ) -> Self {
        let clocks = clocks(plan, &found);
        let ranks: Vec<Rank> = hosts
            .into_iter()
            .zip(facts)
            .enumerate()
            .map(|(rank, (host, facts))| Rank {
                rank,
                host,
                facts: facts.clone(),
                clock: clocks.get(&rank).copied(),
            })
            .collect();
        let links =
            found.into_iter().map(|((low, high), transport, found)| Link { low, high, transport, found });
        let mut report = Self {
            ranks,
            hosts: plan.hosts.clone(),
            files_needed: needed.all,
            files_needed_at_least: needed.least,
            links: links.collect(),
            grids: Vec::new(),
            slow: Vec::new(),
            broken: Vec::new(),
            notes: Vec::new(),
        };
        report.grids = report.all_grids();
        report.judge_links(plan);
        report.judge_ranks();
        report.slow = report.all_slow();
        report
    }

    /// Whether every pair is reached by whatever it should be, and the limits suffice. What is slow is not broken.
    pub(super) fn is_well(&self) -> bool {
        self.broken.is_empty()
    }

    /// Every pair and transport of which something slow is said, to be measured again.
    pub(super) fn suspects(&self) -> BTreeSet<(Pair, String)> {
        self.grids.iter().flat_map(Grid::suspects).collect()
    }

    fn who(&self, rank: usize) -> String {
        format!("rank {rank} on {}", self.ranks.get(rank).map_or("?", |rank| &rank.host))
    }

    /// Between hosts first, then within each.
    fn all_grids(&self) -> Vec<Grid> {
        let first: Vec<usize> = self.hosts.iter().filter_map(|ranks| ranks.first().copied()).collect();
        let mut groups = vec![("between hosts".to_owned(), first)];
        groups.extend(self.hosts.iter().map(|ranks| {
            let host = ranks.first().and_then(|rank| self.ranks.get(*rank)).map_or("?", |rank| &rank.host);
            (format!("within {host}"), ranks.clone())
        }));
        let mut grids = Vec::new();
        for (place, ranks) in groups.into_iter().filter(|(_, ranks)| ranks.len() > 1) {
            let within = |link: &&Link| ranks.contains(&link.low) && ranks.contains(&link.high);
            let mut transports: Vec<&String> = Vec::new();
            for link in self.links.iter().filter(within) {
                if !transports.contains(&&link.transport) {
                    transports.push(&link.transport);
                }
            }
            for transport in transports {
                let links = self.links.iter().filter(within).filter(|link| link.transport == *transport);
                grids.push(self.grid(format!("{transport} {place}"), transport, &ranks, links));
            }
        }
        grids
    }

    fn grid<'a>(
        &self,
        title: String,
        transport: &str,
        ranks: &[usize],
        links: impl Iterator<Item = &'a Link>,
    ) -> Grid {
        let size = ranks.len();
        let mut grid = Grid {
            title,
            transport: transport.to_owned(),
            ranks: ranks.to_vec(),
            names: ranks
                .iter()
                .map(|rank| self.ranks.get(*rank).map_or("?", |rank| &rank.host).to_owned())
                .collect(),
            rates: vec![vec![None; size]; size],
            latencies: vec![vec![None; size]; size],
            failed: Vec::new(),
            slow: Vec::new(),
            late: Vec::new(),
        };
        let place: BTreeMap<usize, usize> =
            ranks.iter().enumerate().map(|(place, rank)| (*rank, place)).collect();
        for link in links {
            let (Some(&low), Some(&high)) = (place.get(&link.low), place.get(&link.high)) else { continue };
            match link.found {
                Found::Measured(Measured { latency_s, there_bytes_per_s, back_bytes_per_s, .. }) => {
                    grid.rates[low][high] = Some(there_bytes_per_s);
                    grid.rates[high][low] = Some(back_bytes_per_s);
                    grid.latencies[low][high] = Some(latency_s);
                    grid.latencies[high][low] = Some(latency_s);
                }
                Found::Failed(_) => grid.failed.push((low, high)),
                Found::NoRoute(_) => {}
            }
        }
        grid.slow = slow::slow(&grid.rates, SLOW);
        let speed = |time: &Option<f64>| time.map(|time| 1.0 / time);
        let speeds: Vec<Vec<_>> = grid.latencies.iter().map(|row| row.iter().map(speed).collect()).collect();
        grid.late = slow::slow(&speeds, 1.0 / LONG);
        grid.late.retain(|slow| 1.0 / slow.rate - 1.0 / slow.usual > FEW);
        grid
    }

    /// Who does not reach whom.
    fn judge_links(&mut self, plan: &Plan) {
        let mut by_pair: BTreeMap<Pair, Vec<&Link>> = plan.pairs().map(|pair| (pair, Vec::new())).collect();
        for link in &self.links {
            by_pair.entry((link.low, link.high)).or_default().push(link);
        }
        let (mut broken, mut notes) = (Vec::new(), Vec::new());
        for ((low, high), links) in by_pair {
            let (one, other) = (self.who(low), self.who(high));
            let reasons: Vec<String> = links
                .iter()
                .filter_map(|link| match &link.found {
                    Found::Measured(_) => None,
                    Found::NoRoute(why) | Found::Failed(why) => Some(format!("{}: {why}", link.transport)),
                })
                .collect();
            if links.is_empty() {
                broken.push(format!("{one} and {other} have no transport in common"));
            } else if reasons.len() == links.len() {
                broken.push(format!("{one} and {other} do not reach one another; {}", reasons.join("; ")));
            } else if links.iter().any(|link| matches!(link.found, Found::Failed(_))) {
                broken.push(format!(
                    "{one} and {other} reach one another, but not by {}",
                    reasons.join(", nor by ")
                ));
            } else if !reasons.is_empty() {
                notes.push(format!("{one} and {other} cannot use {}", reasons.join(", nor ")));
            }
        }
        self.broken.extend(broken);
        self.notes.extend(notes);
    }

    /// Limits and clocks.
    fn judge_ranks(&mut self) {
        for rank in &self.ranks {
            let who = self.who(rank.rank);
            if let Some(files) = rank.facts.files {
                if files < self.files_needed_at_least {
                    self.broken.push(format!(
                        "{who} may open {files} files, and needs {} (ulimit -n, LimitNOFILE=)",
                        self.files_needed_at_least
                    ));
                } else if files < self.files_needed {
                    self.notes.push(format!(
                        "{who} may open {files} files: fewer than the {} that all connections would take",
                        self.files_needed
                    ));
                }
            }
            if let Some(locked) = rank.facts.locked.filter(|_| rank.facts.has("ibverbs")) {
                self.notes.push(format!(
                    "{who} may lock {} in memory, and ibverbs locks all that is sent and received; see docs/verbs.md \
                     (ulimit -l unlimited)",
                    units::sized(locked)
                ));
            }
            if let Some((offset, _)) = rank.clock.filter(|(offset, error)| offset.abs() - error > APART) {
                self.notes.push(format!("the clock of {who} differs by {offset:.1} s from that of rank 0"));
            }
            for (name, against) in &rank.facts.transports {
                if let Some(why) = against {
                    self.notes.push(format!("{who} cannot use {name}: {why}"));
                }
            }
        }
    }

    fn all_slow(&self) -> Vec<String> {
        let mut all = Vec::new();
        for grid in &self.grids {
            let bandwidth = grid.slow.iter().map(|slow| {
                let (rate, usual) = (megabytes(slow.rate), megabytes(slow.usual));
                let part = slow.rate / slow.usual;
                (part, format!("{}: {rate} MB/s, where {usual} MB/s are usual", self.what(grid, slow.what)))
            });
            let late = grid.late.iter().map(|slow| {
                let (time, usual) = (micros(1.0 / slow.rate), micros(1.0 / slow.usual));
                let part = slow.rate / slow.usual;
                (
                    part,
                    format!(
                        "{}: a latency of {time} us, where {usual} us are usual",
                        self.what(grid, slow.what)
                    ),
                )
            });
            all.extend(bandwidth.chain(late));
        }
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all.into_iter().map(|(_, words)| words).collect()
    }

    fn what(&self, grid: &Grid, what: What) -> String {
        let who = |place: usize| self.who(grid.ranks.get(place).copied().unwrap_or(usize::MAX));
        let transport = &grid.transport;
        match what {
            What::Sends(host) => format!("whatever {} sends by {transport}", who(host)),
            What::Receives(host) => format!("whatever {} receives by {transport}", who(host)),
            What::Host(host) => format!("all links of {} by {transport}", who(host)),
            What::Pair(one, other) => {
                format!("{} and {} by {transport}, both directions", who(one), who(other))
            }
            What::Direction(from, to) => {
                format!("from {} to {} by {transport}, and not back", who(from), who(to))
            }
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> String {
        // Of strings and finite numbers, which can always be written.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let ranks = units::counted(self.ranks.len(), "rank");
        let hosts = units::counted(self.hosts.len(), "host");
        writeln!(text, "{}", style::heading(format!("{ranks} on {hosts}")))?;
        for host in &self.hosts {
            let Some(rank) = host.first().and_then(|rank| self.ranks.get(*rank)) else { continue };
            self.write_host(text, rank, host.len())?;
        }
        for grid in &self.grids {
            writeln!(text)?;
            grid.write(text)?;
        }
        let mut list = |title: &str, lines: &[String], emphasis: fn(&str) -> String| -> fmt::Result {
            if !lines.is_empty() {
                writeln!(text, "\n{}", emphasis(title))?;
            }
            lines.iter().try_for_each(|line| writeln!(text, "  {line}"))
        };
        list("Worth knowing", &self.notes, |title| style::heading(title))?;
        list("Slow", &self.slow, |title| style::bad(title))?;
        list("Broken", &self.broken, |title| style::bad(title))?;
        let pairs = units::counted(self.links.len(), "link");
        match (self.is_well(), self.slow.is_empty()) {
            (true, true) => {
                writeln!(text, "\n{}", style::good(format_args!("all is well: {pairs}, none is slow")))
            }
            (true, false) => {
                writeln!(text, "\n{}", style::good("everybody is reached; what is slow stands above"))
            }
            (false, _) => {
                writeln!(text, "\n{}", style::bad("a job would fail here; what is broken stands above"))
            }
        }
    }

    fn write_host(&self, text: &mut String, rank: &Rank, local: usize) -> fmt::Result {
        let facts = &rank.facts;
        let ranks = if local == 1 { String::new() } else { format!(", and {} more", local - 1) };
        writeln!(text, "  {}{ranks}", style::name(self.who(rank.rank)))?;
        let list = |items: Vec<&str>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        writeln!(text, "    interfaces  {}", list(facts.interfaces.iter().map(String::as_str).collect()))?;
        let usable = facts.transports.iter().filter(|(_, against)| against.is_none());
        writeln!(text, "    transports  {}", list(usable.map(|(name, _)| name.as_str()).collect()))?;
        let files = facts.files.map_or("any number".to_owned(), |files| files.to_string());
        let locked = facts.locked.map_or("any amount".to_owned(), units::sized);
        let pins = if facts.has("ibverbs") { "ibverbs locks what it sends" } else { "nothing here needs it" };
        writeln!(
            text,
            "    limits      {files} open files, of {} needed; {locked} locked, {pins}",
            self.files_needed
        )?;
        let clock = match rank.clock {
            _ if rank.rank == 0 => "that of the others is compared with this".to_owned(),
            Some((offset, error)) => format!("{:+.1} us, to within {} us", offset * 1e6, micros(error)),
            None => "not known".to_owned(),
        };
        writeln!(text, "    clock       {clock}")
    }
}

impl Grid {
    fn suspects(&self) -> Vec<(Pair, String)> {
        let slow = |from: usize, to: usize| {
            self.slow
                .iter()
                .chain(&self.late)
                .any(|slow| slow.what.concerns(from, to) || slow.what.concerns(to, from))
        };
        let ranks = self.ranks.iter().enumerate();
        let pairs =
            ranks.clone().flat_map(|one| ranks.clone().skip(one.0 + 1).map(move |other| (one, other)));
        let pairs = pairs.filter(|((from, _), (to, _))| slow(*from, *to));
        pairs
            .map(|((_, one), (_, other))| (((*one).min(*other), (*one).max(*other)), self.transport.clone()))
            .collect()
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let rates = |rate: f64| megabytes(rate);
        let head =
            format!("{}: bandwidth in MB/s, from the rank of the row to that of the column", self.title);
        self.matrix(text, &head, &self.rates, rates)?;
        self.matrix(text, &format!("{}: latency in us", self.title), &self.latencies, micros)
    }

    fn matrix(
        &self,
        text: &mut String,
        head: &str,
        cells: &[Vec<Option<f64>>],
        show: impl Fn(f64) -> String,
    ) -> fmt::Result {
        writeln!(text, "{}", style::heading(head))?;
        if self.ranks.len() > COLUMNS {
            let mut all: Vec<f64> = cells.iter().flatten().flatten().copied().collect();
            all.sort_by(f64::total_cmp);
            let at = |index: usize| all.get(index).map_or("-".to_owned(), |value| show(*value));
            let (median, last) = (all.len() / 2, all.len().saturating_sub(1));
            return writeln!(
                text,
                "  least {}, median {}, most {}; --json has all, --svg draws them",
                at(0),
                at(median),
                at(last)
            );
        }
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        write!(text, "  {:>4} {:longest$}", "", "")?;
        self.ranks.iter().try_for_each(|rank| write!(text, " {rank:>9}"))?;
        writeln!(text)?;
        for (from, row) in cells.iter().enumerate() {
            write!(text, "  {:>4} {:longest$}", self.ranks[from], self.names[from])?;
            for (to, cell) in row.iter().enumerate() {
                let failed = self.failed.iter().any(|pair| *pair == (from.min(to), from.max(to)));
                let shown = match cell {
                    Some(value) => show(*value),
                    None if failed => "none".to_owned(),
                    None => "-".to_owned(),
                };
                write!(text, " {shown:>9}")?;
            }
            writeln!(text)?;
        }
        Ok(())
    }
}

/// For each host's ranks, what its clock says more than that of rank 0's host, and the error of that.
fn clocks(plan: &Plan, found: &[(Pair, String, Found)]) -> BTreeMap<usize, (f64, f64)> {
    let mut clocks: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let measured = found.iter().filter_map(|(pair, _, found)| match found {
        Found::Measured(it) if pair.0 == 0 => Some((pair.1, (it.clock_offset_s, it.clock_error_s))),
        _ => None,
    });
    for (rank, clock) in measured {
        let known = clocks.entry(rank).or_insert(clock);
        if clock.1 < known.1 {
            *known = clock;
        }
    }
    // Ranks of one host read one clock.
    for ranks in &plan.hosts {
        let first = ranks.first().copied().unwrap_or(0);
        let Some(clock) = (if first == 0 { Some((0.0, 0.0)) } else { clocks.get(&first).copied() }) else {
            continue;
        };
        clocks.extend(ranks.iter().map(|rank| (*rank, clock)));
    }
    clocks
}

/// Millions of bytes per second, with three digits.
pub(super) fn megabytes(rate: f64) -> String {
    digits(rate / 1e6)
}

/// Millionths of a second, with three digits.
fn micros(seconds: f64) -> String {
    digits(seconds * 1e6)
}

fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(files: Option<u64>, transports: &[&str]) -> Facts {
        Facts {
            interfaces: vec!["eth0 10.0.0.1/24".into()],
            transports: transports.iter().map(|name| ((*name).to_owned(), None)).collect(),
            files,
            locked: Some(8 << 20),
        }
    }

    fn measured(latency_s: f64, there: f64, back: f64) -> Found {
        Found::Measured(Measured {
            latency_s,
            there_bytes_per_s: there,
            back_bytes_per_s: back,
            clock_offset_s: 0.25,
            clock_error_s: 1e-5,
        })
    }

    /// Four hosts with one rank each; `other` says what is different.
    fn report(files: Option<u64>, other: impl Fn(Pair) -> Option<Found>) -> Report {
        let plan = Plan::new(&[0, 1, 2, 3]);
        let usual = |pair| other(pair).unwrap_or_else(|| measured(2e-5, 1e9, 1.1e9));
        let found = plan.pairs().map(|pair| (pair, "tcp".to_owned(), usual(pair))).collect();
        let hosts = (0..4).map(|host| format!("n{host}")).collect();
        let needed = Needed { all: 200, least: 150 };
        Report::new(hosts, &vec![facts(files, &["tcp"]); 4], &plan, found, needed)
    }

    fn text(report: &Report) -> String {
        anstream::adapter::strip_str(&report.text()).to_string()
    }

    #[test]
    fn a_network_without_fault_is_well_and_its_numbers_are_in_their_places() {
        let report = report(None, |pair| (pair == (1, 3)).then(|| measured(2.5e-5, 9e8, 8e8)));
        assert!(report.is_well() && report.slow.is_empty());
        let text = text(&report);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["1", "n1", "1100", "-", "1000", "900"]), "{text}");
        assert!(rows.contains(&vec!["3", "n3", "1100", "800", "1100", "-"]), "{text}");
        assert!(rows.contains(&vec!["3", "n3", "20.0", "25.0", "20.0", "-"]), "{text}");
        assert!(text.contains("all is well: 6 links, none is slow"), "{text}");
        assert!(text.contains("the clock of rank 2 on n2 differs by 0.2 s"), "{text}");
    }

    #[test]
    fn what_is_slow_is_named_and_is_no_failure() {
        let pair = report(None, |pair| (pair == (1, 3)).then(|| measured(2e-5, 6e6, 6e6)));
        let named =
            "rank 1 on n1 and rank 3 on n3 by tcp, both directions: 6.00 MB/s, where 1100 MB/s are usual";
        assert_eq!(pair.slow, [named]);
        assert!(pair.is_well() && text(&pair).contains(named));
        assert_eq!(pair.suspects().into_iter().collect::<Vec<_>>(), [((1, 3), "tcp".to_owned())]);
        let host = report(None, |(low, high)| match (low, high) {
            (2, _) => Some(measured(2e-5, 6e6, 1e9)),
            (_, 2) => Some(measured(2e-5, 1e9, 6e6)),
            _ => None,
        });
        assert_eq!(host.slow, ["whatever rank 2 on n2 sends by tcp: 6.00 MB/s, where 1100 MB/s are usual"]);
        let late = report(None, |pair| (pair == (0, 1)).then(|| measured(9e-4, 1e9, 1e9)));
        let named =
            "rank 0 on n0 and rank 1 on n1 by tcp, both directions: a latency of 900 us, where 20.0 us are";
        assert_eq!(late.slow, [format!("{named} usual")]);
    }

    #[test]
    fn who_is_not_reached_is_named_with_the_reason() {
        let broken = report(None, |pair| (pair == (0, 3)).then(|| Found::Failed("no answer".into())));
        assert!(!broken.is_well());
        assert_eq!(broken.broken, ["rank 0 on n0 and rank 3 on n3 do not reach one another; tcp: no answer"]);
        let text = text(&broken);
        let row = text.lines().find(|line| line.trim_start().starts_with("0 n0")).unwrap();
        assert_eq!(row.split_whitespace().last(), Some("none"), "{text}");
        assert!(text.contains("a job would fail here"), "{text}");
    }

    #[test]
    fn a_transport_that_leads_nowhere_is_no_fault_beside_one_that_does() {
        let plan = Plan::new(&[5, 5]);
        let facts = vec![facts(None, &["shm", "tcp"]); 2];
        let judged = |shm: Found, tcp: Found| {
            let found = vec![((0, 1), "shm".to_owned(), shm), ((0, 1), "tcp".to_owned(), tcp)];
            let hosts = vec!["a".to_owned(); 2];
            Report::new(hosts, &facts, &plan, found, Needed { all: 1, least: 1 })
        };
        let no_route = || Found::NoRoute("another namespace".into());
        let works = || measured(1e-6, 1e9, 1e9);
        let noted = judged(no_route(), works());
        assert!(noted.is_well());
        assert_eq!(noted.notes, ["rank 0 on a and rank 1 on a cannot use shm: another namespace"]);
        assert!(!judged(no_route(), no_route()).is_well());
        let half = judged(Found::Failed("gone".into()), works());
        assert_eq!(half.broken, ["rank 0 on a and rank 1 on a reach one another, but not by shm: gone"]);
        assert!(judged(works(), works()).is_well());
        let nothing =
            Report::new(vec!["a".into(); 2], &facts, &plan, Vec::new(), Needed { all: 1, least: 1 });
        assert_eq!(nothing.broken, ["rank 0 on a and rank 1 on a have no transport in common"]);
    }

    #[test]
    fn limits_are_compared_with_what_the_world_needs() {
        assert!(report(Some(200), |_| None).notes.iter().all(|note| !note.contains("files")));
        let tight = report(Some(199), |_| None);
        assert!(tight.is_well() && tight.notes.iter().any(|note| note.contains("fewer than the 200")));
        let short = report(Some(149), |_| None);
        assert!(!short.is_well());
        assert!(
            short.broken[0].starts_with("rank 0 on n0 may open 149 files, and needs 150"),
            "{:?}",
            short.broken
        );
    }

    #[test]
    fn programs_read_the_same() {
        let report =
            report(Some(500), |pair| (pair == (0, 3)).then(|| Found::Failed("no \"answer\"".into())));
        let value: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(value["ranks"][2]["host"], "n2");
        assert_eq!(value["ranks"][2]["clock"][0], 0.25);
        let links = value["links"].as_array().unwrap();
        assert_eq!(links.len(), 6);
        let link = |low, high| links.iter().find(|link| link["low"] == low && link["high"] == high).unwrap();
        assert_eq!(link(1, 2)["measured"]["there_bytes_per_s"], 1e9);
        assert_eq!(link(0, 3)["failed"], "no \"answer\"");
        assert_eq!(value["broken"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_large_matrix_is_summed_up() {
        let plan = Plan::new(&(0..20).collect::<Vec<u64>>());
        let found = plan.pairs().map(|pair| (pair, "tcp".to_owned(), measured(2e-5, 1e9, 1.1e9))).collect();
        let hosts = (0..20).map(|host| format!("n{host}")).collect();
        let facts = vec![facts(None, &["tcp"]); 20];
        let report = Report::new(hosts, &facts, &plan, found, Needed { all: 1, least: 1 });
        let text = text(&report);
        assert!(text.contains("least 1000, median 1100, most 1100"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 150), "{text}");
    }
}
