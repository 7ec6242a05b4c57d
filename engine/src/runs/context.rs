//! What a rank has called in one communicator, under way or lately, and how it quotes that to others.

use std::collections::VecDeque;
use std::panic::Location;

use super::super::owners::RunId;
use super::super::signature::SignatureBytes;
use super::super::under_way::UnderWay;
use super::channel::Channel;

/// How many finished collectives an error can still quote; a rank that has sent everything may be some
/// ahead of the rank that finds the disagreement.
const QUOTABLE: usize = 64;

#[derive(Default)]
pub(super) struct Context {
    pub(super) under_way: UnderWay<RunId>,
    pub(super) next: u32,
    /// The latest collectives, finished ones included, so that an error can quote them.
    pub(super) recent: VecDeque<Called>,
    /// Where its ranks show one another what they give in exchanges, once there was one.
    pub(super) channel: Option<Channel>,
}

/// A collective as this rank has called it.
#[derive(Clone, Copy)]
pub(crate) struct Called {
    pub sequence: u32,
    pub signature: SignatureBytes,
    pub caller: &'static Location<'static>,
}

/// What a peer wants and what this rank wants, when they differ.
pub(crate) struct Disagreement {
    pub sequence: u32,
    pub theirs: SignatureBytes,
    pub mine: Mine,
}

/// What this rank has to say of a collective.
pub(crate) enum Mine {
    /// Another call; or the same one, which does not need what the peer has sent.
    Called(Called),
    /// It finished that one so long ago that it is forgotten.
    Finished,
    /// It has not called it, and never will.
    NeverCalled,
    /// Nor this one, for it has dropped the communicator.
    Dropped,
}

impl Context {
    /// Notes the next collective, whose number is [`Context::next`].
    #[inline]
    pub(super) fn enter(&mut self, called: Called) {
        self.next = called.sequence.wrapping_add(1);
        if self.recent.len() == QUOTABLE {
            self.recent.pop_front();
        }
        self.recent.push_back(called);
    }

    /// Whether this rank has called that collective. Half of the circle lies ahead, half behind.
    #[inline]
    pub(super) fn is_behind(&self, sequence: u32) -> bool {
        self.next.wrapping_sub(sequence).wrapping_sub(1) < u32::MAX / 2
    }
}
