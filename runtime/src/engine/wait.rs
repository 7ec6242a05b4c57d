//! Waiting: the thread that waits drives the engine, spinning briefly and then sleeping in the kernel.
//!
//! Sleeping is dear: a wake-up costs about 50 us, a half round trip between spinning ranks 4 to 6 us. But a
//! rank without a core of its own must not take the time from the one it waits for; see [`Spin`]. To sleep, a thread arms the transports and polls their descriptors together with a bell of its
//! own, which rings when another thread ends its operation or the control plane has news.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

use super::core::Core;
use super::home::Home;
use super::inbox::Inbox;
use super::offers::{Custom, Offers};
use super::slots::Ending;
use super::{Engine, Locked, Parts, SlotId};

/// Transports without a descriptor (the simulator) are polled this often.
const BLIND: Duration = Duration::from_micros(50);

/// How long a waiting thread polls before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    /// So long it keeps its core.
    keen: Duration,
    /// So long, altogether, it polls; after `keen` it offers the core to others now and then: see [`Offers`].
    polite: Duration,
}

impl Spin {
    /// Sleep at once.
    pub(crate) const NONE: Self = Self { keen: Duration::ZERO, polite: Duration::ZERO };

    /// What serves `ranks` ranks on `cores` cores.
    ///
    /// With a core for each: long enough for most answers. Even then the peer may be waiting for this very
    /// core, which it gets after 2 us, once it has taken an offer (measured with both ranks of a ping-pong on one core:
    /// a hop costs so long and 7 us; on two cores it makes no difference).
    ///
    /// With more ranks than cores, keeping the core would take it from the very rank that is waited for.
    /// Offering it at once and polling again is still cheaper than sleeping and being woken. Measured on two
    /// cores, an all-reduce of 8 bytes, sleeping at once against offering for 50 us: four ranks 52 and 30 us,
    /// eight 150 and 95, sixteen 740 and 390. Where hundreds share a core, one turn lasts longer than that.
    pub(crate) fn for_ranks(ranks: usize, cores: usize) -> Self {
        let (keen, polite) = if ranks <= cores { (2, 100) } else { (0, 50) };
        Self { keen: Duration::from_micros(keen), polite: Duration::from_micros(polite) }
    }

    /// The same, but sleeping after `limit`.
    pub(crate) fn lasting(self, limit: Duration) -> Self {
        Self { polite: limit, ..self }
    }
}

/// A call that has waited in vain for this long tells its peers what it waits for, then again after twice
/// as long, and so on: see [`Core::remind`]. Ranks that merely compute for long lose nothing by it.
pub(crate) const REMIND: Duration = Duration::from_secs(1);

/// Wakes one sleeping thread.
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> std::io::Result<Arc<Self>> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Arc::new(Self(rustix::event::eventfd(0, flags)?)))
    }

    pub(crate) fn ring(&self) {
        // The only possible failure is a counter that is full, and then the bell is ringing already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn hush(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    /// Sleeps until it rings, or for so long.
    pub(super) fn sleep(&self, limit: Duration) {
        let timeout = Timespec::try_from(limit).ok();
        let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        // An interrupted poll only means to look again.
        if rustix::event::poll(&mut fds, timeout.as_ref()).is_ok_and(|ready| ready > 0) {
            self.hush();
        }
    }
}

thread_local! {
    static BELL: std::cell::OnceCell<Arc<Bell>> = const { std::cell::OnceCell::new() };
}

/// This thread's bell, made at its first sleep. `None` when the system is out of descriptors.
fn own_bell() -> Option<Arc<Bell>> {
    BELL.with(|cell| {
        if cell.get().is_none() {
            let _ = cell.set(Bell::new().ok()?);
        }
        cell.get().cloned()
    })
}

/// What all waiting threads share.
pub(super) struct Waits {
    fds: Vec<OwnedFd>,
    blind: bool,
    spin: Spin,
    custom: Custom,
    home: Home,
    op_timeout: Option<Duration>,
    remind: Duration,
    inbox: Arc<Inbox>,
    /// Threads inside a blocking call; the helper thread stays away while there are any.
    pub(super) waiting: AtomicUsize,
}

