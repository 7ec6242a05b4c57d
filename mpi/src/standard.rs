//! Handles and constants of the standard ABI (MPI 5.0, chapter 20), which the semantic layer speaks.

#![allow(missing_docs, reason = "names and values are those of the standard's header")]

macro_rules! handles {
    ($($name:ident)*) => { $(
        /// A handle of the standard ABI: predefined ones are below 0x1000.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);

        impl From<usize> for $name {
            fn from(handle: usize) -> Self {
                Self(handle)
            }
        }

        impl From<$name> for usize {
            fn from(handle: $name) -> Self {
                handle.0
            }
        }

        impl crate::kind::Handle for $name {
            const KIND: crate::kind::Kind = crate::kind::Kind::$name;
        }
    )* };
}

handles! { Comm Group Datatype Op Request Message Info Errhandler Session Win File }

impl Comm {
    pub const NULL: Self = Self(0x100);
    pub const WORLD: Self = Self(0x101);
    pub const SELF: Self = Self(0x102);
}

impl Group {
    pub const NULL: Self = Self(0x108);
    pub const EMPTY: Self = Self(0x109);
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

impl Op {
    pub const NULL: Self = Self(0x20);
    pub const REPLACE: Self = Self(0x3c);
    pub const NO_OP: Self = Self(0x3d);
}

impl Datatype {
    pub const NULL: Self = Self(0x200);
    pub const PACKED: Self = Self(0x207);
    pub const INT: Self = Self(0x209);
    pub const BYTE: Self = Self(0x247);
}

impl Session {
    pub const NULL: Self = Self(0x120);
}

/// The lowest handle that is not predefined.
pub const FIRST_HANDLE: usize = 0x1000;

pub const ANY_SOURCE: i32 = -1;
pub const ANY_TAG: i32 = -2;
pub const PROC_NULL: i32 = -3;
pub const ROOT: i32 = -4;
pub const UNDEFINED: i32 = -32766;

pub const IN_PLACE: usize = 1;
pub const BUFFER_AUTOMATIC: usize = 2;
pub const UNWEIGHTED: usize = 10;
pub const WEIGHTS_EMPTY: usize = 11;

pub const THREAD_SINGLE: i32 = 0;
pub const THREAD_MULTIPLE: i32 = 4096;

pub const IDENT: i32 = 201;
pub const CONGRUENT: i32 = 202;
pub const SIMILAR: i32 = 203;
pub const UNEQUAL: i32 = 204;

pub const CART: i32 = 211;
pub const GRAPH: i32 = 212;
pub const DIST_GRAPH: i32 = 213;

pub const COMM_TYPE_SHARED: i32 = 221;
pub const COMM_TYPE_HW_UNGUIDED: i32 = 222;
pub const COMM_TYPE_HW_GUIDED: i32 = 223;
pub const COMM_TYPE_RESOURCE_GUIDED: i32 = 224;

pub const ORDER_C: i32 = 12;
pub const ORDER_FORTRAN: i32 = 15;

pub const DISTRIBUTE_NONE: i32 = 16;
pub const DISTRIBUTE_BLOCK: i32 = 17;
pub const DISTRIBUTE_CYCLIC: i32 = 18;
pub const DISTRIBUTE_DFLT_DARG: i32 = 19;

pub const TYPECLASS_LOGICAL: i32 = 191;
pub const TYPECLASS_INTEGER: i32 = 192;
pub const TYPECLASS_REAL: i32 = 193;
pub const TYPECLASS_COMPLEX: i32 = 194;

pub const KEYVAL_INVALID: i32 = 0;
pub const TAG_UB: i32 = 501;
pub const IO: i32 = 502;
pub const HOST: i32 = 503;
pub const WTIME_IS_GLOBAL: i32 = 504;
pub const APPNUM: i32 = 505;
pub const LASTUSEDCODE: i32 = 506;
pub const UNIVERSE_SIZE: i32 = 507;

pub const MAX_ERROR_STRING: usize = 512;
pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub const MAX_OBJECT_NAME: usize = 128;
pub const MAX_INFO_KEY: usize = 255;
pub const MAX_INFO_VAL: usize = 1024;
pub const BSEND_OVERHEAD: usize = 512;

/// The highest tag that programs may use.
pub const HIGHEST_TAG: i32 = i32::MAX;

/// The combiners of datatypes.
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

/// Classes of errors, with the words that `MPI_Error_string` has for them.
macro_rules! classes {
    ($($name:ident = $number:literal $text:literal)*) => {
        $(pub const $name: i32 = $number;)*

        /// What a class means.
        pub(crate) fn class_text(class: i32) -> Option<&'static str> {
            match class {
                0 => Some("no error"),
                $($number => Some(concat!("MPI_", stringify!($name), ": ", $text)),)*
                _ => None,
            }
        }
    };
}

