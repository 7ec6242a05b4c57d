//! What travels over a control connection, and how long it may be. Neighbours: `frames` seals and carries it,
//! `handshake` speaks the first words.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::observe::{JobStatus, Whereabouts};
use crate::process::Process;
use crate::program::Program;
use crate::text;

/// First bytes of every control connection, in both directions.
pub(crate) const MAGIC: [u8; 8] = *b"RINGWCTL";
/// Version of everything that travels; the two sides must agree.
pub(crate) const VERSION: u16 = 10;
/// Longest frame before both sides are authenticated.
pub(crate) const EARLY_LIMIT: usize = 64 << 10;
/// Longest frame that a rank sends.
pub(crate) const RANK_LIMIT: usize = 1 << 20;
/// Longest frame that the master sends.
pub(crate) const MASTER_LIMIT: usize = 64 << 20;
/// Longest text that a rank may have told to all others.
pub(crate) const TEXT_LIMIT: usize = 16 << 10;
/// Bytes of words from other ranks that may wait for one that does not read.
pub(crate) const WORDS_LIMIT: usize = 16 << 20;

/// Longest name of a host, as names of the DNS have it.
const HOST_LIMIT: usize = 255;

/// Where one transport of a member is reached: its name, and bytes that only it understands.
pub(crate) type Addresses = Vec<(String, Vec<u8>)>;

/// One process of the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Member {
    /// Name of its host, for messages.
    pub host: String,
    /// Identity of its host: equal for ranks that share one.
    pub host_id: u64,
    /// Its process id there.
    pub pid: u32,
    /// Where each of its transports is reached.
    pub addresses: Vec<(String, Vec<u8>)>,
}

/// What a rank has found out that ends the world for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Ranks disagree about a collective.
    Mismatch {
        /// Who asked for what.
        detail: String,
    },
    /// The user's code has panicked.
    Panicked {
        /// Where, and what is known of it.
        detail: String,
    },
    /// A call has waited for too long.
    TimedOut {
        /// Which rank, in which call.
        waiter: String,
        /// How long.
        after: Duration,
        /// For whom.
        waiting_for: String,
    },
    /// The system refused what a rank cannot do without.
    System {
        /// Which rank, and what.
        detail: String,
    },
}

impl Fault {
    /// Its texts, each cut to [`TEXT_LIMIT`] bytes.
    pub(crate) fn clipped(self) -> Self {
        match self {
            Self::Mismatch { detail } => Self::Mismatch { detail: clip(detail) },
            Self::Panicked { detail } => Self::Panicked { detail: clip(detail) },
            Self::TimedOut { waiter, after, waiting_for } => {
                Self::TimedOut { waiter: clip(waiter), after, waiting_for: clip(waiting_for) }
            }
            Self::System { detail } => Self::System { detail: clip(detail) },
        }
    }
}

/// A process introduces itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) host: String,
    pub(crate) host_id: u64,
    pub(crate) process: Process,
    pub(crate) job: Option<String>,
    pub(crate) world_size: u64,
    pub(crate) num_nodes: Option<u64>,
    pub(crate) rank: Option<u64>,
    pub(crate) local_rank: Option<u64>,
    pub(crate) program: Program,
    /// Its process serves this very rendezvous.
    pub(crate) serves: bool,
    /// It may come later, when the world runs.
    pub(crate) elastic: bool,
}

/// From a rank to the master.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToMaster {
    Hello(Hello),
    Ready {
        addresses: Addresses,
    },
    Ping,
    PeerLost {
        rank: u64,
        cause: String,
    },
    Fault(Fault),
    Abort {
        code: i32,
        reason: String,
    },
    Panicked {
        text: String,
    },
    /// Leaves after a failure, without a goodbye.
    Leaving,
    Goodbye,
    /// About to say goodbye; `left` is kept for those who ask.
    LeftBehind {
        left: Vec<u8>,
    },
    /// What to tell those who come later.
    Running {
        running: Vec<u8>,
    },
    /// Instead of a [`Hello`]: the world of that job runs already, and need not form here.
    RunsAlready {
        job: Option<String>,
        running: Vec<u8>,
    },
    /// What has that rank left behind?
    AskLeft {
        rank: u64,
    },
    /// Words for one other rank.
    Tell {
        rank: u64,
        words: Vec<u8>,
    },
    /// Instead of a [`Hello`]: how does the world stand? No place is taken.
    Inquire,
    /// Instead of a [`Hello`]: what does everybody do? No place is taken.
    AskStatus,
    /// A call has waited for longer than it should: say why, for all to read.
    Stalled,
    /// What does everybody do? Answered to this rank alone.
    AskStory,
    /// The answer to [`ToRank::AskWhere`] of this number.
    Where {
        number: u64,
        told: Whereabouts,
    },
}

