//! What a call was, for messages: small to copy, put into words only when something goes wrong.

use std::fmt;
use std::panic::Location;

use super::selector::{Source, Tag};
use ringworld_engine::signature::Signature;

/// One call of the user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Collective { signature: Signature, sequence: u32, caller: &'static Location<'static> },
    Send { name: &'static str, number: u64, to: usize, tag: u32 },
    Recv { name: &'static str, number: u64, from: Source, tag: Tag },
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collective { signature, sequence, caller } => {
                write!(f, "{signature} #{sequence} at {}:{}", caller.file(), caller.line())
            }
            Self::Send { name, number, to, tag } => write!(f, "{name} #{number} (to rank {to}, tag {tag})"),
            Self::Recv { name, number, from, tag } => {
                write!(f, "{name} #{number} (from {from}, {tag})")
            }
        }
    }
}
