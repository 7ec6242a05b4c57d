//! One process's engine: the core in its shell, and the calls that wait for it.

use std::sync::Arc;

use ringworld_protocol::Unreceived;

use super::calls::{CallId, Ending};
use super::core::Core;
use super::fault::Fault;
use super::notifier::wires;
use super::parts::Parts;
use super::shell::Shell;
use super::wait::{For, Manners, Waits};
use super::waiters::Topic;

/// One process's part of the world.
pub type Engine = Shell<Core>;

/// The core of an engine under its lock.
pub type Locked<'a> = super::shell::Locked<'a, Core>;

impl Engine {
    /// # Errors
    ///
    /// When the system gives no descriptor, or the limits contradict one another.
    pub fn new(parts: Parts) -> std::io::Result<Arc<Self>> {
        let descriptors = parts.transports.iter().filter_map(|transport| transport.wait_fd());
        let descriptors = descriptors.map(|wire| wire.try_clone_to_owned());
        let descriptors = descriptors.collect::<std::io::Result<Vec<_>>>()?;
        let blind = descriptors.len() < parts.transports.len();
        let Parts { spin, op_timeout, stall_warning, remind, local, .. } = parts;
        let manners = Manners { spin, op_timeout, stall_warning, remind, local };
        let waits = Waits::new(wires(descriptors), blind, Arc::clone(&parts.inbox), &manners);
        let hosts = Arc::clone(&parts.hosts);
        let core = Core::new(parts).map_err(std::io::Error::other)?;
        Ok(Self::around(core, hosts, waits))
    }

    /// The host that a rank runs on, for messages.
    pub fn host(&self, rank: usize) -> String {
        self.hosts().get(rank).cloned().unwrap_or_else(|| "an unknown host".into())
    }

    #[inline]
    pub fn hosts(&self) -> &[String] {
        &self.known
    }

    /// Waits until the operation of `call` has ended, and takes its ending.
    #[inline]
    pub(crate) fn wait(self: &Arc<Self>, call: CallId) -> Ending {
        self.wait_from(self.lock(), call)
    }

    /// The same for whoever has the core already.
    #[inline]
    pub(crate) fn wait_from(self: &Arc<Self>, mut core: Locked<'_>, call: CallId) -> Ending {
        if core.is_apart() {
            core.opens_wait(call);
        }
        self.go_on_to_wait(core, call)
    }

    /// Like [`Engine::wait`], from a call that has just begun the operation.
    #[inline]
    pub(crate) fn go_on_to_wait(self: &Arc<Self>, core: Locked<'_>, call: CallId) -> Ending {
        self.end_of(core, call, |core| core.waiting_for(call))
    }

    /// Withdraws a receive that no message has matched, by whatever thread; whether that was so. Whoever waits for it
    /// wakes. A call that has ended is nothing to withdraw.
    pub fn cancel(&self, call: CallId) -> bool {
        self.lock().cancel(call)
    }

    /// Whether a send or a receive has not ended, whoever has it. One whose end was taken is not under way.
    pub fn is_under_way(&self, call: CallId) -> bool {
        self.lock().is_under_way(call)
    }

    /// Waits until one of the operations has ended, and says which; its ending is not taken. `None` among
    /// them stands for one that has ended already. `None` when there are none.
    pub fn wait_any(self: &Arc<Self>, calls: &[Option<CallId>]) -> Option<usize> {
        if calls.is_empty() {
            return None;
        }
        let ended =
            |core: &mut Core| calls.iter().position(|call| call.is_none_or(|call| core.is_done(call)));
        let under_way: Vec<CallId> = calls.iter().copied().flatten().collect();
        let describe = |core: &mut Core| {
            let each: Vec<_> = under_way.iter().map(|call| core.waiting_for(*call)).collect();
            each.join(", or ")
        };
        Some(self.wait_until(For::Calls(&under_way), ended, describe))
    }

    /// Ends this rank's part in good order: waits until what was sent is on its way, then until every
    /// connected peer has taken everything. Returns the fault if the world fails first.
    pub fn finish(self: &Arc<Self>) -> Option<Fault> {
        let wait = |done: fn(&mut Core) -> bool, whom: &str| {
            let over = |core: &mut Core| (core.fault().is_some() || done(core)).then_some(());
            self.wait_until(For::Topic(Topic::End), over, |_| whom.into());
        };
        self.lock().leave();
        // Collectives that nobody waits for any more still owe the others this rank's part.
        wait(
            |core| core.owes_nothing(),
            "the ranks that have not received what was sent to them, or not called a collective that this \
             rank has begun",
        );
        // Once before the others hear that this rank leaves, so that they can be told while they are here.
        self.lock().look_before_leaving();
        self.lock().close();
        wait(|core| core.is_closed(), "the ranks that are still connected to take what was sent");
        let mut core = self.lock();
        core.look_once_more();
        let fault = core.fault().cloned();
        let unreceived = core.unreceived().filter(|_| fault.is_none());
        core.fail(Fault::Finalized);
        // Whoever hears of it may take his time, and may call this library.
        drop(core);
        if let Some(unreceived) = unreceived {
            ringworld_transport::warn!("{}", self.never_received(&unreceived));
        }
        fault
    }

    /// What is said of messages that this rank has left without receiving.
    fn never_received(&self, unreceived: &Unreceived) -> String {
        let Unreceived { messages, first } = unreceived;
        let (source, tag, len) = (first.source, first.envelope.tag, first.len);
        let host = self.host(source);
        // An even context for the user's messages, an odd one for collectives.
        let within = match first.envelope.context / 2 {
            0 => String::new(),
            number => format!(" on communicator {number}"),
        };
        let (what, them) =
            if *messages == 1 { ("message was", "it is") } else { ("messages were", "the first is") };
        format!(
            "{messages} {what} never received before this rank left; {them} from rank {source} on {host}{within}, \
             tag {tag}, {len} bytes"
        )
    }
}
