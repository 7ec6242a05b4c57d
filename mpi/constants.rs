// Constants and handles of the standard's ABI. Made by `cargo xtask mpi` from constants.txt; not to be edited.
//
// Included by src/standard.rs, which has the types.

// versions of the standard and of its ABI
pub const VERSION: i32 = 5;
pub const SUBVERSION: i32 = 0;
pub const ABI_VERSION: i32 = 1;
pub const ABI_SUBVERSION: i32 = 0;

impl Op {
    pub const NULL: Self = Self(0x20);
    pub const SUM: Self = Self(0x21);
    pub const MIN: Self = Self(0x22);
    pub const MAX: Self = Self(0x23);
    pub const PROD: Self = Self(0x24);
    pub const BAND: Self = Self(0x28);
    pub const BOR: Self = Self(0x29);
    pub const BXOR: Self = Self(0x2a);
    pub const LAND: Self = Self(0x30);
    pub const LOR: Self = Self(0x31);
    pub const LXOR: Self = Self(0x32);
    pub const MINLOC: Self = Self(0x38);
    pub const MAXLOC: Self = Self(0x39);
    pub const REPLACE: Self = Self(0x3c);
    pub const NO_OP: Self = Self(0x3d);
}

impl Comm {
    pub const NULL: Self = Self(0x100);
    pub const WORLD: Self = Self(0x101);
    pub const SELF: Self = Self(0x102);
}

impl Group {
    pub const NULL: Self = Self(0x108);
    pub const EMPTY: Self = Self(0x109);
}

impl Win {
    pub const NULL: Self = Self(0x110);
}

impl File {
    pub const NULL: Self = Self(0x118);
}

impl Session {
    pub const NULL: Self = Self(0x120);
}

impl Message {
    pub const NULL: Self = Self(0x128);
    pub const NO_PROC: Self = Self(0x129);
}

impl Info {
    pub const NULL: Self = Self(0x130);
    pub const ENV: Self = Self(0x131);
}

impl Errhandler {
    pub const NULL: Self = Self(0x140);
    pub const ARE_FATAL: Self = Self(0x141);
    pub const ABORT: Self = Self(0x142);
    pub const RETURN: Self = Self(0x143);
}

impl Request {
    pub const NULL: Self = Self(0x180);
}

impl Datatype {
    pub const NULL: Self = Self(0x200);
    pub const AINT: Self = Self(0x201);
    pub const COUNT: Self = Self(0x202);
    pub const OFFSET: Self = Self(0x203);
    pub const PACKED: Self = Self(0x207);
    pub const SHORT: Self = Self(0x208);
    pub const INT: Self = Self(0x209);
    pub const LONG: Self = Self(0x20a);
    pub const LONG_LONG: Self = Self(0x20b);
    pub const UNSIGNED_SHORT: Self = Self(0x20c);
    pub const UNSIGNED: Self = Self(0x20d);
    pub const UNSIGNED_LONG: Self = Self(0x20e);
    pub const UNSIGNED_LONG_LONG: Self = Self(0x20f);
    pub const FLOAT: Self = Self(0x210);
    pub const C_FLOAT_COMPLEX: Self = Self(0x212);
    pub const CXX_FLOAT_COMPLEX: Self = Self(0x213);
    pub const DOUBLE: Self = Self(0x214);
    pub const C_DOUBLE_COMPLEX: Self = Self(0x216);
    pub const CXX_DOUBLE_COMPLEX: Self = Self(0x217);
    pub const LOGICAL: Self = Self(0x218);
    pub const INTEGER: Self = Self(0x219);
    pub const REAL: Self = Self(0x21a);
    pub const COMPLEX: Self = Self(0x21b);
    pub const DOUBLE_PRECISION: Self = Self(0x21c);
    pub const DOUBLE_COMPLEX: Self = Self(0x21d);
    pub const CHARACTER: Self = Self(0x21e);
    pub const LONG_DOUBLE: Self = Self(0x220);
    pub const C_LONG_DOUBLE_COMPLEX: Self = Self(0x224);
    pub const CXX_LONG_DOUBLE_COMPLEX: Self = Self(0x225);
    pub const FLOAT_INT: Self = Self(0x228);
    pub const DOUBLE_INT: Self = Self(0x229);
    pub const LONG_INT: Self = Self(0x22a);
    pub const SHORT_INT: Self = Self(0x22c);
    pub const LONG_DOUBLE_INT: Self = Self(0x22d);
    pub const C_BOOL: Self = Self(0x238);
    pub const CXX_BOOL: Self = Self(0x239);
    pub const WCHAR: Self = Self(0x23c);
    pub const INT8_T: Self = Self(0x240);
    pub const UINT8_T: Self = Self(0x241);
    pub const CHAR: Self = Self(0x243);
    pub const SIGNED_CHAR: Self = Self(0x244);
    pub const UNSIGNED_CHAR: Self = Self(0x245);
    pub const BYTE: Self = Self(0x247);
    pub const INT16_T: Self = Self(0x248);
    pub const UINT16_T: Self = Self(0x249);
    pub const INT32_T: Self = Self(0x250);
    pub const UINT32_T: Self = Self(0x251);
    pub const INT64_T: Self = Self(0x258);
    pub const UINT64_T: Self = Self(0x259);
    pub const LOGICAL1: Self = Self(0x2c0);
    pub const INTEGER1: Self = Self(0x2c1);
    pub const LOGICAL2: Self = Self(0x2c8);
    pub const INTEGER2: Self = Self(0x2c9);
    pub const REAL2: Self = Self(0x2ca);
    pub const LOGICAL4: Self = Self(0x2d0);
    pub const INTEGER4: Self = Self(0x2d1);
    pub const REAL4: Self = Self(0x2d2);
    pub const COMPLEX4: Self = Self(0x2d3);
    pub const LOGICAL8: Self = Self(0x2d8);
    pub const INTEGER8: Self = Self(0x2d9);
    pub const REAL8: Self = Self(0x2da);
    pub const COMPLEX8: Self = Self(0x2db);
    pub const LOGICAL16: Self = Self(0x2e0);
    pub const INTEGER16: Self = Self(0x2e1);
    pub const REAL16: Self = Self(0x2e2);
    pub const COMPLEX16: Self = Self(0x2e3);
    pub const COMPLEX32: Self = Self(0x2eb);
}

