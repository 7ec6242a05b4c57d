//! What ranks show one another instead of sending it: shown, looked for, and taken in place of a message.
//!
//! A receive that is looked for is awaited or posted as well. So whoever finds what it wants takes the receive back
//! first: a message has come in its place only if that cannot be done. Neighbour: `runs/shown`, which says why.

use ringworld_protocol::{Mode, Span};

use super::super::owners::{Owner, RunId};
use super::super::runs::{Patience, Trouble, Wires};
use super::Core;

impl Core {
    /// Shows what a run gives that has just been made.
    #[inline]
    pub(super) fn show(&mut self, run: RunId, patience: Patience) {
        let Self { machine, router, buffers, owners, observed, .. } = self;
        let mut wires = Wires { machine, router, buffers, owners, observed };
        let Some(unsure) = self.runs.show(run, patience, &mut wires).map(<[usize]>::to_vec) else { return };
        let Some(reminder) = self.runs.reminder(run) else { return };
        for peer in unsure {
            // Nobody asks how it ends.
            let _unowned = self.machine.send(peer, reminder, Span::EMPTY, Mode::Standard);
        }
    }

    /// Looks for everything that runs look for; whether any of it was there.
    pub(super) fn look(&mut self) -> bool {
        let (mut index, mut found) = (0, false);
        while let Some(run) = self.runs.looking(index) {
            if self.look_for(run, false) {
                found = true;
            } else {
                index += 1;
            }
        }
        found
    }

    /// Looks for what a run looks for, takes the first that is there, and goes on with the run; whether any was there.
    #[inline]
    pub(super) fn look_for(&mut self, run: RunId, polls: bool) -> bool {
        let Some((step, is_awaited)) = self.runs.find_shown(run, &mut self.router) else { return false };
        if !is_awaited && !self.take_back(run, step) {
            self.runs.look_no_more(run, step);
            return true;
        }
        self.take_shown(run, step, polls)
    }

    /// Takes back the receive of a step, unless a message has come for it.
    fn take_back(&mut self, run: RunId, step: u32) -> bool {
        let mine = Owner::Step { run, step };
        let request = self.owners.iter().find(|(_, owner)| *owner == mine).map(|(request, _)| *request);
        // It was posted, and has not ended.
        let Some(request) = request else { return false };
        let taken = self.machine.cancel(request);
        if taken {
            self.owners.remove(request);
            // At once: the next request may have the same number.
            self.settle();
        }
        taken
    }

    /// Takes what is shown for a step without a receive, and goes on with the run; whether it was there.
    #[inline]
    pub(super) fn take_shown(&mut self, run: RunId, step: u32, polls: bool) -> bool {
        let Self { machine, router, buffers, owners, observed, .. } = self;
        let taken =
            self.runs.take_shown(run, step, &mut Wires { machine, router, buffers, owners, observed });
        // Also where something was found that cannot be.
        self.advance_run(run, polls);
        taken
    }

    /// What ranks show is not what this one has called.
    #[cold]
    pub(super) fn seen(&mut self, trouble: Trouble) {
        if self.fault.is_some() {
            return;
        }
        match trouble {
            Trouble::Disagree(source, context, disagreement) => self.disagree(source, context, &disagreement),
            Trouble::Wrong(detail) => self.step_wrong(detail),
        }
    }
}
