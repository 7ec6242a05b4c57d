//! What travels over a control connection: a fixed preamble, then frames of a length and a body.
//!
//! A frame is a 32-bit little-endian length and a `postcard` body. The reader refuses lengths above its
//! limit before it allocates anything, and grows its buffer only as bytes arrive, so that nobody can
//! make a process allocate by words alone. Neighbours: `handshake` speaks the preamble.

use std::pin::pin;
use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::program::Program;

/// First bytes of every control connection, in both directions.
pub(crate) const MAGIC: [u8; 8] = *b"RINGWCTL";
/// Version of everything in this file; the two sides must agree.
pub(crate) const VERSION: u16 = 4;
/// Longest frame before both sides are authenticated.
pub(crate) const EARLY_LIMIT: usize = 64 << 10;
/// Longest frame that a rank sends.
pub(crate) const RANK_LIMIT: usize = 1 << 20;
/// Longest frame that the master sends.
pub(crate) const MASTER_LIMIT: usize = 64 << 20;
/// Longest text that a rank may have told to all others.
pub(crate) const TEXT_LIMIT: usize = 16 << 10;

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
    pub(crate) pid: u32,
    pub(crate) job: Option<String>,
    pub(crate) world_size: u64,
    pub(crate) num_nodes: Option<u64>,
    pub(crate) rank: Option<u64>,
    pub(crate) local_rank: Option<u64>,
    pub(crate) program: Program,
    /// Its process serves this very rendezvous.
    pub(crate) serves: bool,
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
    /// What has that rank left behind?
    AskLeft {
        rank: u64,
    },
    /// Instead of a [`Hello`]: how does the world stand? No place is taken.
    Inquire,
}

/// From the master to a rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum ToRank {
    Welcome {
        /// 0: silence is no reason to give a rank up.
        peer_timeout_ms: u64,
    },
    /// `retry`: the master is about to make room for another job.
    Reject {
        reason: String,
        retry: bool,
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

/// Why a frame could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the connection was closed")]
    Closed,
    #[error("{0}")]
    Io(std::io::Error),
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    #[error("a frame makes no sense: {0}")]
    Nonsense(postcard::Error),
    #[error("nothing was heard for {0:.1} s")]
    Silence(f64),
}

/// A message as a frame.
pub(crate) fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = postcard::to_extend(message, vec![0; 4])?;
    let length = u32::try_from(bytes.len() - 4).map_err(|_| postcard::Error::SerializeBufferFull)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Reads one frame; also tells how many bytes it took.
pub(crate) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> Result<(T, usize), ReadError> {
    let mut prefix = [0; 4];
    match stream.read_exact(&mut prefix).await {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(ReadError::Closed),
        Err(error) => return Err(ReadError::Io(error)),
    }
    let length = u32::from_le_bytes(prefix) as usize;
    if length > limit {
        return Err(ReadError::TooLong(length));
    }
    let mut body = Vec::with_capacity(length.min(EARLY_LIMIT));
    let read = stream.take(length as u64).read_to_end(&mut body).await.map_err(ReadError::Io)?;
    if read < length {
        return Err(ReadError::Closed);
    }
    Ok((postcard::from_bytes(&body).map_err(ReadError::Nonsense)?, length + 4))
}

/// How long a heartbeat may be waited for, for this time-out; without one, as for the default.
pub(crate) fn heartbeat(peer_timeout: Option<Duration>) -> Duration {
    (peer_timeout.unwrap_or(Duration::from_secs(20)) / 4).max(Duration::from_millis(1))
}

/// Reads one frame, or gives up after `patience`, if that ends, without a whole one.
///
/// The wait has two parts, so that a process that was stopped, and finds its timer expired when it goes
/// on, still reads what has arrived meanwhile before it blames the other side.
pub(crate) async fn read_within<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
    patience: Option<Duration>,
) -> Result<(T, usize), ReadError> {
    let Some(patience) = patience else { return read(stream, limit).await };
    let mut reading = pin!(read(stream, limit));
    if let Ok(heard) = timeout(patience / 4 * 3, &mut reading).await {
        return heard;
    }
    match timeout(patience / 4, reading).await {
        Ok(heard) => heard,
        Err(_) => Err(ReadError::Silence(patience.as_secs_f64())),
    }
}

/// Writes one frame.
pub(crate) async fn write<T: Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> std::io::Result<usize> {
    let bytes = frame(message).map_err(std::io::Error::other)?;
    stream.write_all(&bytes).await?;
    Ok(bytes.len())
}

/// Cuts a text to [`TEXT_LIMIT`] bytes.
pub(crate) fn clip(mut text: String) -> String {
    if text.len() > TEXT_LIMIT {
        let end = (0..=TEXT_LIMIT).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_frame_survives_the_journey() {
        let fault = Fault::Mismatch { detail: "x".into() };
        let bytes = frame(&ToMaster::Fault(fault.clone())).unwrap();
        let (message, taken): (ToMaster, _) = block(read(&mut &bytes[..], EARLY_LIMIT)).unwrap();
        assert!(matches!(message, ToMaster::Fault(heard) if heard == fault));
        assert_eq!(taken, bytes.len());
    }

    #[test]
    fn frames_above_the_limit_nonsense_and_stumps_are_refused() {
        let refuse = |bytes: &[u8]| block(read::<ToMaster>(&mut &bytes[..], EARLY_LIMIT)).unwrap_err();
        assert!(matches!(refuse(b"GET / HTTP/1.1\r\n"), ReadError::TooLong(_)));
        assert!(matches!(refuse(&[1, 0, 0, 0, 200]), ReadError::Nonsense(_)));
        assert!(matches!(refuse(&[9, 0, 0, 0, 1]), ReadError::Closed));
        assert!(matches!(refuse(&[]), ReadError::Closed));
    }

    #[test]
    fn silence_ends_patience_where_there_is_an_end_to_it() {
        let wait = |patience: Option<Duration>| {
            let mut clock = tokio::runtime::Builder::new_current_thread();
            clock.enable_time().start_paused(true).build().unwrap().block_on(async {
                let (mut silent, _open) = tokio::io::duplex(64);
                let reading = read_within::<ToMaster>(&mut silent, EARLY_LIMIT, patience);
                timeout(Duration::from_secs(1_000_000), reading).await
            })
        };
        let given_up = wait(Some(Duration::from_secs(20))).expect("it has an end").unwrap_err();
        assert!(matches!(given_up, ReadError::Silence(after) if after == 20.0), "{given_up}");
        assert!(wait(None).is_err(), "somebody without a time-out gave up");
    }

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
}
