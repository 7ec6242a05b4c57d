//! When a connection is silent: a decision about what the kernel says of it, from time to time. Pure.
//!
//! The program at the other end may compute for hours and read nothing, which must never be held against it: its kernel
//! goes on answering, also to say that there is no room. So only what the *kernel* there leaves unanswered counts, and
//! only when this one has asked again and again: by repeating data, by probing a closed window, by probing a connection
//! that has been idle (keepalive). Two things show that a network is silent:
//!
//! ```text
//! mute     nothing at all has come for too long, though this side has asked again
//! one way  data of the peer's program still comes, but nothing that this side sends is acknowledged, although there is
//!          room for it: one direction is lost, or only large packets are (a path with a smaller MTU)
//! ```
//!
//! For *one way* the peer's program must have sent something since: before Linux 6.6, a kernel whose buffer is full
//! drops what comes without saying that there is no room, and only a program that reads is known to have room.
//!
//! What Linux counts, found by experiment (6.18): the answer to a probe of either kind counts as an acknowledgement
//! heard, and sets the unanswered probes to 0; a probe of the peer's counts as nothing; data counts as data heard, and
//! not always as an acknowledgement; repeated data counts as an acknowledgement and not as data.
//!
//! Neighbours: `kernel.rs` takes the samples, `watch.rs` acts.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// What the kernel says of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Segments that have been sent and not been acknowledged.
    pub(crate) unacknowledged: u32,
    /// Bytes that have been acknowledged since the beginning.
    pub(crate) acknowledged: u64,
    /// How often the oldest of what is unacknowledged has been sent again.
    pub(crate) retransmissions: u8,
    /// How many segments have been sent again since the beginning.
    pub(crate) sent_again: u32,
    /// Probes, of a closed window or of an idle connection, that have not been answered.
    pub(crate) probes: u8,
    /// Bytes for which the peer has room, if the kernel says that (since Linux 5.4).
    pub(crate) window: Option<u32>,
    /// How long ago an acknowledgement came.
    pub(crate) ack_heard: Duration,
    /// How long ago data came.
    pub(crate) data_heard: Duration,
}

/// How a connection is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing comes.
    Mute {
        /// For how long.
        since: Duration,
        /// How often something has been sent that asks for an answer, since then.
        tries: u32,
    },
    /// Something comes, but nothing that is sent arrives.
    OneWay {
        /// For how long.
        since: Duration,
        /// How often it has been sent again.
        tries: u32,
    },
}

/// One lost packet proves nothing.
const TRIES: u32 = 2;
/// The kernel tells times in its own ticks, of 10 ms at most.
const TICK: Duration = Duration::from_millis(50);

/// What is remembered of a connection from sample to sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    /// Since when at the latest something has been unacknowledged, and what had been acknowledged then.
    stuck: Option<(u64, Instant)>,
    /// When the last acknowledgement came, and how much had been sent again when that was seen.
    heard: Option<(Instant, u32)>,
}

impl Silence {
    /// Takes note of a sample, and says whether the connection has been silent for `limit`.
    ///
    /// The time in which nobody took samples, because the program computed, counts only as far as the kernel vouches
    /// for it.
    pub(crate) fn judge(&mut self, sample: &Sample, now: Instant, limit: Duration) -> Option<Verdict> {
        let stuck = self.stuck_for(sample, now);
        let sends = sample.unacknowledged > 0;
        let quiet = sample.ack_heard.min(sample.data_heard);
        let tries = if sends { self.sent_in_vain(sample, now) } else { sample.probes.into() };
        if quiet >= limit && tries >= TRIES {
            return Some(Verdict::Mute { since: quiet, tries });
        }
        let has_room = sample.window.is_some_and(|window| window > 0);
        let peer_reads = sample.data_heard <= stuck * 3 / 4;
        let tries = sample.retransmissions.into();
        (sends && has_room && peer_reads && stuck >= limit && tries >= TRIES)
            .then_some(Verdict::OneWay { since: stuck, tries })
    }

    /// How many segments, at least, have been sent again since the last acknowledgement. Some peers answer each, but
    /// the kernel pauses for longer and longer.
    fn sent_in_vain(&mut self, sample: &Sample, now: Instant) -> u32 {
        let at = now.checked_sub(sample.ack_heard).unwrap_or(now);
        let same = |heard: &(Instant, u32)| at.saturating_duration_since(heard.0) < TICK;
        let (_, before) = match self.heard.filter(same) {
            Some(heard) => heard,
            None => *self.heard.insert((at, sample.sent_again)),
        };
        sample.sent_again.wrapping_sub(before)
    }