classes! {
    ERR_BUFFER = 1 "invalid buffer"
    ERR_COUNT = 2 "invalid count"
    ERR_TYPE = 3 "invalid datatype"
    ERR_TAG = 4 "invalid tag"
    ERR_COMM = 5 "invalid communicator"
    ERR_RANK = 6 "invalid rank"
    ERR_REQUEST = 7 "invalid request"
    ERR_ROOT = 8 "invalid root"
    ERR_GROUP = 9 "invalid group"
    ERR_OP = 10 "invalid operation"
    ERR_TOPOLOGY = 11 "invalid topology"
    ERR_DIMS = 12 "invalid dimension"
    ERR_ARG = 13 "invalid argument"
    ERR_UNKNOWN = 14 "unknown error"
    ERR_TRUNCATE = 15 "message longer than the receive buffer"
    ERR_OTHER = 16 "error of no other class"
    ERR_INTERN = 17 "internal error"
    ERR_PENDING = 18 "operation has not ended"
    ERR_IN_STATUS = 19 "the error codes are in the statuses"
    ERR_ACCESS = 20 "access denied"
    ERR_AMODE = 21 "invalid mode of access"
    ERR_ASSERT = 22 "invalid assertion"
    ERR_BAD_FILE = 23 "invalid file name"
    ERR_BASE = 24 "invalid base"
    ERR_CONVERSION = 25 "conversion failed"
    ERR_DISP = 26 "invalid displacement"
    ERR_DUP_DATAREP = 27 "data representation is defined already"
    ERR_FILE_EXISTS = 28 "file exists"
    ERR_FILE_IN_USE = 29 "file is in use"
    ERR_FILE = 30 "invalid file"
    ERR_INFO_KEY = 31 "invalid key of info"
    ERR_INFO_NOKEY = 32 "no such key in info"
    ERR_INFO_VALUE = 33 "invalid value of info"
    ERR_INFO = 34 "invalid info"
    ERR_IO = 35 "input or output failed"
    ERR_KEYVAL = 36 "invalid key of an attribute"
    ERR_LOCKTYPE = 37 "invalid type of lock"
    ERR_NAME = 38 "no such service"
    ERR_NO_MEM = 39 "no memory left"
    ERR_NOT_SAME = 40 "arguments differ between ranks"
    ERR_NO_SPACE = 41 "no space left"
    ERR_NO_SUCH_FILE = 42 "no such file"
    ERR_PORT = 43 "invalid port"
    ERR_QUOTA = 44 "quota exceeded"
    ERR_READ_ONLY = 45 "read-only file"
    ERR_RMA_ATTACH = 46 "memory cannot be attached"
    ERR_RMA_CONFLICT = 47 "conflicting accesses to a window"
    ERR_RMA_RANGE = 48 "outside of the window"
    ERR_RMA_SHARED = 49 "memory cannot be shared"
    ERR_RMA_SYNC = 50 "wrong synchronization of a window"
    ERR_SERVICE = 51 "service is not published"
    ERR_SIZE = 52 "invalid size"
    ERR_SPAWN = 53 "processes cannot be started"
    ERR_UNSUPPORTED_DATAREP = 54 "unsupported data representation"
    ERR_UNSUPPORTED_OPERATION = 55 "unsupported operation"
    ERR_WIN = 56 "invalid window"
    ERR_RMA_FLAVOR = 57 "wrong flavor of window"
    ERR_PROC_ABORTED = 58 "a process has ended"
    ERR_VALUE_TOO_LARGE = 59 "value too large to be stored"
    ERR_SESSION = 60 "invalid session"
    ERR_ERRHANDLER = 61 "invalid error handler"
    ERR_ABI = 62 "wrong use of the ABI"
}

/// The last class of the standard's.
pub const ERR_LASTCODE: i32 = 0x3fff;
