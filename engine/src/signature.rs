//! The signature on every message of a collective: who asked for what, and where, in 24 bytes.
//!
//! Ranks that disagree about a collective find out from the first message that reaches them: the signature
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

use super::reduce::ElementCode;
use super::reduce::OpCode;

/// The bytes of a signature, as they travel.
pub type SignatureBytes = [u8; 24];

/// How many of them must be the same on all ranks.
const AGREED: usize = 16;

/// Whether two signatures stand for the same call, wherever it stands; or for calls that begin with the same exchange,
/// in which all ranks see what each has called and come to the same end.
#[inline]
pub fn agree(a: &SignatureBytes, b: &SignatureBytes) -> bool {
    a[..AGREED] == b[..AGREED] || is_one_exchange(a, b)
}

#[cold]
fn is_one_exchange(a: &SignatureBytes, b: &SignatureBytes) -> bool {
    let exchange = |signature: &SignatureBytes| Call::of(signature[0]).and_then(Call::exchange);
    // Who is root is among what the ranks see.
    exchange(a).is_some() && exchange(a) == exchange(b) && a[1..4] == b[1..4] && a[8..AGREED] == b[8..AGREED]
}

/// Where a collective is called, as it travels: a digest of the file's name, and the line.
#[inline]
pub fn site(caller: &Location<'_>) -> [u8; 8] {
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

/// Where a rank's call stands that was told outside of a signature; `here`: where this rank's own stands.
pub fn describe_told_site(site: [u8; 8], here: &Location<'_>) -> String {
    let mut signature = [0; size_of::<SignatureBytes>()];
    signature[AGREED..].copy_from_slice(&site);
    describe_site(&signature, [here])
}

/// Where a peer's call stands, in words. `known`: call sites of this rank, whose files lend their names.
pub fn describe_site<'a>(
    signature: &SignatureBytes,
    known: impl IntoIterator<Item = &'a Location<'a>>,
) -> String {
    let [f0, f1, f2, f3, l0, l1, l2, l3] = *signature.last_chunk().unwrap_or(&[0; 8]);
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
pub enum Call {
    /// `barrier`
    Barrier = 1,
    /// `broadcast`
    Broadcast = 2,
    /// `reduce`
    Reduce = 3,
    /// `all_reduce`
    AllReduce = 4,
    /// `all_gather`
    AllGather = 5,
    /// `reduce_scatter`
    ReduceScatter = 6,
    /// `gather`
    Gather = 7,
    /// `scatter`
    Scatter = 8,
    /// `all_to_all`
    AllToAll = 9,
    /// `scan`
    Scan = 10,
    /// `exclusive_scan`
    ExclusiveScan = 11,
    /// `all_gather_varied`
    AllGatherVaried = 12,
    /// `reduce_scatter_varied`
    ReduceScatterVaried = 13,
    /// `gather_varied`
    GatherVaried = 14,
    /// `scatter_varied`
    ScatterVaried = 15,
    /// `all_to_all_varied`
    AllToAllVaried = 16,
    /// `broadcast_object`
    BroadcastObject = 17,
    /// `scatter_objects`
    ScatterObjects = 18,
    /// `gather_objects`
    GatherObjects = 19,
    /// `all_gather_objects`
    AllGatherObjects = 20,
    /// `reduce_object`
    ReduceObject = 21,
    /// `all_reduce_object`
    AllReduceObject = 22,
    /// `split`
    Split = 23,
    /// `split_by_host`
    SplitByHost = 24,
    /// `duplicate`
    Duplicate = 25,
    /// `create`
    Create = 26,
    /// `Cartesian::new`
    Grid = 27,
    /// `Cartesian::sub`
    SubGrid = 28,
}

/// Exchanges with which several calls begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    /// Every rank announces its object.
    Objects,
    /// Every rank says what communicator it makes.
    Communicators,
}

impl Call {
    const ALL: [Self; 28] = [
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
        Self::BroadcastObject,
        Self::ScatterObjects,
        Self::GatherObjects,
        Self::AllGatherObjects,
        Self::ReduceObject,
        Self::AllReduceObject,
        Self::Split,
        Self::SplitByHost,
        Self::Duplicate,
        Self::Create,
        Self::Grid,
        Self::SubGrid,
    ];

