//! What tests make wrong, so that it is found: in the machine, around it, or in what it is told.

use crate::machine::Planted;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Machine(Planted),
    /// A leader never hears what voters have accepted.
    IgnoresAccepted,
    /// Somebody knocks for a process that there is not.
    AdmitsStrangers,
    NoLeast,
    NoMost,
    NoEnd,
    /// What is lost is lost.
    NoRepeat,
    /// Everything is said again every millisecond.
    Chatter,
}

impl Fault {
    pub(super) fn planted(self) -> Option<Planted> {
        match self {
            Self::Machine(planted) => Some(planted),
            _ => None,
        }
    }
}
