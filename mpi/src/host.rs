//! What a library that exports MPI's functions says of itself: how its programs see handles, statuses and numbers.
//!
//! The semantic layer speaks the standard's ABI, whose handles and constants are in `standard`. A host turns them
//! into its own and back, and calls functions of the program, whose arguments are its own too. There is one host in a
//! process, the library that is loaded.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::kind::Kind;
use crate::standard::{self, Datatype};
use crate::status::Status;

/// A function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(pub usize);

/// A library and its ABI. Functions that call the program are unsafe: the function must be what its name says.
#[allow(missing_debug_implementations)]
pub struct Host {
    /// How `MPI_Get_library_version` calls it.
    pub library: &'static str,
    /// Of the standard's ABI, if it has that.
    pub abi_version: (i32, i32),
    /// Of `MPI_Get_processor_name`, with the byte at the end.
    pub max_processor_name: usize,
    /// What `MPI_MAX_INFO_KEY` is: the room that programs have for a key, with the byte at the end.
    pub max_info_key: usize,
    /// What `MPI_ANY_SOURCE` is.
    pub any_source: i32,
    /// What `MPI_PROC_NULL` is.
    pub proc_null: i32,
    /// What `MPI_BUFFER_AUTOMATIC` is, as a number.
    pub buffer_automatic: usize,
    /// How many bytes a handle has: 4 or 8.
    pub handle_bytes: usize,
    /// From the host's handle to the standard's, which is 0 when there is no such handle.
    pub handle_in: fn(Kind, usize) -> usize,
    /// And back.
    pub handle_out: fn(Kind, usize) -> usize,
    /// How many bytes a status has.
    pub status_bytes: usize,
    /// Writes a status.
    pub write_status: unsafe fn(*mut c_void, &Status),
    /// Reads a status.
    pub read_status: unsafe fn(*const c_void) -> Status,
    /// Orders and distributions of arrays, from the standard's to the host's.
    pub order_out: fn(i32) -> i32,
    /// From the host's error code to the standard's.
    pub error_in: fn(i32) -> i32,
    /// And back.
    pub error_out: fn(i32) -> i32,
    /// Calls an error handler of the program: what it is about, and the code.
    pub call_errhandler: unsafe fn(Function, Kind, usize, i32),
    /// Calls the function that copies an attribute: object, key, extra state, value; the new value, if there is one.
    pub call_copy: unsafe fn(Function, Kind, usize, i32, usize, usize) -> Copied,
    /// Calls the function that deletes an attribute: object, key, value, extra state.
    pub call_delete: unsafe fn(Function, Kind, usize, i32, usize, usize) -> i32,
    /// Calls an operation of the program: left, right, how many, and whether it takes large counts.
    pub call_op: unsafe fn(Function, *mut c_void, *mut c_void, i64, Datatype, bool),
    /// Calls the function that fills in the status of a generalized request.
    pub call_query: unsafe fn(Function, usize, &mut Status) -> i32,
    /// Calls the function that frees a generalized request.
    pub call_free: unsafe fn(Function, usize) -> i32,
    /// Calls the function that cancels a generalized request; whether it was complete.
    pub call_cancel: unsafe fn(Function, usize, bool) -> i32,
}

/// The value that an attribute has at the copy of an object, if it is to have one; or the program's error code.
pub type Copied = Result<Option<usize>, i32>;

static HOST: AtomicPtr<Host> = AtomicPtr::new(std::ptr::null_mut());

/// Says which library this is. Every function that it exports begins with it.
#[inline]
pub fn enter(host: &'static Host) {
    HOST.store(std::ptr::from_ref(host).cast_mut(), Ordering::Relaxed);
}

/// The library that is loaded.
#[allow(unsafe_code)]
pub(crate) fn host() -> &'static Host {
    let host = HOST.load(Ordering::Relaxed);
    assert!(!host.is_null(), "every exported function begins with `enter`");
    // SAFETY: it was made of a reference that is valid for ever.
    unsafe { &*host }
}

/// An address that may be one of the standard's constants, as the program sees it.
pub(crate) fn address_out(address: usize) -> usize {
    if address == standard::BUFFER_AUTOMATIC { host().buffer_automatic } else { address }
}

/// An error code as the program sees it.
pub(crate) fn error_out(code: i32) -> i32 {
    (host().error_out)(code)
}