impl Waits {
    pub(super) fn new(parts: &Parts) -> std::io::Result<Self> {
        let mut fds = Vec::new();
        let mut blind = false;
        for transport in &parts.transports {
            match transport.wait_fd() {
                Some(fd) => fds.push(fd.try_clone_to_owned()?),
                None => blind = true,
            }
        }
        let (spin, op_timeout, inbox) = (parts.spin, parts.op_timeout, Arc::clone(&parts.inbox));
        let home = Home::new(parts.local.0, parts.local.1);
        let (custom, waiting) = (Custom::default(), AtomicUsize::new(0));
        let remind = parts.remind;
        Ok(Self { fds, blind, spin, custom, home, op_timeout, remind, inbox, waiting })
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn offers(&self) -> Offers<'_> {
        Offers::new(self.spin.keen, &self.custom)
    }
}

impl Engine {
    /// Waits until the operation of `slot` has ended, and takes its ending.
    pub(crate) fn wait(&self, slot: SlotId) -> Ending {
        self.go_on_to_wait(self.lock(), slot)
    }

    /// Like [`Engine::wait`], from a call that has just begun the operation.
    pub(crate) fn go_on_to_wait(&self, mut core: Locked<'_>, slot: SlotId) -> Ending {
        // Receives of what has come already end without any waiting.
        if let Some(ending) = core.slots.take(slot) {
            core.catch_up();
            return ending;
        }
        let describe = |core: &mut Core| core.waiting_for(slot);
        self.drive_until(core, &[slot], |core| core.slots.take(slot), describe)
    }

    /// Waits until one of the operations has ended, and says which; its ending is not taken. `None` among
    /// them stands for one that has ended already. `None` when there are none.
    pub(crate) fn wait_any(&self, slots: &[Option<SlotId>]) -> Option<usize> {
        if slots.is_empty() {
            return None;
        }
        let ended =
            |core: &mut Core| slots.iter().position(|slot| slot.is_none_or(|slot| core.slots.is_done(slot)));
        let under_way: Vec<SlotId> = slots.iter().copied().flatten().collect();
        let describe = |core: &mut Core| {
            let each: Vec<_> = under_way.iter().map(|slot| core.waiting_for(*slot)).collect();
            each.join(", or ")
        };
        Some(self.wait_until(&under_way, ended, describe))
    }

    /// Drives the engine until `done` gives something. `slots`: what to be woken for when another thread
    /// ends one of them. `waiting_for` says in words whom this waits for, if it takes too long.
    pub(crate) fn wait_until<R>(
        &self,
        slots: &[SlotId],
        mut done: impl FnMut(&mut Core) -> Option<R>,
        waiting_for: impl Fn(&mut Core) -> String,
    ) -> R {
        let mut core = self.lock();
        if let Some(result) = done(&mut core) {
            core.catch_up();
            return result;
        }
        self.drive_until(core, slots, done, waiting_for)
    }

    /// Like [`Engine::wait_until`], when `done` has just said no.
    fn drive_until<R>(
        &self,
        core: Locked<'_>,
        slots: &[SlotId],
        mut done: impl FnMut(&mut Core) -> Option<R>,
        waiting_for: impl Fn(&mut Core) -> String,
    ) -> R {
        let mut presence = Presence::enter(self);
        // Declared after `presence`, so that the lock is given back before the helper is told.
        let mut held = Some(core);
        let mut idle_since = None;
        let mut known_idle = None;
        let mut offers = self.waits.offers();
        let mut remind_after = self.waits.remind;
        loop {
            let mut core = held.take().unwrap_or_else(|| self.lock());
            let moved = core.progress();
            if let Some(result) = done(&mut core) {
                presence.leaves_work = core.has_work();
                return result;
            }
            core.comes_back(true);
            if moved {
                (idle_since, known_idle) = (None, None);
                offers = self.waits.offers();
                continue;
            }
            // Reading the clock takes as long as a hundred instructions: once per turn is enough.
            let (since, idle) = match idle_since {
                Some(since) => (since, known_idle.take().unwrap_or_else(|| Instant::elapsed(&since))),
                None => (*idle_since.insert(Instant::now()), Duration::ZERO),
            };
            if idle < self.waits.spin.polite {
                drop(core);
                // Otherwise at once: a turn is long enough that a pause instruction would ease nobody's way,
                // and hypervisors and emulators take one for leave to run somebody else.
                if offers.is_due(idle) {
                    std::thread::yield_now();
                    let after = since.elapsed();
                    known_idle = Some(after);
                    if offers.made(idle, after) && self.waits.waiting.load(Ordering::Relaxed) == 1 {
                        self.waits.home.seek();
                    }
                }
                continue;
            }
            if let Some(limit) = self.waits.op_timeout
                && idle >= limit
            {
                let waiting_for = waiting_for(&mut core);
                core.time_out(slots, idle, waiting_for);
                continue;
            }
            let mut limit = self.waits.op_timeout;
            if !slots.is_empty() {
                if idle >= remind_after {
                    core.remind(slots);
                    remind_after *= 2;
                }
                limit = Some(limit.map_or(remind_after, |limit| limit.min(remind_after)));
            }
            self.sleep(core, slots, limit.map(|limit| limit.saturating_sub(idle)));
        }
    }