// a status as Fortran has it, in integers
pub const F_STATUS_SIZE: i32 = 8;
pub const F_SOURCE: i32 = 0;
pub const F_TAG: i32 = 1;
pub const F_ERROR: i32 = 2;

// classes of errors
pub const SUCCESS: i32 = 0;
pub const ERR_BUFFER: i32 = 1;
pub const ERR_COUNT: i32 = 2;
pub const ERR_TYPE: i32 = 3;
pub const ERR_TAG: i32 = 4;
pub const ERR_COMM: i32 = 5;
pub const ERR_RANK: i32 = 6;
pub const ERR_REQUEST: i32 = 7;
pub const ERR_ROOT: i32 = 8;
pub const ERR_GROUP: i32 = 9;
pub const ERR_OP: i32 = 10;
pub const ERR_TOPOLOGY: i32 = 11;
pub const ERR_DIMS: i32 = 12;
pub const ERR_ARG: i32 = 13;
pub const ERR_UNKNOWN: i32 = 14;
pub const ERR_TRUNCATE: i32 = 15;
pub const ERR_OTHER: i32 = 16;
pub const ERR_INTERN: i32 = 17;
pub const ERR_PENDING: i32 = 18;
pub const ERR_IN_STATUS: i32 = 19;
pub const ERR_ACCESS: i32 = 20;
pub const ERR_AMODE: i32 = 21;
pub const ERR_ASSERT: i32 = 22;
pub const ERR_BAD_FILE: i32 = 23;
pub const ERR_BASE: i32 = 24;
pub const ERR_CONVERSION: i32 = 25;
pub const ERR_DISP: i32 = 26;
pub const ERR_DUP_DATAREP: i32 = 27;
pub const ERR_FILE_EXISTS: i32 = 28;
pub const ERR_FILE_IN_USE: i32 = 29;
pub const ERR_FILE: i32 = 30;
pub const ERR_INFO_KEY: i32 = 31;
pub const ERR_INFO_NOKEY: i32 = 32;
pub const ERR_INFO_VALUE: i32 = 33;
pub const ERR_INFO: i32 = 34;
pub const ERR_IO: i32 = 35;
pub const ERR_KEYVAL: i32 = 36;
pub const ERR_LOCKTYPE: i32 = 37;
pub const ERR_NAME: i32 = 38;
pub const ERR_NO_MEM: i32 = 39;
pub const ERR_NOT_SAME: i32 = 40;
pub const ERR_NO_SPACE: i32 = 41;
pub const ERR_NO_SUCH_FILE: i32 = 42;
pub const ERR_PORT: i32 = 43;
pub const ERR_QUOTA: i32 = 44;
pub const ERR_READ_ONLY: i32 = 45;
pub const ERR_RMA_ATTACH: i32 = 46;
pub const ERR_RMA_CONFLICT: i32 = 47;
pub const ERR_RMA_RANGE: i32 = 48;
pub const ERR_RMA_SHARED: i32 = 49;
pub const ERR_RMA_SYNC: i32 = 50;
pub const ERR_SERVICE: i32 = 51;
pub const ERR_SIZE: i32 = 52;
pub const ERR_SPAWN: i32 = 53;
pub const ERR_UNSUPPORTED_DATAREP: i32 = 54;
pub const ERR_UNSUPPORTED_OPERATION: i32 = 55;
pub const ERR_WIN: i32 = 56;
pub const ERR_RMA_FLAVOR: i32 = 57;
pub const ERR_PROC_ABORTED: i32 = 58;
pub const ERR_VALUE_TOO_LARGE: i32 = 59;
pub const ERR_SESSION: i32 = 60;
pub const ERR_ERRHANDLER: i32 = 61;
pub const ERR_ABI: i32 = 62;

