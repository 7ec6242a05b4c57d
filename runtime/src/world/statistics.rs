//! What a rank has sent, received and waited for so far: by peer and by call.
//!
//! Neighbours: the engine counts (`observe` there), this says what the numbers are called.

use std::fmt;
use std::time::Duration;

use super::World;

/// What has gone on with one rank of the world, this one included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerStatistics {
    /// Messages given to the transport, those of the library itself included: a long message takes three.
    pub messages_sent: u64,
    /// Bytes of data sent, without headers.
    pub bytes_sent: u64,
    /// Messages of which all has come.
    pub messages_received: u64,
    /// Bytes of data received, without headers; of a long message all are counted when they begin to come.
    pub bytes_received: u64,
    /// Calls that went to sleep while they waited for this rank. Waits of some 100 us and less are not among them.
    pub waits: u64,
    /// For how long they waited, in all. A call that waits for several ranks counts for each.
    pub waited: Duration,
}

/// What has been done by one kind of call, those within other calls included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallStatistics {
    /// Its name, such as `all_reduce`; all calls that send a message are `send`, and that receive one `recv`.
    pub name: &'static str,
    /// How often it has begun.
    pub calls: u64,
    /// How much memory it was given, in bytes: to read, and to write.
    pub bytes: u64,
    /// How often it went to sleep. Waits of some 100 us and less are not among them.
    pub waits: u64,
    /// For how long it waited then, in all.
    pub waited: Duration,
}

/// See [`World::statistics`]. Its `Display` is two tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// By rank.
    pub peers: Vec<PeerStatistics>,
    /// Of each kind of call that there was.
    pub calls: Vec<CallStatistics>,
}

impl World {
    /// What this rank has sent, received and waited for since the world has formed, by peer and by kind of call.
    ///
    /// It is always counted: that takes a few additions for each message, and no clock.
    ///
    /// ```
    /// let world = ringworld::World::builder().world_size(1).build()?;
    /// world.send(&[1u8, 2, 3], 0, 7)?;
    /// world.recv(&mut [0u8; 3], 0, 7)?;
    /// let statistics = world.statistics();
    /// assert_eq!((statistics.peers[0].messages_sent, statistics.peers[0].bytes_sent), (1, 3));
    /// let recv = statistics.calls.iter().find(|call| call.name == "recv");
    /// assert_eq!(recv.map(|recv| (recv.calls, recv.bytes)), Some((1, 3)));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let core = self.communicator.engine().lock();
        let peers = core.peers().iter().map(|peer| PeerStatistics {
            messages_sent: peer.sent.messages,
            bytes_sent: peer.sent.bytes,
            messages_received: peer.received.messages,
            bytes_received: peer.received.bytes,
            waits: peer.waits,
            waited: peer.waited,
        });
        let calls = core.call_tallies().map(|(verb, tally)| CallStatistics {
            name: verb.name(),
            calls: tally.calls,
            bytes: tally.bytes,
            waits: tally.waits,
            waited: tally.waited,
        });
        Statistics { peers: peers.collect(), calls: calls.collect() }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: &Duration| format!("{:.3} s", time.as_secs_f64());
        writeln!(
            f,
            "{:>6}  {:>12}  {:>16}  {:>12}  {:>16}  {:>8}  {:>12}",
            "rank", "sent", "bytes", "received", "bytes", "waits", "waited"
        )?;
        for (rank, peer) in self.peers.iter().enumerate() {
            let PeerStatistics { messages_sent, bytes_sent, messages_received, bytes_received, .. } = peer;
            let (waits, waited) = (peer.waits, seconds(&peer.waited));
            writeln!(
                f,
                "{rank:>6}  {messages_sent:>12}  {bytes_sent:>16}  {messages_received:>12}  {bytes_received:>16}  \
                 {waits:>8}  {waited:>12}"
            )?;
        }
        writeln!(f, "\n{:<22}  {:>12}  {:>16}  {:>8}  {:>12}", "call", "calls", "bytes", "waits", "waited")?;
        for CallStatistics { name, calls, bytes, waits, waited } in &self.calls {
            writeln!(f, "{name:<22}  {calls:>12}  {bytes:>16}  {waits:>8}  {:>12}", seconds(waited))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Op, testing};

    #[test]
    fn what_goes_to_each_rank_and_who_was_waited_for_is_counted() {
        let all = testing::ranks(2, |world| {
            let peer = 1 - world.rank();
            let mut came = vec![0u8; 1_000_000];
            world.all_reduce(&mut [1f64; 10], Op::Sum).unwrap();
            if world.rank() == 0 {
                std::thread::sleep(Duration::from_millis(300));
                world.send(&[7u8; 5], peer, 1).unwrap();
            } else {
                world.recv(&mut came, peer, 1).unwrap();
            }
            world.send_recv(&vec![1u8; came.len()], peer, 2, &mut came, peer, 2).unwrap();
            world.barrier().unwrap();
            world.statistics()
        });
        for (rank, statistics) in all.iter().enumerate() {
            let peer = statistics.peers[1 - rank];
            assert_eq!(statistics.peers.len(), 2);
            assert!(peer.bytes_sent >= 1_000_000 && peer.bytes_received >= 1_000_000, "{peer:?}");
            let call =
                |name| statistics.calls.iter().find(|call| call.name == name).copied().unwrap_or_default();
            assert_eq!(
                (call("all_reduce").calls, call("all_reduce").bytes, call("barrier").calls),
                (1, 80, 1)
            );
            assert_eq!((call("send").calls, call("recv").calls), [(2, 1), (1, 2)][rank]);
            let text = statistics.to_string();
            assert!(text.contains("all_reduce") && text.lines().count() > 6, "{text}");
        }
        let (waited, peer) = (all[1].calls.iter().find(|call| call.name == "recv"), all[1].peers[0]);
        assert!(
            waited.is_some_and(|recv| recv.waits > 0 && recv.waited > Duration::from_millis(200)),
            "{all:?}"
        );
        assert!(peer.waits > 0 && peer.waited > Duration::from_millis(200), "{peer:?}");
    }
}
