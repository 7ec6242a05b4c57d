//! Looks, from time to time, whether connections have fallen silent.
//!
//! The kernel by itself gives a connection up after a quarter of an hour, or after a quarter of a minute if it is told
//! to, but then also one whose peer is alive and computes. So it is asked what it knows, a few times in the time after
//! which a peer that is silent is down, by whoever polls: a program that computes is not disturbed, and finds out when
//! it calls next. Nothing of that is on the way of a message. Neighbours: `silence.rs` judges, `kernel.rs` asks,
//! `listener.rs` has the kernel probe connections on which nothing is to be sent.

use std::time::{Duration, Instant};

use ringworld_transport::{Rank, warn};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
use tracing::trace;

use crate::kernel;
use crate::peer::State;
use crate::pending::Failure;
use crate::silence::explain;
use crate::transport::Tcp;

/// Looks in the time after which a silent peer is down.
const LOOKS: u32 = 8;

/// Silence for so long is too long: judged by a look that comes after the whole time at the latest.
fn limit(silence: Duration) -> Duration {
    silence * (LOOKS - 2) / LOOKS
}

impl Tcp {
    /// Looks at every connection of which something may be expected.
    pub(crate) fn look_for_silence(&mut self) {
        // Only makes the timer unreadable; the count of expirations does not matter.
        let _ = rustix::io::read(&self.silence_timer, &mut [0; 8][..]);
        let Some(silence) = self.options.silence else { return };
        let (now, limit) = (Instant::now(), limit(silence));
        let mut any = false;
        let mut silent: Vec<(Rank, usize)> = Vec::new();
        for (rank, peer) in self.peers.iter_mut().enumerate() {
            if !matches!(peer.state, State::Open) {
                continue;
            }
            any = true;
            for (lane, connection) in peer.lanes.iter_mut().enumerate() {
                let Some(connection) = connection else { continue };
                // Whoever cannot be asked has ended, and reading says how.
                let Ok(sample) = kernel::sample(&connection.socket) else { continue };
                trace!(rank, lane, ?sample, "looked");
                if let Some(verdict) = connection.silence.judge(&sample, now, limit) {
                    let text = explain(verdict, connection.ends, silence);
                    // What had arrived before is read first.
                    connection.broken = connection.broken.or(Some(Errno::TIMEDOUT));
                    connection.silent.get_or_insert(text);
                    silent.push((rank, lane));
                }
            }
        }
        for (rank, lane) in silent {
            self.watch_writes(rank, lane);
        }
        let dialing = self.handshakes.select(|pending| pending.has_connected());
        for slot in dialing {
            any = true;
            let Some(pending) = self.handshakes.find(slot) else { continue };
            let Ok(sample) = kernel::sample(&pending.socket) else { continue };
            if let Some(verdict) = pending.silence.judge(&sample, now, limit) {
                let here = pending.socket.local_addr().ok().and_then(|address| address.as_socket());
                let text = explain(verdict, here.map(|here| (here, pending.remote)), silence);
                self.failed(slot, Failure::Unreachable(text));
            }
        }
        self.run_silence_timer(any);
    }

    /// Has [`Tcp::look_for_silence`] called while there is a connection.
    pub(crate) fn run_silence_timer(&mut self, runs: bool) {
        let Some(silence) = self.options.silence.filter(|_| runs != self.silence_timer_runs) else { return };
        let period = if runs { (silence / LOOKS).max(Duration::from_millis(1)) } else { Duration::ZERO };
        let seconds = i64::try_from(period.as_secs()).unwrap_or(i64::MAX);
        let period = Timespec { tv_sec: seconds, tv_nsec: period.subsec_nanos().into() };
        let period = Itimerspec { it_interval: period, it_value: period };
        match timerfd_settime(&self.silence_timer, TimerfdTimerFlags::empty(), &period) {
            Ok(_) => self.silence_timer_runs = runs,
            Err(error) => warn!(%error, "cannot set a timer: a silent network is not noticed"),
        }
    }
}