// the last class
pub const ERR_LASTCODE: i32 = 16383;

// addresses that stand for something
pub const BOTTOM: usize = 0;
pub const IN_PLACE: usize = 1;
pub const BUFFER_AUTOMATIC: usize = 2;

// arguments that are left out
pub const ARGV_NULL: usize = 0;
pub const ARGVS_NULL: usize = 0;
pub const ERRCODES_IGNORE: usize = 0;
pub const STATUS_IGNORE: usize = 0;
pub const STATUSES_IGNORE: usize = 0;
pub const UNWEIGHTED: usize = 10;
pub const WEIGHTS_EMPTY: usize = 11;

// room for texts, in bytes, with the zero at their end
pub const MAX_DATAREP_STRING: usize = 128;
pub const MAX_ERROR_STRING: usize = 512;
pub const MAX_INFO_KEY: usize = 256;
pub const MAX_INFO_VAL: usize = 1024;
pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub const MAX_OBJECT_NAME: usize = 128;
pub const MAX_PORT_NAME: usize = 1024;
pub const MAX_PROCESSOR_NAME: usize = 256;
pub const MAX_STRINGTAG_LEN: usize = 1024;
pub const MAX_PSET_NAME_LEN: usize = 1024;

// what a buffered message takes beside its data, in bytes
pub const BSEND_OVERHEAD: usize = 512;

// how a file is opened
pub const MODE_APPEND: i32 = 1;
pub const MODE_CREATE: i32 = 2;
pub const MODE_DELETE_ON_CLOSE: i32 = 4;
pub const MODE_EXCL: i32 = 8;
pub const MODE_RDONLY: i32 = 16;
pub const MODE_RDWR: i32 = 32;
pub const MODE_SEQUENTIAL: i32 = 64;
pub const MODE_UNIQUE_OPEN: i32 = 128;
pub const MODE_WRONLY: i32 = 256;

// what a program promises of a window
pub const MODE_NOCHECK: i32 = 1024;
pub const MODE_NOPRECEDE: i32 = 2048;
pub const MODE_NOPUT: i32 = 4096;
pub const MODE_NOSTORE: i32 = 8192;
pub const MODE_NOSUCCEED: i32 = 16384;

// ranks and tags that stand for something
pub const ANY_SOURCE: i32 = -1;
pub const ANY_TAG: i32 = -2;
pub const PROC_NULL: i32 = -3;
pub const ROOT: i32 = -4;

// neither this nor that
pub const UNDEFINED: i32 = -32766;

// which threads may call, the fewest first
pub const THREAD_SINGLE: i32 = 0;
pub const THREAD_FUNNELED: i32 = 1024;
pub const THREAD_SERIALIZED: i32 = 2048;
pub const THREAD_MULTIPLE: i32 = 4096;

// the order of an array's elements
pub const ORDER_C: i32 = 12;
pub const ORDER_FORTRAN: i32 = 15;

// how an array is distributed
pub const DISTRIBUTE_NONE: i32 = 16;
pub const DISTRIBUTE_BLOCK: i32 = 17;
pub const DISTRIBUTE_CYCLIC: i32 = 18;
pub const DISTRIBUTE_DFLT_DARG: i32 = 19;

