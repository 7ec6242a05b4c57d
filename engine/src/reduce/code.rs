//! What a signature says about the operation, in one byte.
//!
//! ```text
//! 0             none: the collective only moves elements
//! 0 000 nnnn    built-in operation n
//! 0 fff nnnn    the same with factors, of which f (1 to 7) is a digest
//! 1 ddddddd     user operation; d is a digest of its name and the element's size
//! ```
//!
//! Invariant: equal operations have equal codes on every rank and machine. Different names or factors may
//! share a digest; then the disagreement is not found here. Neighbours: `signature` compares the codes, `known` has
//! what they stand for, for messages.

use std::fmt;
use std::hash::Hasher as _;

use super::known;
use super::op::Op;

/// The operation of a collective, as ranks name it to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpCode(u8);

const USER: u8 = 0x80;
const NUMBER: u8 = 0x0f;

impl OpCode {
    /// Nothing is reduced.
    pub const NONE: Self = Self(0);

    pub(crate) const fn of(op: Op) -> Self {
        Self(op as u8)
    }

    pub(crate) fn scaled(op: Op, before: f64, after: f64) -> Self {
        let digest = fnv1a(before.to_bits().to_le_bytes().into_iter().chain(after.to_bits().to_le_bytes()));
        let code = op as u8 | ((digest % 7) as u8 + 1) << 4;
        known::note_factors(code, before, after);
        Self(code)
    }

    pub(crate) fn user(name: &str, element: usize) -> Self {
        let digest = fnv1a(name.bytes().chain((element as u64).to_le_bytes()));
        let code = USER | digest as u8;
        known::note_user(code, name);
        Self(code)
    }

    pub(crate) const fn to_wire(self) -> u8 {
        self.0
    }

    pub(crate) fn from_wire(byte: u8) -> Option<Self> {
        let known = byte == 0 || byte & USER != 0 || Op::from_wire(byte & NUMBER).is_some();
        known.then_some(Self(byte))
    }
}

impl fmt::Display for OpCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (Op::from_wire(self.0 & NUMBER), self.0 >> 4) {
            _ if self.0 == 0 => f.write_str("no op"),
            _ if self.0 & USER != 0 => known::tell_user(self.0, f),
            (Some(op), 0) => op.fmt(f),
            (Some(op), _) => {
                write!(f, "{op} ")?;
                known::tell_factors(self.0, f)
            }
            (None, _) => write!(f, "op {:02x}", self.0),
        }
    }
}

/// The 64-bit FNV-1a digest, folded so that its low bits depend on all of it.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    for byte in bytes {
        hasher.write(&[byte]);
    }
    let digest = hasher.finish();
    (digest >> 32 ^ digest) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_the_wire_and_can_be_read() {
        let codes = Op::ALL
            .into_iter()
            .flat_map(|op| [OpCode::of(op), OpCode::scaled(op, 0.25, 3.0)])
            .chain([OpCode::NONE, OpCode::user("quaternion product", 16)]);
        for code in codes {
            assert_eq!(OpCode::from_wire(code.to_wire()), Some(code));
        }
        assert_eq!(OpCode::of(Op::MinLocation).to_string(), "min location");
        assert!(OpCode::scaled(Op::Sum, 1.0, 2.0).to_string().starts_with("sum with factors"));
        assert!(OpCode::user("x", 4).to_string().contains("\"x\""));
        assert_eq!(OpCode::from_wire(0x0e), None);
    }

    /// Ranks of different builds must agree, so the digests are part of the wire format.
    #[test]
    fn digests_stay_as_they_are() {
        assert_eq!(OpCode::user("quaternion product", 16).to_wire(), 180);
        assert_eq!(OpCode::scaled(Op::Sum, 0.5, 1.0).to_wire(), 0x21);
    }

    #[test]
    fn names_sizes_and_factors_make_a_difference() {
        assert_ne!(OpCode::user("a", 4), OpCode::user("b", 4));
        assert_ne!(OpCode::user("a", 4), OpCode::user("a", 8));
        assert_ne!(OpCode::scaled(Op::Sum, 1.0, 0.5), OpCode::scaled(Op::Sum, 0.5, 1.0));
        assert_ne!(OpCode::scaled(Op::Sum, 1.0, 1.0), OpCode::of(Op::Sum));
    }
}
