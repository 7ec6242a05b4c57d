//! The stamp on every message of a collective: who asked for what, in 16 bytes.
//!
//! Ranks that disagree about a collective find out from the first message that reaches them: the stamp
//! is compared with their own call. It is readable, not a hash, so that the error can quote both sides;
//! only the settings that choose algorithms are a digest, because they come from one place.
//!
//! ```text
//!  0        1       2     3        4        8             16
//!  | call   | dtype | op  | zero   | root   | count       |
//! ```

use crate::datatype::ElementCode;
use crate::reduce::OpCode;

/// The collectives, by their numbers on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Call {
    Barrier = 1,
    Broadcast = 2,
    Reduce = 3,
    AllReduce = 4,
    AllGather = 5,
    ReduceScatter = 6,
}

impl Call {
    const ALL: [Self; 6] =
        [Self::Barrier, Self::Broadcast, Self::Reduce, Self::AllReduce, Self::AllGather, Self::ReduceScatter];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
        }
    }
}

/// One rank's view of a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    pub(crate) call: Call,
    pub(crate) dtype: ElementCode,
    pub(crate) op: OpCode,
    /// In the communicator; 0 where there is none.
    pub(crate) root: u32,
    /// Elements, as the call counts them; bytes when the type is opaque.
    pub(crate) count: u64,
    /// Digest of the settings that choose the algorithm: with others, ranks would run different ones.
    pub(crate) tuning: u8,
}

impl Stamp {
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[0] = self.call as u8;
        bytes[1] = self.dtype.to_wire();
        bytes[2] = self.op.to_wire();
        bytes[3] = self.tuning;
        bytes[4..8].copy_from_slice(&self.root.to_le_bytes());
        bytes[8..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        let [call, dtype, op, tuning, r0, r1, r2, r3, c0, c1, c2, c3, c4, c5, c6, c7] = bytes;
        Some(Self {
            call: Call::ALL.into_iter().find(|c| *c as u8 == call)?,
            dtype: ElementCode::from_wire(dtype)?,
            op: OpCode::from_wire(op)?,
            root: u32::from_le_bytes([r0, r1, r2, r3]),
            count: u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
            tuning,
        })
    }

    /// What a peer's stamp says, in words; also for bytes that no ringworld of this version sends.
    pub(crate) fn describe(bytes: [u8; 16]) -> String {
        Self::from_bytes(bytes).map_or_else(
            || format!("a collective that this version does not know ({bytes:02x?})"),
            |stamp| stamp.to_string(),
        )
    }

    /// Whether two stamps stand for the same call under different settings.
    pub(crate) fn differ_in_tuning_only(a: [u8; 16], b: [u8; 16]) -> bool {
        a[3] != b[3] && a[..3] == b[..3] && a[4..] == b[4..]
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.call.name();
        match self.call {
            Call::Barrier => write!(f, "{name}()"),
            Call::Broadcast => write!(f, "{name}({} x {}, root {})", self.count, self.dtype, self.root),
            Call::AllGather => write!(f, "{name}({} x {} from each rank)", self.count, self.dtype),
            Call::Reduce | Call::AllReduce | Call::ReduceScatter => {
                write!(f, "{name}({} x {}, {}", self.count, self.dtype, self.op)?;
                if self.call == Call::Reduce {
                    write!(f, ", root {}", self.root)?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Op};

    #[test]
    fn a_stamp_survives_the_wire_and_reads_like_the_call() {
        let stamp = Stamp {
            call: Call::Reduce,
            dtype: DType::F32.into(),
            op: OpCode::of(Op::Max),
            root: 3,
            count: 1 << 40,
            tuning: 9,
        };
        assert_eq!(Stamp::from_bytes(stamp.to_bytes()), Some(stamp));
        assert_eq!(Stamp::describe(stamp.to_bytes()), "reduce(1099511627776 x f32, max, root 3)");
    }

    #[test]
    fn an_unknown_stamp_is_described_not_refused() {
        assert!(Stamp::describe([0xff; 16]).contains("does not know"));
    }
}
