//! What a call was, for messages: small to copy, put into words only when something goes wrong.

use std::fmt;
use std::panic::Location;

use crate::communicator::{Source, Tag};
use crate::stamp::Stamp;

/// One call of the user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Collective { stamp: Stamp, sequence: u32, caller: &'static Location<'static> },
    Send { name: &'static str, number: u64, to: usize, tag: u32 },
    Recv { name: &'static str, number: u64, from: Source, tag: Tag },
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collective { stamp, sequence, caller } => {
                write!(f, "{stamp} #{sequence} at {}:{}", caller.file(), caller.line())
            }
            Self::Send { name, number, to, tag } => write!(f, "{name} #{number} (to rank {to}, tag {tag})"),
            Self::Recv { name, number, from, tag } => {
                write!(f, "{name} #{number} (from {from}, {tag})")
            }
        }
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
