//! `ringworld run --statistics`: what all ranks have counted, in one table for the world, and the ranks that stand out.
//!
//! A table of each rank would be as long as the job has ranks, and hide what matters: so calls are added up over all
//! ranks, with the rank that waited most in each, and of many ranks only those are named that waited most, that waited
//! least (for whom the others waited), and that moved most.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use ringworld_trace::Account;

use crate::exit::Failure;
use crate::{style, units};

/// Ranks of each kind that stand out.
const OUTLIERS: usize = 8;

/// Where the ranks leave their accounts, until the end of the job.
#[derive(Debug)]
pub(crate) struct Accounts {
    folder: PathBuf,
}

impl Accounts {
    /// Makes a folder for them, for this user alone.
    pub(crate) fn begin() -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        // The process id alone is no name: every container may have a process 1, and one that was killed leaves its
        // folder behind. What no other process can know nobody has taken, by chance or on purpose.
        let random = RandomState::new().build_hasher().finish();
        let name = format!("ringworld-statistics-{}-{random:016x}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(|error| {
            Failure::system(format!("cannot make the folder {}", folder.display()), error)
        })?;
        Ok(Self { folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Prints the table on standard error.
    pub(crate) fn end(self) {
        match Account::read(&self.folder) {
            Ok(accounts) => style::note(report(&accounts).trim_end()),
            Err(error) => style::err("run", &format!("no statistics: {error}")),
        }
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        // Nothing of it is needed any more; that it stays is no further trouble.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// All calls of one name.
#[derive(Default)]
struct Sum {
    calls: u64,
    bytes: u64,
    waits: u64,
    waited: u64,
    /// How long the rank that waited longest did, and which that is.
    most: (u64, usize),
}

fn report(accounts: &[Account]) -> String {
    let mut text = String::new();
    let Some(size) = accounts.iter().map(|account| account.size).max() else {
        return "no statistics: no rank has ended a world in good order".into();
    };
    let here = units::counted(accounts.len(), "rank");
    let of =
        if accounts.len() == size { String::new() } else { format!(" of {size}; the others have left none") };
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{}", style::heading(format!("statistics of {here}{of}")));
    calls(&mut text, accounts);
    ranks(&mut text, accounts);
    text
}

fn calls(text: &mut String, accounts: &[Account]) {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for account in accounts {
        for call in &account.calls {
            let sum = sums.entry(&call.name).or_default();
            sum.calls += call.calls;
            sum.bytes = sum.bytes.saturating_add(call.bytes);
            sum.waits += call.waits;
            sum.waited = sum.waited.saturating_add(call.waited);
            sum.most = sum.most.max((call.waited, account.rank));
        }
    }
    let mut sums: Vec<(&str, Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(name, sum)| (std::cmp::Reverse(sum.waited), *name));
    let _ = writeln!(
        text,
        "{:<22}  {:>10}  {:>8}  {:>9}  {:>11}  longest",
        "call, of all ranks", "calls", "bytes", "waits", "waited"
    );
    for (name, Sum { calls, bytes, waits, waited, most }) in sums {
        let longest =
            if most.0 > 0 { format!("{} by rank {}", seconds(most.0), most.1) } else { String::new() };
        let _ = writeln!(
            text,
            "{name:<22}  {calls:>10}  {:>8}  {waits:>9}  {:>11}  {longest}",
            units::short(bytes),
            seconds(waited)
        );
    }
}

fn ranks(text: &mut String, accounts: &[Account]) {
    let by = |key: &dyn Fn(&Account) -> u64| {
        let mut order: Vec<usize> = (0..accounts.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(accounts.get(*index).map(key)));
        order
    };
    let mut shown: Vec<usize> = (0..accounts.len()).collect();
    if shown.len() > 2 * OUTLIERS {
        let waited = by(&Account::waited);
        let moved = by(&|account| account.sent.saturating_add(account.received));
        shown = waited.iter().take(OUTLIERS).chain(waited.iter().rev().take(OUTLIERS)).copied().collect();
        shown.extend(moved.into_iter().take(OUTLIERS / 2));
        shown.sort_unstable();
        shown.dedup();
    }
    let hosts = accounts.iter().map(|account| account.host.len()).max().unwrap_or(0).max(4);
    let _ = writeln!(
        text,
        "\n{:>6}  {:<hosts$}  {:>8}  {:>8}  {:>11}  mostly for",
        "rank", "host", "sent", "received", "waited"
    );
    for account in shown.iter().filter_map(|index| accounts.get(*index)) {
        let whom = account
            .late
            .first()
            .map_or_else(String::new, |(rank, waited)| format!("rank {rank}, {}", seconds(*waited)));
        let _ = writeln!(
            text,
            "{:>6}  {:<hosts$}  {:>8}  {:>8}  {:>11}  {whom}",
            account.rank,
            account.host,
            units::short(account.sent),
            units::short(account.received),
            seconds(account.waited()),
        );
    }
    let others = accounts.len() - shown.len();
    if others > 0 {
        let others = units::counted(others, "rank");
        let _ =
            writeln!(text, "  and {others}, between those that waited most and least, and that moved most");
    }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{:.3} s", nanoseconds as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use ringworld_trace::Calls;

    use super::*;

    fn account(rank: usize, size: usize) -> Account {
        let waited = rank as u64 * 1_000_000_000;
        let call = Calls { name: "barrier".into(), calls: 2, waits: 1, waited, ..Calls::default() };
        Account {
            rank,
            size,
            host: "n0".into(),
            calls: vec![call],
            late: vec![(0, waited)],
            ..Account::default()
        }
    }

    #[test]
    fn calls_are_added_up_and_the_longest_wait_is_named() {
        let text = report(&[account(0, 3), account(1, 3), account(2, 3)]);
        assert!(text.contains("statistics of 3 ranks") && !text.contains("left none"), "{text}");
        let barrier = text.lines().find(|line| line.starts_with("barrier")).unwrap();
        assert!(barrier.contains(" 6 ") && barrier.contains("3.000 s  2.000 s by rank 2"), "{text}");
        assert!(text.contains("rank 0, 2.000 s"), "{text}");
        assert!(report(&[account(1, 3)]).contains("1 rank of 3; the others have left none"));
        assert!(report(&[]).contains("no statistics"));
    }

    #[test]
    fn of_a_thousand_ranks_those_are_named_that_stand_out() {
        let all: Vec<Account> = (0..1_000).map(|rank| account(rank, 1_000)).collect();
        let text = report(&all);
        assert!(text.lines().count() < 32, "{text}");
        let names =
            |rank: usize| text.lines().any(|line| line.trim_start().starts_with(&format!("{rank}  n0")));
        assert!(names(999) && names(0) && !names(500), "{text}");
    }
}