    pub(crate) fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|call| *call as u8 == number)
    }

    fn exchange(self) -> Option<Exchange> {
        match self {
            Self::GatherObjects | Self::AllGatherObjects | Self::ReduceObject | Self::AllReduceObject => {
                Some(Exchange::Objects)
            }
            Self::Split | Self::SplitByHost | Self::Duplicate | Self::Create | Self::Grid | Self::SubGrid => {
                Some(Exchange::Communicators)
            }
            _ => None,
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
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
            Self::BroadcastObject => "broadcast_object",
            Self::ScatterObjects => "scatter_objects",
            Self::GatherObjects => "gather_objects",
            Self::AllGatherObjects => "all_gather_objects",
            Self::ReduceObject => "reduce_object",
            Self::AllReduceObject => "all_reduce_object",
            Self::Split => "split",
            Self::SplitByHost => "split_by_host",
            Self::Duplicate => "duplicate",
            Self::Create => "create",
            Self::Grid => "Cartesian::new",
            Self::SubGrid => "Cartesian::sub",
        }
    }
}

/// One rank's view of a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Which collective.
    pub call: Call,
    /// Of which elements.
    pub dtype: ElementCode,
    /// By which operation.
    pub op: OpCode,
    /// In the communicator; 0 where there is none. With per-rank counts that all ranks know, a digest of
    /// them instead, and one of the lengths of several slices that are reduced as one.
    pub root: u32,
    /// Elements, as the call counts them; bytes when the type is opaque. With per-rank counts that all
    /// ranks know, their sum; 0 where each rank knows its own only.
    pub count: u64,
    /// Digest of the settings that choose the algorithm: with others, ranks would run different ones.
    pub tuning: u8,
    /// Where the call stands; see [`site`].
    pub site: [u8; 8],
}

impl Signature {
    /// As it travels.
    #[must_use]
    #[inline]
    pub fn to_bytes(self) -> SignatureBytes {
        let mut bytes = [0; 24];
        // A whole word, which is not moved on in parts.
        let what = [self.call as u8, self.dtype.to_wire(), self.op.to_wire(), self.tuning];
        let word = u64::from(u32::from_le_bytes(what)) | u64::from(self.root) << 32;
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..].copy_from_slice(&self.site);
        bytes
    }

    fn from_bytes(bytes: SignatureBytes) -> Option<Self> {
        let [call, dtype, op, tuning, r0, r1, r2, r3, c0, c1, c2, c3, c4, c5, c6, c7, site @ ..] = bytes;
        Some(Self {
            call: Call::of(call)?,
            dtype: ElementCode::from_wire(dtype)?,
            op: OpCode::from_wire(op)?,
            root: u32::from_le_bytes([r0, r1, r2, r3]),
            count: u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
            tuning,
            site,
        })
    }

    /// What a peer's signature says, in words; also for bytes that no ringworld of this version sends.
    pub fn describe(bytes: SignatureBytes) -> String {
        Self::from_bytes(bytes).map_or_else(
            || format!("a collective that this version does not know ({bytes:02x?})"),
            |signature| signature.to_string(),
        )
    }

    /// What there is to say of `mine` beside `theirs`, with which it does not go together, beyond what both look like.
    pub fn compare(theirs: SignatureBytes, mine: SignatureBytes) -> String {
        let [settings_aside, lengths_aside, count_aside] = [3..4, 4..8, 8..16].map(|aside| {
            let [mut a, mut b] = [theirs, mine];
            a[aside.clone()].fill(0);
            b[aside].fill(0);
            a[..AGREED] == b[..AGREED]
        });
        if agree(&theirs, &mine) {
            " and needs nothing more for it; the counts that ranks give must agree".into()
        } else if settings_aside {
            " under other settings; RINGWORLD_SEGMENT, RINGWORLD_ALGORITHMS, RINGWORLD_REPRODUCIBLE and Options must \
             be the same on all ranks"
                .into()
        } else if lengths_aside && theirs[0] == Call::AllReduce as u8 {
            "; slices that are reduced together must have the same lengths, in the same order, on all ranks"
                .into()
        } else if count_aside && Self::describe(theirs) == Self::describe(mine) {
            let count = |signature| Self::from_bytes(signature).map_or(0, |signature| signature.count);
            format!(" with {} bytes under way instead of {}", count(mine), count(theirs))
        } else {
            String::new()
        }
    }
}

