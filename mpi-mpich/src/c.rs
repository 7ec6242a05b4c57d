//! Handles and constants of MPICH's ABI, and how they become those of the standard's.
//!
//! Handles are numbers of 32 bits: two bits say whether an object is none, predefined or made, four its kind, the
//! others which. The tables have the values of MPICH's public header.

#![allow(non_camel_case_types, reason = "the names are C's")]

use std::ffi::{c_int, c_void};

use ringworld_mpi::host::{Function, Host, enter};
use ringworld_mpi::kind::Kind;
use ringworld_mpi::standard::{self, Datatype, FIRST_HANDLE};
use ringworld_mpi::status::Status;

pub(crate) type MPI_Comm = u32;
pub(crate) type MPI_Group = u32;
pub(crate) type MPI_Datatype = u32;
pub(crate) type MPI_Op = u32;
pub(crate) type MPI_Request = u32;
pub(crate) type MPI_Message = u32;
pub(crate) type MPI_Info = u32;
pub(crate) type MPI_Errhandler = u32;
pub(crate) type MPI_Session = u32;
pub(crate) type MPI_Win = u32;
pub(crate) type MPI_File = usize;

/// A status, as programs see it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct MPI_Status {
    count_low: c_int,
    /// The lowest bit says whether it was cancelled.
    count_high: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

static HOST: Host = Host {
    library: "the ABI of MPICH",
    // A program that finds a version takes this for a library of the standard's ABI.
    abi_version: (0, 0),
    max_processor_name: 128,
    // One less than the longest key with its end, which MPICH takes and gives back cut off, too.
    max_info_key: 255,
    any_source: ANY_SOURCE,
    proc_null: PROC_NULL,
    buffer_automatic: BUFFER_AUTOMATIC as usize,
    handle_bytes: 4,
    handle_in,
    handle_out,
    status_bytes: size_of::<MPI_Status>(),
    write_status,
    read_status,
    order_out: |x| distribute_out(order_out(x)),
    error_in,
    error_out,
    call_errhandler,
    call_copy,
    call_delete,
    call_op,
    call_query,
    call_free,
    call_cancel,
};

/// Every function begins with it.
#[inline]
pub(crate) fn begin() {
    enter(&HOST);
}

/// Datatypes of the standard's ABI, and MPICH's.
const DATATYPES: &[(usize, usize)] = &[
    (0x20b, 0x4c000809),
    (0x201, 0x4c000843),
    (0x202, 0x4c000845),
    (0x203, 0x4c000844),
    (0x207, 0x4c00010f),
    (0x208, 0x4c000203),
    (0x209, 0x4c000405),
    (0x20a, 0x4c000807),
    (0x20c, 0x4c000204),
    (0x20d, 0x4c000406),
    (0x20e, 0x4c000808),
    (0x20f, 0x4c000819),
    (0x210, 0x4c00040a),
    (0x212, 0x4c000840),
    (0x213, 0x4c000834),
    (0x214, 0x4c00080b),
    (0x216, 0x4c001041),
    (0x217, 0x4c001035),
    (0x218, 0x4c00041d),
    (0x219, 0x4c00041b),
    (0x21a, 0x4c00041c),
    (0x21b, 0x4c00081e),
    (0x21c, 0x4c00081f),
    (0x21d, 0x4c001022),
    (0x21e, 0x4c00011a),
    (0x220, 0x4c00100c),
    (0x224, 0x4c002042),
    (0x225, 0x4c002036),
    (0x228, 0x8c000000),
    (0x229, 0x8c000001),
    (0x22a, 0x8c000002),
    (0x22b, 0x4c000816),
    (0x22c, 0x8c000003),
    (0x22d, 0x8c000004),
    (0x230, 0x4c000821),
    (0x231, 0x4c001023),
    (0x232, 0x4c000820),
    (0x238, 0x4c00013f),
    (0x239, 0x4c000133),
    (0x23c, 0x4c00040e),
    (0x240, 0x4c000137),
    (0x241, 0x4c00013b),
    (0x243, 0x4c000101),
    (0x244, 0x4c000118),
    (0x245, 0x4c000102),
    (0x247, 0x4c00010d),
    (0x248, 0x4c000238),
    (0x249, 0x4c00023c),
    (0x250, 0x4c000439),
    (0x251, 0x4c00043d),
    (0x258, 0x4c00083a),
    (0x259, 0x4c00083e),
    (0x2c0, 0x4c000147),
    (0x2c1, 0x4c00012d),
    (0x2c8, 0x4c000248),
    (0x2c9, 0x4c00022f),
    (0x2ca, 0x4c000226),
    (0x2d0, 0x4c000449),
    (0x2d1, 0x4c000430),
    (0x2d2, 0x4c000427),
    (0x2d3, 0x4c00042e),
    (0x2d8, 0x4c00084a),
    (0x2d9, 0x4c000831),
    (0x2da, 0x4c000829),
    (0x2db, 0x4c000828),
    (0x2e0, 0x4c00104b),
    (0x2e1, 0x4c001032),
    (0x2e2, 0x4c00102b),
    (0x2e3, 0x4c00102a),
    (0x2eb, 0x4c00202c),
];

