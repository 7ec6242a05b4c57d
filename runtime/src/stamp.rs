//! The stamp on every message of a collective: who asked for what, and where, in 24 bytes.
//!
//! Ranks that disagree about a collective find out from the first message that reaches them: the stamp
//! is compared with their own call. It is readable, not a hash, so that the error can quote both sides;
//! only what comes from one place on all ranks is a digest: the settings that choose algorithms, and the
//! name of the source file, which the reader most likely calls collectives from as well.
//!
//! ```text
//!  0        1       2     3        4        8        16           20      24
//!  | call   | dtype | op  | tuning | root   | count  | file digest | line |
//! ```
//!
//! The first 16 bytes must agree; where the calls stand may differ.

use std::panic::Location;

use crate::datatype::ElementCode;
use crate::reduce::OpCode;

/// The bytes of a stamp, as they travel.
pub(crate) type StampBytes = [u8; 24];

/// How many of them must be the same on all ranks.
const AGREED: usize = 16;

/// Whether two stamps stand for the same call, wherever it stands.
pub(crate) fn agree(a: &StampBytes, b: &StampBytes) -> bool {
    a[..AGREED] == b[..AGREED]
}

/// Where a collective is called, as it travels: a digest of the file's name, and the line.
pub(crate) fn site(caller: &Location<'_>) -> [u8; 8] {
    // The end of the path tells files apart, and three words of it cost next to nothing per call.
    let digest =
        caller.file().as_bytes().rchunks(8).take(3).fold(0xcbf2_9ce4_8422_2325_u64, |hash, chunk| {
            let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
    // Folded to 32 bits on purpose.
    let file = (digest ^ digest >> 32) as u32;
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&file.to_le_bytes());
    bytes[4..].copy_from_slice(&caller.line().to_le_bytes());
    bytes
}

/// Where a rank's call stands that was told outside of a stamp; `here`: where this rank's own stands.
pub(crate) fn describe_told_site(site: [u8; 8], here: &Location<'_>) -> String {
    let mut stamp = [0; size_of::<StampBytes>()];
    stamp[AGREED..].copy_from_slice(&site);
    describe_site(&stamp, [here])
}

/// Where a peer's call stands, in words. `known`: call sites of this rank, whose files lend their names.
pub(crate) fn describe_site<'a>(
    stamp: &StampBytes,
    known: impl IntoIterator<Item = &'a Location<'a>>,
) -> String {
    let [f0, f1, f2, f3, l0, l1, l2, l3] = *stamp.last_chunk().unwrap_or(&[0; 8]);
    let line = u32::from_le_bytes([l0, l1, l2, l3]);
    let same = |caller: &&Location<'_>| site(caller)[..4] == [f0, f1, f2, f3];
    match known.into_iter().find(same) {
        Some(caller) => format!("{}:{line}", caller.file()),
        None => format!("line {line} of a file from which this rank has called nothing lately"),
    }
}

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
    Gather = 7,
    Scatter = 8,
    AllToAll = 9,
    Scan = 10,
    ExclusiveScan = 11,
    AllGatherVaried = 12,
    ReduceScatterVaried = 13,
    GatherVaried = 14,
    ScatterVaried = 15,
    AllToAllVaried = 16,
}

impl Call {
    const ALL: [Self; 16] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Gather,
        Self::Scatter,
        Self::AllToAll,
        Self::Scan,
        Self::ExclusiveScan,
        Self::AllGatherVaried,
        Self::ReduceScatterVaried,
        Self::GatherVaried,
        Self::ScatterVaried,
        Self::AllToAllVaried,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::AllToAll => "all_to_all",
            Self::Scan => "scan",
            Self::ExclusiveScan => "exclusive_scan",
            Self::AllGatherVaried => "all_gather_varied",
            Self::ReduceScatterVaried => "reduce_scatter_varied",
            Self::GatherVaried => "gather_varied",
            Self::ScatterVaried => "scatter_varied",
            Self::AllToAllVaried => "all_to_all_varied",
        }
    }
}

/// One rank's view of a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    pub(crate) call: Call,
    pub(crate) dtype: ElementCode,
    pub(crate) op: OpCode,
    /// In the communicator; 0 where there is none. With per-rank counts that all ranks know, a digest of
    /// them instead.
    pub(crate) root: u32,
    /// Elements, as the call counts them; bytes when the type is opaque. With per-rank counts that all
    /// ranks know, their sum; 0 where each rank knows its own only.
    pub(crate) count: u64,
    /// Digest of the settings that choose the algorithm: with others, ranks would run different ones.
    pub(crate) tuning: u8,
    /// Where the call stands; see [`site`].
    pub(crate) site: [u8; 8],
}