impl std::fmt::Display for Signature {
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
            Call::AllReduce if *root != 0 => {
                write!(f, "{name}({count} x {dtype} in slices, lengths #{root:08x}, {op})")
            }
            Call::AllReduce | Call::ReduceScatter | Call::Scan | Call::ExclusiveScan => {
                write!(f, "{name}({count} x {dtype}, {op})")
            }
            Call::AllGatherVaried => write!(f, "{name}({count} x {dtype} in all, counts #{root:08x})"),
            Call::ReduceScatterVaried => {
                write!(f, "{name}({count} x {dtype} in all, counts #{root:08x}, {op})")
            }
            Call::GatherVaried | Call::ScatterVaried => write!(f, "{name}({dtype}, root {root})"),
            Call::AllToAllVaried => write!(f, "{name}({dtype})"),
            Call::BroadcastObject | Call::ScatterObjects | Call::GatherObjects | Call::ReduceObject => {
                write!(f, "{name}(root {root})")
            }
            Call::AllGatherObjects
            | Call::AllReduceObject
            | Call::Split
            | Call::SplitByHost
            | Call::Duplicate
            | Call::Create
            | Call::Grid
            | Call::SubGrid => write!(f, "{name}()"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduce::{DType, Op};
    use super::*;

    #[test]
    fn a_signature_survives_the_wire_and_reads_like_the_call() {
        let signature = Signature {
            call: Call::Reduce,
            dtype: DType::F32.into(),
            op: OpCode::of(Op::Max),
            root: 3,
            count: 1 << 40,
            tuning: 9,
            site: [1, 2, 3, 4, 5, 6, 7, 8],
        };
        assert_eq!(Signature::from_bytes(signature.to_bytes()), Some(signature));
        assert_eq!(Signature::describe(signature.to_bytes()), "reduce(1099511627776 x f32, max, root 3)");
    }

    fn signature(call: Call, root: u32, count: u64, tuning: u8) -> SignatureBytes {
        let (dtype, op) = (DType::Bytes.into(), OpCode::NONE);
        Signature { call, dtype, op, root, count, tuning, site: [0; 8] }.to_bytes()
    }

    #[test]
    fn every_call_has_a_number_of_its_own_by_which_it_is_found() {
        for call in Call::ALL {
            assert_eq!(Call::of(call as u8), Some(call));
        }
        assert_eq!((Call::of(0), Call::of(29)), (None, None));
    }

    #[test]
    fn calls_that_begin_with_one_exchange_agree_in_it_and_with_nothing_else() {
        let offers =
            [Call::Split, Call::SplitByHost, Call::Duplicate, Call::Create, Call::Grid, Call::SubGrid];
        let objects =
            [Call::GatherObjects, Call::AllGatherObjects, Call::ReduceObject, Call::AllReduceObject];
        for (a, b) in Call::ALL.into_iter().flat_map(|a| Call::ALL.map(|b| (a, b))) {
            let together = [&offers[..], &objects].iter().any(|all| all.contains(&a) && all.contains(&b));
            assert_eq!(agree(&signature(a, 0, 40, 0), &signature(b, 1, 40, 0)), together, "{a:?} and {b:?}");
            assert_eq!(agree(&signature(a, 0, 40, 0), &signature(b, 0, 40, 0)), together || a == b);
            assert!(!agree(&signature(a, 0, 40, 0), &signature(b, 0, 41, 0)));
            assert!(!agree(&signature(a, 0, 40, 0), &signature(b, 0, 40, 1)));
        }
    }

    #[test]
    fn what_two_calls_do_not_show_is_said() {
        let compare = |a, b| Signature::compare(a, b);
        let broadcast = |root, count, tuning| signature(Call::Broadcast, root, count, tuning);
        assert_eq!(compare(broadcast(0, 1, 0), broadcast(1, 1, 0)), "");
        assert_eq!(compare(broadcast(0, 1, 0), broadcast(0, 2, 0)), "");
        assert!(compare(broadcast(0, 1, 0), broadcast(0, 1, 7)).contains("other settings"));
        assert!(compare(broadcast(0, 1, 0), broadcast(0, 1, 0)).contains("counts"));
        let object = |count| signature(Call::BroadcastObject, 1, count, 0);
        assert_eq!(compare(object(256), object(70)), " with 70 bytes under way instead of 256");
    }

    #[test]
    fn an_unknown_signature_is_described_not_refused() {
        assert!(Signature::describe([0xff; 24]).contains("does not know"));
    }

    #[test]
    fn the_place_of_a_call_is_told_apart_but_need_not_agree() {
        let (here, there) = (Location::caller(), Location::caller());
        let signature = |site| {
            let (dtype, op) = (DType::Bytes.into(), OpCode::NONE);
            Signature { call: Call::Barrier, dtype, op, root: 0, count: 0, tuning: 0, site }.to_bytes()
        };
        let (a, b) = (signature(site(here)), signature(site(there)));
        assert!(agree(&a, &b));
        assert_eq!(describe_site(&a, [there]), format!("{}:{}", file!(), here.line()));
        assert!(describe_site(&a, []).starts_with(&format!("line {} of a file", here.line())));
    }
}