    /// For how long, at least, the oldest of what is unacknowledged has been so.
    fn stuck_for(&mut self, sample: &Sample, now: Instant) -> Duration {
        let here = (sample.acknowledged, now);
        let (_, since) = match self.stuck {
            _ if sample.unacknowledged == 0 => {
                self.stuck = None;
                return Duration::ZERO;
            }
            Some(stuck) if stuck.0 == sample.acknowledged => stuck,
            _ => *self.stuck.insert(here),
        };
        now.saturating_duration_since(since)
    }
}

/// This end of a connection and the peer's, if they are known.
pub(crate) type Ends = Option<(SocketAddr, SocketAddr)>;

/// Where to look.
const HINT: &str =
    "look for a cable, a switch or a firewall between the two, and for an MTU that is too large for the way";

fn names(ends: Ends) -> (String, String) {
    let name =
        |end: Option<SocketAddr>| end.map_or_else(|| "an unknown address".to_owned(), |end| end.to_string());
    (name(ends.map(|ends| ends.0)), name(ends.map(|ends| ends.1)))
}

/// What is silent, for how long, and where to look; `told` is what counts as silence.
pub(crate) fn explain(verdict: Verdict, ends: Ends, told: Duration) -> String {
    let ((here, there), told) = (names(ends), told.as_secs_f64());
    match verdict {
        Verdict::Mute { since, tries } => format!(
            "nothing has come to {here} from {there} for {:.1} s, though it was asked {tries} times \
             (RINGWORLD_PEER_TIMEOUT, {told} s); {HINT}",
            since.as_secs_f64()
        ),
        Verdict::OneWay { since, tries } => format!(
            "{there} sends, but has acknowledged nothing of what {here} has sent it for {:.1} s, and {tries} times \
             again (RINGWORLD_PEER_TIMEOUT, {told} s); look for an MTU that is too large for the way (compare `ip \
             link` on both hosts, try `ping -M do -s 1472`), and for a firewall that lets only one direction pass",
            since.as_secs_f64()
        ),
    }
}