impl Stamp {
    pub(crate) fn to_bytes(self) -> StampBytes {
        let mut bytes = [0; 24];
        bytes[0] = self.call as u8;
        bytes[1] = self.dtype.to_wire();
        bytes[2] = self.op.to_wire();
        bytes[3] = self.tuning;
        bytes[4..8].copy_from_slice(&self.root.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..].copy_from_slice(&self.site);
        bytes
    }

    fn from_bytes(bytes: StampBytes) -> Option<Self> {
        let [call, dtype, op, tuning, r0, r1, r2, r3, c0, c1, c2, c3, c4, c5, c6, c7, site @ ..] = bytes;
        Some(Self {
            call: Call::ALL.into_iter().find(|c| *c as u8 == call)?,
            dtype: ElementCode::from_wire(dtype)?,
            op: OpCode::from_wire(op)?,
            root: u32::from_le_bytes([r0, r1, r2, r3]),
            count: u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
            tuning,
            site,
        })
    }

    /// What a peer's stamp says, in words; also for bytes that no ringworld of this version sends.
    pub(crate) fn describe(bytes: StampBytes) -> String {
        Self::from_bytes(bytes).map_or_else(
            || format!("a collective that this version does not know ({bytes:02x?})"),
            |stamp| stamp.to_string(),
        )
    }

    /// Whether two stamps stand for the same call under different settings.
    pub(crate) fn differ_in_tuning_only(a: StampBytes, b: StampBytes) -> bool {
        a[3] != b[3] && a[..3] == b[..3] && a[4..AGREED] == b[4..AGREED]
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { call, dtype, op, root, count, .. } = self;
        let name = call.name();
        match call {
            Call::Barrier => write!(f, "{name}()"),
            Call::Broadcast => write!(f, "{name}({count} x {dtype}, root {root})"),
            Call::AllGather => write!(f, "{name}({count} x {dtype} from each rank)"),
            Call::AllToAll => write!(f, "{name}({count} x {dtype} for each rank)"),
            Call::Gather => write!(f, "{name}({count} x {dtype} from each rank, root {root})"),
            Call::Scatter => write!(f, "{name}({count} x {dtype} for each rank, root {root})"),
            Call::Reduce => write!(f, "{name}({count} x {dtype}, {op}, root {root})"),
            Call::AllReduce | Call::ReduceScatter | Call::Scan | Call::ExclusiveScan => {
                write!(f, "{name}({count} x {dtype}, {op})")
            }
            Call::AllGatherVaried => write!(f, "{name}({count} x {dtype} in all, counts #{root:08x})"),
            Call::ReduceScatterVaried => {
                write!(f, "{name}({count} x {dtype} in all, counts #{root:08x}, {op})")
            }
            Call::GatherVaried | Call::ScatterVaried => write!(f, "{name}({dtype}, root {root})"),
            Call::AllToAllVaried => write!(f, "{name}({dtype})"),
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
            site: [1, 2, 3, 4, 5, 6, 7, 8],
        };
        assert_eq!(Stamp::from_bytes(stamp.to_bytes()), Some(stamp));
        assert_eq!(Stamp::describe(stamp.to_bytes()), "reduce(1099511627776 x f32, max, root 3)");
    }

    #[test]
    fn an_unknown_stamp_is_described_not_refused() {
        assert!(Stamp::describe([0xff; 24]).contains("does not know"));
    }

    #[test]
    fn the_place_of_a_call_is_told_apart_but_need_not_agree() {
        let (here, there) = (Location::caller(), Location::caller());
        let stamp = |site| {
            let (dtype, op) = (DType::Bytes.into(), OpCode::NONE);
            Stamp { call: Call::Barrier, dtype, op, root: 0, count: 0, tuning: 0, site }.to_bytes()
        };
        let (a, b) = (stamp(site(here)), stamp(site(there)));
        assert!(agree(&a, &b));
        assert_eq!(describe_site(&a, [there]), format!("{}:{}", file!(), here.line()));
        assert!(describe_site(&a, []).starts_with(&format!("line {} of a file", here.line())));
    }
}