    /// Sleeps until a transport has something, a bell rings, or `limit` passes.
    fn sleep(&self, mut core: Locked<'_>, slots: &[SlotId], limit: Option<Duration>) {
        let Some(bell) = own_bell() else {
            // Out of descriptors: polling slowly is the best that is left.
            drop(core);
            std::thread::sleep(BLIND);
            return;
        };
        self.waits.inbox.park(&bell);
        let Some(alarm) = core.arm() else {
            self.waits.inbox.unpark(&bell);
            return;
        };
        for slot in slots {
            core.slots.wake_thread(*slot, &bell);
        }
        drop(core);
        let blind = self.waits.blind.then_some(BLIND);
        self.poll_fds(&bell, [limit, alarm, blind].into_iter().flatten().min());
        self.waits.inbox.unpark(&bell);
    }

    /// Sleeps on the descriptors of the transports and on `bell`.
    fn poll_fds(&self, bell: &Bell, limit: Option<Duration>) {
        let mut fds: smallset::Fds<'_> = smallset::Fds::new(bell.0.as_fd());
        for fd in &self.waits.fds {
            fds.push(fd.as_fd());
        }
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        // An interrupted or refused poll only means to look again.
        let _ = rustix::event::poll(fds.as_mut_slice(), timeout.as_ref());
        if fds.first_is_ready() {
            bell.hush();
        }
    }

    /// One round of the helper thread: progress, then sleep until there may be more.
    pub(super) fn drive(&self, bell: &Arc<Bell>) {
        let mut core = self.lock();
        if core.progress() {
            // What it has to do when it comes back, a caller may do before: it is no driver to rely on.
            return;
        }
        core.comes_back(true);
        self.waits.inbox.park(bell);
        if let Some(alarm) = core.arm() {
            drop(core);
            let blind = self.waits.blind.then_some(BLIND);
            self.poll_fds(bell, [alarm, blind].into_iter().flatten().min());
        }
        self.waits.inbox.unpark(bell);
    }
}

/// Counts this thread among those that wait, and tells the helper when the last one leaves.
struct Presence<'a> {
    engine: &'a Engine,
    leaves_work: bool,
}

impl<'a> Presence<'a> {
    fn enter(engine: &'a Engine) -> Self {
        engine.waits.waiting.fetch_add(1, Ordering::SeqCst);
        engine.helper.stand_back();
        // True until a return says otherwise: a panic must not leave work without a driver.
        Self { engine, leaves_work: true }
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        if self.engine.waits.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.engine.helper.called(self.leaves_work);
        }
    }
}

/// A short list of poll descriptors without an allocation per sleep.
mod smallset {
    use super::{PollFd, PollFlags};
    use std::os::fd::BorrowedFd;

    /// A bell and at most seven transports; there are three kinds of wire.
    const ROOM: usize = 8;

    pub(super) struct Fds<'a> {
        fds: [PollFd<'a>; ROOM],
        used: usize,
    }

    impl<'a> Fds<'a> {
        pub(super) fn new(first: BorrowedFd<'a>) -> Self {
            Self { fds: std::array::from_fn(|_| PollFd::from_borrowed_fd(first, PollFlags::IN)), used: 1 }
        }

        pub(super) fn push(&mut self, fd: BorrowedFd<'a>) {
            if let Some(place) = self.fds.get_mut(self.used) {
                *place = PollFd::from_borrowed_fd(fd, PollFlags::IN);
                self.used += 1;
            }
        }

        pub(super) fn as_mut_slice(&mut self) -> &mut [PollFd<'a>] {
            &mut self.fds[..self.used]
        }

        pub(super) fn first_is_ready(&self) -> bool {
            !self.fds[0].revents().is_empty()
        }
    }
}
