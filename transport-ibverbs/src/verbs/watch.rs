//! Everything beside completions: the out-of-band channel, the channel, events of the device, and the passing of time.
//!
//! A rank that only receives would never learn that the network to its peer is dead: nothing is under way that
//! could fail. So a queue pair on which nothing has completed for a while is probed by an RDMA write of no
//! bytes, which the other device acknowledges by itself, whatever its process does. Neighbours: `shutdown.rs`.

use std::mem::MaybeUninit;

use ringworld_transport::warn;
use ringworld_transport::{Event, Placer};
use rustix::event::epoll;
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
use tracing::debug;

use super::device::AsyncEvent;
use super::lane::Lane;
use super::oob::OobEvents;
use super::peer::State;
use super::transport::{Ibverbs, Watch};

impl Ibverbs {
    /// Looks at everything that has a descriptor; returns whether anything was there.
    pub(super) fn look_around(&mut self, placer: &mut dyn Placer, events: &mut Vec<Event>) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [const { MaybeUninit::uninit() }; 4];
        // The only error is an interruption: nothing is lost, the next poll looks again.
        let ready = epoll::wait(&self.epoll, &mut room[..], Some(&now)).map(|(ready, _)| &*ready);
        let found: Vec<u64> = ready.unwrap_or_default().iter().map(|event| event.data.u64()).collect();
        let has = |what: Watch| found.contains(&(what as u64));
        self.armed = false;
        // Not drained before somebody arms again: a thread that sleeps on it is woken even if another one,
        // which polls and goes its way without arming, is faster.
        self.rung |= has(Watch::Channel);
        let mut moved = false;
        if has(Watch::Device) {
            while let Some(event) = self.context.next_event() {
                self.on_event(event);
                moved = true;
            }
        }
        if has(Watch::Timer) {
            self.tick();
        }
        let before = self.connecting;
        let mut oob =
            if has(Watch::Oob) || self.oob.is_due() { self.oob.poll() } else { OobEvents::default() };
        moved |= !oob.messages.is_empty() || !oob.lost.is_empty() || self.connecting != before;
        if let Some(cause) = oob.broken.take() {
            self.life.defer(Event::Broken { cause });
        }
        self.handle_oob_events(oob, placer, events);
        moved
    }

    fn on_event(&mut self, event: AsyncEvent) {
        let device = &self.port.device;
        match event {
            AsyncEvent::PortDown { port, what } if port == self.port.port => {
                warn!(%device, port, %what, "the port is down");
                let why = format!("port {port} of device {device} went down ({what})");
                self.fail_all(&why);
            }
            AsyncEvent::Pair { number, what } => {
                let why = format!("{device}: {what}");
                if let Some(rank) = self.pairs.get(&number).copied() {
                    self.lost(rank, ringworld_transport::Cause::Lost(why));
                }
            }
            AsyncEvent::Device { what } => {
                warn!(%device, %what, "the device is in error");
                let why = format!("device {device} is in error ({what})");
                self.fail_all(&why);
            }
            AsyncEvent::PortDown { port, what } => debug!(%device, port, %what, "another port is down"),
            AsyncEvent::Other { what } => debug!(%device, %what, "the device reports an event"),
        }
    }

    /// Time has passed: probes connections that have been silent.
    fn tick(&mut self) {
        // Only makes the timer unreadable; the count of expirations does not matter.
        let _ = rustix::io::read(&self.timer, &mut [0; 8][..]);
        let mut any = false;
        for rank in 0..self.peers.len() {
            let State::Linked(link) = &mut self.peers[rank].state else { continue };
            any = true;
            let silent = |lane: &mut Lane| !std::mem::replace(&mut lane.heard, false);
            let probed: std::io::Result<()> =
                link.lanes_mut().filter_map(|lane| silent(lane).then(|| lane.probe())).collect();
            if let Err(error) = probed {
                self.trouble(rank, &error);
            }
        }
        self.run_timer(any);
    }

    /// Has [`Ibverbs::tick`] called while there is somebody to probe.
    pub(super) fn run_timer(&mut self, runs: bool) {
        let runs = runs && !self.config.probe.is_zero();
        if runs == self.timer_runs {
            return;
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let period = if runs {
            let seconds = i64::try_from(self.config.probe.as_secs()).unwrap_or(i64::MAX);
            Timespec { tv_sec: seconds, tv_nsec: self.config.probe.subsec_nanos().into() }
        } else {
            zero
        };
        let period = Itimerspec { it_interval: period, it_value: period };
        match timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &period) {
            Ok(_) => self.timer_runs = runs,
            Err(error) => warn!(%error, "cannot set a timer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use ringworld_transport::{
        Cause, Event, Header, Operation, Placement, Placer, RecvMemory, SendMemory, Token, Transport,
    };
    use rustix::event::{PollFd, PollFlags, poll};

    use crate::verbs::peer::State;
    use crate::{Config, Ibverbs};

    struct Nowhere;

    impl Placer for Nowhere {
        fn place(&mut self, _: usize, _: &[u8], _: usize) -> Result<Placement, String> {
            Ok(Placement { token: Token(0), memory: RecvMemory::empty() })
        }
    }

    /// Two ranks, of which the first has received a message of the second; `None` without a device.
    fn acquainted() -> Option<(Ibverbs, Ibverbs)> {
        let open = |rank| {
            let mut config = Config::new(rank, 2, 1, vec![[127, 0, 0, 1].into()]);
            (config.timeout, config.probe) = (14, Duration::from_millis(200));
            Ibverbs::open(config).map_err(|error| eprintln!("skipped: {error}")).ok()
        };
        let (mut here, mut there) = (open(0)?, open(1)?);
        here.connect(1, &there.address()).unwrap();
        there.connect(0, &here.address()).unwrap();
        let mut events = Vec::new();
        hello(&mut there);
        while !events.iter().any(|event| matches!(event, Event::Received { .. })) {
            there.poll(&mut Nowhere, &mut Vec::new());
            here.poll(&mut Nowhere, &mut events);
        }
        Some((here, there))
    }

    fn hello(from: &mut Ibverbs) {
        let header = Header::new(b"hello").unwrap();
        let hello = Operation::Message { peer: 0, header, payload: SendMemory::empty(), token: Token(0) };
        let _ = from.post(hello).unwrap();
    }

    #[test]
    fn a_sleeper_is_woken_although_another_thread_polls_meanwhile() {
        let Some((mut here, mut there)) = acquainted() else { return };
        for round in 0..20 {
            while !here.arm() {
                here.poll(&mut Nowhere, &mut Vec::new());
            }
            // From here somebody sleeps, and is not asked again. Another thread polls, before or after.
            let mut events = Vec::new();
            if round % 2 == 0 {
                here.poll(&mut Nowhere, &mut events);
            }
            hello(&mut there);
            while round % 2 == 1 && events.is_empty() {
                here.poll(&mut Nowhere, &mut events);
            }
            let brief = rustix::event::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let fd = here.wait_fd().unwrap();
            assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&brief)), Ok(1), "round {round}");
            while events.is_empty() {
                here.poll(&mut Nowhere, &mut events);
            }
        }
    }

    #[test]
    fn a_rank_that_only_receives_finds_a_dead_network_within_the_bound() {
        let Some((mut here, mut there)) = acquainted() else { return };
        let bound = here.config.detection_bound();
        let mut events = Vec::new();
        // As if the cable were cut: the queue pair is gone, the out-of-band channel knows of nothing.
        there.peers[0].state = State::Idle;
        let began = Instant::now();
        while events.is_empty() {
            assert!(began.elapsed() < bound, "not noticed within {bound:?}");
            if here.arm() {
                poll(&mut [PollFd::new(&here.wait_fd().unwrap(), PollFlags::IN)], None).unwrap();
            }
            here.poll(&mut Nowhere, &mut events);
        }
        assert!(matches!(&events[..], [Event::PeerDown { peer: 1, cause: Cause::Lost(_) }]), "{events:?}");
    }
}
