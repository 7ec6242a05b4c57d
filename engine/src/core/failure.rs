//! When something fails: a peer is lost or leaves, a user's operation panics, a transport cannot go on.

use std::time::{Duration, Instant};

use ringworld_protocol::{Failure, Selector};
use ringworld_transport::Cause;

use super::super::calls::CallId;
use super::super::fault::Fault;
use super::super::reduce::Panicked;
use super::Core;
use super::suspicion::{Doubts, Suspects};

/// The data plane often hears of a death before the control plane has told who died first: a survivor
/// that gives up closes its connections too. So a lost connection is only a suspicion for this long, in
/// which the control plane's verdict wins. Well inside the promised second.
const VERDICT: Duration = Duration::from_millis(300);

impl Core {
    /// The control plane says that a rank has left in good order. It knows nothing of what that rank has sent before:
    /// the connection to it, where there is one, has that to say, and its end in its turn.
    pub(super) fn has_left(&mut self, rank: usize) {
        if self.router.is_linked(rank) {
            if let Some(finished) = self.finished.get_mut(rank) {
                *finished = true;
            }
        } else {
            self.peer_finished(rank);
        }
        // The connection may have been lost a moment before.
        if self.suspects.clear(rank) {
            self.peer_finished(rank);
            self.machine.peer_down(rank);
            self.settle();
        }
    }

    /// Everything that a peer has sent has been heard of, and it has left in good order.
    pub(super) fn peer_finished(&mut self, rank: usize) {
        if self.fault.is_some() {
            return;
        }
        if let Some(finished) = self.finished.get_mut(rank) {
            *finished = true;
        }
        self.post_line();
        let was_alone = self.machine.is_alone();
        self.machine.peer_closed(rank);
        self.settle();
        if !was_alone && self.machine.is_alone() {
            // Those who wait for a message from any source wait no more.
            self.calls.wake_all();
        }
        // Those who wait for a message of that rank, too.
        self.watchers.notify_if(|_| true);
    }

    /// A transport has lost a peer, and let go of everything that had to do with it.
    pub(super) fn down(&mut self, rank: usize, cause: Cause) {
        let has_left = self.finished.get(rank).copied().unwrap_or(true);
        if cause != Cause::Finished && (has_left || self.closing.is_some()) {
            self.doubt(rank);
        }
        if cause == Cause::Finished || has_left {
            // Messages of that peer may still lie among the events of this poll.
            self.departed.push(rank);
        } else {
            self.lost(rank, cause);
        }
    }

    /// A connection has been lost, which may be the death of that peer or the echo of another's.
    pub(super) fn lost(&mut self, rank: usize, cause: Cause) {
        if self.fault.is_some() || self.finished.get(rank).copied().unwrap_or(true) {
            return;
        }
        self.control.peer_lost(rank, &cause.to_string());
        self.suspects.add(rank, &cause, Instant::now() + VERDICT);
    }

    /// Takes the first suspect for dead whose time is over. A verdict may have come while this poll went on, which
    /// takes long where others have the processors: then that is heard, by the next.
    #[cold]
    pub(super) fn judge_suspects(&mut self) {
        if self.inbox.is_full() {
            return;
        }
        if let Some(suspect) = self.suspects.convicted() {
            self.fail(Fault::Peer { rank: suspect.rank, cause: suspect.cause, link: true });
        }
    }

    /// A user's operation panicked, or asked something of this engine: its result is lost, and with it what the other
    /// ranks wait for.
    pub(super) fn operation_panicked(&mut self, what: &Panicked) {
        let host = self.hosts.get(self.rank).map_or("an unknown host", String::as_str);
        let Panicked { op, did, message } = what;
        let rank = self.rank;
        let detail = format!("the user-defined operation {op:?} {did} on rank {rank} on {host}: {message}");
        self.tell(Fault::Panicked { detail });
    }

    /// A transport cannot go on, and nobody but this process is to blame.
    pub(super) fn broken(&mut self, cause: String) {
        self.tell(Fault::System {
            detail: format!("{} cannot go on: {cause}", self.rank_on_host(self.rank)),
        });
    }

    /// Ends the world for all ranks because this one has panicked where it cannot go on.
    pub(crate) fn give_up(&mut self, cause: &str) {
        if self.fault.is_none() {
            let detail = format!("rank {} gave up: {cause}", self.rank);
            self.tell(Fault::Panicked { detail });
        }
    }

