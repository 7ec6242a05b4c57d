//! Frames posted before lane 0 is established.
//!
//! A message is taken over, and is complete for whoever posted it: how long the connection takes is up to the other
//! rank's program. What is taken over is bounded twice, per message ([`PROMPT`]) and per peer ([`KEPT`]); beyond that,
//! messages wait in their sender's memory. The runtime sends no more without asking than its credits with a peer allow,
//! of which there are less than [`KEPT`] unless it is set otherwise, and which all together are bounded too.
//! Neighbours: `peer.rs` has one for each peer, `connect.rs` hands the frames to the connection.

use std::collections::VecDeque;

use ringworld_transport::{KEPT, PROMPT, Posted, SendMemory, Token};

use crate::framing::Prelude;
use crate::lane::{Outgoing, Payload, copy_behind};

/// Frames in the order in which they were posted.
#[derive(Default)]
pub(crate) struct Waiting {
    frames: VecDeque<Outgoing>,
    /// Bytes of frames that have been taken over.
    kept: usize,
}

impl Waiting {
    /// Appends a message: a copy of it, if that is within the bounds, or else the promise of its memory.
    pub(crate) fn push(&mut self, prelude: Prelude, memory: SendMemory, token: Token) -> Posted {
        let length = prelude.as_bytes().len() + memory.len();
        if memory.len() > PROMPT || self.kept + length > KEPT {
            self.frames.push_back(Outgoing { prelude, payload: Payload::Owned { memory, token }, sent: 0 });
            return Posted::Pending;
        }
        self.kept += length;
        copy_behind(&mut self.frames, &mut Vec::new(), &prelude, memory.as_slice());
        Posted::Complete
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether messages that have been taken over are among them.
    pub(crate) fn keeps_any(&self) -> bool {
        self.kept > 0
    }

    /// Hands all of them to the connection.
    pub(crate) fn take_frames(&mut self) -> VecDeque<Outgoing> {
        self.kept = 0;
        std::mem::take(&mut self.frames)
    }

    /// Drops everything; the memory of all messages is free.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
