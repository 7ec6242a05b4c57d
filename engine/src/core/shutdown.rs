//! The end in good order: everything that was sent is delivered, and the peers have taken it.

use ringworld_protocol::{Kind, RequestId, Unreceived};

use super::Core;

impl Core {
    /// From here on nobody asks for messages any more that nobody has asked for yet: their senders hear of it, instead
    /// of waiting for a receiver that waits, in its own end, for somebody else.
    pub(crate) fn leave(&mut self) {
        self.post_line();
        self.machine.leave();
        self.settle();
    }

    /// Messages that have come and that nobody has received; known once this rank leaves.
    pub(crate) fn unreceived(&self) -> Option<Unreceived> {
        self.machine.unreceived()
    }

    /// Whether nothing that has been begun keeps this rank: no collective, nothing to send, no doubt about a peer.
    pub(crate) fn owes_nothing(&self) -> bool {
        self.suspects.is_empty() && self.runs.calls().next().is_none() && self.has_sent_all()
    }

    /// Begins the orderly end: everything sent is still delivered.
    pub(crate) fn close(&mut self) {
        if self.closing.is_none() {
            self.closing = Some(self.router.close());
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing == Some(0) && self.doubts.is_empty()
    }

    /// Whether everything that was sent has left, or has at least been handed to a transport that will
    /// deliver it before it closes.
    pub(crate) fn has_sent_all(&self) -> bool {
        let sending = |request: RequestId| {
            self.machine.describe(request).is_some_and(|description| description.kind != Kind::Receive)
        };
        self.router.is_flowing() && !self.owners.iter().any(|(request, _)| sending(*request))
    }
}
