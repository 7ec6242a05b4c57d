//! Which messages a receive takes: from whom, and with which tag.
//!
//! Neighbours: `status` says what came; the protocol does the matching.

use std::fmt;

use ringworld_protocol::{Envelope, Selector, TagSelector};

#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::ElementCode;

/// Whose messages to receive. A `usize` stands for [`Source::Rank`] wherever a call asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Those of any rank of the communicator.
    ///
    /// When all other ranks have left the world, only this one could still send, to itself. A receive that has begun
    /// goes on, and takes what this rank sends to itself before it waits for that receive. A call that waits, a task
    /// that awaits, and whoever asks whether it has ended get [`Error::PeerFinished`] if nothing has come: whether
    /// another thread of this rank would still have sent is not known, and nobody is left to wait for. A thread that
    /// is ended by a message of its own rank receives on a communicator of this rank alone, where it counts on nobody
    /// else, or is ended before the others leave.
    #[doc(alias("ANY_SOURCE", "MPI_ANY_SOURCE", "any_process"))]
    Any,
    /// Those of this rank only.
    Rank(usize),
}

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

/// Which messages to receive. A `u32` stands for [`Tag::Value`] wherever a call asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Those with any tag.
    #[doc(alias("ANY_TAG", "MPI_ANY_TAG"))]
    Any,
    /// Those with this tag only.
    Value(u32),
}

impl Tag {
    /// The largest tag: the whole range of `u32` is the user's.
    pub const MAX: u32 = u32::MAX;
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Self::Value(tag)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any rank"),
            Self::Rank(rank) => write!(f, "rank {rank}"),
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any tag"),
            Self::Value(tag) => write!(f, "tag {tag}"),
        }
    }
}

impl Communicator {
    pub(crate) fn envelope(&self, element: ElementCode, tag: u32) -> Envelope {
        let (context, element) = (self.inner.number * 2, element.into());
        Envelope { context, element, tag: u64::from(tag), signature: [0; 24] }
    }

    pub(crate) fn selector(&self, name: &str, from: Source, tag: Tag) -> Result<Selector> {
        let source = match from {
            // Nobody else can send here, so it does not matter when all other ranks have left the world.
            Source::Any if self.size() == 1 => Some(self.world_rank(0)),
            Source::Any => None,
            Source::Rank(rank) => {
                self.check_rank(name, rank)?;
                Some(self.world_rank(rank))
            }
        };
        let tag = match tag {
            Tag::Any => TagSelector::Any,
            Tag::Value(tag) => TagSelector::Exact(u64::from(tag)),
        };
        Ok(Selector { context: self.inner.number * 2, source, tag })
    }
}