/// From the master to a rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToRank {
    Welcome {
        /// 0: silence is no reason to give a rank up.
        peer_timeout_ms: u64,
        /// The one that serves.
        process: Process,
    },
    /// `retry`: the master is about to make room for another job.
    Reject {
        reason: String,
        retry: bool,
    },
    /// The world runs and admits newcomers; where, is for `elastic` to read.
    Running {
        running: Vec<u8>,
    },
    Incomplete {
        reason: String,
    },
    Assigned {
        rank: u64,
        size: u64,
        local_rank: u64,
        local_size: u64,
        serving: Option<u64>,
        /// Who decides on later generations, if one process does alone; for `elastic` to read.
        arbiter: Option<Vec<u8>>,
    },
    Members(Vec<Member>),
    Ping,
    /// What has become of others, in the order in which it happened.
    Notices(Vec<Notice>),
    Abort {
        rank: u64,
        code: i32,
        reason: String,
    },
    /// What a rank has left behind.
    Left {
        rank: u64,
        left: Vec<u8>,
    },
    /// Words of another rank for this one.
    Told {
        rank: u64,
        words: Vec<u8>,
    },
    /// The last word of this rank has been passed on to all.
    Heard,
    /// The master has given this rank up; `by`: because that rank has lost its connection to it.
    Expelled {
        by: Option<u64>,
        cause: String,
    },
    /// The answer to [`ToMaster::Inquire`]: how many ranks have joined, or have not left since it formed.
    State {
        present: u64,
        size: u64,
        formed: bool,
    },
    /// What do you do?
    AskWhere {
        number: u64,
    },
    /// Why calls wait, to be said by this rank for all.
    Stall {
        text: String,
        deadlock: bool,
    },
    /// The answer to [`ToMaster::AskStory`]; empty if there is nothing to say.
    Story {
        text: String,
    },
    /// The answer to [`ToMaster::AskStatus`].
    Status(JobStatus),
}

/// What has become of some ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Notice {
    Finished { ranks: Ranks },
    Down { ranks: Ranks, cause: String },
    Fault { rank: u64, fault: Fault },
}

/// Some ranks: the first of each range, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ranks(Vec<(u64, u64)>);

impl Ranks {
    pub(crate) fn of(mut ranks: Vec<u64>) -> Self {
        ranks.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for rank in ranks {
            match ranges.last_mut() {
                Some((first, count)) if *first + *count == rank => *count += 1,
                _ => ranges.push((rank, 1)),
            }
        }
        Self(ranges)
    }

    /// Those of a world of `size`, whatever the sender says.
    pub(crate) fn within(&self, size: usize) -> impl Iterator<Item = usize> + '_ {
        let bound = move |rank: u64| usize::try_from(rank).map_or(size, |rank| rank.min(size));
        self.0.iter().flat_map(move |(first, count)| bound(*first)..bound(first.saturating_add(*count)))
    }
}

/// How long a heartbeat may be waited for, for this time-out; without one, as for the default.
pub(crate) fn heartbeat(peer_timeout: Option<Duration>) -> Duration {
    (peer_timeout.unwrap_or(Duration::from_secs(20)) / 4).max(Duration::from_millis(1))
}

/// Cuts a text to [`TEXT_LIMIT`] bytes.
pub(crate) fn clip(text: String) -> String {
    text::clip(text, TEXT_LIMIT)
}

/// The name that a host has given itself, as it may be printed: short, and without control characters.
pub(crate) fn host(name: &str) -> String {
    text::printable(name, HOST_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_travel_as_ranges_and_stay_within_their_world() {
        let ranks = Ranks::of(vec![7, 1, 2, 3, 0, 9]);
        assert_eq!(ranks, Ranks(vec![(0, 4), (7, 1), (9, 1)]));
        assert_eq!(ranks.within(10).collect::<Vec<_>>(), [0, 1, 2, 3, 7, 9]);
        assert_eq!(ranks.within(9).collect::<Vec<_>>(), [0, 1, 2, 3, 7]);
        assert_eq!(Ranks(vec![(3, u64::MAX), (u64::MAX, 1)]).within(5).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let cut = clip("é".repeat(TEXT_LIMIT));
        assert!(cut.len() <= TEXT_LIMIT && cut.len() >= TEXT_LIMIT - 1);
    }

    #[test]
    fn names_of_hosts_are_fit_to_be_printed() {
        assert_eq!(host("n1.cluster"), "n1.cluster");
        assert_eq!(host("a\n\u{1b}[31mb"), "a??[31mb");
        assert_eq!(host(&"é".repeat(1000)).len(), 254);
    }
}
