//! Handles and constants of the standard's ABI, as the semantic layer has them: every translation is the identity.

#![allow(non_camel_case_types, reason = "the names are C's")]

use std::ffi::{c_int, c_void};

use ringworld_mpi::host::{Function, Host, enter};
use ringworld_mpi::kind::Kind;
use ringworld_mpi::standard::{self, Datatype};
use ringworld_mpi::status::Status;

pub(crate) type MPI_Comm = usize;
pub(crate) type MPI_Group = usize;
pub(crate) type MPI_Datatype = usize;
pub(crate) type MPI_Op = usize;
pub(crate) type MPI_Request = usize;
pub(crate) type MPI_Message = usize;
pub(crate) type MPI_Info = usize;
pub(crate) type MPI_Errhandler = usize;
pub(crate) type MPI_Session = usize;
pub(crate) type MPI_Win = usize;
pub(crate) type MPI_File = usize;

/// A status, as programs see it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct MPI_Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    /// Bytes, low and high; whether it was cancelled.
    internal: [c_int; 5],
}

static HOST: Host = Host {
    library: "the standard ABI",
    abi_version: (standard::ABI_VERSION, standard::ABI_SUBVERSION),
    max_processor_name: standard::MAX_PROCESSOR_NAME,
    max_info_key: standard::MAX_INFO_KEY,
    any_source: standard::ANY_SOURCE,
    proc_null: standard::PROC_NULL,
    buffer_automatic: standard::BUFFER_AUTOMATIC,
    handle_bytes: 8,
    handle_in: |_, handle| handle,
    handle_out: |_, handle| handle,
    status_bytes: size_of::<MPI_Status>(),
    write_status,
    read_status,
    order_out: |x| x,
    error_in: |x| x,
    error_out: |x| x,
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

macro_rules! identities {
    ($($in:ident $out:ident)*) => { $(
        #[inline]
        pub(crate) fn $in(x: c_int) -> c_int {
            x
        }

        #[inline]
        #[allow(dead_code, reason = "not all of them are results")]
        pub(crate) fn $out(x: c_int) -> c_int {
            x
        }
    )* };
}

identities! {
    rank_in rank_out tag_in tag_out keyval_in keyval_out thread_in thread_out error_in error_out split_in split_out
    order_in order_out combiner_in combiner_out typeclass_in typeclass_out distribute_in distribute_out
    comparison_in comparison_out topology_in topology_out
}

#[inline]
pub(crate) fn code(code: c_int) -> c_int {
    code
}

#[inline]
pub(crate) fn handle_in(_: Kind, handle: usize) -> usize {
    handle
}

#[inline]
pub(crate) fn buffer(buffer: *mut c_void) -> *mut c_void {
    buffer
}

#[inline]
pub(crate) fn weights(weights: *const c_int) -> *const c_int {
    weights
}

#[inline]
pub(crate) fn status(status: *const MPI_Status) -> *mut c_void {
    status.cast_mut().cast()
}

/// Handles are small numbers.
pub(crate) fn to_int(handle: usize) -> c_int {
    handle as c_int
}

pub(crate) fn from_int(handle: c_int) -> usize {
    handle as usize
}

unsafe fn write_status(at: *mut c_void, status: &Status) {
    let Status { source, tag, error, bytes, cancelled } = *status;
    let internal = [bytes as c_int, (bytes >> 32) as c_int, cancelled.into(), 0, 0];
    // SAFETY: the caller says that a status can be written there.
    unsafe { at.cast::<MPI_Status>().write_unaligned(MPI_Status { source, tag, error, internal }) }
}

unsafe fn read_status(at: *const c_void) -> Status {
    // SAFETY: the caller says that there is a status.
    let MPI_Status { source, tag, error, internal } = unsafe { at.cast::<MPI_Status>().read_unaligned() };
    let bytes = i64::from(internal[1]) << 32 | i64::from(internal[0] as u32);
    Status { source, tag, error, bytes, cancelled: internal[2] != 0 }
}

ringworld_mpi::callbacks!(usize);
