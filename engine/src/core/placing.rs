//! Where the payload of a message goes.

use ringworld_protocol::{Envelope, Machine, Place};
use ringworld_transport::{Placement, Placer, RecvMemory, Token};

use super::super::buffer::Buffers;
use super::super::runs::{Disagreement, Runs, is_reminder};

/// Answers the transports' one question, and compares signatures on the way.
pub(super) struct Placing<'a> {
    pub(super) machine: &'a mut Machine,
    pub(super) buffers: &'a mut Buffers,
    pub(super) runs: &'a mut Runs,
    pub(super) clash: Option<(usize, u64, Disagreement)>,
    /// How many reminders came, and those that the protocol still has.
    pub(super) reminders: usize,
    pub(super) reminded: Vec<(usize, Envelope)>,
    pub(super) announced: Announced,
}

/// In which contexts of users messages have come, well enough to wake those who wait for one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Announced {
    #[default]
    None,
    In(u64),
    Several,
}

impl Announced {
    fn add(&mut self, context: u64) {
        *self = match *self {
            Self::None => Self::In(context),
            Self::In(other) if other == context => Self::In(context),
            Self::In(_) | Self::Several => Self::Several,
        };
    }

    pub(super) fn has(self, context: u64) -> bool {
        match self {
            Self::None => false,
            Self::In(other) => other == context,
            Self::Several => true,
        }
    }
}

impl Placer for Placing<'_> {
    fn place(&mut self, peer: usize, header: &[u8], length: usize) -> Result<Placement, String> {
        let target = self.machine.header(peer, header, length).map_err(|malformed| malformed.to_string())?;
        if let Some(envelope) = target.announces
            && !is_collective(envelope.context)
        {
            self.announced.add(envelope.context);
        } else if let Some(envelope) = target.announces {
            if is_reminder(envelope.tag) {
                self.reminders += 1;
                self.reminded.push((peer, envelope));
            }
            if let Some(disagreement) = self.runs.arrive(peer, &envelope) {
                self.clash.get_or_insert((peer, envelope.context, disagreement));
            }
        }
        let memory = match target.place {
            Place::Span(span) => self.buffers.to_receive(span),
            Place::Bounce { len } => self.buffers.bounce(target.token, len),
            Place::Nothing => RecvMemory::empty(),
        };
        Ok(Placement { token: Token(target.token), memory })
    }
}

/// Each communicator has two contexts: even for messages of the user, odd for collectives.
pub(crate) fn is_collective(context: u64) -> bool {
    context % 2 == 1
}
