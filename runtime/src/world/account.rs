//! What a rank has counted, at the end of its world, where `RINGWORLD_STATISTICS` asks for it: printed by the rank
//! itself, or left for the launcher, which puts those of all together. Neighbour: `told` says who wants it.

use std::io::Write as _;

use ringworld_engine::trace::{Account, Calls};

use super::World;
use super::statistics::Statistics;
use super::told::Told;

/// Peers that are told one by one.
const PEERS: usize = 8;

impl World {
    /// Tells what this rank has counted, once, where that is wanted.
    pub(super) fn tell_account(&mut self) {
        let told = std::mem::take(&mut self.told);
        if matches!(told, Told::Nobody) {
            return;
        }
        let (rank, size) = (self.rank(), self.size());
        let (host, statistics) = (self.communicator.engine().host(rank), self.statistics());
        match told {
            Told::Nobody => {}
            Told::Reader => {
                let text = format!("rank {rank} of {size} on {host}\n{}", shortened(&statistics));
                // In one piece, so that ranks do not write into one another's tables; there is nobody else to tell if
                // it fails.
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
            Told::Folder(folder) => {
                if let Err(error) = account(&statistics, rank, size, &host).write(&folder) {
                    tracing::warn!(
                        "the statistics of rank {rank} are lost: cannot write to {}: {error}",
                        folder.display()
                    );
                }
            }
        }
    }
}

/// Both tables, with no more peers than can be read: those that were waited for longest, and most was moved with.
fn shortened(statistics: &Statistics) -> String {
    let all = statistics.to_string();
    let count = statistics.peers.len();
    if count <= PEERS {
        return all;
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|rank| {
        let peer = &statistics.peers[*rank];
        std::cmp::Reverse((peer.waited, peer.bytes_sent.saturating_add(peer.bytes_received)))
    });
    order.truncate(PEERS);
    // The lines of the first table are those of the peers, in their order, after the heading.
    let (peers, calls) = all.split_once("\n\n").unwrap_or((&all, ""));
    let lines: Vec<&str> = peers.lines().collect();
    let mut text = lines.first().map_or_else(String::new, |heading| format!("{heading}\n"));
    for rank in order {
        if let Some(line) = lines.get(rank + 1) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push_str(&format!("{:>6}  {} others, with less\n\n{calls}", "", count - PEERS));
    text
}

fn account(statistics: &Statistics, rank: usize, size: usize, host: &str) -> Account {
    let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let calls = statistics.calls.iter().map(|call| Calls {
        name: call.name.into(),
        calls: call.calls,
        bytes: call.bytes,
        waits: call.waits,
        waited: nanoseconds(call.waited),
    });
    let waited = statistics.peers.iter().map(|peer| nanoseconds(peer.waited)).enumerate();
    let mut late: Vec<(usize, u64)> = waited.filter(|(_, waited)| *waited > 0).collect();
    late.sort_by_key(|(_, waited)| std::cmp::Reverse(*waited));
    late.truncate(PEERS);
    Account {
        rank,
        size,
        host: host.into(),
        sent: statistics.peers.iter().map(|peer| peer.bytes_sent).sum(),
        received: statistics.peers.iter().map(|peer| peer.bytes_received).sum(),
        calls: calls.collect(),
        late,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::statistics::PeerStatistics;
    use super::*;

    #[test]
    fn of_many_peers_those_are_told_that_matter() {
        let peer = |rank: u64| PeerStatistics {
            bytes_sent: rank,
            waited: if rank == 70 { Duration::from_secs(3) } else { Duration::ZERO },
            ..PeerStatistics::default()
        };
        let statistics = Statistics { peers: (0..100).map(peer).collect(), ..Statistics::default() };
        let text = shortened(&statistics);
        assert!(text.lines().count() < 16, "{text}");
        let second = text.lines().nth(1).unwrap();
        assert!(second.trim_start().starts_with("70 ") && second.contains("3.000 s"), "{text}");
        assert!(
            text.contains("92 others") && text.lines().nth(2).unwrap().trim_start().starts_with("99 "),
            "{text}"
        );
        let account = account(&statistics, 1, 100, "n");
        assert_eq!((account.late, account.sent), (vec![(70, 3_000_000_000)], 99 * 100 / 2));
    }
}