/// The same of a connection that the system has given up by itself, while the program computed.
pub(crate) fn given_up(ends: Ends) -> String {
    let (here, there) = names(ends);
    format!("{there} has not answered {here} for a long time (twice RINGWORLD_PEER_TIMEOUT or more); {HINT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(15);

    /// What a series of samples, taken every two and a half seconds from 0 on, leads to, and when.
    fn verdict(sample: impl Fn(f64) -> Sample) -> Option<(f64, Verdict)> {
        let begin = Instant::now();
        let mut silence = Silence::default();
        (0..400).map(|index| f64::from(index) * 2.5).find_map(|at| {
            let now = begin + Duration::from_secs_f64(at);
            silence.judge(&sample(at), now, LIMIT).map(|verdict| (at, verdict))
        })
    }

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// How often Linux has sent something again after `at` seconds: 0.2 s after it was sent, and then each time after
    /// twice as long.
    fn repeated(at: f64) -> u8 {
        (0..20).take_while(|n| 0.2 * (f64::from(1 << (n + 1)) - 1.0) <= at).count() as u8
    }

    const OPEN: Sample = Sample {
        unacknowledged: 0,
        acknowledged: 1000,
        retransmissions: 0,
        sent_again: 0,
        probes: 0,
        window: Some(1 << 20),
        ack_heard: Duration::ZERO,
        data_heard: Duration::ZERO,
    };

    /// A connection over which `heard` says how long ago what came, and on which something is unacknowledged.
    fn sending(at: f64, ack_heard: f64, data_heard: f64) -> Sample {
        Sample {
            unacknowledged: 3,
            retransmissions: repeated(at),
            sent_again: repeated(at).into(),
            ack_heard: seconds(ack_heard),
            data_heard: seconds(data_heard),
            ..OPEN
        }
    }

    #[test]
    fn a_network_that_is_silent_is_found_within_the_limit_and_a_sample() {
        let mute = |at, tries| Some((at, Verdict::Mute { since: seconds(at), tries }));
        let one_way = |at, tries| Some((at, Verdict::OneWay { since: seconds(at), tries }));
        // Cut at 0 in both directions while something was on its way.
        assert_eq!(verdict(|at| sending(at, at, at)), mute(15.0, 6));
        // The same to a peer whose window had closed over it.
        let shrunk = |at| Sample { window: Some(0), retransmissions: 0, ..sending(at, at, at) };
        assert_eq!(verdict(shrunk), mute(15.0, 6));
        // A kernel that does not tell the window.
        assert_eq!(verdict(|at| Sample { window: None, ..sending(at, at, at) }), mute(15.0, 6));
        // Only what is sent from here is lost; the peer's program goes on sending.
        assert_eq!(verdict(|at| sending(at, at, 1.0)), one_way(15.0, 6));
        // Only large packets are lost: small ones behind them were acknowledged selectively.
        assert_eq!(verdict(|at| sending(at, 0.1, 2.0)), one_way(15.0, 6));
        // Idle: cut after the kernel's first probe, which comes after 5 s, and then every 2 s.
        let idle = |at: f64| Sample {
            probes: ((at - 5.0_f64) / 2.0).max(0.0) as u8,
            ack_heard: seconds(at),
            data_heard: seconds(at),
            ..OPEN
        };
        assert_eq!(verdict(idle), mute(15.0, 5));
        // The peer does not read, and its kernel is gone as well.
        assert_eq!(verdict(|at| Sample { window: Some(0), ..idle(at) }), mute(15.0, 5));
    }

    #[test]
    fn a_peer_whose_kernel_answers_is_left_alone_for_ever() {
        // It computes, its window is closed, and its kernel answers probes: up to two minutes apart.
        let closed = |at: f64| Sample {
            window: Some(0),
            ack_heard: seconds(at % 120.0),
            data_heard: seconds(at),
            ..OPEN
        };
        assert_eq!(verdict(closed), None);
        // One probe in between was lost.
        assert_eq!(verdict(|at| Sample { probes: u8::from(at % 240.0 > 120.0), ..closed(at) }), None);
        // It has closed its window over what was on its way, and answers that there is no room; the kernel asks less
        // and less often.
        let shrunk = |at: f64, pause: f64| Sample {
            window: Some(0),
            retransmissions: 0,
            sent_again: 10 + (at / pause) as u32,
            ..sending(at, at % pause, at)
        };
        for pause in [1.0, 14.0, 50.0, 120.0] {
            assert_eq!(verdict(|at| shrunk(at, pause)), None, "{pause}");
            // Its kernel is an old one, drops what has no room without saying so, and acknowledges again what it had.
            let dropped = |at: f64| Sample { window: Some(9), retransmissions: 15, ..shrunk(at, pause) };
            assert_eq!(verdict(dropped), None, "{pause}");
        }
        // It computes, and was sent nothing: its kernel answers the probes of an idle connection.
        let idle = |at: f64| Sample { ack_heard: seconds(at % 5.0), data_heard: seconds(at), ..OPEN };
        assert_eq!(verdict(idle), None);
        // Nothing was probed yet, because the kernel had other things to do.
        assert_eq!(verdict(|at| Sample { ack_heard: seconds(at), data_heard: seconds(at), ..OPEN }), None);
        // A slow network on which something is always on its way.
        let slow = |at: f64| Sample { acknowledged: at as u64, ..sending(0.5, 1.0, at) };
        assert_eq!(verdict(slow), None);
        // The same with losses: 10 s pass before the next byte is acknowledged.
        let lossy =
            |at: f64| Sample { acknowledged: (at / 10.0) as u64, ..sending(at % 10.0, at % 10.0, 1.0) };
        assert_eq!(verdict(lossy), None);
    }

    #[test]
    fn time_in_which_nobody_looked_does_not_count_as_time_without_progress() {
        let (begin, mut silence) = (Instant::now(), Silence::default());
        let sample = sending(60.0, 0.1, 0.1);
        assert_eq!(silence.judge(&Sample { unacknowledged: 0, ..sample }, begin, LIMIT), None);
        let later = begin + Duration::from_secs(3600);
        assert_eq!(silence.judge(&sample, later, LIMIT), None, "it was sent a moment ago");
        assert_eq!(silence.judge(&sample, later + LIMIT / 2, LIMIT), None);
        let verdict = silence.judge(&sample, later + LIMIT, LIMIT);
        assert!(matches!(verdict, Some(Verdict::OneWay { .. })), "{verdict:?}");
    }
}
