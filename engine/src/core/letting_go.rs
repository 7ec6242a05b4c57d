//! What is let go of: receives that are withdrawn or that nobody waits for any more, the messages that these have got,
//! and communicators that were dropped.
//!
//! Nothing is lost by it: a message that came too late for whoever has let go of its receive is there for others.
//! Neighbours: `calls` keeps what was left, `runs/shown` looks at what others show before a communicator is forgotten.

use super::super::calls::{CallId, Returned};
use super::super::inbox::Left;
use super::super::waiters::Topic;
use super::Core;

impl Core {
    /// Frees memory that has been left, now or when the operation on it has ended.
    pub(super) fn let_go(&mut self, left: Left) {
        let Left { call, registrations, memory } = left;
        // First: without an operation, or if it has ended already, the memory goes at once.
        self.deregister(registrations);
        let Some(call) = call else { return };
        self.post_line();
        let receives = memory.received().is_some();
        self.calls.detach(call, memory);
        // Everything but receives goes on to its end. A message on its way comes to its end, too, but for others.
        if let Some(request) = self.calls.request(call)
            && receives
            && !self.machine.cancel(request)
            && let Some(name) = self.machine.abandon(request)
        {
            self.calls.returns_to(call, name);
            self.watchers.notify_if(|topic| topic != Topic::End);
        }
    }

    /// Gives messages back that receives have got which nobody waits for any more: a dropped receive loses nothing.
    #[cold]
    pub(super) fn give_back(&mut self) {
        // One of them may be for a receive in line.
        self.post_line();
        for Returned { done, kept, to } in self.calls.returned() {
            let Some(bytes) = kept.received().and_then(|received| received.get(..done.len)) else {
                continue;
            };
            let Some(name) = to.or_else(|| self.machine.give_back(&done)) else { continue };
            if !bytes.is_empty() {
                self.buffers.keep(name, bytes.len(), &mut |into| into.copy_from_slice(bytes));
            }
            if to.is_some() {
                self.machine.delivered(name);
            }
            if !self.watchers.is_empty() {
                self.watchers.notify(Topic::Message(done.envelope.context));
            }
        }
    }

    /// Forgets what was called on a communicator that this process has dropped; whether it could: a collective that
    /// nobody waits for may still be under way.
    pub fn forget(&mut self, context: u64) -> bool {
        if self.runs.has_channel(context) {
            // What others remind of can only be compared while this rank knows what it has called.
            self.progress();
            self.runs.leave(context, &mut self.router);
            if let Some(trouble) = self.runs.take_trouble() {
                self.seen(trouble);
            }
        }
        self.runs.forget(context)
    }

    /// How many communicators it remembers calls of.
    #[doc(hidden)]
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.runs.remembered()
    }

    /// Withdraws a receive; `false` when it has matched already. That whoever could have sent for it has left just
    /// before makes no difference: ranks leave as soon as they are done, and cannot know who withdraws what.
    pub(crate) fn cancel(&mut self, call: CallId) -> bool {
        self.post_line();
        let cancelled = self.calls.request(call).is_some_and(|request| self.machine.cancel(request));
        self.settle();
        cancelled || self.calls.withdraw(call)
    }

    /// Whether a message is under way that is named so, by whoever has it. Any name may be asked for.
    pub(crate) fn is_under_way(&mut self, call: CallId) -> bool {
        self.post_line();
        self.calls.request(call).is_some() || self.calls.is_held(call)
    }
}
