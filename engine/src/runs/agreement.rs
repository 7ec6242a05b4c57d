//! Whether ranks call the same: what comes is compared with what this rank has called, by their signatures.
//!
//! The first message that reaches a rank tells whether its sender runs the same collective, before any byte is
//! combined. What comes before the call has been made waits in `early`, and is compared with the call when that is made
//! ([`Runs::make`]). Neighbour: `core/mismatch` says what differs, and to whom.

use ringworld_protocol::{Element, Envelope};

use super::super::early::Note;
use super::super::last_calls::{LastCall, LastCalls};
use super::super::owners::RunId;
use super::super::signature::agree;
use super::Runs;
use super::context::{Called, Context, Disagreement, Mine};
use super::tag::{REMINDER, is_reminder, sequence_of, tag};

impl Runs {
    /// Which collective a message that this rank has sent is of.
    pub(crate) fn sequence_of(envelope: &Envelope) -> u32 {
        sequence_of(envelope.tag)
    }

    /// Compares a message of a collective with what this rank has called in the same communicator. One that can belong
    /// to no call of this rank is a disagreement.
    ///
    /// A message of a collective that this rank has not come to yet is in order; it is noted, and compared when the
    /// rank gets there, or never does: see [`Runs::uncalled`].
    pub(crate) fn arrive(&mut self, source: usize, envelope: &Envelope) -> Option<Disagreement> {
        let sequence = sequence_of(envelope.tag);
        let theirs = envelope.signature;
        let reminds = is_reminder(envelope.tag);
        let Some(context) =
            self.contexts.get(&envelope.context).filter(|context| context.is_behind(sequence))
        else {
            let number = (envelope.context, sequence);
            if reminds {
                self.early.reminder(number, source, theirs);
            } else {
                self.early.message(number, source, theirs);
            }
            return None;
        };
        if let Some(run) = context.under_way.find(sequence).and_then(|id| self.runs[id].as_mut()) {
            if agree(&run.signature, &theirs) {
                if reminds {
                    return None;
                }
                // Lengths that only the ranks concerned know decide who sends anything at all.
                if let Some(due) = run.due.checked_sub(1) {
                    run.due = due;
                    return None;
                }
            }
            return Some(Disagreement { sequence, theirs, mine: Mine::Called(run.called()) });
        }
        let mine = match context.recent.iter().rev().find(|called| called.sequence == sequence) {
            // In order when this rank has done its part already; what it was may be forgotten by now.
            None if reminds => return None,
            Some(called) if reminds && agree(&called.signature, &theirs) => return None,
            None => Mine::Finished,
            Some(called) => Mine::Called(*called),
        };
        Some(Disagreement { sequence, theirs, mine })
    }

    /// At the end of this rank's part: something that others have sent of a collective that this rank has never called,
    /// by sender and context.
    pub(crate) fn uncalled(&self) -> Option<(usize, u64, Disagreement)> {
        // Who waits for a rank that is done with a communicator, and has dropped it, may just not have got everything
        // yet.
        let counts =
            |(number, note): &((u64, u32), &Note)| note.messages > 0 || self.contexts.contains_key(&number.0);
        let ((context, sequence), note) =
            self.early.iter().filter(counts).min_by_key(|(number, note)| (*number, note.source))?;
        Some((
            note.source,
            context,
            Disagreement { sequence, theirs: note.signature, mine: Mine::NeverCalled },
        ))
    }

    /// What this rank has called last, for those who still wait for it when it has left.
    pub(crate) fn last_calls(&self) -> LastCalls {
        let called = |context: &Context| {
            let calls: Vec<_> =
                context.recent.iter().map(|called| (called.sequence, called.signature)).collect();
            calls.into_iter()
        };
        LastCalls::of(self.contexts.iter().map(|(number, context)| (*number, called(context))).collect())
    }

    /// What to send to those whom a run waits for in vain.
    pub(crate) fn reminder(&self, id: RunId) -> Option<Envelope> {
        let (context, Called { sequence, signature, .. }) = self.called(id)?;
        Some(Envelope { context, element: Element::RAW, tag: tag(sequence, REMINDER), signature })
    }

    /// The first of another rank's calls of a communicator that is not what this rank has called.
    pub(crate) fn first_disagreement<'a>(
        &self,
        context: u64,
        mut theirs: impl Iterator<Item = &'a LastCall>,
    ) -> Option<Disagreement> {
        let recent = &self.contexts.get(&context)?.recent;
        theirs.find_map(|LastCall { sequence, signature, .. }| {
            let mine = recent.iter().find(|called| called.sequence == *sequence)?;
            let (sequence, theirs) = (*sequence, *signature);
            (!agree(&mine.signature, &theirs)).then_some(Disagreement {
                sequence,
                theirs,
                mine: Mine::Called(*mine),
            })
        })
    }
}