/// Operations, likewise.
const OPS: &[(usize, usize)] = &[
    (0x21, 0x58000003),
    (0x22, 0x58000002),
    (0x23, 0x58000001),
    (0x24, 0x58000004),
    (0x28, 0x58000006),
    (0x29, 0x58000008),
    (0x2a, 0x5800000a),
    (0x30, 0x58000005),
    (0x31, 0x58000007),
    (0x32, 0x58000009),
    (0x38, 0x5800000b),
    (0x39, 0x5800000c),
    (0x3c, 0x5800000d),
    (0x3d, 0x5800000e),
];

/// Classes of errors, likewise.
const ERRORS: &[(i32, i32)] = &[
    (1, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (5, 5),
    (6, 6),
    (7, 19),
    (8, 7),
    (9, 8),
    (10, 9),
    (11, 10),
    (12, 11),
    (13, 12),
    (14, 13),
    (15, 14),
    (16, 15),
    (17, 16),
    (18, 18),
    (19, 17),
    (20, 20),
    (21, 21),
    (22, 53),
    (23, 22),
    (24, 46),
    (25, 23),
    (26, 52),
    (27, 24),
    (28, 25),
    (29, 26),
    (30, 27),
    (31, 29),
    (32, 31),
    (33, 30),
    (34, 28),
    (35, 32),
    (36, 48),
    (37, 47),
    (38, 33),
    (39, 34),
    (40, 35),
    (41, 36),
    (42, 37),
    (43, 38),
    (44, 39),
    (45, 40),
    (46, 56),
    (47, 49),
    (48, 55),
    (49, 57),
    (50, 50),
    (51, 41),
    (52, 51),
    (53, 42),
    (54, 43),
    (55, 44),
    (56, 45),
    (57, 58),
    (58, 76),
    (59, 77),
    (60, 75),
    (61, 80),
    (62, 81),
];

/// Handles of other kinds that are predefined.
const OTHERS: &[(Kind, usize, usize)] = &[
    (Kind::Comm, 0x100, 0x0400_0000),
    (Kind::Comm, 0x101, 0x4400_0000),
    (Kind::Comm, 0x102, 0x4400_0001),
    (Kind::Group, 0x108, 0x0800_0000),
    (Kind::Group, 0x109, 0x4800_0000),
    (Kind::Datatype, 0x200, 0x0c00_0000),
    (Kind::Op, 0x20, 0x1800_0000),
    (Kind::Errhandler, 0x140, 0x1400_0000),
    (Kind::Errhandler, 0x141, 0x5400_0000),
    (Kind::Errhandler, 0x142, 0x5400_0003),
    (Kind::Errhandler, 0x143, 0x5400_0001),
    (Kind::Info, 0x130, 0x1c00_0000),
    (Kind::Info, 0x131, 0x5c00_0001),
    (Kind::Request, 0x180, 0x2c00_0000),
    (Kind::Message, 0x128, 0x2c00_0000),
    (Kind::Message, 0x129, 0x6c00_0000),
    (Kind::Session, 0x120, 0x3800_0000),
    (Kind::Win, 0x110, 0x2000_0000),
    (Kind::File, 0x118, 0),
];

/// The bits that say of a made object that it is one, and of which kind.
const fn bits(kind: Kind) -> usize {
    let number = match kind {
        Kind::Comm => 1,
        Kind::Group => 2,
        Kind::Datatype => 3,
        Kind::File => 4,
        Kind::Errhandler => 5,
        Kind::Op => 6,
        Kind::Info => 7,
        Kind::Win => 8,
        Kind::Request | Kind::Message => 11,
        Kind::Session => 14,
    };
    0x8000_0000 | number << 26
}

const WHICH: usize = (1 << 26) - 1;

/// The first numbers of made datatypes are those of pairs, which are predefined.
const RESERVED: usize = 16;

/// Predefined datatypes and operations, by the lowest byte of MPICH's; and MPICH's datatypes, by the standard's.
struct Predefined {
    to_standard: [usize; 256],
    to_mpich: [usize; 256],
    op_to_standard: [usize; 256],
}

static PREDEFINED: Predefined = {
    let mut tables = Predefined { to_standard: [0; 256], to_mpich: [0; 256], op_to_standard: [0; 256] };
    let mut place = 0;
    while place < DATATYPES.len() {
        let (standard, mpich) = DATATYPES[place];
        if mpich >> 30 == 1 {
            tables.to_standard[mpich & 0xff] = standard;
        }
        tables.to_mpich[standard - 0x200] = mpich;
        place += 1;
    }
    place = 0;
    while place < OPS.len() {
        tables.op_to_standard[OPS[place].1 & 0xff] = OPS[place].0;
        place += 1;
    }
    tables
};

/// What all of MPICH's operations have above their lowest byte.
const OP_BITS: usize = 0x5800_0000;
const COMM_WORLD: usize = 0x4400_0000;

#[inline]
pub(crate) fn handle_in(kind: Kind, handle: usize) -> usize {
    // Of nearly every call.
    if kind == Kind::Comm && handle == COMM_WORLD {
        return standard::Comm::WORLD.0;
    }
    if handle & !WHICH == bits(kind) {
        let which = handle & WHICH;
        return match (kind, which.checked_sub(RESERVED)) {
            (_, Some(which)) => FIRST_HANDLE + which,
            (Kind::Datatype, None) => {
                DATATYPES.iter().find(|(_, mpich)| *mpich == handle).map_or(0, |(standard, _)| *standard)
            }
            _ => 0,
        };
    }
    if kind == Kind::Datatype && handle >> 30 == 1 {
        let standard = PREDEFINED.to_standard[handle & 0xff];
        return if PREDEFINED.to_mpich[standard.saturating_sub(0x200) & 0xff] == handle {
            standard
        } else {
            0
        };
    }
    if kind == Kind::Op && handle >> 30 == 1 {
        return if handle & !0xff == OP_BITS { PREDEFINED.op_to_standard[handle & 0xff] } else { 0 };
    }
    let is_it = |known: &&(Kind, usize, usize)| known.0 == kind && known.2 == handle;
    OTHERS.iter().find(is_it).map_or(0, |(_, standard, _)| *standard)
}

#[inline]
pub(crate) fn handle_out(kind: Kind, handle: usize) -> usize {
    if handle >= FIRST_HANDLE {
        return bits(kind) | (handle - FIRST_HANDLE + RESERVED);
    }
    match kind {
        Kind::Datatype if handle > 0x200 && handle < 0x300 => PREDEFINED.to_mpich[handle - 0x200],
        Kind::Op if handle > 0x20 => {
            OPS.iter().find(|(op, _)| *op == handle).map_or(0x1800_0000, |(_, mpich)| *mpich)
        }
        _ => {
            let is_it = |known: &&(Kind, usize, usize)| known.0 == kind && known.1 == handle;
            // What is no handle of ours becomes the null handle, the first of its kind.
            let first = |known: &&(Kind, usize, usize)| known.0 == kind;
            OTHERS.iter().find(is_it).or_else(|| OTHERS.iter().find(first)).map_or(0, |(_, _, mpich)| *mpich)
        }
    }
}

const PROC_NULL: c_int = -1;
const ANY_SOURCE: c_int = -2;
const ROOT: c_int = -3;
const ANY_TAG: c_int = -1;
const IN_PLACE: isize = -1;
const BUFFER_AUTOMATIC: isize = -2;

/// Translates numbers that have names, and leaves the others as they are.
macro_rules! numbers {
    ($($in:ident $out:ident { $($mpich:pat => $standard:expr, $back:pat => $value:expr;)* })*) => { $(
        #[inline]
        pub(crate) fn $in(x: c_int) -> c_int {
            match x {
                $($mpich => $standard,)*
                other => other,
            }
        }

        #[inline]
        #[allow(dead_code, reason = "not all of them are results")]
        pub(crate) fn $out(x: c_int) -> c_int {
            match x {
                $($back => $value,)*
                other => other,
            }
        }
    )* };
}

numbers! {
    rank_in rank_out {
        PROC_NULL => standard::PROC_NULL, standard::PROC_NULL => PROC_NULL;
        ANY_SOURCE => standard::ANY_SOURCE, standard::ANY_SOURCE => ANY_SOURCE;
        ROOT => standard::ROOT, standard::ROOT => ROOT;
    }
    tag_in tag_out {
        ANY_TAG => standard::ANY_TAG, standard::ANY_TAG => ANY_TAG;
        // A tag that cannot be stays one.
        standard::ANY_TAG => -99, -99 => -99;
    }
    keyval_in keyval_out {
        0x2400_0000 => standard::KEYVAL_INVALID, standard::KEYVAL_INVALID => 0x2400_0000;
        0x6440_0001 => standard::TAG_UB, standard::TAG_UB => 0x6440_0001;
        0x6440_0003 => standard::HOST, standard::HOST => 0x6440_0003;
        0x6440_0005 => standard::IO, standard::IO => 0x6440_0005;
        0x6440_0007 => standard::WTIME_IS_GLOBAL, standard::WTIME_IS_GLOBAL => 0x6440_0007;
        0x6440_0009 => standard::UNIVERSE_SIZE, standard::UNIVERSE_SIZE => 0x6440_0009;
        0x6440_000b => standard::LASTUSEDCODE, standard::LASTUSEDCODE => 0x6440_000b;
        0x6440_000d => standard::APPNUM, standard::APPNUM => 0x6440_000d;
    }
    thread_in thread_out {
        1 => 1024, 1024 => 1;
        2 => 2048, 2048 => 2;
        3 => 4096, 4096 => 3;
    }
    split_in split_out {
        1 => standard::COMM_TYPE_SHARED, standard::COMM_TYPE_SHARED => 1;
        2 => standard::COMM_TYPE_HW_GUIDED, standard::COMM_TYPE_HW_GUIDED => 2;
        3 => standard::COMM_TYPE_HW_UNGUIDED, standard::COMM_TYPE_HW_UNGUIDED => 3;
        4 => standard::COMM_TYPE_RESOURCE_GUIDED, standard::COMM_TYPE_RESOURCE_GUIDED => 4;
    }
    order_in order_out {
        56 => standard::ORDER_C, standard::ORDER_C => 56;
        57 => standard::ORDER_FORTRAN, standard::ORDER_FORTRAN => 57;
    }
    distribute_in distribute_out {
        121 => standard::DISTRIBUTE_BLOCK, standard::DISTRIBUTE_BLOCK => 121;
        122 => standard::DISTRIBUTE_CYCLIC, standard::DISTRIBUTE_CYCLIC => 122;
        123 => standard::DISTRIBUTE_NONE, standard::DISTRIBUTE_NONE => 123;
        -49767 => standard::DISTRIBUTE_DFLT_DARG, standard::DISTRIBUTE_DFLT_DARG => -49767;
    }
    combiner_in combiner_out {
        1 => standard::NAMED, standard::NAMED => 1;
        2 => standard::DUP, standard::DUP => 2;
        3 => standard::CONTIGUOUS, standard::CONTIGUOUS => 3;
        4 => standard::VECTOR, standard::VECTOR => 4;
        6 => standard::HVECTOR, standard::HVECTOR => 6;
        7 => standard::INDEXED, standard::INDEXED => 7;
        9 => standard::HINDEXED, standard::HINDEXED => 9;
        10 => standard::INDEXED_BLOCK, standard::INDEXED_BLOCK => 10;
        12 => standard::STRUCT, standard::STRUCT => 12;
        13 => standard::SUBARRAY, standard::SUBARRAY => 13;
        14 => standard::DARRAY, standard::DARRAY => 14;
        15 => standard::F90_REAL, standard::F90_REAL => 15;
        16 => standard::F90_COMPLEX, standard::F90_COMPLEX => 16;
        17 => standard::F90_INTEGER, standard::F90_INTEGER => 17;
        18 => standard::RESIZED, standard::RESIZED => 18;
        19 => standard::HINDEXED_BLOCK, standard::HINDEXED_BLOCK => 19;
        20 => standard::VALUE_INDEX, standard::VALUE_INDEX => 20;
    }
    typeclass_in typeclass_out {
        1 => standard::TYPECLASS_REAL, standard::TYPECLASS_REAL => 1;
        2 => standard::TYPECLASS_INTEGER, standard::TYPECLASS_INTEGER => 2;
        3 => standard::TYPECLASS_COMPLEX, standard::TYPECLASS_COMPLEX => 3;
    }
    comparison_in comparison_out {
        0 => standard::IDENT, standard::IDENT => 0;
        1 => standard::CONGRUENT, standard::CONGRUENT => 1;
        2 => standard::SIMILAR, standard::SIMILAR => 2;
        3 => standard::UNEQUAL, standard::UNEQUAL => 3;
    }
    topology_in topology_out {
        1 => standard::GRAPH, standard::GRAPH => 1;
        2 => standard::CART, standard::CART => 2;
        3 => standard::DIST_GRAPH, standard::DIST_GRAPH => 3;
    }
}

/// What is above a class in a code: which words it has.
const CLASS: c_int = 0xffff;

/// The last class of MPICH's header.
const LAST_CODE: c_int = 0x3fff_ffff;

pub(crate) fn error_in(code: c_int) -> c_int {
    // Classes and codes of programs begin after the last one of the header.
    if code > LAST_CODE {
        return code - LAST_CODE + standard::ERR_LASTCODE;
    }
    let class = code & CLASS;
    let known = ERRORS.iter().find(|(_, mpich)| *mpich == class);
    known.map_or(code, |(standard, _)| code & !CLASS | standard)
}

pub(crate) fn error_out(code: c_int) -> c_int {
    let class = code & CLASS;
    if class >= standard::ERR_LASTCODE {
        // Without the words of a single error, for which there is no room.
        return class - standard::ERR_LASTCODE + LAST_CODE;
    }
    let known = ERRORS.iter().find(|(standard, _)| *standard == class);
    known.map_or(code, |(_, mpich)| code & !CLASS | mpich)
}

#[inline]
pub(crate) fn code(code: c_int) -> c_int {
    if code == 0 { 0 } else { error_out(code) }
}

#[inline]
pub(crate) fn buffer(buffer: *mut c_void) -> *mut c_void {
    let constant = match buffer.addr() as isize {
        IN_PLACE => standard::IN_PLACE,
        BUFFER_AUTOMATIC => standard::BUFFER_AUTOMATIC,
        _ => return buffer,
    };
    std::ptr::without_provenance_mut(constant)
}

/// Two numbers whose addresses are constants.
#[repr(transparent)]
pub(crate) struct Symbol(*const c_int);

impl Symbol {
    pub(crate) const fn new(place: &'static c_int) -> Self {
        Self(place)
    }
}

// SAFETY: nobody looks at what it points to.
unsafe impl Sync for Symbol {}

static PLACES: [c_int; 2] = [0; 2];

/// What `MPI_UNWEIGHTED` is: its address stands for no weights.
#[unsafe(no_mangle)]
pub(crate) static MPI_UNWEIGHTED: Symbol = Symbol(&PLACES[0]);

/// What `MPI_WEIGHTS_EMPTY` is: its address stands for weights of no edges.
#[unsafe(no_mangle)]
pub(crate) static MPI_WEIGHTS_EMPTY: Symbol = Symbol(&PLACES[1]);

#[inline]
pub(crate) fn weights(weights: *const c_int) -> *const c_int {
    let constant = if weights == MPI_UNWEIGHTED.0 {
        standard::UNWEIGHTED
    } else if weights == MPI_WEIGHTS_EMPTY.0 {
        standard::WEIGHTS_EMPTY
    } else {
        return weights;
    };
    std::ptr::without_provenance(constant)
}

#[inline]
pub(crate) fn status(status: *const MPI_Status) -> *mut c_void {
    // `MPI_STATUS_IGNORE`
    if status.addr() == 1 { std::ptr::null_mut() } else { status.cast_mut().cast() }
}

/// Handles are numbers already.
pub(crate) fn to_int(handle: usize) -> c_int {
    handle as u32 as c_int
}

pub(crate) fn from_int(handle: c_int) -> usize {
    handle as u32 as usize
}

unsafe fn write_status(at: *mut c_void, status: &Status) {
    let Status { source, tag, error, bytes, cancelled } = *status;
    let written = MPI_Status {
        count_low: bytes as c_int,
        count_high: ((bytes >> 32) as c_int) << 1 | c_int::from(cancelled),
        source: rank_out(source),
        tag: tag_out(tag),
        error,
    };
    // SAFETY: the caller says that a status can be written there.
    unsafe { at.cast::<MPI_Status>().write_unaligned(written) }
}

unsafe fn read_status(at: *const c_void) -> Status {
    // SAFETY: the caller says that there is a status.
    let read = unsafe { at.cast::<MPI_Status>().read_unaligned() };
    let bytes = i64::from(read.count_high as u32 >> 1) << 32 | i64::from(read.count_low as u32);
    let (source, tag) = (rank_in(read.source), tag_in(read.tag));
    Status { source, tag, error: read.error, bytes, cancelled: read.count_high & 1 != 0 }
}

/// What `MPI_COMM_DUP_FN` and its like are in this ABI: a function that copies an attribute as it is.
///
/// # Safety
///
/// As of every function that copies attributes: the last two arguments can be written to.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is C's")]
pub(crate) unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copied: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe { copied.write(value) };
    // SAFETY: as above.
    unsafe { flag.write(1) };
    0
}

ringworld_mpi::callbacks!(u32);