// how a datatype was made
pub const NAMED: i32 = 101;
pub const DUP: i32 = 102;
pub const CONTIGUOUS: i32 = 103;
pub const VECTOR: i32 = 104;
pub const HVECTOR: i32 = 105;
pub const INDEXED: i32 = 106;
pub const HINDEXED: i32 = 107;
pub const INDEXED_BLOCK: i32 = 108;
pub const HINDEXED_BLOCK: i32 = 109;
pub const STRUCT: i32 = 110;
pub const SUBARRAY: i32 = 111;
pub const DARRAY: i32 = 112;
pub const F90_REAL: i32 = 113;
pub const F90_COMPLEX: i32 = 114;
pub const F90_INTEGER: i32 = 115;
pub const RESIZED: i32 = 116;
pub const VALUE_INDEX: i32 = 117;

// kinds of numbers
pub const TYPECLASS_LOGICAL: i32 = 191;
pub const TYPECLASS_INTEGER: i32 = 192;
pub const TYPECLASS_REAL: i32 = 193;
pub const TYPECLASS_COMPLEX: i32 = 194;

// results of comparisons
pub const IDENT: i32 = 201;
pub const CONGRUENT: i32 = 202;
pub const SIMILAR: i32 = 203;
pub const UNEQUAL: i32 = 204;

// topologies
pub const CART: i32 = 211;
pub const GRAPH: i32 = 212;
pub const DIST_GRAPH: i32 = 213;

// how communicators are split
pub const COMM_TYPE_SHARED: i32 = 221;
pub const COMM_TYPE_HW_UNGUIDED: i32 = 222;
pub const COMM_TYPE_HW_GUIDED: i32 = 223;
pub const COMM_TYPE_RESOURCE_GUIDED: i32 = 224;

// locks of windows
pub const LOCK_EXCLUSIVE: i32 = 301;
pub const LOCK_SHARED: i32 = 302;

// how windows are made
pub const WIN_FLAVOR_CREATE: i32 = 311;
pub const WIN_FLAVOR_ALLOCATE: i32 = 312;
pub const WIN_FLAVOR_DYNAMIC: i32 = 313;
pub const WIN_FLAVOR_SHARED: i32 = 314;

// memory of windows
pub const WIN_UNIFIED: i32 = 321;
pub const WIN_SEPARATE: i32 = 322;

// from where a place in a file is counted
pub const SEEK_CUR: i32 = 401;
pub const SEEK_END: i32 = 402;
pub const SEEK_SET: i32 = 403;

// a place in a file
pub const DISPLACEMENT_CURRENT: i64 = -1;

// no key of an attribute
pub const KEYVAL_INVALID: i32 = 0;

// keys of attributes of communicators
pub const TAG_UB: i32 = 501;
pub const IO: i32 = 502;
pub const HOST: i32 = 503;
pub const WTIME_IS_GLOBAL: i32 = 504;
pub const APPNUM: i32 = 505;
pub const LASTUSEDCODE: i32 = 506;
pub const UNIVERSE_SIZE: i32 = 507;

// keys of attributes of windows
pub const WIN_BASE: i32 = 601;
pub const WIN_DISP_UNIT: i32 = 602;
pub const WIN_SIZE: i32 = 603;
pub const WIN_CREATE_FLAVOR: i32 = 604;
pub const WIN_MODEL: i32 = 605;

// functions for attributes that the library has
pub const NULL_COPY_FN: usize = 0;
pub const DUP_FN: usize = 1;
pub const NULL_DELETE_FN: usize = 0;
pub const COMM_NULL_COPY_FN: usize = 0;
pub const COMM_DUP_FN: usize = 1;
pub const COMM_NULL_DELETE_FN: usize = 0;
pub const TYPE_NULL_COPY_FN: usize = 0;
pub const TYPE_DUP_FN: usize = 1;
pub const TYPE_NULL_DELETE_FN: usize = 0;
pub const WIN_NULL_COPY_FN: usize = 0;
pub const WIN_DUP_FN: usize = 1;
pub const WIN_NULL_DELETE_FN: usize = 0;

// no conversion of data in files
pub const CONVERSION_FN_NULL: usize = 0;
pub const CONVERSION_FN_NULL_C: usize = 0;