    /// Ends the world here: first the transports let go of all memory, then every call ends.
    pub fn fail(&mut self, mut fault: Fault) {
        if self.fault.is_some() {
            return;
        }
        if let Fault::Peer { rank, link, .. } = &mut fault {
            *link |= self.suspects.include(*rank);
        }
        (self.fault, self.apart) = (Some(fault), true);
        (self.suspects, self.desertion) = (Suspects::default(), None);
        self.doubts = Doubts::default();
        self.closing = Some(0);
        self.router.abort();
        self.post_line();
        self.machine.fail_all();
        self.settle();
        for call in self.runs.remove_all(&mut self.buffers) {
            self.calls.end(call, Err(Failure::Aborted), &mut self.buffers);
        }
        self.leave_operations();
        self.buffers.release_all();
        self.calls.end_held(&mut self.buffers);
        self.buffers.retire_held();
        self.watchers.notify_if(|_| true);
        if let Some(tracer) = self.observed.tracer() {
            tracer.ends();
        }
    }

    /// Ends everything as [`fail`](Self::fail) does, and whatever has ended it before, this is what calls return from
    /// now on: this rank has gone on to a later generation than this one.
    pub fn supersede(&mut self, generation: u64) {
        self.fail(Fault::Superseded { generation });
        self.fault = Some(Fault::Superseded { generation });
    }

    /// Whether a call is a receive from any source that only this rank itself could still send for: as good as ended
    /// for whoever waits for it or asks whether it has, and until then open for what this rank sends to itself.
    #[inline]
    pub(super) fn is_forsaken(&self, call: CallId) -> bool {
        self.machine.is_alone() && self.is_forsaken_while_alone(call)
    }

    #[cold]
    fn is_forsaken_while_alone(&self, call: CallId) -> bool {
        self.calls.request(call).is_some_and(|request| self.machine.is_forsaken(request))
    }

    /// Ends such a call, for somebody waits for it.
    #[cold]
    pub(super) fn forsake(&mut self, call: CallId) {
        self.hear_oneself();
        if self.calls.request(call).is_some_and(|request| self.machine.forsake(request)) {
            self.settle();
        }
    }

    /// What `found` finds of a message for `selector`, or why none can come any more, if that is so.
    #[inline]
    pub fn found_or_ended<T>(
        &mut self,
        selector: &Selector,
        mut found: impl FnMut(&mut Self, &Selector) -> Option<T>,
    ) -> Option<Result<T, Failure>> {
        if let Some(found) = found(self, selector) {
            return Some(Ok(found));
        }
        self.machine.ended(selector.source)?;
        self.hear_oneself();
        found(self, selector).map(Ok).or_else(|| self.machine.ended(selector.source).map(Err))
    }

    /// Takes in what this rank has sent to itself, before it is said that nobody has sent anything.
    #[cold]
    fn hear_oneself(&mut self) {
        // One message may lead to the next, such as an announced one to what it announces.
        while self.progress() {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::super::super::fault::Fault;
    use super::super::super::inbox::{Inbox, Notice};
    use super::super::super::limits::Limits;
    use super::super::super::parts::{NoControl, Parts};
    use super::super::super::wait::Spin;
    use super::super::Core;

    /// Rank 0 of 2, which nobody speaks to but by this inbox.
    fn core(inbox: Arc<Inbox>) -> Core {
        let parts = Parts {
            rank: 0,
            local: (0, 1),
            hosts: ["here", "there"].map(String::from).into(),
            transports: Vec::new(),
            routes: vec![None, None],
            limits: Limits { eager: 1024, window: 8192, requests: None },
            control: Arc::new(NoControl),
            inbox,
            spin: Spin::for_ranks(1, 1),
            op_timeout: None,
            stall_warning: None,
            remind: Duration::from_secs(1),
            trace: None,
        };
        Core::new(parts).unwrap()
    }

    #[test]
    fn a_verdict_that_comes_while_a_poll_goes_on_wins_though_the_time_is_over() {
        let inbox = Arc::new(Inbox::default());
        let mut core = core(Arc::clone(&inbox));
        core.suspects.add(1, &"it is gone", Instant::now());
        // After this poll has read the inbox, before it judges.
        inbox.put(Notice::Fault(Fault::Panicked { detail: "the verdict".into() }));
        core.judge_suspects();
        core.progress();
        let fault = core.fault();
        assert!(matches!(fault, Some(Fault::Panicked { detail }) if detail == "the verdict"), "{fault:?}");
    }
}