/// What a class of errors means.
pub(crate) fn class_text(class: i32) -> Option<&'static str> {
    match class {
        0 => Some("MPI_SUCCESS: no error"),
        1 => Some("MPI_ERR_BUFFER: invalid buffer"),
        2 => Some("MPI_ERR_COUNT: invalid count"),
        3 => Some("MPI_ERR_TYPE: invalid datatype"),
        4 => Some("MPI_ERR_TAG: invalid tag"),
        5 => Some("MPI_ERR_COMM: invalid communicator"),
        6 => Some("MPI_ERR_RANK: invalid rank"),
        7 => Some("MPI_ERR_REQUEST: invalid request"),
        8 => Some("MPI_ERR_ROOT: invalid root"),
        9 => Some("MPI_ERR_GROUP: invalid group"),
        10 => Some("MPI_ERR_OP: invalid operation"),
        11 => Some("MPI_ERR_TOPOLOGY: invalid topology"),
        12 => Some("MPI_ERR_DIMS: invalid dimension"),
        13 => Some("MPI_ERR_ARG: invalid argument"),
        14 => Some("MPI_ERR_UNKNOWN: unknown error"),
        15 => Some("MPI_ERR_TRUNCATE: message longer than the receive buffer"),
        16 => Some("MPI_ERR_OTHER: error of no other class"),
        17 => Some("MPI_ERR_INTERN: internal error"),
        18 => Some("MPI_ERR_PENDING: operation has not ended"),
        19 => Some("MPI_ERR_IN_STATUS: the error codes are in the statuses"),
        20 => Some("MPI_ERR_ACCESS: access denied"),
        21 => Some("MPI_ERR_AMODE: invalid mode of access"),
        22 => Some("MPI_ERR_ASSERT: invalid assertion"),
        23 => Some("MPI_ERR_BAD_FILE: invalid file name"),
        24 => Some("MPI_ERR_BASE: invalid base"),
        25 => Some("MPI_ERR_CONVERSION: conversion failed"),
        26 => Some("MPI_ERR_DISP: invalid displacement"),
        27 => Some("MPI_ERR_DUP_DATAREP: data representation is defined already"),
        28 => Some("MPI_ERR_FILE_EXISTS: file exists"),
        29 => Some("MPI_ERR_FILE_IN_USE: file is in use"),
        30 => Some("MPI_ERR_FILE: invalid file"),
        31 => Some("MPI_ERR_INFO_KEY: invalid key of info"),
        32 => Some("MPI_ERR_INFO_NOKEY: no such key in info"),
        33 => Some("MPI_ERR_INFO_VALUE: invalid value of info"),
        34 => Some("MPI_ERR_INFO: invalid info"),
        35 => Some("MPI_ERR_IO: input or output failed"),
        36 => Some("MPI_ERR_KEYVAL: invalid key of an attribute"),
        37 => Some("MPI_ERR_LOCKTYPE: invalid type of lock"),
        38 => Some("MPI_ERR_NAME: no such service"),
        39 => Some("MPI_ERR_NO_MEM: no memory left"),
        40 => Some("MPI_ERR_NOT_SAME: arguments differ between ranks"),
        41 => Some("MPI_ERR_NO_SPACE: no space left"),
        42 => Some("MPI_ERR_NO_SUCH_FILE: no such file"),
        43 => Some("MPI_ERR_PORT: invalid port"),
        44 => Some("MPI_ERR_QUOTA: quota exceeded"),
        45 => Some("MPI_ERR_READ_ONLY: read-only file"),
        46 => Some("MPI_ERR_RMA_ATTACH: memory cannot be attached"),
        47 => Some("MPI_ERR_RMA_CONFLICT: conflicting accesses to a window"),
        48 => Some("MPI_ERR_RMA_RANGE: outside of the window"),
        49 => Some("MPI_ERR_RMA_SHARED: memory cannot be shared"),
        50 => Some("MPI_ERR_RMA_SYNC: wrong synchronization of a window"),
        51 => Some("MPI_ERR_SERVICE: service is not published"),
        52 => Some("MPI_ERR_SIZE: invalid size"),
        53 => Some("MPI_ERR_SPAWN: processes cannot be started"),
        54 => Some("MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation"),
        55 => Some("MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation"),
        56 => Some("MPI_ERR_WIN: invalid window"),
        57 => Some("MPI_ERR_RMA_FLAVOR: wrong flavor of window"),
        58 => Some("MPI_ERR_PROC_ABORTED: a process has ended"),
        59 => Some("MPI_ERR_VALUE_TOO_LARGE: value too large to be stored"),
        60 => Some("MPI_ERR_SESSION: invalid session"),
        61 => Some("MPI_ERR_ERRHANDLER: invalid error handler"),
        62 => Some("MPI_ERR_ABI: wrong use of the ABI"),
        _ => None,
    }
}
