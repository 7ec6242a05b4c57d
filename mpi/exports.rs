// Every function of MPI, under both its names. Made by `cargo xtask mpi` from functions.txt; not to be edited.
//
// Included by each of the two libraries, whose module `c` says what handles and constants are there. That `MPI_X` is as
// strong a name as `PMPI_X` makes no difference to tools that wrap it: the first library in the order of the program
// wins.

#![allow(non_snake_case, reason = "the names are C's")]
#![allow(unused_variables, reason = "functions that are not there look at none of their arguments")]
#![allow(clippy::too_many_arguments, reason = "they are MPI's")]
#![allow(clippy::useless_conversion, reason = "what is no conversion in one library is one in the other")]
#![allow(trivial_numeric_casts, clippy::unnecessary_cast, reason = "as above")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "each argument is made by one")]
#![allow(clippy::missing_safety_doc, reason = "the standard says what each argument must be")]
#![allow(clippy::suspicious_else_formatting, reason = "lines end where they are full")]

use std::ffi::{c_char, c_int, c_void};

use ringworld_mpi::arguments::{Address, Handles, IntOut, Ints, StatusOut, Text, TextOut};
use ringworld_mpi::kind::Kind;
use ringworld_mpi::standard::{Comm, Datatype, Errhandler, Group, Info, Message, Op, Request, Session};
use ringworld_mpi::{absent, calls, look_before_return, unsupported};

use super::c;

macro_rules! export {
    ($name:ident $profiled:ident ($($argument:ident: $type:ty),*) -> $returns:ty { $body:expr }) => {
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $profiled($($argument: $type),*) -> $returns {
            c::begin();
            // SAFETY: the program gives what the standard says of each argument.
            #[allow(unused_unsafe, reason = "functions without pointers")]
            let returned = unsafe { $body };
            look_before_return();
            returned
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $returns {
            // SAFETY: it is the same function.
            unsafe { $profiled($($argument),*) }
        }
    };
}

export!(MPI_Abi_get_fortran_booleans PMPI_Abi_get_fortran_booleans (logical_size: c_int, logical_true: *mut c_void,
    logical_false: *mut c_void, is_set: *mut c_int) -> c_int { c::code(unsupported("MPI_Abi_get_fortran_booleans"))
    });
export!(MPI_Abi_get_fortran_info PMPI_Abi_get_fortran_info (info: *mut c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_Abi_get_fortran_info")) });
export!(MPI_Abi_get_info PMPI_Abi_get_info (info: *mut c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_Abi_get_info")) });
export!(MPI_Abi_get_version PMPI_Abi_get_version (abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    c::code(if abi_major.is_null() || abi_minor.is_null() { absent("MPI_Abi_get_version") } else {
    calls::abi_get_version(IntOut::narrow(abi_major), IntOut::narrow(abi_minor)) }) });
export!(MPI_Abi_set_fortran_booleans PMPI_Abi_set_fortran_booleans (logical_size: c_int, logical_true: *mut c_void,
    logical_false: *mut c_void) -> c_int { c::code(unsupported("MPI_Abi_set_fortran_booleans")) });
export!(MPI_Abi_set_fortran_info PMPI_Abi_set_fortran_info (info: c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_Abi_set_fortran_info")) });
export!(MPI_Abort PMPI_Abort (comm: c::MPI_Comm, errorcode: c_int) -> c_int {
    c::code(calls::abort(Comm(c::handle_in(Kind::Comm, comm as usize)), c::error_in(errorcode))) });
export!(MPI_Accumulate PMPI_Accumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype:
    c::MPI_Datatype, target_rank: c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype,
    op: c::MPI_Op, win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Accumulate")) });
export!(MPI_Accumulate_c PMPI_Accumulate_c (origin_addr: *const c_void, origin_count: i64, origin_datatype:
    c::MPI_Datatype, target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype,
    op: c::MPI_Op, win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Accumulate_c")) });
export!(MPI_Add_error_class PMPI_Add_error_class (errorclass: *mut c_int) -> c_int { c::code(if errorclass.is_null()
    { absent("MPI_Add_error_class") } else { calls::add_error_class(IntOut::mapped(errorclass, c::error_in,
    c::error_out)) }) });
export!(MPI_Add_error_code PMPI_Add_error_code (errorclass: c_int, errorcode: *mut c_int) -> c_int { c::code(if
    errorcode.is_null() { absent("MPI_Add_error_code") } else { calls::add_error_code(c::error_in(errorclass),
    IntOut::mapped(errorcode, c::error_in, c::error_out)) }) });
export!(MPI_Add_error_string PMPI_Add_error_string (errorcode: c_int, string: *const c_char) -> c_int {
    c::code(calls::add_error_string(c::error_in(errorcode), Text::new(string))) });
export!(MPI_Allgather PMPI_Allgather (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::allgather(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)))) });
export!(MPI_Allgather_c PMPI_Allgather_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::allgather(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Allgather_init PMPI_Allgather_init (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info,
    request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Allgather_init") } else {
    calls::allgather_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Allgather_init_c PMPI_Allgather_init_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info:
    c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Allgather_init_c") } else { calls::allgather_init(Address::new(c::buffer(sendbuf.cast_mut())),
    sendcount, Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as
    usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Allgatherv PMPI_Allgatherv (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c::MPI_Datatype, comm:
    c::MPI_Comm) -> c_int { c::code(calls::allgatherv(Address::new(c::buffer(sendbuf.cast_mut())),
    i64::from(sendcount), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(displs),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Allgatherv_c PMPI_Allgatherv_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype, comm:
    c::MPI_Comm) -> c_int { c::code(calls::allgatherv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Allgatherv_init PMPI_Allgatherv_init (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Allgatherv_init") } else {
    calls::allgatherv_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Allgatherv_init_c PMPI_Allgatherv_init_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype,
    comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Allgatherv_init_c") } else { calls::allgatherv_init(Address::new(c::buffer(sendbuf.cast_mut())),
    sendcount, Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alloc_mem PMPI_Alloc_mem (size: isize, info: c::MPI_Info, baseptr: *mut c_void) -> c_int {
    c::code(calls::alloc_mem(size as i64, Info(c::handle_in(Kind::Info, info as usize)), Address::new(baseptr))) });
export!(MPI_Allreduce PMPI_Allreduce (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::allreduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Allreduce_c PMPI_Allreduce_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::allreduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Allreduce_init PMPI_Allreduce_init (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int,
    datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Allreduce_init") } else {
    calls::allreduce_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Allreduce_init_c PMPI_Allreduce_init_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64,
    datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Allreduce_init_c") } else {
    calls::allreduce_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alltoall PMPI_Alltoall (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::alltoall(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)))) });
export!(MPI_Alltoall_c PMPI_Alltoall_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::alltoall(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Alltoall_init PMPI_Alltoall_init (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info,
    request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Alltoall_init") } else {
    calls::alltoall_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alltoall_init_c PMPI_Alltoall_init_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Alltoall_init_c") } else {
    calls::alltoall_init(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alltoallv PMPI_Alltoallv (sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::alltoallv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(rdispls),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Alltoallv_c PMPI_Alltoallv_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls: *const isize,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::alltoallv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Alltoallv_init PMPI_Alltoallv_init (sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const
    c_int, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Alltoallv_init") } else {
    calls::alltoallv_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(rdispls),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alltoallv_init_c PMPI_Alltoallv_init_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls: *const
    isize, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Alltoallv_init_c") } else {
    calls::alltoallv_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alltoallw PMPI_Alltoallw (sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::alltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Handles::<Datatype>::new(sendtypes.cast_mut().cast()), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(rdispls), Handles::<Datatype>::new(recvtypes.cast_mut().cast()),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Alltoallw_c PMPI_Alltoallw_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls: *const isize,
    sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize,
    recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::alltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Alltoallw_init PMPI_Alltoallw_init (sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const
    c_int, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int
    { c::code(if request.is_null() { absent("MPI_Alltoallw_init") } else {
    calls::alltoallw_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Handles::<Datatype>::new(sendtypes.cast_mut().cast()), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(rdispls), Handles::<Datatype>::new(recvtypes.cast_mut().cast()),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Alltoallw_init_c PMPI_Alltoallw_init_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls: *const
    isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize,
    recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int
    { c::code(if request.is_null() { absent("MPI_Alltoallw_init_c") } else {
    calls::alltoallw_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Attr_delete PMPI_Attr_delete (comm: c::MPI_Comm, keyval: c_int) -> c_int {
    c::code(calls::attr_delete(Comm(c::handle_in(Kind::Comm, comm as usize)), c::keyval_in(keyval))) });
export!(MPI_Attr_get PMPI_Attr_get (comm: c::MPI_Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int)
    -> c_int { c::code(if flag.is_null() { absent("MPI_Attr_get") } else {
    calls::attr_get(Comm(c::handle_in(Kind::Comm, comm as usize)), c::keyval_in(keyval),
    Address::new(attribute_val), IntOut::narrow(flag)) }) });
export!(MPI_Attr_put PMPI_Attr_put (comm: c::MPI_Comm, keyval: c_int, attribute_val: *mut c_void) -> c_int {
    c::code(calls::attr_put(Comm(c::handle_in(Kind::Comm, comm as usize)), c::keyval_in(keyval),
    Address::new(attribute_val))) });
export!(MPI_Barrier PMPI_Barrier (comm: c::MPI_Comm) -> c_int { c::code(calls::barrier(Comm(c::handle_in(Kind::Comm,
    comm as usize)))) });
export!(MPI_Barrier_init PMPI_Barrier_init (comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Barrier_init") } else {
    calls::barrier_init(Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as
    usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Bcast PMPI_Bcast (buffer: *mut c_void, count: c_int, datatype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm) -> c_int { c::code(calls::bcast(Address::new(c::buffer(buffer)), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)))) });
export!(MPI_Bcast_c PMPI_Bcast_c (buffer: *mut c_void, count: i64, datatype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm) -> c_int { c::code(calls::bcast(Address::new(c::buffer(buffer)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)))) });
export!(MPI_Bcast_init PMPI_Bcast_init (buffer: *mut c_void, count: c_int, datatype: c::MPI_Datatype, root: c_int,
    comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Bcast_init") } else { calls::bcast_init(Address::new(c::buffer(buffer)), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Bcast_init_c PMPI_Bcast_init_c (buffer: *mut c_void, count: i64, datatype: c::MPI_Datatype, root: c_int,
    comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Bcast_init_c") } else { calls::bcast_init(Address::new(c::buffer(buffer)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Bsend PMPI_Bsend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag: c_int,
    comm: c::MPI_Comm) -> c_int { c::code(calls::bsend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Bsend_c PMPI_Bsend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm) -> c_int { c::code(calls::bsend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Bsend_init PMPI_Bsend_init (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Bsend_init") } else { calls::bsend_init(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Bsend_init_c PMPI_Bsend_init_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Bsend_init_c") } else { calls::bsend_init(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Buffer_attach PMPI_Buffer_attach (buffer: *mut c_void, size: c_int) -> c_int {
    c::code(calls::buffer_attach(Address::new(c::buffer(buffer)), i64::from(size))) });
export!(MPI_Buffer_attach_c PMPI_Buffer_attach_c (buffer: *mut c_void, size: i64) -> c_int {
    c::code(calls::buffer_attach(Address::new(c::buffer(buffer)), size)) });
export!(MPI_Buffer_detach PMPI_Buffer_detach (buffer_addr: *mut c_void, size: *mut c_int) -> c_int { c::code(if
    size.is_null() { absent("MPI_Buffer_detach") } else { calls::buffer_detach(Address::new(buffer_addr),
    IntOut::narrow(size)) }) });
export!(MPI_Buffer_detach_c PMPI_Buffer_detach_c (buffer_addr: *mut c_void, size: *mut i64) -> c_int { c::code(if
    size.is_null() { absent("MPI_Buffer_detach_c") } else { calls::buffer_detach(Address::new(buffer_addr),
    IntOut::wide(size)) }) });
export!(MPI_Buffer_flush PMPI_Buffer_flush () -> c_int { c::code(calls::buffer_flush()) });
export!(MPI_Buffer_iflush PMPI_Buffer_iflush (request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null()
    { absent("MPI_Buffer_iflush") } else { calls::buffer_iflush(Handles::<Request>::new(request.cast())) }) });
export!(MPI_Cancel PMPI_Cancel (request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Cancel") } else { calls::cancel(Handles::<Request>::new(request.cast())) }) });
export!(MPI_Cart_coords PMPI_Cart_coords (comm: c::MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) ->
    c_int { c::code(calls::cart_coords(Comm(c::handle_in(Kind::Comm, comm as usize)), c::rank_in(rank), maxdims,
    IntOut::narrow(coords))) });
export!(MPI_Cart_create PMPI_Cart_create (comm_old: c::MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const
    c_int, reorder: c_int, comm_cart: *mut c::MPI_Comm) -> c_int { c::code(if comm_cart.is_null() {
    absent("MPI_Cart_create") } else { calls::cart_create(Comm(c::handle_in(Kind::Comm, comm_old as usize)), ndims,
    Ints::narrow(dims), Ints::narrow(periods), reorder, Handles::<Comm>::new(comm_cart.cast())) }) });
export!(MPI_Cart_get PMPI_Cart_get (comm: c::MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int,
    coords: *mut c_int) -> c_int { c::code(calls::cart_get(Comm(c::handle_in(Kind::Comm, comm as usize)), maxdims,
    IntOut::narrow(dims), IntOut::narrow(periods), IntOut::narrow(coords))) });
export!(MPI_Cart_map PMPI_Cart_map (comm: c::MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int,
    newrank: *mut c_int) -> c_int { c::code(if newrank.is_null() { absent("MPI_Cart_map") } else {
    calls::cart_map(Comm(c::handle_in(Kind::Comm, comm as usize)), ndims, Ints::narrow(dims), Ints::narrow(periods),
    IntOut::narrow(newrank)) }) });
export!(MPI_Cart_rank PMPI_Cart_rank (comm: c::MPI_Comm, coords: *const c_int, rank: *mut c_int) -> c_int {
    c::code(if rank.is_null() { absent("MPI_Cart_rank") } else { calls::cart_rank(Comm(c::handle_in(Kind::Comm, comm
    as usize)), Ints::narrow(coords), IntOut::mapped(rank, c::rank_in, c::rank_out)) }) });
export!(MPI_Cart_shift PMPI_Cart_shift (comm: c::MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int,
    rank_dest: *mut c_int) -> c_int { c::code(if rank_source.is_null() || rank_dest.is_null() {
    absent("MPI_Cart_shift") } else { calls::cart_shift(Comm(c::handle_in(Kind::Comm, comm as usize)), direction,
    disp, IntOut::mapped(rank_source, c::rank_in, c::rank_out), IntOut::mapped(rank_dest, c::rank_in, c::rank_out))
    }) });
export!(MPI_Cart_sub PMPI_Cart_sub (comm: c::MPI_Comm, remain_dims: *const c_int, newcomm: *mut c::MPI_Comm) ->
    c_int { c::code(if newcomm.is_null() { absent("MPI_Cart_sub") } else {
    calls::cart_sub(Comm(c::handle_in(Kind::Comm, comm as usize)), Ints::narrow(remain_dims),
    Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Cartdim_get PMPI_Cartdim_get (comm: c::MPI_Comm, ndims: *mut c_int) -> c_int { c::code(if
    ndims.is_null() { absent("MPI_Cartdim_get") } else { calls::cartdim_get(Comm(c::handle_in(Kind::Comm, comm as
    usize)), IntOut::narrow(ndims)) }) });
export!(MPI_Close_port PMPI_Close_port (port_name: *const c_char) -> c_int { c::code(unsupported("MPI_Close_port"))
    });
export!(MPI_Comm_accept PMPI_Comm_accept (port_name: *const c_char, info: c::MPI_Info, root: c_int, comm:
    c::MPI_Comm, newcomm: *mut c::MPI_Comm) -> c_int { c::code(unsupported("MPI_Comm_accept")) });
export!(MPI_Comm_attach_buffer PMPI_Comm_attach_buffer (comm: c::MPI_Comm, buffer: *mut c_void, size: c_int) ->
    c_int { c::code(calls::comm_attach_buffer(Comm(c::handle_in(Kind::Comm, comm as usize)),
    Address::new(c::buffer(buffer)), i64::from(size))) });
export!(MPI_Comm_attach_buffer_c PMPI_Comm_attach_buffer_c (comm: c::MPI_Comm, buffer: *mut c_void, size: i64) ->
    c_int { c::code(calls::comm_attach_buffer(Comm(c::handle_in(Kind::Comm, comm as usize)),
    Address::new(c::buffer(buffer)), size)) });
export!(MPI_Comm_call_errhandler PMPI_Comm_call_errhandler (comm: c::MPI_Comm, errorcode: c_int) -> c_int {
    c::code(calls::comm_call_errhandler(Comm(c::handle_in(Kind::Comm, comm as usize)), c::error_in(errorcode))) });
export!(MPI_Comm_compare PMPI_Comm_compare (comm1: c::MPI_Comm, comm2: c::MPI_Comm, result: *mut c_int) -> c_int {
    c::code(if result.is_null() { absent("MPI_Comm_compare") } else {
    calls::comm_compare(Comm(c::handle_in(Kind::Comm, comm1 as usize)), Comm(c::handle_in(Kind::Comm, comm2 as
    usize)), IntOut::mapped(result, c::comparison_in, c::comparison_out)) }) });
export!(MPI_Comm_connect PMPI_Comm_connect (port_name: *const c_char, info: c::MPI_Info, root: c_int, comm:
    c::MPI_Comm, newcomm: *mut c::MPI_Comm) -> c_int { c::code(unsupported("MPI_Comm_connect")) });
export!(MPI_Comm_create PMPI_Comm_create (comm: c::MPI_Comm, group: c::MPI_Group, newcomm: *mut c::MPI_Comm) ->
    c_int { c::code(if newcomm.is_null() { absent("MPI_Comm_create") } else {
    calls::comm_create(Comm(c::handle_in(Kind::Comm, comm as usize)), Group(c::handle_in(Kind::Group, group as
    usize)), Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_create_errhandler PMPI_Comm_create_errhandler (comm_errhandler_fn: *mut c_void, errhandler: *mut
    c::MPI_Errhandler) -> c_int { c::code(if errhandler.is_null() { absent("MPI_Comm_create_errhandler") } else {
    calls::comm_create_errhandler(Address::new(comm_errhandler_fn), Handles::<Errhandler>::new(errhandler.cast()))
    }) });
export!(MPI_Comm_create_from_group PMPI_Comm_create_from_group (group: c::MPI_Group, stringtag: *const c_char, info:
    c::MPI_Info, errhandler: c::MPI_Errhandler, newcomm: *mut c::MPI_Comm) -> c_int { c::code(if newcomm.is_null() {
    absent("MPI_Comm_create_from_group") } else { calls::comm_create_from_group(Group(c::handle_in(Kind::Group,
    group as usize)), Text::new(stringtag), Info(c::handle_in(Kind::Info, info as usize)),
    Errhandler(c::handle_in(Kind::Errhandler, errhandler as usize)), Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_create_group PMPI_Comm_create_group (comm: c::MPI_Comm, group: c::MPI_Group, tag: c_int, newcomm:
    *mut c::MPI_Comm) -> c_int { c::code(if newcomm.is_null() { absent("MPI_Comm_create_group") } else {
    calls::comm_create_group(Comm(c::handle_in(Kind::Comm, comm as usize)), Group(c::handle_in(Kind::Group, group as
    usize)), c::tag_in(tag), Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_create_keyval PMPI_Comm_create_keyval (comm_copy_attr_fn: *mut c_void, comm_delete_attr_fn: *mut
    c_void, comm_keyval: *mut c_int, extra_state: *mut c_void) -> c_int { c::code(if comm_keyval.is_null() {
    absent("MPI_Comm_create_keyval") } else { calls::comm_create_keyval(Address::new(comm_copy_attr_fn),
    Address::new(comm_delete_attr_fn), IntOut::mapped(comm_keyval, c::keyval_in, c::keyval_out),
    Address::new(extra_state)) }) });
export!(MPI_Comm_delete_attr PMPI_Comm_delete_attr (comm: c::MPI_Comm, comm_keyval: c_int) -> c_int {
    c::code(calls::comm_delete_attr(Comm(c::handle_in(Kind::Comm, comm as usize)), c::keyval_in(comm_keyval))) });
export!(MPI_Comm_detach_buffer PMPI_Comm_detach_buffer (comm: c::MPI_Comm, buffer_addr: *mut c_void, size: *mut
    c_int) -> c_int { c::code(if size.is_null() { absent("MPI_Comm_detach_buffer") } else {
    calls::comm_detach_buffer(Comm(c::handle_in(Kind::Comm, comm as usize)), Address::new(buffer_addr),
    IntOut::narrow(size)) }) });
export!(MPI_Comm_detach_buffer_c PMPI_Comm_detach_buffer_c (comm: c::MPI_Comm, buffer_addr: *mut c_void, size: *mut
    i64) -> c_int { c::code(if size.is_null() { absent("MPI_Comm_detach_buffer_c") } else {
    calls::comm_detach_buffer(Comm(c::handle_in(Kind::Comm, comm as usize)), Address::new(buffer_addr),
    IntOut::wide(size)) }) });
export!(MPI_Comm_disconnect PMPI_Comm_disconnect (comm: *mut c::MPI_Comm) -> c_int { c::code(if comm.is_null() {
    absent("MPI_Comm_disconnect") } else { calls::comm_disconnect(Handles::<Comm>::new(comm.cast())) }) });
export!(MPI_Comm_dup PMPI_Comm_dup (comm: c::MPI_Comm, newcomm: *mut c::MPI_Comm) -> c_int { c::code(if
    newcomm.is_null() { absent("MPI_Comm_dup") } else { calls::comm_dup(Comm(c::handle_in(Kind::Comm, comm as
    usize)), Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_dup_with_info PMPI_Comm_dup_with_info (comm: c::MPI_Comm, info: c::MPI_Info, newcomm: *mut
    c::MPI_Comm) -> c_int { c::code(if newcomm.is_null() { absent("MPI_Comm_dup_with_info") } else {
    calls::comm_dup_with_info(Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as
    usize)), Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_flush_buffer PMPI_Comm_flush_buffer (comm: c::MPI_Comm) -> c_int {
    c::code(calls::comm_flush_buffer(Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Comm_free PMPI_Comm_free (comm: *mut c::MPI_Comm) -> c_int { c::code(if comm.is_null() {
    absent("MPI_Comm_free") } else { calls::comm_free(Handles::<Comm>::new(comm.cast())) }) });
export!(MPI_Comm_free_keyval PMPI_Comm_free_keyval (comm_keyval: *mut c_int) -> c_int { c::code(if
    comm_keyval.is_null() { absent("MPI_Comm_free_keyval") } else {
    calls::comm_free_keyval(IntOut::mapped(comm_keyval, c::keyval_in, c::keyval_out)) }) });
export!(MPI_Comm_get_attr PMPI_Comm_get_attr (comm: c::MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void,
    flag: *mut c_int) -> c_int { c::code(if flag.is_null() { absent("MPI_Comm_get_attr") } else {
    calls::comm_get_attr(Comm(c::handle_in(Kind::Comm, comm as usize)), c::keyval_in(comm_keyval),
    Address::new(attribute_val), IntOut::narrow(flag)) }) });
export!(MPI_Comm_get_errhandler PMPI_Comm_get_errhandler (comm: c::MPI_Comm, errhandler: *mut c::MPI_Errhandler) ->
    c_int { c::code(if errhandler.is_null() { absent("MPI_Comm_get_errhandler") } else {
    calls::comm_get_errhandler(Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Errhandler>::new(errhandler.cast())) }) });
export!(MPI_Comm_get_info PMPI_Comm_get_info (comm: c::MPI_Comm, info_used: *mut c::MPI_Info) -> c_int { c::code(if
    info_used.is_null() { absent("MPI_Comm_get_info") } else { calls::comm_get_info(Comm(c::handle_in(Kind::Comm,
    comm as usize)), Handles::<Info>::new(info_used.cast())) }) });
export!(MPI_Comm_get_name PMPI_Comm_get_name (comm: c::MPI_Comm, comm_name: *mut c_char, resultlen: *mut c_int) ->
    c_int { c::code(if resultlen.is_null() { absent("MPI_Comm_get_name") } else {
    calls::comm_get_name(Comm(c::handle_in(Kind::Comm, comm as usize)), TextOut::new(comm_name),
    IntOut::narrow(resultlen)) }) });
export!(MPI_Comm_get_parent PMPI_Comm_get_parent (parent: *mut c::MPI_Comm) -> c_int { c::code(if parent.is_null() {
    absent("MPI_Comm_get_parent") } else { calls::comm_get_parent(Handles::<Comm>::new(parent.cast())) }) });
export!(MPI_Comm_group PMPI_Comm_group (comm: c::MPI_Comm, group: *mut c::MPI_Group) -> c_int { c::code(if
    group.is_null() { absent("MPI_Comm_group") } else { calls::comm_group(Comm(c::handle_in(Kind::Comm, comm as
    usize)), Handles::<Group>::new(group.cast())) }) });
export!(MPI_Comm_idup PMPI_Comm_idup (comm: c::MPI_Comm, newcomm: *mut c::MPI_Comm, request: *mut c::MPI_Request) ->
    c_int { c::code(if newcomm.is_null() || request.is_null() { absent("MPI_Comm_idup") } else {
    calls::comm_idup(Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Comm>::new(newcomm.cast()),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Comm_idup_with_info PMPI_Comm_idup_with_info (comm: c::MPI_Comm, info: c::MPI_Info, newcomm: *mut
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if newcomm.is_null() || request.is_null() {
    absent("MPI_Comm_idup_with_info") } else { calls::comm_idup_with_info(Comm(c::handle_in(Kind::Comm, comm as
    usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Comm>::new(newcomm.cast()),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Comm_iflush_buffer PMPI_Comm_iflush_buffer (comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Comm_iflush_buffer") } else {
    calls::comm_iflush_buffer(Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Comm_join PMPI_Comm_join (fd: c_int, intercomm: *mut c::MPI_Comm) -> c_int {
    c::code(unsupported("MPI_Comm_join")) });
export!(MPI_Comm_rank PMPI_Comm_rank (comm: c::MPI_Comm, rank: *mut c_int) -> c_int { c::code(if rank.is_null() {
    absent("MPI_Comm_rank") } else { calls::comm_rank(Comm(c::handle_in(Kind::Comm, comm as usize)),
    IntOut::mapped(rank, c::rank_in, c::rank_out)) }) });
export!(MPI_Comm_remote_group PMPI_Comm_remote_group (comm: c::MPI_Comm, group: *mut c::MPI_Group) -> c_int {
    c::code(if group.is_null() { absent("MPI_Comm_remote_group") } else {
    calls::comm_remote_group(Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Group>::new(group.cast())) })
    });
export!(MPI_Comm_remote_size PMPI_Comm_remote_size (comm: c::MPI_Comm, size: *mut c_int) -> c_int { c::code(if
    size.is_null() { absent("MPI_Comm_remote_size") } else { calls::comm_remote_size(Comm(c::handle_in(Kind::Comm,
    comm as usize)), IntOut::narrow(size)) }) });
export!(MPI_Comm_set_attr PMPI_Comm_set_attr (comm: c::MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void) ->
    c_int { c::code(calls::comm_set_attr(Comm(c::handle_in(Kind::Comm, comm as usize)), c::keyval_in(comm_keyval),
    Address::new(attribute_val))) });
export!(MPI_Comm_set_errhandler PMPI_Comm_set_errhandler (comm: c::MPI_Comm, errhandler: c::MPI_Errhandler) -> c_int
    { c::code(calls::comm_set_errhandler(Comm(c::handle_in(Kind::Comm, comm as usize)),
    Errhandler(c::handle_in(Kind::Errhandler, errhandler as usize)))) });
export!(MPI_Comm_set_info PMPI_Comm_set_info (comm: c::MPI_Comm, info: c::MPI_Info) -> c_int {
    c::code(calls::comm_set_info(Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info
    as usize)))) });
export!(MPI_Comm_set_name PMPI_Comm_set_name (comm: c::MPI_Comm, comm_name: *const c_char) -> c_int {
    c::code(calls::comm_set_name(Comm(c::handle_in(Kind::Comm, comm as usize)), Text::new(comm_name))) });
export!(MPI_Comm_size PMPI_Comm_size (comm: c::MPI_Comm, size: *mut c_int) -> c_int { c::code(if size.is_null() {
    absent("MPI_Comm_size") } else { calls::comm_size(Comm(c::handle_in(Kind::Comm, comm as usize)),
    IntOut::narrow(size)) }) });
export!(MPI_Comm_spawn PMPI_Comm_spawn (command: *const c_char, argv: *mut c_void, maxprocs: c_int, info:
    c::MPI_Info, root: c_int, comm: c::MPI_Comm, intercomm: *mut c::MPI_Comm, array_of_errcodes: *mut c_int) ->
    c_int { c::code(unsupported("MPI_Comm_spawn")) });
export!(MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple (count: c_int, array_of_commands: *mut c_void,
    array_of_argv: *mut c_void, array_of_maxprocs: *const c_int, array_of_info: *const c::MPI_Info, root: c_int,
    comm: c::MPI_Comm, intercomm: *mut c::MPI_Comm, array_of_errcodes: *mut c_int) -> c_int {
    c::code(unsupported("MPI_Comm_spawn_multiple")) });
export!(MPI_Comm_split PMPI_Comm_split (comm: c::MPI_Comm, color: c_int, key: c_int, newcomm: *mut c::MPI_Comm) ->
    c_int { c::code(if newcomm.is_null() { absent("MPI_Comm_split") } else {
    calls::comm_split(Comm(c::handle_in(Kind::Comm, comm as usize)), color, key,
    Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_split_type PMPI_Comm_split_type (comm: c::MPI_Comm, split_type: c_int, key: c_int, info:
    c::MPI_Info, newcomm: *mut c::MPI_Comm) -> c_int { c::code(if newcomm.is_null() { absent("MPI_Comm_split_type")
    } else { calls::comm_split_type(Comm(c::handle_in(Kind::Comm, comm as usize)), c::split_in(split_type), key,
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Comm>::new(newcomm.cast())) }) });
export!(MPI_Comm_test_inter PMPI_Comm_test_inter (comm: c::MPI_Comm, flag: *mut c_int) -> c_int { c::code(if
    flag.is_null() { absent("MPI_Comm_test_inter") } else { calls::comm_test_inter(Comm(c::handle_in(Kind::Comm,
    comm as usize)), IntOut::narrow(flag)) }) });
export!(MPI_Compare_and_swap PMPI_Compare_and_swap (origin_addr: *const c_void, compare_addr: *const c_void,
    result_addr: *mut c_void, datatype: c::MPI_Datatype, target_rank: c_int, target_disp: isize, win: c::MPI_Win) ->
    c_int { c::code(unsupported("MPI_Compare_and_swap")) });
export!(MPI_Dims_create PMPI_Dims_create (nnodes: c_int, ndims: c_int, dims: *mut c_int) -> c_int {
    c::code(calls::dims_create(nnodes, ndims, IntOut::narrow(dims))) });
export!(MPI_Dist_graph_create PMPI_Dist_graph_create (comm_old: c::MPI_Comm, n: c_int, sources: *const c_int,
    degrees: *const c_int, destinations: *const c_int, weights: *const c_int, info: c::MPI_Info, reorder: c_int,
    comm_dist_graph: *mut c::MPI_Comm) -> c_int { c::code(if comm_dist_graph.is_null() {
    absent("MPI_Dist_graph_create") } else { calls::dist_graph_create(Comm(c::handle_in(Kind::Comm, comm_old as
    usize)), n, Ints::narrow(sources), Ints::narrow(degrees), Ints::narrow(destinations),
    Ints::narrow(c::weights(weights)), Info(c::handle_in(Kind::Info, info as usize)), reorder,
    Handles::<Comm>::new(comm_dist_graph.cast())) }) });
export!(MPI_Dist_graph_create_adjacent PMPI_Dist_graph_create_adjacent (comm_old: c::MPI_Comm, indegree: c_int,
    sources: *const c_int, sourceweights: *const c_int, outdegree: c_int, destinations: *const c_int, destweights:
    *const c_int, info: c::MPI_Info, reorder: c_int, comm_dist_graph: *mut c::MPI_Comm) -> c_int { c::code(if
    comm_dist_graph.is_null() { absent("MPI_Dist_graph_create_adjacent") } else {
    calls::dist_graph_create_adjacent(Comm(c::handle_in(Kind::Comm, comm_old as usize)), indegree,
    Ints::narrow(sources), Ints::narrow(c::weights(sourceweights)), outdegree, Ints::narrow(destinations),
    Ints::narrow(c::weights(destweights)), Info(c::handle_in(Kind::Info, info as usize)), reorder,
    Handles::<Comm>::new(comm_dist_graph.cast())) }) });
export!(MPI_Dist_graph_neighbors PMPI_Dist_graph_neighbors (comm: c::MPI_Comm, maxindegree: c_int, sources: *mut
    c_int, sourceweights: *mut c_int, maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int) ->
    c_int { c::code(calls::dist_graph_neighbors(Comm(c::handle_in(Kind::Comm, comm as usize)), maxindegree,
    IntOut::narrow(sources), IntOut::narrow(c::weights(sourceweights).cast_mut()), maxoutdegree,
    IntOut::narrow(destinations), IntOut::narrow(c::weights(destweights).cast_mut()))) });
export!(MPI_Dist_graph_neighbors_count PMPI_Dist_graph_neighbors_count (comm: c::MPI_Comm, indegree: *mut c_int,
    outdegree: *mut c_int, weighted: *mut c_int) -> c_int { c::code(if indegree.is_null() || outdegree.is_null() ||
    weighted.is_null() { absent("MPI_Dist_graph_neighbors_count") } else {
    calls::dist_graph_neighbors_count(Comm(c::handle_in(Kind::Comm, comm as usize)), IntOut::narrow(indegree),
    IntOut::narrow(outdegree), IntOut::narrow(weighted)) }) });
export!(MPI_Errhandler_free PMPI_Errhandler_free (errhandler: *mut c::MPI_Errhandler) -> c_int { c::code(if
    errhandler.is_null() { absent("MPI_Errhandler_free") } else {
    calls::errhandler_free(Handles::<Errhandler>::new(errhandler.cast())) }) });
export!(MPI_Error_class PMPI_Error_class (errorcode: c_int, errorclass: *mut c_int) -> c_int { c::code(if
    errorclass.is_null() { absent("MPI_Error_class") } else { calls::error_class(c::error_in(errorcode),
    IntOut::mapped(errorclass, c::error_in, c::error_out)) }) });
export!(MPI_Error_string PMPI_Error_string (errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> c_int {
    c::code(if resultlen.is_null() { absent("MPI_Error_string") } else { calls::error_string(c::error_in(errorcode),
    TextOut::new(string), IntOut::narrow(resultlen)) }) });
export!(MPI_Exscan PMPI_Exscan (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::exscan(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Exscan_c PMPI_Exscan_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::exscan(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Exscan_init PMPI_Exscan_init (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Exscan_init") } else {
    calls::exscan_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Exscan_init_c PMPI_Exscan_init_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Exscan_init_c") } else {
    calls::exscan_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Fetch_and_op PMPI_Fetch_and_op (origin_addr: *const c_void, result_addr: *mut c_void, datatype:
    c::MPI_Datatype, target_rank: c_int, target_disp: isize, op: c::MPI_Op, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Fetch_and_op")) });
export!(MPI_File_call_errhandler PMPI_File_call_errhandler (fh: c::MPI_File, errorcode: c_int) -> c_int {
    c::code(unsupported("MPI_File_call_errhandler")) });
export!(MPI_File_close PMPI_File_close (fh: *mut c::MPI_File) -> c_int { c::code(unsupported("MPI_File_close")) });
export!(MPI_File_create_errhandler PMPI_File_create_errhandler (file_errhandler_fn: *mut c_void, errhandler: *mut
    c::MPI_Errhandler) -> c_int { c::code(unsupported("MPI_File_create_errhandler")) });
export!(MPI_File_delete PMPI_File_delete (filename: *const c_char, info: c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_File_delete")) });
export!(MPI_File_get_amode PMPI_File_get_amode (fh: c::MPI_File, amode: *mut c_int) -> c_int {
    c::code(unsupported("MPI_File_get_amode")) });
export!(MPI_File_get_atomicity PMPI_File_get_atomicity (fh: c::MPI_File, flag: *mut c_int) -> c_int {
    c::code(unsupported("MPI_File_get_atomicity")) });
export!(MPI_File_get_byte_offset PMPI_File_get_byte_offset (fh: c::MPI_File, offset: i64, disp: *mut i64) -> c_int {
    c::code(unsupported("MPI_File_get_byte_offset")) });
export!(MPI_File_get_errhandler PMPI_File_get_errhandler (file: c::MPI_File, errhandler: *mut c::MPI_Errhandler) ->
    c_int { c::code(unsupported("MPI_File_get_errhandler")) });
export!(MPI_File_get_group PMPI_File_get_group (fh: c::MPI_File, group: *mut c::MPI_Group) -> c_int {
    c::code(unsupported("MPI_File_get_group")) });
export!(MPI_File_get_info PMPI_File_get_info (fh: c::MPI_File, info_used: *mut c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_File_get_info")) });
export!(MPI_File_get_position PMPI_File_get_position (fh: c::MPI_File, offset: *mut i64) -> c_int {
    c::code(unsupported("MPI_File_get_position")) });
export!(MPI_File_get_position_shared PMPI_File_get_position_shared (fh: c::MPI_File, offset: *mut i64) -> c_int {
    c::code(unsupported("MPI_File_get_position_shared")) });
export!(MPI_File_get_size PMPI_File_get_size (fh: c::MPI_File, size: *mut i64) -> c_int {
    c::code(unsupported("MPI_File_get_size")) });
export!(MPI_File_get_type_extent PMPI_File_get_type_extent (fh: c::MPI_File, datatype: c::MPI_Datatype, extent: *mut
    isize) -> c_int { c::code(unsupported("MPI_File_get_type_extent")) });
export!(MPI_File_get_type_extent_c PMPI_File_get_type_extent_c (fh: c::MPI_File, datatype: c::MPI_Datatype, extent:
    *mut i64) -> c_int { c::code(unsupported("MPI_File_get_type_extent_c")) });
export!(MPI_File_get_view PMPI_File_get_view (fh: c::MPI_File, disp: *mut i64, etype: *mut c::MPI_Datatype,
    filetype: *mut c::MPI_Datatype, datarep: *mut c_char) -> c_int { c::code(unsupported("MPI_File_get_view")) });
export!(MPI_File_iread PMPI_File_iread (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype,
    request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread")) });
export!(MPI_File_iread_c PMPI_File_iread_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_c")) });
export!(MPI_File_iread_all PMPI_File_iread_all (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_all")) });
export!(MPI_File_iread_all_c PMPI_File_iread_all_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_all_c")) });
export!(MPI_File_iread_at PMPI_File_iread_at (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: c_int,
    datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_at"))
    });
export!(MPI_File_iread_at_c PMPI_File_iread_at_c (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: i64,
    datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_at_c"))
    });
export!(MPI_File_iread_at_all PMPI_File_iread_at_all (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: c_int,
    datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int {
    c::code(unsupported("MPI_File_iread_at_all")) });
export!(MPI_File_iread_at_all_c PMPI_File_iread_at_all_c (fh: c::MPI_File, offset: i64, buf: *mut c_void, count:
    i64, datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int {
    c::code(unsupported("MPI_File_iread_at_all_c")) });
export!(MPI_File_iread_shared PMPI_File_iread_shared (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_shared")) });
export!(MPI_File_iread_shared_c PMPI_File_iread_shared_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iread_shared_c")) });
export!(MPI_File_iwrite PMPI_File_iwrite (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite")) });
export!(MPI_File_iwrite_c PMPI_File_iwrite_c (fh: c::MPI_File, buf: *const c_void, count: i64, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite_c")) });
export!(MPI_File_iwrite_all PMPI_File_iwrite_all (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite_all")) });
export!(MPI_File_iwrite_all_c PMPI_File_iwrite_all_c (fh: c::MPI_File, buf: *const c_void, count: i64, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite_all_c")) });
export!(MPI_File_iwrite_at PMPI_File_iwrite_at (fh: c::MPI_File, offset: i64, buf: *const c_void, count: c_int,
    datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite_at"))
    });
export!(MPI_File_iwrite_at_c PMPI_File_iwrite_at_c (fh: c::MPI_File, offset: i64, buf: *const c_void, count: i64,
    datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite_at_c"))
    });
export!(MPI_File_iwrite_at_all PMPI_File_iwrite_at_all (fh: c::MPI_File, offset: i64, buf: *const c_void, count:
    c_int, datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int {
    c::code(unsupported("MPI_File_iwrite_at_all")) });
export!(MPI_File_iwrite_at_all_c PMPI_File_iwrite_at_all_c (fh: c::MPI_File, offset: i64, buf: *const c_void, count:
    i64, datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int {
    c::code(unsupported("MPI_File_iwrite_at_all_c")) });
export!(MPI_File_iwrite_shared PMPI_File_iwrite_shared (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_File_iwrite_shared")) });
export!(MPI_File_iwrite_shared_c PMPI_File_iwrite_shared_c (fh: c::MPI_File, buf: *const c_void, count: i64,
    datatype: c::MPI_Datatype, request: *mut c::MPI_Request) -> c_int {
    c::code(unsupported("MPI_File_iwrite_shared_c")) });
export!(MPI_File_open PMPI_File_open (comm: c::MPI_Comm, filename: *const c_char, amode: c_int, info: c::MPI_Info,
    fh: *mut c::MPI_File) -> c_int { c::code(unsupported("MPI_File_open")) });
export!(MPI_File_preallocate PMPI_File_preallocate (fh: c::MPI_File, size: i64) -> c_int {
    c::code(unsupported("MPI_File_preallocate")) });
export!(MPI_File_read PMPI_File_read (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype,
    status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read")) });
export!(MPI_File_read_c PMPI_File_read_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype: c::MPI_Datatype,
    status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_c")) });
export!(MPI_File_read_all PMPI_File_read_all (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_all")) });
export!(MPI_File_read_all_c PMPI_File_read_all_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_all_c")) });
export!(MPI_File_read_all_begin PMPI_File_read_all_begin (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_read_all_begin")) });
export!(MPI_File_read_all_begin_c PMPI_File_read_all_begin_c (fh: c::MPI_File, buf: *mut c_void, count: i64,
    datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_read_all_begin_c")) });
export!(MPI_File_read_all_end PMPI_File_read_all_end (fh: c::MPI_File, buf: *mut c_void, status: *mut c::MPI_Status)
    -> c_int { c::code(unsupported("MPI_File_read_all_end")) });
export!(MPI_File_read_at PMPI_File_read_at (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_at")) });
export!(MPI_File_read_at_c PMPI_File_read_at_c (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: i64,
    datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_at_c")) });
export!(MPI_File_read_at_all PMPI_File_read_at_all (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: c_int,
    datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_at_all"))
    });
export!(MPI_File_read_at_all_c PMPI_File_read_at_all_c (fh: c::MPI_File, offset: i64, buf: *mut c_void, count: i64,
    datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_at_all_c"))
    });
export!(MPI_File_read_at_all_begin PMPI_File_read_at_all_begin (fh: c::MPI_File, offset: i64, buf: *mut c_void,
    count: c_int, datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_read_at_all_begin")) });
export!(MPI_File_read_at_all_begin_c PMPI_File_read_at_all_begin_c (fh: c::MPI_File, offset: i64, buf: *mut c_void,
    count: i64, datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_read_at_all_begin_c")) });
export!(MPI_File_read_at_all_end PMPI_File_read_at_all_end (fh: c::MPI_File, buf: *mut c_void, status: *mut
    c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_at_all_end")) });
export!(MPI_File_read_ordered PMPI_File_read_ordered (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_ordered")) });
export!(MPI_File_read_ordered_c PMPI_File_read_ordered_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_ordered_c")) });
export!(MPI_File_read_ordered_begin PMPI_File_read_ordered_begin (fh: c::MPI_File, buf: *mut c_void, count: c_int,
    datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_read_ordered_begin")) });
export!(MPI_File_read_ordered_begin_c PMPI_File_read_ordered_begin_c (fh: c::MPI_File, buf: *mut c_void, count: i64,
    datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_read_ordered_begin_c")) });
export!(MPI_File_read_ordered_end PMPI_File_read_ordered_end (fh: c::MPI_File, buf: *mut c_void, status: *mut
    c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_ordered_end")) });
export!(MPI_File_read_shared PMPI_File_read_shared (fh: c::MPI_File, buf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_shared")) });
export!(MPI_File_read_shared_c PMPI_File_read_shared_c (fh: c::MPI_File, buf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_read_shared_c")) });
export!(MPI_File_seek PMPI_File_seek (fh: c::MPI_File, offset: i64, whence: c_int) -> c_int {
    c::code(unsupported("MPI_File_seek")) });
export!(MPI_File_seek_shared PMPI_File_seek_shared (fh: c::MPI_File, offset: i64, whence: c_int) -> c_int {
    c::code(unsupported("MPI_File_seek_shared")) });
export!(MPI_File_set_atomicity PMPI_File_set_atomicity (fh: c::MPI_File, flag: c_int) -> c_int {
    c::code(unsupported("MPI_File_set_atomicity")) });
export!(MPI_File_set_errhandler PMPI_File_set_errhandler (file: c::MPI_File, errhandler: c::MPI_Errhandler) -> c_int
    { c::code(unsupported("MPI_File_set_errhandler")) });
export!(MPI_File_set_info PMPI_File_set_info (fh: c::MPI_File, info: c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_File_set_info")) });
export!(MPI_File_set_size PMPI_File_set_size (fh: c::MPI_File, size: i64) -> c_int {
    c::code(unsupported("MPI_File_set_size")) });
export!(MPI_File_set_view PMPI_File_set_view (fh: c::MPI_File, disp: i64, etype: c::MPI_Datatype, filetype:
    c::MPI_Datatype, datarep: *const c_char, info: c::MPI_Info) -> c_int { c::code(unsupported("MPI_File_set_view"))
    });
export!(MPI_File_sync PMPI_File_sync (fh: c::MPI_File) -> c_int { c::code(unsupported("MPI_File_sync")) });
export!(MPI_File_write PMPI_File_write (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write")) });
export!(MPI_File_write_c PMPI_File_write_c (fh: c::MPI_File, buf: *const c_void, count: i64, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_c")) });
export!(MPI_File_write_all PMPI_File_write_all (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_all")) });
export!(MPI_File_write_all_c PMPI_File_write_all_c (fh: c::MPI_File, buf: *const c_void, count: i64, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_all_c")) });
export!(MPI_File_write_all_begin PMPI_File_write_all_begin (fh: c::MPI_File, buf: *const c_void, count: c_int,
    datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_write_all_begin")) });
export!(MPI_File_write_all_begin_c PMPI_File_write_all_begin_c (fh: c::MPI_File, buf: *const c_void, count: i64,
    datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_write_all_begin_c")) });
export!(MPI_File_write_all_end PMPI_File_write_all_end (fh: c::MPI_File, buf: *const c_void, status: *mut
    c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_all_end")) });
export!(MPI_File_write_at PMPI_File_write_at (fh: c::MPI_File, offset: i64, buf: *const c_void, count: c_int,
    datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_at")) });
export!(MPI_File_write_at_c PMPI_File_write_at_c (fh: c::MPI_File, offset: i64, buf: *const c_void, count: i64,
    datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_at_c"))
    });
export!(MPI_File_write_at_all PMPI_File_write_at_all (fh: c::MPI_File, offset: i64, buf: *const c_void, count:
    c_int, datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int {
    c::code(unsupported("MPI_File_write_at_all")) });
export!(MPI_File_write_at_all_c PMPI_File_write_at_all_c (fh: c::MPI_File, offset: i64, buf: *const c_void, count:
    i64, datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int {
    c::code(unsupported("MPI_File_write_at_all_c")) });
export!(MPI_File_write_at_all_begin PMPI_File_write_at_all_begin (fh: c::MPI_File, offset: i64, buf: *const c_void,
    count: c_int, datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_write_at_all_begin")) });
export!(MPI_File_write_at_all_begin_c PMPI_File_write_at_all_begin_c (fh: c::MPI_File, offset: i64, buf: *const
    c_void, count: i64, datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_write_at_all_begin_c"))
    });
export!(MPI_File_write_at_all_end PMPI_File_write_at_all_end (fh: c::MPI_File, buf: *const c_void, status: *mut
    c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_at_all_end")) });
export!(MPI_File_write_ordered PMPI_File_write_ordered (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_ordered")) });
export!(MPI_File_write_ordered_c PMPI_File_write_ordered_c (fh: c::MPI_File, buf: *const c_void, count: i64,
    datatype: c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int {
    c::code(unsupported("MPI_File_write_ordered_c")) });
export!(MPI_File_write_ordered_begin PMPI_File_write_ordered_begin (fh: c::MPI_File, buf: *const c_void, count:
    c_int, datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_write_ordered_begin")) });
export!(MPI_File_write_ordered_begin_c PMPI_File_write_ordered_begin_c (fh: c::MPI_File, buf: *const c_void, count:
    i64, datatype: c::MPI_Datatype) -> c_int { c::code(unsupported("MPI_File_write_ordered_begin_c")) });
export!(MPI_File_write_ordered_end PMPI_File_write_ordered_end (fh: c::MPI_File, buf: *const c_void, status: *mut
    c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_ordered_end")) });
export!(MPI_File_write_shared PMPI_File_write_shared (fh: c::MPI_File, buf: *const c_void, count: c_int, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_shared")) });
export!(MPI_File_write_shared_c PMPI_File_write_shared_c (fh: c::MPI_File, buf: *const c_void, count: i64, datatype:
    c::MPI_Datatype, status: *mut c::MPI_Status) -> c_int { c::code(unsupported("MPI_File_write_shared_c")) });
export!(MPI_Finalize PMPI_Finalize () -> c_int { c::code(calls::finalize()) });
export!(MPI_Finalized PMPI_Finalized (flag: *mut c_int) -> c_int { c::code(if flag.is_null() {
    absent("MPI_Finalized") } else { calls::finalized(IntOut::narrow(flag)) }) });
export!(MPI_Free_mem PMPI_Free_mem (base: *mut c_void) -> c_int { c::code(calls::free_mem(Address::new(base))) });
export!(MPI_Gather PMPI_Gather (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf: *mut
    c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm) -> c_int {
    c::code(calls::gather(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Gather_c PMPI_Gather_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf: *mut
    c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm) -> c_int {
    c::code(calls::gather(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)))) });
export!(MPI_Gather_init PMPI_Gather_init (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, info:
    c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Gather_init") }
    else { calls::gather_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Gather_init_c PMPI_Gather_init_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, info:
    c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Gather_init_c")
    } else { calls::gather_init(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Gatherv PMPI_Gatherv (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf: *mut
    c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm) -> c_int { c::code(calls::gatherv(Address::new(c::buffer(sendbuf.cast_mut())),
    i64::from(sendcount), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(displs),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)))) });
export!(MPI_Gatherv_c PMPI_Gatherv_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm) -> c_int { c::code(calls::gatherv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Gatherv_init PMPI_Gatherv_init (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c::MPI_Datatype, root: c_int,
    comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Gatherv_init") } else { calls::gatherv_init(Address::new(c::buffer(sendbuf.cast_mut())),
    i64::from(sendcount), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(displs),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Gatherv_init_c PMPI_Gatherv_init_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype, root: c_int,
    comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Gatherv_init_c") } else { calls::gatherv_init(Address::new(c::buffer(sendbuf.cast_mut())),
    sendcount, Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Get PMPI_Get (origin_addr: *mut c_void, origin_count: c_int, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype, win: c::MPI_Win)
    -> c_int { c::code(unsupported("MPI_Get")) });
export!(MPI_Get_c PMPI_Get_c (origin_addr: *mut c_void, origin_count: i64, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype, win: c::MPI_Win) ->
    c_int { c::code(unsupported("MPI_Get_c")) });
export!(MPI_Get_accumulate PMPI_Get_accumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype:
    c::MPI_Datatype, result_addr: *mut c_void, result_count: c_int, result_datatype: c::MPI_Datatype, target_rank:
    c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype, op: c::MPI_Op, win:
    c::MPI_Win) -> c_int { c::code(unsupported("MPI_Get_accumulate")) });
export!(MPI_Get_accumulate_c PMPI_Get_accumulate_c (origin_addr: *const c_void, origin_count: i64, origin_datatype:
    c::MPI_Datatype, result_addr: *mut c_void, result_count: i64, result_datatype: c::MPI_Datatype, target_rank:
    c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype, op: c::MPI_Op, win: c::MPI_Win)
    -> c_int { c::code(unsupported("MPI_Get_accumulate_c")) });
export!(MPI_Get_address PMPI_Get_address (location: *const c_void, address: *mut isize) -> c_int { c::code(if
    address.is_null() { absent("MPI_Get_address") } else { calls::get_address(Address::new(location.cast_mut()),
    IntOut::wide(address.cast())) }) });
export!(MPI_Get_count PMPI_Get_count (status: *const c::MPI_Status, datatype: c::MPI_Datatype, count: *mut c_int) ->
    c_int { c::code(if count.is_null() { absent("MPI_Get_count") } else {
    calls::get_count(StatusOut::new(c::status(status.cast_mut())), Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), IntOut::narrow(count)) }) });
export!(MPI_Get_count_c PMPI_Get_count_c (status: *const c::MPI_Status, datatype: c::MPI_Datatype, count: *mut i64)
    -> c_int { c::code(if count.is_null() { absent("MPI_Get_count_c") } else {
    calls::get_count(StatusOut::new(c::status(status.cast_mut())), Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), IntOut::wide(count)) }) });
export!(MPI_Get_elements PMPI_Get_elements (status: *const c::MPI_Status, datatype: c::MPI_Datatype, count: *mut
    c_int) -> c_int { c::code(if count.is_null() { absent("MPI_Get_elements") } else {
    calls::get_elements(StatusOut::new(c::status(status.cast_mut())), Datatype(c::handle_in(Kind::Datatype, datatype
    as usize)), IntOut::narrow(count)) }) });
export!(MPI_Get_elements_c PMPI_Get_elements_c (status: *const c::MPI_Status, datatype: c::MPI_Datatype, count: *mut
    i64) -> c_int { c::code(if count.is_null() { absent("MPI_Get_elements_c") } else {
    calls::get_elements(StatusOut::new(c::status(status.cast_mut())), Datatype(c::handle_in(Kind::Datatype, datatype
    as usize)), IntOut::wide(count)) }) });
export!(MPI_Get_elements_x PMPI_Get_elements_x (status: *const c::MPI_Status, datatype: c::MPI_Datatype, count: *mut
    i64) -> c_int { c::code(if count.is_null() { absent("MPI_Get_elements_x") } else {
    calls::get_elements_x(StatusOut::new(c::status(status.cast_mut())), Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::wide(count)) }) });
export!(MPI_Get_hw_resource_info PMPI_Get_hw_resource_info (hw_info: *mut c::MPI_Info) -> c_int { c::code(if
    hw_info.is_null() { absent("MPI_Get_hw_resource_info") } else {
    calls::get_hw_resource_info(Handles::<Info>::new(hw_info.cast())) }) });
export!(MPI_Get_library_version PMPI_Get_library_version (version: *mut c_char, resultlen: *mut c_int) -> c_int {
    c::code(if resultlen.is_null() { absent("MPI_Get_library_version") } else {
    calls::get_library_version(TextOut::new(version), IntOut::narrow(resultlen)) }) });
export!(MPI_Get_processor_name PMPI_Get_processor_name (name: *mut c_char, resultlen: *mut c_int) -> c_int {
    c::code(if resultlen.is_null() { absent("MPI_Get_processor_name") } else {
    calls::get_processor_name(TextOut::new(name), IntOut::narrow(resultlen)) }) });
export!(MPI_Get_version PMPI_Get_version (version: *mut c_int, subversion: *mut c_int) -> c_int { c::code(if
    version.is_null() || subversion.is_null() { absent("MPI_Get_version") } else {
    calls::get_version(IntOut::narrow(version), IntOut::narrow(subversion)) }) });
export!(MPI_Graph_create PMPI_Graph_create (comm_old: c::MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const
    c_int, reorder: c_int, comm_graph: *mut c::MPI_Comm) -> c_int { c::code(if comm_graph.is_null() {
    absent("MPI_Graph_create") } else { calls::graph_create(Comm(c::handle_in(Kind::Comm, comm_old as usize)),
    nnodes, Ints::narrow(indx), Ints::narrow(edges), reorder, Handles::<Comm>::new(comm_graph.cast())) }) });
export!(MPI_Graph_get PMPI_Graph_get (comm: c::MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges:
    *mut c_int) -> c_int { c::code(calls::graph_get(Comm(c::handle_in(Kind::Comm, comm as usize)), maxindex,
    maxedges, IntOut::narrow(indx), IntOut::narrow(edges))) });
export!(MPI_Graph_map PMPI_Graph_map (comm: c::MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int,
    newrank: *mut c_int) -> c_int { c::code(if newrank.is_null() { absent("MPI_Graph_map") } else {
    calls::graph_map(Comm(c::handle_in(Kind::Comm, comm as usize)), nnodes, Ints::narrow(indx), Ints::narrow(edges),
    IntOut::narrow(newrank)) }) });
export!(MPI_Graph_neighbors PMPI_Graph_neighbors (comm: c::MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors:
    *mut c_int) -> c_int { c::code(calls::graph_neighbors(Comm(c::handle_in(Kind::Comm, comm as usize)),
    c::rank_in(rank), maxneighbors, IntOut::narrow(neighbors))) });
export!(MPI_Graph_neighbors_count PMPI_Graph_neighbors_count (comm: c::MPI_Comm, rank: c_int, nneighbors: *mut
    c_int) -> c_int { c::code(if nneighbors.is_null() { absent("MPI_Graph_neighbors_count") } else {
    calls::graph_neighbors_count(Comm(c::handle_in(Kind::Comm, comm as usize)), c::rank_in(rank),
    IntOut::narrow(nneighbors)) }) });
export!(MPI_Graphdims_get PMPI_Graphdims_get (comm: c::MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) -> c_int {
    c::code(if nnodes.is_null() || nedges.is_null() { absent("MPI_Graphdims_get") } else {
    calls::graphdims_get(Comm(c::handle_in(Kind::Comm, comm as usize)), IntOut::narrow(nnodes),
    IntOut::narrow(nedges)) }) });
export!(MPI_Grequest_complete PMPI_Grequest_complete (request: c::MPI_Request) -> c_int {
    c::code(calls::grequest_complete(Request(c::handle_in(Kind::Request, request as usize)))) });
export!(MPI_Grequest_start PMPI_Grequest_start (query_fn: *mut c_void, free_fn: *mut c_void, cancel_fn: *mut c_void,
    extra_state: *mut c_void, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Grequest_start") } else { calls::grequest_start(Address::new(query_fn), Address::new(free_fn),
    Address::new(cancel_fn), Address::new(extra_state), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Group_compare PMPI_Group_compare (group1: c::MPI_Group, group2: c::MPI_Group, result: *mut c_int) ->
    c_int { c::code(if result.is_null() { absent("MPI_Group_compare") } else {
    calls::group_compare(Group(c::handle_in(Kind::Group, group1 as usize)), Group(c::handle_in(Kind::Group, group2
    as usize)), IntOut::mapped(result, c::comparison_in, c::comparison_out)) }) });
export!(MPI_Group_difference PMPI_Group_difference (group1: c::MPI_Group, group2: c::MPI_Group, newgroup: *mut
    c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_difference") } else {
    calls::group_difference(Group(c::handle_in(Kind::Group, group1 as usize)), Group(c::handle_in(Kind::Group,
    group2 as usize)), Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_excl PMPI_Group_excl (group: c::MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut
    c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_excl") } else {
    calls::group_excl(Group(c::handle_in(Kind::Group, group as usize)), n, Ints::narrow(ranks),
    Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_free PMPI_Group_free (group: *mut c::MPI_Group) -> c_int { c::code(if group.is_null() {
    absent("MPI_Group_free") } else { calls::group_free(Handles::<Group>::new(group.cast())) }) });
export!(MPI_Group_from_session_pset PMPI_Group_from_session_pset (session: c::MPI_Session, pset_name: *const c_char,
    newgroup: *mut c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_from_session_pset") }
    else { calls::group_from_session_pset(Session(c::handle_in(Kind::Session, session as usize)),
    Text::new(pset_name), Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_incl PMPI_Group_incl (group: c::MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut
    c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_incl") } else {
    calls::group_incl(Group(c::handle_in(Kind::Group, group as usize)), n, Ints::narrow(ranks),
    Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_intersection PMPI_Group_intersection (group1: c::MPI_Group, group2: c::MPI_Group, newgroup: *mut
    c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_intersection") } else {
    calls::group_intersection(Group(c::handle_in(Kind::Group, group1 as usize)), Group(c::handle_in(Kind::Group,
    group2 as usize)), Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_range_excl PMPI_Group_range_excl (group: c::MPI_Group, n: c_int, ranges: *const c_int, newgroup:
    *mut c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_range_excl") } else {
    calls::group_range_excl(Group(c::handle_in(Kind::Group, group as usize)), n, Ints::narrow(ranges),
    Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_range_incl PMPI_Group_range_incl (group: c::MPI_Group, n: c_int, ranges: *const c_int, newgroup:
    *mut c::MPI_Group) -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_range_incl") } else {
    calls::group_range_incl(Group(c::handle_in(Kind::Group, group as usize)), n, Ints::narrow(ranges),
    Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Group_rank PMPI_Group_rank (group: c::MPI_Group, rank: *mut c_int) -> c_int { c::code(if rank.is_null()
    { absent("MPI_Group_rank") } else { calls::group_rank(Group(c::handle_in(Kind::Group, group as usize)),
    IntOut::mapped(rank, c::rank_in, c::rank_out)) }) });
export!(MPI_Group_size PMPI_Group_size (group: c::MPI_Group, size: *mut c_int) -> c_int { c::code(if size.is_null()
    { absent("MPI_Group_size") } else { calls::group_size(Group(c::handle_in(Kind::Group, group as usize)),
    IntOut::narrow(size)) }) });
export!(MPI_Group_translate_ranks PMPI_Group_translate_ranks (group1: c::MPI_Group, n: c_int, ranks1: *const c_int,
    group2: c::MPI_Group, ranks2: *mut c_int) -> c_int {
    c::code(calls::group_translate_ranks(Group(c::handle_in(Kind::Group, group1 as usize)), n, Ints::mapped(ranks1,
    c::rank_in), Group(c::handle_in(Kind::Group, group2 as usize)), IntOut::mapped(ranks2, c::rank_in,
    c::rank_out))) });
export!(MPI_Group_union PMPI_Group_union (group1: c::MPI_Group, group2: c::MPI_Group, newgroup: *mut c::MPI_Group)
    -> c_int { c::code(if newgroup.is_null() { absent("MPI_Group_union") } else {
    calls::group_union(Group(c::handle_in(Kind::Group, group1 as usize)), Group(c::handle_in(Kind::Group, group2 as
    usize)), Handles::<Group>::new(newgroup.cast())) }) });
export!(MPI_Iallgather PMPI_Iallgather (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iallgather") } else {
    calls::iallgather(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iallgather_c PMPI_Iallgather_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iallgather_c") } else {
    calls::iallgather(Address::new(c::buffer(sendbuf.cast_mut())), sendcount, Datatype(c::handle_in(Kind::Datatype,
    sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype
    as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iallgatherv PMPI_Iallgatherv (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c::MPI_Datatype, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iallgatherv") }
    else { calls::iallgatherv(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iallgatherv_c PMPI_Iallgatherv_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iallgatherv_c")
    } else { calls::iallgatherv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iallreduce PMPI_Iallreduce (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Iallreduce") } else {
    calls::iallreduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iallreduce_c PMPI_Iallreduce_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Iallreduce_c") } else {
    calls::iallreduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ialltoall PMPI_Ialltoall (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Ialltoall") } else {
    calls::ialltoall(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ialltoall_c PMPI_Ialltoall_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ialltoall_c") } else {
    calls::ialltoall(Address::new(c::buffer(sendbuf.cast_mut())), sendcount, Datatype(c::handle_in(Kind::Datatype,
    sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype
    as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ialltoallv PMPI_Ialltoallv (sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ialltoallv") } else { calls::ialltoallv(Address::new(c::buffer(sendbuf.cast_mut())),
    Ints::narrow(sendcounts), Ints::narrow(sdispls), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(rdispls),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ialltoallv_c PMPI_Ialltoallv_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls: *const isize,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ialltoallv_c") } else { calls::ialltoallv(Address::new(c::buffer(sendbuf.cast_mut())),
    Ints::wide(sendcounts), Ints::wide(sdispls.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ialltoallw PMPI_Ialltoallw (sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Ialltoallw") } else {
    calls::ialltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts), Ints::narrow(sdispls),
    Handles::<Datatype>::new(sendtypes.cast_mut().cast()), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(rdispls), Handles::<Datatype>::new(recvtypes.cast_mut().cast()),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ialltoallw_c PMPI_Ialltoallw_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls: *const isize,
    sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize,
    recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Ialltoallw_c") } else {
    calls::ialltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ibarrier PMPI_Ibarrier (comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Ibarrier") } else { calls::ibarrier(Comm(c::handle_in(Kind::Comm, comm as
    usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ibcast PMPI_Ibcast (buffer: *mut c_void, count: c_int, datatype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ibcast") } else
    { calls::ibcast(Address::new(c::buffer(buffer)), i64::from(count), Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ibcast_c PMPI_Ibcast_c (buffer: *mut c_void, count: i64, datatype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ibcast_c") }
    else { calls::ibcast(Address::new(c::buffer(buffer)), count, Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ibsend PMPI_Ibsend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ibsend") } else { calls::ibsend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ibsend_c PMPI_Ibsend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ibsend_c") } else { calls::ibsend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iexscan PMPI_Iexscan (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Iexscan") } else { calls::iexscan(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iexscan_c PMPI_Iexscan_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Iexscan_c") } else { calls::iexscan(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), count, Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Igather PMPI_Igather (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf: *mut
    c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Igather") } else {
    calls::igather(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Igather_c PMPI_Igather_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Igather_c") } else {
    calls::igather(Address::new(c::buffer(sendbuf.cast_mut())), sendcount, Datatype(c::handle_in(Kind::Datatype,
    sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype
    as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Igatherv PMPI_Igatherv (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Igatherv") }
    else { calls::igatherv(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Igatherv_c PMPI_Igatherv_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Igatherv_c") }
    else { calls::igatherv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Improbe PMPI_Improbe (source: c_int, tag: c_int, comm: c::MPI_Comm, flag: *mut c_int, message: *mut
    c::MPI_Message, status: *mut c::MPI_Status) -> c_int { c::code(if flag.is_null() || message.is_null() {
    absent("MPI_Improbe") } else { calls::improbe(c::rank_in(source), c::tag_in(tag), Comm(c::handle_in(Kind::Comm,
    comm as usize)), IntOut::narrow(flag), Handles::<Message>::new(message.cast()),
    StatusOut::new(c::status(status))) }) });
export!(MPI_Imrecv PMPI_Imrecv (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype, message: *mut
    c::MPI_Message, request: *mut c::MPI_Request) -> c_int { c::code(if message.is_null() || request.is_null() {
    absent("MPI_Imrecv") } else { calls::imrecv(Address::new(c::buffer(buf)), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Handles::<Message>::new(message.cast()),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Imrecv_c PMPI_Imrecv_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype, message: *mut
    c::MPI_Message, request: *mut c::MPI_Request) -> c_int { c::code(if message.is_null() || request.is_null() {
    absent("MPI_Imrecv_c") } else { calls::imrecv(Address::new(c::buffer(buf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Handles::<Message>::new(message.cast()),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_allgather PMPI_Ineighbor_allgather (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ineighbor_allgather") } else {
    calls::ineighbor_allgather(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ineighbor_allgather_c") } else {
    calls::ineighbor_allgather(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ineighbor_allgatherv") } else {
    calls::ineighbor_allgatherv(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype,
    comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ineighbor_allgatherv_c") } else {
    calls::ineighbor_allgatherv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ineighbor_alltoall") } else {
    calls::ineighbor_alltoall(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Ineighbor_alltoall_c") } else {
    calls::ineighbor_alltoall(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv (sendbuf: *const c_void, sendcounts: *const c_int, sdispls:
    *const c_int, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Ineighbor_alltoallv") } else {
    calls::ineighbor_alltoallv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(rdispls),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c (sendbuf: *const c_void, sendcounts: *const i64,
    sdispls: *const isize, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const
    isize, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Ineighbor_alltoallv_c") } else {
    calls::ineighbor_alltoallv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw (sendbuf: *const c_void, sendcounts: *const c_int, sdispls:
    *const isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const
    isize, recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Ineighbor_alltoallw") } else {
    calls::ineighbor_alltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c (sendbuf: *const c_void, sendcounts: *const i64,
    sdispls: *const isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls:
    *const isize, recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Ineighbor_alltoallw_c") } else {
    calls::ineighbor_alltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Info_create PMPI_Info_create (info: *mut c::MPI_Info) -> c_int { c::code(if info.is_null() {
    absent("MPI_Info_create") } else { calls::info_create(Handles::<Info>::new(info.cast())) }) });
export!(MPI_Info_create_env PMPI_Info_create_env (argc: c_int, argv: *mut c_void, info: *mut c::MPI_Info) -> c_int {
    c::code(if info.is_null() { absent("MPI_Info_create_env") } else { calls::info_create_env(argc,
    Address::new(argv), Handles::<Info>::new(info.cast())) }) });
export!(MPI_Info_delete PMPI_Info_delete (info: c::MPI_Info, key: *const c_char) -> c_int {
    c::code(calls::info_delete(Info(c::handle_in(Kind::Info, info as usize)), Text::new(key))) });
export!(MPI_Info_dup PMPI_Info_dup (info: c::MPI_Info, newinfo: *mut c::MPI_Info) -> c_int { c::code(if
    newinfo.is_null() { absent("MPI_Info_dup") } else { calls::info_dup(Info(c::handle_in(Kind::Info, info as
    usize)), Handles::<Info>::new(newinfo.cast())) }) });
export!(MPI_Info_free PMPI_Info_free (info: *mut c::MPI_Info) -> c_int { c::code(if info.is_null() {
    absent("MPI_Info_free") } else { calls::info_free(Handles::<Info>::new(info.cast())) }) });
export!(MPI_Info_get PMPI_Info_get (info: c::MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char,
    flag: *mut c_int) -> c_int { c::code(if flag.is_null() { absent("MPI_Info_get") } else {
    calls::info_get(Info(c::handle_in(Kind::Info, info as usize)), Text::new(key), valuelen, TextOut::new(value),
    IntOut::narrow(flag)) }) });
export!(MPI_Info_get_nkeys PMPI_Info_get_nkeys (info: c::MPI_Info, nkeys: *mut c_int) -> c_int { c::code(if
    nkeys.is_null() { absent("MPI_Info_get_nkeys") } else { calls::info_get_nkeys(Info(c::handle_in(Kind::Info, info
    as usize)), IntOut::narrow(nkeys)) }) });
export!(MPI_Info_get_nthkey PMPI_Info_get_nthkey (info: c::MPI_Info, n: c_int, key: *mut c_char) -> c_int {
    c::code(calls::info_get_nthkey(Info(c::handle_in(Kind::Info, info as usize)), n, TextOut::new(key))) });
export!(MPI_Info_get_string PMPI_Info_get_string (info: c::MPI_Info, key: *const c_char, buflen: *mut c_int, value:
    *mut c_char, flag: *mut c_int) -> c_int { c::code(if buflen.is_null() || flag.is_null() {
    absent("MPI_Info_get_string") } else { calls::info_get_string(Info(c::handle_in(Kind::Info, info as usize)),
    Text::new(key), IntOut::narrow(buflen), TextOut::new(value), IntOut::narrow(flag)) }) });
export!(MPI_Info_get_valuelen PMPI_Info_get_valuelen (info: c::MPI_Info, key: *const c_char, valuelen: *mut c_int,
    flag: *mut c_int) -> c_int { c::code(if valuelen.is_null() || flag.is_null() { absent("MPI_Info_get_valuelen") }
    else { calls::info_get_valuelen(Info(c::handle_in(Kind::Info, info as usize)), Text::new(key),
    IntOut::narrow(valuelen), IntOut::narrow(flag)) }) });
export!(MPI_Info_set PMPI_Info_set (info: c::MPI_Info, key: *const c_char, value: *const c_char) -> c_int {
    c::code(calls::info_set(Info(c::handle_in(Kind::Info, info as usize)), Text::new(key), Text::new(value))) });
export!(MPI_Init PMPI_Init (argc: *mut c_int, argv: *mut c_void) -> c_int {
    c::code(calls::init(IntOut::narrow(argc), Address::new(argv))) });
export!(MPI_Init_thread PMPI_Init_thread (argc: *mut c_int, argv: *mut c_void, required: c_int, provided: *mut
    c_int) -> c_int { c::code(if provided.is_null() { absent("MPI_Init_thread") } else {
    calls::init_thread(IntOut::narrow(argc), Address::new(argv), c::thread_in(required), IntOut::mapped(provided,
    c::thread_in, c::thread_out)) }) });
export!(MPI_Initialized PMPI_Initialized (flag: *mut c_int) -> c_int { c::code(if flag.is_null() {
    absent("MPI_Initialized") } else { calls::initialized(IntOut::narrow(flag)) }) });
export!(MPI_Intercomm_create PMPI_Intercomm_create (local_comm: c::MPI_Comm, local_leader: c_int, peer_comm:
    c::MPI_Comm, remote_leader: c_int, tag: c_int, newintercomm: *mut c::MPI_Comm) -> c_int { c::code(if
    newintercomm.is_null() { absent("MPI_Intercomm_create") } else {
    calls::intercomm_create(Comm(c::handle_in(Kind::Comm, local_comm as usize)), c::rank_in(local_leader),
    Comm(c::handle_in(Kind::Comm, peer_comm as usize)), c::rank_in(remote_leader), c::tag_in(tag),
    Handles::<Comm>::new(newintercomm.cast())) }) });
export!(MPI_Intercomm_create_from_groups PMPI_Intercomm_create_from_groups (local_group: c::MPI_Group, local_leader:
    c_int, remote_group: c::MPI_Group, remote_leader: c_int, stringtag: *const c_char, info: c::MPI_Info,
    errhandler: c::MPI_Errhandler, newintercomm: *mut c::MPI_Comm) -> c_int { c::code(if newintercomm.is_null() {
    absent("MPI_Intercomm_create_from_groups") } else {
    calls::intercomm_create_from_groups(Group(c::handle_in(Kind::Group, local_group as usize)),
    c::rank_in(local_leader), Group(c::handle_in(Kind::Group, remote_group as usize)), c::rank_in(remote_leader),
    Text::new(stringtag), Info(c::handle_in(Kind::Info, info as usize)), Errhandler(c::handle_in(Kind::Errhandler,
    errhandler as usize)), Handles::<Comm>::new(newintercomm.cast())) }) });
export!(MPI_Intercomm_merge PMPI_Intercomm_merge (intercomm: c::MPI_Comm, high: c_int, newintracomm: *mut
    c::MPI_Comm) -> c_int { c::code(if newintracomm.is_null() { absent("MPI_Intercomm_merge") } else {
    calls::intercomm_merge(Comm(c::handle_in(Kind::Comm, intercomm as usize)), high,
    Handles::<Comm>::new(newintracomm.cast())) }) });
export!(MPI_Iprobe PMPI_Iprobe (source: c_int, tag: c_int, comm: c::MPI_Comm, flag: *mut c_int, status: *mut
    c::MPI_Status) -> c_int { c::code(if flag.is_null() { absent("MPI_Iprobe") } else {
    calls::iprobe(c::rank_in(source), c::tag_in(tag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    IntOut::narrow(flag), StatusOut::new(c::status(status))) }) });
export!(MPI_Irecv PMPI_Irecv (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype, source: c_int, tag: c_int,
    comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Irecv") }
    else { calls::irecv(Address::new(c::buffer(buf)), i64::from(count), Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), c::rank_in(source), c::tag_in(tag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Irecv_c PMPI_Irecv_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype, source: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Irecv_c") } else { calls::irecv(Address::new(c::buffer(buf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(source), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ireduce PMPI_Ireduce (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, root: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Ireduce") } else {
    calls::ireduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ireduce_c PMPI_Ireduce_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, root: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Ireduce_c") } else {
    calls::ireduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ireduce_scatter PMPI_Ireduce_scatter (sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const
    c_int, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Ireduce_scatter") } else {
    calls::ireduce_scatter(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op,
    op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c (sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts:
    *const i64, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int
    { c::code(if request.is_null() { absent("MPI_Ireduce_scatter_c") } else {
    calls::ireduce_scatter(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op
    as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block (sendbuf: *const c_void, recvbuf: *mut c_void,
    recvcount: c_int, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Ireduce_scatter_block") } else {
    calls::ireduce_scatter_block(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c (sendbuf: *const c_void, recvbuf: *mut c_void,
    recvcount: i64, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Ireduce_scatter_block_c") } else {
    calls::ireduce_scatter_block(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    recvcount, Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Irsend PMPI_Irsend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Irsend") } else { calls::irsend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Irsend_c PMPI_Irsend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Irsend_c") } else { calls::irsend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Is_thread_main PMPI_Is_thread_main (flag: *mut c_int) -> c_int { c::code(if flag.is_null() {
    absent("MPI_Is_thread_main") } else { calls::is_thread_main(IntOut::narrow(flag)) }) });
export!(MPI_Iscan PMPI_Iscan (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c::MPI_Datatype,
    op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Iscan") } else { calls::iscan(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iscan_c PMPI_Iscan_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Iscan_c") } else { calls::iscan(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), count, Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iscatter PMPI_Iscatter (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iscatter") } else {
    calls::iscatter(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iscatter_c PMPI_Iscatter_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iscatter_c") } else {
    calls::iscatter(Address::new(c::buffer(sendbuf.cast_mut())), sendcount, Datatype(c::handle_in(Kind::Datatype,
    sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype
    as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iscatterv PMPI_Iscatterv (sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iscatterv") }
    else { calls::iscatterv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as
    usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Iscatterv_c PMPI_Iscatterv_c (sendbuf: *const c_void, sendcounts: *const i64, displs: *const isize,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Iscatterv_c") }
    else { calls::iscatterv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Isend PMPI_Isend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag: c_int,
    comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Isend") }
    else { calls::isend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Isend_c PMPI_Isend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Isend_c") } else { calls::isend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Isendrecv PMPI_Isendrecv (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, dest:
    c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, source: c_int,
    recvtag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Isendrecv") } else { calls::isendrecv(Address::new(c::buffer(sendbuf.cast_mut())),
    i64::from(sendcount), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), c::rank_in(dest),
    c::tag_in(sendtag), Address::new(c::buffer(recvbuf)), i64::from(recvcount),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(source), c::tag_in(recvtag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Isendrecv_c PMPI_Isendrecv_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, dest:
    c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, source: c_int, recvtag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Isendrecv_c") } else { calls::isendrecv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), c::rank_in(dest), c::tag_in(sendtag),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(source), c::tag_in(recvtag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Isendrecv_replace PMPI_Isendrecv_replace (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype,
    dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Isendrecv_replace") } else {
    calls::isendrecv_replace(Address::new(c::buffer(buf)), i64::from(count), Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), c::rank_in(dest), c::tag_in(sendtag), c::rank_in(source), c::tag_in(recvtag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Isendrecv_replace_c PMPI_Isendrecv_replace_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype,
    dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Isendrecv_replace_c") } else {
    calls::isendrecv_replace(Address::new(c::buffer(buf)), count, Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), c::rank_in(dest), c::tag_in(sendtag), c::rank_in(source), c::tag_in(recvtag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Issend PMPI_Issend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Issend") } else { calls::issend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Issend_c PMPI_Issend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Issend_c") } else { calls::issend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Keyval_create PMPI_Keyval_create (copy_fn: *mut c_void, delete_fn: *mut c_void, keyval: *mut c_int,
    extra_state: *mut c_void) -> c_int { c::code(if keyval.is_null() { absent("MPI_Keyval_create") } else {
    calls::keyval_create(Address::new(copy_fn), Address::new(delete_fn), IntOut::mapped(keyval, c::keyval_in,
    c::keyval_out), Address::new(extra_state)) }) });
export!(MPI_Keyval_free PMPI_Keyval_free (keyval: *mut c_int) -> c_int { c::code(if keyval.is_null() {
    absent("MPI_Keyval_free") } else { calls::keyval_free(IntOut::mapped(keyval, c::keyval_in, c::keyval_out)) })
    });
export!(MPI_Lookup_name PMPI_Lookup_name (service_name: *const c_char, info: c::MPI_Info, port_name: *mut c_char) ->
    c_int { c::code(unsupported("MPI_Lookup_name")) });
export!(MPI_Mprobe PMPI_Mprobe (source: c_int, tag: c_int, comm: c::MPI_Comm, message: *mut c::MPI_Message, status:
    *mut c::MPI_Status) -> c_int { c::code(if message.is_null() { absent("MPI_Mprobe") } else {
    calls::mprobe(c::rank_in(source), c::tag_in(tag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Handles::<Message>::new(message.cast()), StatusOut::new(c::status(status))) }) });
export!(MPI_Mrecv PMPI_Mrecv (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype, message: *mut
    c::MPI_Message, status: *mut c::MPI_Status) -> c_int { c::code(if message.is_null() { absent("MPI_Mrecv") } else
    { calls::mrecv(Address::new(c::buffer(buf)), i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), Handles::<Message>::new(message.cast()), StatusOut::new(c::status(status))) }) });
export!(MPI_Mrecv_c PMPI_Mrecv_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype, message: *mut
    c::MPI_Message, status: *mut c::MPI_Status) -> c_int { c::code(if message.is_null() { absent("MPI_Mrecv_c") }
    else { calls::mrecv(Address::new(c::buffer(buf)), count, Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), Handles::<Message>::new(message.cast()), StatusOut::new(c::status(status))) }) });
export!(MPI_Neighbor_allgather PMPI_Neighbor_allgather (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int
    { c::code(calls::neighbor_allgather(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)))) });
export!(MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_allgather(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_allgather_init PMPI_Neighbor_allgather_init (sendbuf: *const c_void, sendcount: c_int,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm,
    info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Neighbor_allgather_init") } else {
    calls::neighbor_allgather_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_allgather_init_c PMPI_Neighbor_allgather_init_c (sendbuf: *const c_void, sendcount: i64,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm,
    info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Neighbor_allgather_init_c") } else {
    calls::neighbor_allgather_init(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_allgatherv(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype: c::MPI_Datatype,
    comm: c::MPI_Comm) -> c_int { c::code(calls::neighbor_allgatherv(Address::new(c::buffer(sendbuf.cast_mut())),
    sendcount, Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_allgatherv_init PMPI_Neighbor_allgatherv_init (sendbuf: *const c_void, sendcount: c_int,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, displs: *const c_int, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Neighbor_allgatherv_init") } else {
    calls::neighbor_allgatherv_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_allgatherv_init_c PMPI_Neighbor_allgatherv_init_c (sendbuf: *const c_void, sendcount: i64,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, displs: *const isize, recvtype:
    c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Neighbor_allgatherv_init_c") } else {
    calls::neighbor_allgatherv_init(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_alltoall PMPI_Neighbor_alltoall (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int
    { c::code(calls::neighbor_alltoall(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)))) });
export!(MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c (sendbuf: *const c_void, sendcount: i64, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_alltoall(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_alltoall_init PMPI_Neighbor_alltoall_init (sendbuf: *const c_void, sendcount: c_int, sendtype:
    c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info:
    c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Neighbor_alltoall_init") } else {
    calls::neighbor_alltoall_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm,
    comm as usize)), Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_alltoall_init_c PMPI_Neighbor_alltoall_init_c (sendbuf: *const c_void, sendcount: i64,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, comm: c::MPI_Comm,
    info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Neighbor_alltoall_init_c") } else {
    calls::neighbor_alltoall_init(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv (sendbuf: *const c_void, sendcounts: *const c_int, sdispls:
    *const c_int, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_alltoallv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(rdispls),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls:
    *const isize, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const isize,
    recvtype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_alltoallv(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_alltoallv_init PMPI_Neighbor_alltoallv_init (sendbuf: *const c_void, sendcounts: *const c_int,
    sdispls: *const c_int, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls:
    *const c_int, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Neighbor_alltoallv_init") } else {
    calls::neighbor_alltoallv_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(sdispls), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::narrow(rdispls),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_alltoallv_init_c PMPI_Neighbor_alltoallv_init_c (sendbuf: *const c_void, sendcounts: *const
    i64, sdispls: *const isize, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls:
    *const isize, recvtype: c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Neighbor_alltoallv_init_c") } else {
    calls::neighbor_alltoallv_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw (sendbuf: *const c_void, sendcounts: *const c_int, sdispls:
    *const isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const
    isize, recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_alltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c (sendbuf: *const c_void, sendcounts: *const i64, sdispls:
    *const isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64, rdispls: *const
    isize, recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm) -> c_int {
    c::code(calls::neighbor_alltoallw(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Neighbor_alltoallw_init PMPI_Neighbor_alltoallw_init (sendbuf: *const c_void, sendcounts: *const c_int,
    sdispls: *const isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const isize, recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Neighbor_alltoallw_init") } else {
    calls::neighbor_alltoallw_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::narrow(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Neighbor_alltoallw_init_c PMPI_Neighbor_alltoallw_init_c (sendbuf: *const c_void, sendcounts: *const
    i64, sdispls: *const isize, sendtypes: *const c::MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const i64,
    rdispls: *const isize, recvtypes: *const c::MPI_Datatype, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Neighbor_alltoallw_init_c") } else {
    calls::neighbor_alltoallw_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::wide(sendcounts),
    Ints::wide(sdispls.cast()), Handles::<Datatype>::new(sendtypes.cast_mut().cast()),
    Address::new(c::buffer(recvbuf)), Ints::wide(recvcounts), Ints::wide(rdispls.cast()),
    Handles::<Datatype>::new(recvtypes.cast_mut().cast()), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Op_commutative PMPI_Op_commutative (op: c::MPI_Op, commute: *mut c_int) -> c_int { c::code(if
    commute.is_null() { absent("MPI_Op_commutative") } else { calls::op_commutative(Op(c::handle_in(Kind::Op, op as
    usize)), IntOut::narrow(commute)) }) });
export!(MPI_Op_create PMPI_Op_create (user_fn: *mut c_void, commute: c_int, op: *mut c::MPI_Op) -> c_int {
    c::code(if op.is_null() { absent("MPI_Op_create") } else { calls::op_create(Address::new(user_fn), commute,
    Handles::<Op>::new(op.cast())) }) });
export!(MPI_Op_create_c PMPI_Op_create_c (user_fn: *mut c_void, commute: c_int, op: *mut c::MPI_Op) -> c_int {
    c::code(if op.is_null() { absent("MPI_Op_create_c") } else { calls::op_create_c(Address::new(user_fn), commute,
    Handles::<Op>::new(op.cast())) }) });
export!(MPI_Op_free PMPI_Op_free (op: *mut c::MPI_Op) -> c_int { c::code(if op.is_null() { absent("MPI_Op_free") }
    else { calls::op_free(Handles::<Op>::new(op.cast())) }) });
export!(MPI_Open_port PMPI_Open_port (info: c::MPI_Info, port_name: *mut c_char) -> c_int {
    c::code(unsupported("MPI_Open_port")) });
export!(MPI_Pack PMPI_Pack (inbuf: *const c_void, incount: c_int, datatype: c::MPI_Datatype, outbuf: *mut c_void,
    outsize: c_int, position: *mut c_int, comm: c::MPI_Comm) -> c_int { c::code(if position.is_null() {
    absent("MPI_Pack") } else { calls::pack(Address::new(c::buffer(inbuf.cast_mut())), i64::from(incount),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Address::new(c::buffer(outbuf)), i64::from(outsize),
    IntOut::narrow(position), Comm(c::handle_in(Kind::Comm, comm as usize))) }) });
export!(MPI_Pack_c PMPI_Pack_c (inbuf: *const c_void, incount: i64, datatype: c::MPI_Datatype, outbuf: *mut c_void,
    outsize: i64, position: *mut i64, comm: c::MPI_Comm) -> c_int { c::code(if position.is_null() {
    absent("MPI_Pack_c") } else { calls::pack(Address::new(c::buffer(inbuf.cast_mut())), incount,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Address::new(c::buffer(outbuf)), outsize,
    IntOut::wide(position), Comm(c::handle_in(Kind::Comm, comm as usize))) }) });
export!(MPI_Pack_external PMPI_Pack_external (datarep: *const c_char, inbuf: *const c_void, incount: c_int,
    datatype: c::MPI_Datatype, outbuf: *mut c_void, outsize: isize, position: *mut isize) -> c_int { c::code(if
    position.is_null() { absent("MPI_Pack_external") } else { calls::pack_external(Text::new(datarep),
    Address::new(c::buffer(inbuf.cast_mut())), i64::from(incount), Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), Address::new(c::buffer(outbuf)), outsize as i64, IntOut::wide(position.cast())) }) });
export!(MPI_Pack_external_c PMPI_Pack_external_c (datarep: *const c_char, inbuf: *const c_void, incount: i64,
    datatype: c::MPI_Datatype, outbuf: *mut c_void, outsize: i64, position: *mut i64) -> c_int { c::code(if
    position.is_null() { absent("MPI_Pack_external_c") } else { calls::pack_external(Text::new(datarep),
    Address::new(c::buffer(inbuf.cast_mut())), incount, Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Address::new(c::buffer(outbuf)), outsize, IntOut::wide(position)) }) });
export!(MPI_Pack_external_size PMPI_Pack_external_size (datarep: *const c_char, incount: c_int, datatype:
    c::MPI_Datatype, size: *mut isize) -> c_int { c::code(if size.is_null() { absent("MPI_Pack_external_size") }
    else { calls::pack_external_size(Text::new(datarep), i64::from(incount), Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::wide(size.cast())) }) });
export!(MPI_Pack_external_size_c PMPI_Pack_external_size_c (datarep: *const c_char, incount: i64, datatype:
    c::MPI_Datatype, size: *mut i64) -> c_int { c::code(if size.is_null() { absent("MPI_Pack_external_size_c") }
    else { calls::pack_external_size(Text::new(datarep), incount, Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), IntOut::wide(size)) }) });
export!(MPI_Pack_size PMPI_Pack_size (incount: c_int, datatype: c::MPI_Datatype, comm: c::MPI_Comm, size: *mut
    c_int) -> c_int { c::code(if size.is_null() { absent("MPI_Pack_size") } else {
    calls::pack_size(i64::from(incount), Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), IntOut::narrow(size)) }) });
export!(MPI_Pack_size_c PMPI_Pack_size_c (incount: i64, datatype: c::MPI_Datatype, comm: c::MPI_Comm, size: *mut
    i64) -> c_int { c::code(if size.is_null() { absent("MPI_Pack_size_c") } else { calls::pack_size(incount,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    IntOut::wide(size)) }) });
export!(MPI_Parrived PMPI_Parrived (request: c::MPI_Request, partition: c_int, flag: *mut c_int) -> c_int {
    c::code(if flag.is_null() { absent("MPI_Parrived") } else { calls::parrived(Request(c::handle_in(Kind::Request,
    request as usize)), partition, IntOut::narrow(flag)) }) });
export!(MPI_Pcontrol PMPI_Pcontrol (level: c_int) -> c_int { c::code(calls::pcontrol(level)) });
export!(MPI_Pready PMPI_Pready (partition: c_int, request: c::MPI_Request) -> c_int {
    c::code(calls::pready(partition, Request(c::handle_in(Kind::Request, request as usize)))) });
export!(MPI_Pready_list PMPI_Pready_list (length: c_int, array_of_partitions: *const c_int, request: c::MPI_Request)
    -> c_int { c::code(calls::pready_list(length, Ints::narrow(array_of_partitions),
    Request(c::handle_in(Kind::Request, request as usize)))) });
export!(MPI_Pready_range PMPI_Pready_range (partition_low: c_int, partition_high: c_int, request: c::MPI_Request) ->
    c_int { c::code(calls::pready_range(partition_low, partition_high, Request(c::handle_in(Kind::Request, request
    as usize)))) });
export!(MPI_Precv_init PMPI_Precv_init (buf: *mut c_void, partitions: c_int, count: i64, datatype: c::MPI_Datatype,
    dest: c_int, tag: c_int, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Precv_init") } else { calls::precv_init(Address::new(c::buffer(buf)),
    partitions, count, Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Probe PMPI_Probe (source: c_int, tag: c_int, comm: c::MPI_Comm, status: *mut c::MPI_Status) -> c_int {
    c::code(calls::probe(c::rank_in(source), c::tag_in(tag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    StatusOut::new(c::status(status)))) });
export!(MPI_Psend_init PMPI_Psend_init (buf: *const c_void, partitions: c_int, count: i64, datatype:
    c::MPI_Datatype, dest: c_int, tag: c_int, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) ->
    c_int { c::code(if request.is_null() { absent("MPI_Psend_init") } else {
    calls::psend_init(Address::new(c::buffer(buf.cast_mut())), partitions, count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Publish_name PMPI_Publish_name (service_name: *const c_char, info: c::MPI_Info, port_name: *const
    c_char) -> c_int { c::code(unsupported("MPI_Publish_name")) });
export!(MPI_Put PMPI_Put (origin_addr: *const c_void, origin_count: c_int, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype, win: c::MPI_Win)
    -> c_int { c::code(unsupported("MPI_Put")) });
export!(MPI_Put_c PMPI_Put_c (origin_addr: *const c_void, origin_count: i64, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype, win: c::MPI_Win) ->
    c_int { c::code(unsupported("MPI_Put_c")) });
export!(MPI_Query_thread PMPI_Query_thread (provided: *mut c_int) -> c_int { c::code(if provided.is_null() {
    absent("MPI_Query_thread") } else { calls::query_thread(IntOut::mapped(provided, c::thread_in, c::thread_out))
    }) });
export!(MPI_Raccumulate PMPI_Raccumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype:
    c::MPI_Datatype, target_rank: c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype,
    op: c::MPI_Op, win: c::MPI_Win, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Raccumulate"))
    });
export!(MPI_Raccumulate_c PMPI_Raccumulate_c (origin_addr: *const c_void, origin_count: i64, origin_datatype:
    c::MPI_Datatype, target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype,
    op: c::MPI_Op, win: c::MPI_Win, request: *mut c::MPI_Request) -> c_int {
    c::code(unsupported("MPI_Raccumulate_c")) });
export!(MPI_Recv PMPI_Recv (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype, source: c_int, tag: c_int,
    comm: c::MPI_Comm, status: *mut c::MPI_Status) -> c_int { c::code(calls::recv(Address::new(c::buffer(buf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(source), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), StatusOut::new(c::status(status)))) });
export!(MPI_Recv_c PMPI_Recv_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype, source: c_int, tag: c_int,
    comm: c::MPI_Comm, status: *mut c::MPI_Status) -> c_int { c::code(calls::recv(Address::new(c::buffer(buf)),
    count, Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(source), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), StatusOut::new(c::status(status)))) });
export!(MPI_Recv_init PMPI_Recv_init (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype, source: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Recv_init") } else { calls::recv_init(Address::new(c::buffer(buf)), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(source), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Recv_init_c PMPI_Recv_init_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype, source: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Recv_init_c") } else { calls::recv_init(Address::new(c::buffer(buf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(source), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Reduce PMPI_Reduce (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, root: c_int, comm: c::MPI_Comm) -> c_int {
    c::code(calls::reduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Reduce_c PMPI_Reduce_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, root: c_int, comm: c::MPI_Comm) -> c_int {
    c::code(calls::reduce(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Reduce_init PMPI_Reduce_init (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, root: c_int, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request)
    -> c_int { c::code(if request.is_null() { absent("MPI_Reduce_init") } else {
    calls::reduce_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as
    usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Reduce_init_c PMPI_Reduce_init_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, root: c_int, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request)
    -> c_int { c::code(if request.is_null() { absent("MPI_Reduce_init_c") } else {
    calls::reduce_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Reduce_local PMPI_Reduce_local (inbuf: *const c_void, inoutbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op) -> c_int {
    c::code(calls::reduce_local(Address::new(c::buffer(inbuf.cast_mut())), Address::new(c::buffer(inoutbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)))) });
export!(MPI_Reduce_local_c PMPI_Reduce_local_c (inbuf: *const c_void, inoutbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op) -> c_int {
    c::code(calls::reduce_local(Address::new(c::buffer(inbuf.cast_mut())), Address::new(c::buffer(inoutbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)))) });
export!(MPI_Reduce_scatter PMPI_Reduce_scatter (sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const
    c_int, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::reduce_scatter(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op,
    op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Reduce_scatter_c PMPI_Reduce_scatter_c (sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const
    i64, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::reduce_scatter(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op
    as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Reduce_scatter_block PMPI_Reduce_scatter_block (sendbuf: *const c_void, recvbuf: *mut c_void, recvcount:
    c_int, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::reduce_scatter_block(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, datatype as
    usize)), Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c (sendbuf: *const c_void, recvbuf: *mut c_void,
    recvcount: i64, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm) -> c_int {
    c::code(calls::reduce_scatter_block(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Reduce_scatter_block_init PMPI_Reduce_scatter_block_init (sendbuf: *const c_void, recvbuf: *mut c_void,
    recvcount: c_int, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Reduce_scatter_block_init") } else {
    calls::reduce_scatter_block_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Reduce_scatter_block_init_c PMPI_Reduce_scatter_block_init_c (sendbuf: *const c_void, recvbuf: *mut
    c_void, recvcount: i64, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Reduce_scatter_block_init_c") } else
    { calls::reduce_scatter_block_init(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Reduce_scatter_init PMPI_Reduce_scatter_init (sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts:
    *const c_int, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut
    c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Reduce_scatter_init") } else {
    calls::reduce_scatter_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    Ints::narrow(recvcounts), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op,
    op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Reduce_scatter_init_c PMPI_Reduce_scatter_init_c (sendbuf: *const c_void, recvbuf: *mut c_void,
    recvcounts: *const i64, datatype: c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request:
    *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Reduce_scatter_init_c") } else {
    calls::reduce_scatter_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    Ints::wide(recvcounts), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op
    as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Register_datarep PMPI_Register_datarep (datarep: *const c_char, read_conversion_fn: *mut c_void,
    write_conversion_fn: *mut c_void, dtype_file_extent_fn: *mut c_void, extra_state: *mut c_void) -> c_int {
    c::code(unsupported("MPI_Register_datarep")) });
export!(MPI_Register_datarep_c PMPI_Register_datarep_c (datarep: *const c_char, read_conversion_fn: *mut c_void,
    write_conversion_fn: *mut c_void, dtype_file_extent_fn: *mut c_void, extra_state: *mut c_void) -> c_int {
    c::code(unsupported("MPI_Register_datarep_c")) });
export!(MPI_Remove_error_class PMPI_Remove_error_class (errorclass: c_int) -> c_int {
    c::code(calls::remove_error_class(c::error_in(errorclass))) });
export!(MPI_Remove_error_code PMPI_Remove_error_code (errorcode: c_int) -> c_int {
    c::code(calls::remove_error_code(c::error_in(errorcode))) });
export!(MPI_Remove_error_string PMPI_Remove_error_string (errorcode: c_int) -> c_int {
    c::code(calls::remove_error_string(c::error_in(errorcode))) });
export!(MPI_Request_free PMPI_Request_free (request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Request_free") } else { calls::request_free(Handles::<Request>::new(request.cast())) }) });
export!(MPI_Request_get_status PMPI_Request_get_status (request: c::MPI_Request, flag: *mut c_int, status: *mut
    c::MPI_Status) -> c_int { c::code(if flag.is_null() { absent("MPI_Request_get_status") } else {
    calls::request_get_status(Request(c::handle_in(Kind::Request, request as usize)), IntOut::narrow(flag),
    StatusOut::new(c::status(status))) }) });
export!(MPI_Request_get_status_all PMPI_Request_get_status_all (count: c_int, array_of_requests: *const
    c::MPI_Request, flag: *mut c_int, array_of_statuses: *mut c::MPI_Status) -> c_int { c::code(if flag.is_null() {
    absent("MPI_Request_get_status_all") } else { calls::request_get_status_all(count,
    Handles::<Request>::new(array_of_requests.cast_mut().cast()), IntOut::narrow(flag),
    StatusOut::new(c::status(array_of_statuses))) }) });
export!(MPI_Request_get_status_any PMPI_Request_get_status_any (count: c_int, array_of_requests: *const
    c::MPI_Request, indx: *mut c_int, flag: *mut c_int, status: *mut c::MPI_Status) -> c_int { c::code(if
    indx.is_null() || flag.is_null() { absent("MPI_Request_get_status_any") } else {
    calls::request_get_status_any(count, Handles::<Request>::new(array_of_requests.cast_mut().cast()),
    IntOut::narrow(indx), IntOut::narrow(flag), StatusOut::new(c::status(status))) }) });
export!(MPI_Request_get_status_some PMPI_Request_get_status_some (incount: c_int, array_of_requests: *const
    c::MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut c::MPI_Status) ->
    c_int { c::code(if outcount.is_null() { absent("MPI_Request_get_status_some") } else {
    calls::request_get_status_some(incount, Handles::<Request>::new(array_of_requests.cast_mut().cast()),
    IntOut::narrow(outcount), IntOut::narrow(array_of_indices), StatusOut::new(c::status(array_of_statuses))) }) });
export!(MPI_Rget PMPI_Rget (origin_addr: *mut c_void, origin_count: c_int, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype, win: c::MPI_Win,
    request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Rget")) });
export!(MPI_Rget_c PMPI_Rget_c (origin_addr: *mut c_void, origin_count: i64, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype, win: c::MPI_Win,
    request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Rget_c")) });
export!(MPI_Rget_accumulate PMPI_Rget_accumulate (origin_addr: *const c_void, origin_count: c_int, origin_datatype:
    c::MPI_Datatype, result_addr: *mut c_void, result_count: c_int, result_datatype: c::MPI_Datatype, target_rank:
    c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype, op: c::MPI_Op, win:
    c::MPI_Win, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Rget_accumulate")) });
export!(MPI_Rget_accumulate_c PMPI_Rget_accumulate_c (origin_addr: *const c_void, origin_count: i64,
    origin_datatype: c::MPI_Datatype, result_addr: *mut c_void, result_count: i64, result_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype, op: c::MPI_Op, win:
    c::MPI_Win, request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Rget_accumulate_c")) });
export!(MPI_Rput PMPI_Rput (origin_addr: *const c_void, origin_count: c_int, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: c_int, target_datatype: c::MPI_Datatype, win: c::MPI_Win,
    request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Rput")) });
export!(MPI_Rput_c PMPI_Rput_c (origin_addr: *const c_void, origin_count: i64, origin_datatype: c::MPI_Datatype,
    target_rank: c_int, target_disp: isize, target_count: i64, target_datatype: c::MPI_Datatype, win: c::MPI_Win,
    request: *mut c::MPI_Request) -> c_int { c::code(unsupported("MPI_Rput_c")) });
export!(MPI_Rsend PMPI_Rsend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag: c_int,
    comm: c::MPI_Comm) -> c_int { c::code(calls::rsend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Rsend_c PMPI_Rsend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm) -> c_int { c::code(calls::rsend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Rsend_init PMPI_Rsend_init (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Rsend_init") } else { calls::rsend_init(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Rsend_init_c PMPI_Rsend_init_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Rsend_init_c") } else { calls::rsend_init(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Scan PMPI_Scan (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: c::MPI_Datatype,
    op: c::MPI_Op, comm: c::MPI_Comm) -> c_int { c::code(calls::scan(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Scan_c PMPI_Scan_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype: c::MPI_Datatype,
    op: c::MPI_Op, comm: c::MPI_Comm) -> c_int { c::code(calls::scan(Address::new(c::buffer(sendbuf.cast_mut())),
    Address::new(c::buffer(recvbuf)), count, Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    Op(c::handle_in(Kind::Op, op as usize)), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Scan_init PMPI_Scan_init (sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Scan_init") } else {
    calls::scan_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)),
    i64::from(count), Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as
    usize)), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Scan_init_c PMPI_Scan_init_c (sendbuf: *const c_void, recvbuf: *mut c_void, count: i64, datatype:
    c::MPI_Datatype, op: c::MPI_Op, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int {
    c::code(if request.is_null() { absent("MPI_Scan_init_c") } else {
    calls::scan_init(Address::new(c::buffer(sendbuf.cast_mut())), Address::new(c::buffer(recvbuf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Op(c::handle_in(Kind::Op, op as usize)),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Scatter PMPI_Scatter (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, recvbuf: *mut
    c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm) -> c_int {
    c::code(calls::scatter(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Scatter_c PMPI_Scatter_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, recvbuf:
    *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm) -> c_int {
    c::code(calls::scatter(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)), recvcount,
    Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm
    as usize)))) });
export!(MPI_Scatter_init PMPI_Scatter_init (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, info:
    c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() { absent("MPI_Scatter_init")
    } else { calls::scatter_init(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Scatter_init_c PMPI_Scatter_init_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype,
    recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm: c::MPI_Comm, info:
    c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Scatter_init_c") } else { calls::scatter_init(Address::new(c::buffer(sendbuf.cast_mut())),
    sendcount, Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), Address::new(c::buffer(recvbuf)),
    recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)), c::rank_in(root),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Scatterv PMPI_Scatterv (sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm) -> c_int { c::code(calls::scatterv(Address::new(c::buffer(sendbuf.cast_mut())),
    Ints::narrow(sendcounts), Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as
    usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Scatterv_c PMPI_Scatterv_c (sendbuf: *const c_void, sendcounts: *const i64, displs: *const isize,
    sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int, comm:
    c::MPI_Comm) -> c_int { c::code(calls::scatterv(Address::new(c::buffer(sendbuf.cast_mut())),
    Ints::wide(sendcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Scatterv_init PMPI_Scatterv_init (sendbuf: *const c_void, sendcounts: *const c_int, displs: *const
    c_int, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, root:
    c_int, comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if
    request.is_null() { absent("MPI_Scatterv_init") } else {
    calls::scatterv_init(Address::new(c::buffer(sendbuf.cast_mut())), Ints::narrow(sendcounts),
    Ints::narrow(displs), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as
    usize)), c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as
    usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Scatterv_init_c PMPI_Scatterv_init_c (sendbuf: *const c_void, sendcounts: *const i64, displs: *const
    isize, sendtype: c::MPI_Datatype, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, root: c_int,
    comm: c::MPI_Comm, info: c::MPI_Info, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Scatterv_init_c") } else { calls::scatterv_init(Address::new(c::buffer(sendbuf.cast_mut())),
    Ints::wide(sendcounts), Ints::wide(displs.cast()), Datatype(c::handle_in(Kind::Datatype, sendtype as usize)),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(root), Comm(c::handle_in(Kind::Comm, comm as usize)), Info(c::handle_in(Kind::Info, info as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Send PMPI_Send (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag: c_int,
    comm: c::MPI_Comm) -> c_int { c::code(calls::send(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Send_c PMPI_Send_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag: c_int,
    comm: c::MPI_Comm) -> c_int { c::code(calls::send(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Send_init PMPI_Send_init (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Send_init") } else { calls::send_init(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Send_init_c PMPI_Send_init_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Send_init_c") } else { calls::send_init(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Sendrecv PMPI_Sendrecv (sendbuf: *const c_void, sendcount: c_int, sendtype: c::MPI_Datatype, dest:
    c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: c_int, recvtype: c::MPI_Datatype, source: c_int,
    recvtag: c_int, comm: c::MPI_Comm, status: *mut c::MPI_Status) -> c_int {
    c::code(calls::sendrecv(Address::new(c::buffer(sendbuf.cast_mut())), i64::from(sendcount),
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), c::rank_in(dest), c::tag_in(sendtag),
    Address::new(c::buffer(recvbuf)), i64::from(recvcount), Datatype(c::handle_in(Kind::Datatype, recvtype as
    usize)), c::rank_in(source), c::tag_in(recvtag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    StatusOut::new(c::status(status)))) });
export!(MPI_Sendrecv_c PMPI_Sendrecv_c (sendbuf: *const c_void, sendcount: i64, sendtype: c::MPI_Datatype, dest:
    c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: i64, recvtype: c::MPI_Datatype, source: c_int, recvtag:
    c_int, comm: c::MPI_Comm, status: *mut c::MPI_Status) -> c_int {
    c::code(calls::sendrecv(Address::new(c::buffer(sendbuf.cast_mut())), sendcount,
    Datatype(c::handle_in(Kind::Datatype, sendtype as usize)), c::rank_in(dest), c::tag_in(sendtag),
    Address::new(c::buffer(recvbuf)), recvcount, Datatype(c::handle_in(Kind::Datatype, recvtype as usize)),
    c::rank_in(source), c::tag_in(recvtag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    StatusOut::new(c::status(status)))) });
export!(MPI_Sendrecv_replace PMPI_Sendrecv_replace (buf: *mut c_void, count: c_int, datatype: c::MPI_Datatype, dest:
    c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: c::MPI_Comm, status: *mut c::MPI_Status) -> c_int {
    c::code(calls::sendrecv_replace(Address::new(c::buffer(buf)), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(sendtag),
    c::rank_in(source), c::tag_in(recvtag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    StatusOut::new(c::status(status)))) });
export!(MPI_Sendrecv_replace_c PMPI_Sendrecv_replace_c (buf: *mut c_void, count: i64, datatype: c::MPI_Datatype,
    dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: c::MPI_Comm, status: *mut c::MPI_Status) ->
    c_int { c::code(calls::sendrecv_replace(Address::new(c::buffer(buf)), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(sendtag),
    c::rank_in(source), c::tag_in(recvtag), Comm(c::handle_in(Kind::Comm, comm as usize)),
    StatusOut::new(c::status(status)))) });
export!(MPI_Session_attach_buffer PMPI_Session_attach_buffer (session: c::MPI_Session, buffer: *mut c_void, size:
    c_int) -> c_int { c::code(calls::session_attach_buffer(Session(c::handle_in(Kind::Session, session as usize)),
    Address::new(c::buffer(buffer)), i64::from(size))) });
export!(MPI_Session_attach_buffer_c PMPI_Session_attach_buffer_c (session: c::MPI_Session, buffer: *mut c_void,
    size: i64) -> c_int { c::code(calls::session_attach_buffer(Session(c::handle_in(Kind::Session, session as
    usize)), Address::new(c::buffer(buffer)), size)) });
export!(MPI_Session_call_errhandler PMPI_Session_call_errhandler (session: c::MPI_Session, errorcode: c_int) ->
    c_int { c::code(calls::session_call_errhandler(Session(c::handle_in(Kind::Session, session as usize)),
    c::error_in(errorcode))) });
export!(MPI_Session_create_errhandler PMPI_Session_create_errhandler (session_errhandler_fn: *mut c_void,
    errhandler: *mut c::MPI_Errhandler) -> c_int { c::code(if errhandler.is_null() {
    absent("MPI_Session_create_errhandler") } else {
    calls::session_create_errhandler(Address::new(session_errhandler_fn),
    Handles::<Errhandler>::new(errhandler.cast())) }) });
export!(MPI_Session_detach_buffer PMPI_Session_detach_buffer (session: c::MPI_Session, buffer_addr: *mut c_void,
    size: *mut c_int) -> c_int { c::code(if size.is_null() { absent("MPI_Session_detach_buffer") } else {
    calls::session_detach_buffer(Session(c::handle_in(Kind::Session, session as usize)), Address::new(buffer_addr),
    IntOut::narrow(size)) }) });
export!(MPI_Session_detach_buffer_c PMPI_Session_detach_buffer_c (session: c::MPI_Session, buffer_addr: *mut c_void,
    size: *mut i64) -> c_int { c::code(if size.is_null() { absent("MPI_Session_detach_buffer_c") } else {
    calls::session_detach_buffer(Session(c::handle_in(Kind::Session, session as usize)), Address::new(buffer_addr),
    IntOut::wide(size)) }) });
export!(MPI_Session_finalize PMPI_Session_finalize (session: *mut c::MPI_Session) -> c_int { c::code(if
    session.is_null() { absent("MPI_Session_finalize") } else {
    calls::session_finalize(Handles::<Session>::new(session.cast())) }) });
export!(MPI_Session_flush_buffer PMPI_Session_flush_buffer (session: c::MPI_Session) -> c_int {
    c::code(calls::session_flush_buffer(Session(c::handle_in(Kind::Session, session as usize)))) });
export!(MPI_Session_get_errhandler PMPI_Session_get_errhandler (session: c::MPI_Session, errhandler: *mut
    c::MPI_Errhandler) -> c_int { c::code(if errhandler.is_null() { absent("MPI_Session_get_errhandler") } else {
    calls::session_get_errhandler(Session(c::handle_in(Kind::Session, session as usize)),
    Handles::<Errhandler>::new(errhandler.cast())) }) });
export!(MPI_Session_get_info PMPI_Session_get_info (session: c::MPI_Session, info_used: *mut c::MPI_Info) -> c_int {
    c::code(if info_used.is_null() { absent("MPI_Session_get_info") } else {
    calls::session_get_info(Session(c::handle_in(Kind::Session, session as usize)),
    Handles::<Info>::new(info_used.cast())) }) });
export!(MPI_Session_get_nth_pset PMPI_Session_get_nth_pset (session: c::MPI_Session, info: c::MPI_Info, n: c_int,
    pset_len: *mut c_int, pset_name: *mut c_char) -> c_int { c::code(if pset_len.is_null() {
    absent("MPI_Session_get_nth_pset") } else { calls::session_get_nth_pset(Session(c::handle_in(Kind::Session,
    session as usize)), Info(c::handle_in(Kind::Info, info as usize)), n, IntOut::narrow(pset_len),
    TextOut::new(pset_name)) }) });
export!(MPI_Session_get_num_psets PMPI_Session_get_num_psets (session: c::MPI_Session, info: c::MPI_Info,
    npset_names: *mut c_int) -> c_int { c::code(if npset_names.is_null() { absent("MPI_Session_get_num_psets") }
    else { calls::session_get_num_psets(Session(c::handle_in(Kind::Session, session as usize)),
    Info(c::handle_in(Kind::Info, info as usize)), IntOut::narrow(npset_names)) }) });
export!(MPI_Session_get_pset_info PMPI_Session_get_pset_info (session: c::MPI_Session, pset_name: *const c_char,
    info: *mut c::MPI_Info) -> c_int { c::code(if info.is_null() { absent("MPI_Session_get_pset_info") } else {
    calls::session_get_pset_info(Session(c::handle_in(Kind::Session, session as usize)), Text::new(pset_name),
    Handles::<Info>::new(info.cast())) }) });
export!(MPI_Session_iflush_buffer PMPI_Session_iflush_buffer (session: c::MPI_Session, request: *mut c::MPI_Request)
    -> c_int { c::code(if request.is_null() { absent("MPI_Session_iflush_buffer") } else {
    calls::session_iflush_buffer(Session(c::handle_in(Kind::Session, session as usize)),
    Handles::<Request>::new(request.cast())) }) });
export!(MPI_Session_init PMPI_Session_init (info: c::MPI_Info, errhandler: c::MPI_Errhandler, session: *mut
    c::MPI_Session) -> c_int { c::code(if session.is_null() { absent("MPI_Session_init") } else {
    calls::session_init(Info(c::handle_in(Kind::Info, info as usize)), Errhandler(c::handle_in(Kind::Errhandler,
    errhandler as usize)), Handles::<Session>::new(session.cast())) }) });
export!(MPI_Session_set_errhandler PMPI_Session_set_errhandler (session: c::MPI_Session, errhandler:
    c::MPI_Errhandler) -> c_int { c::code(calls::session_set_errhandler(Session(c::handle_in(Kind::Session, session
    as usize)), Errhandler(c::handle_in(Kind::Errhandler, errhandler as usize)))) });
export!(MPI_Ssend PMPI_Ssend (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int, tag: c_int,
    comm: c::MPI_Comm) -> c_int { c::code(calls::ssend(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Ssend_c PMPI_Ssend_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int, tag:
    c_int, comm: c::MPI_Comm) -> c_int { c::code(calls::ssend(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)))) });
export!(MPI_Ssend_init PMPI_Ssend_init (buf: *const c_void, count: c_int, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ssend_init") } else { calls::ssend_init(Address::new(c::buffer(buf.cast_mut())), i64::from(count),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Ssend_init_c PMPI_Ssend_init_c (buf: *const c_void, count: i64, datatype: c::MPI_Datatype, dest: c_int,
    tag: c_int, comm: c::MPI_Comm, request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Ssend_init_c") } else { calls::ssend_init(Address::new(c::buffer(buf.cast_mut())), count,
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::rank_in(dest), c::tag_in(tag),
    Comm(c::handle_in(Kind::Comm, comm as usize)), Handles::<Request>::new(request.cast())) }) });
export!(MPI_Start PMPI_Start (request: *mut c::MPI_Request) -> c_int { c::code(if request.is_null() {
    absent("MPI_Start") } else { calls::start(Handles::<Request>::new(request.cast())) }) });
export!(MPI_Startall PMPI_Startall (count: c_int, array_of_requests: *mut c::MPI_Request) -> c_int {
    c::code(calls::startall(count, Handles::<Request>::new(array_of_requests.cast()))) });
export!(MPI_Status_get_error PMPI_Status_get_error (status: *const c::MPI_Status, error: *mut c_int) -> c_int {
    c::code(if error.is_null() { absent("MPI_Status_get_error") } else {
    calls::status_get_error(StatusOut::new(c::status(status.cast_mut())), IntOut::narrow(error)) }) });
export!(MPI_Status_get_source PMPI_Status_get_source (status: *const c::MPI_Status, source: *mut c_int) -> c_int {
    c::code(if source.is_null() { absent("MPI_Status_get_source") } else {
    calls::status_get_source(StatusOut::new(c::status(status.cast_mut())), IntOut::mapped(source, c::rank_in,
    c::rank_out)) }) });
export!(MPI_Status_get_tag PMPI_Status_get_tag (status: *const c::MPI_Status, tag: *mut c_int) -> c_int { c::code(if
    tag.is_null() { absent("MPI_Status_get_tag") } else {
    calls::status_get_tag(StatusOut::new(c::status(status.cast_mut())), IntOut::mapped(tag, c::tag_in, c::tag_out))
    }) });
export!(MPI_Status_set_cancelled PMPI_Status_set_cancelled (status: *mut c::MPI_Status, flag: c_int) -> c_int {
    c::code(calls::status_set_cancelled(StatusOut::new(c::status(status)), flag)) });
export!(MPI_Status_set_elements PMPI_Status_set_elements (status: *mut c::MPI_Status, datatype: c::MPI_Datatype,
    count: c_int) -> c_int { c::code(calls::status_set_elements(StatusOut::new(c::status(status)),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), i64::from(count))) });
export!(MPI_Status_set_elements_c PMPI_Status_set_elements_c (status: *mut c::MPI_Status, datatype: c::MPI_Datatype,
    count: i64) -> c_int { c::code(calls::status_set_elements(StatusOut::new(c::status(status)),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), count)) });
export!(MPI_Status_set_elements_x PMPI_Status_set_elements_x (status: *mut c::MPI_Status, datatype: c::MPI_Datatype,
    count: i64) -> c_int { c::code(calls::status_set_elements_x(StatusOut::new(c::status(status)),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), count)) });
export!(MPI_Status_set_error PMPI_Status_set_error (status: *mut c::MPI_Status, error: c_int) -> c_int {
    c::code(calls::status_set_error(StatusOut::new(c::status(status)), error)) });
export!(MPI_Status_set_source PMPI_Status_set_source (status: *mut c::MPI_Status, source: c_int) -> c_int {
    c::code(calls::status_set_source(StatusOut::new(c::status(status)), c::rank_in(source))) });
export!(MPI_Status_set_tag PMPI_Status_set_tag (status: *mut c::MPI_Status, tag: c_int) -> c_int {
    c::code(calls::status_set_tag(StatusOut::new(c::status(status)), c::tag_in(tag))) });
export!(MPI_Test PMPI_Test (request: *mut c::MPI_Request, flag: *mut c_int, status: *mut c::MPI_Status) -> c_int {
    c::code(if request.is_null() || flag.is_null() { absent("MPI_Test") } else {
    calls::test(Handles::<Request>::new(request.cast()), IntOut::narrow(flag), StatusOut::new(c::status(status))) })
    });
export!(MPI_Test_cancelled PMPI_Test_cancelled (status: *const c::MPI_Status, flag: *mut c_int) -> c_int {
    c::code(if flag.is_null() { absent("MPI_Test_cancelled") } else {
    calls::test_cancelled(StatusOut::new(c::status(status.cast_mut())), IntOut::narrow(flag)) }) });
export!(MPI_Testall PMPI_Testall (count: c_int, array_of_requests: *mut c::MPI_Request, flag: *mut c_int,
    array_of_statuses: *mut c::MPI_Status) -> c_int { c::code(if flag.is_null() { absent("MPI_Testall") } else {
    calls::testall(count, Handles::<Request>::new(array_of_requests.cast()), IntOut::narrow(flag),
    StatusOut::new(c::status(array_of_statuses))) }) });
export!(MPI_Testany PMPI_Testany (count: c_int, array_of_requests: *mut c::MPI_Request, indx: *mut c_int, flag: *mut
    c_int, status: *mut c::MPI_Status) -> c_int { c::code(if indx.is_null() || flag.is_null() {
    absent("MPI_Testany") } else { calls::testany(count, Handles::<Request>::new(array_of_requests.cast()),
    IntOut::narrow(indx), IntOut::narrow(flag), StatusOut::new(c::status(status))) }) });
export!(MPI_Testsome PMPI_Testsome (incount: c_int, array_of_requests: *mut c::MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut c::MPI_Status) -> c_int { c::code(if outcount.is_null() {
    absent("MPI_Testsome") } else { calls::testsome(incount, Handles::<Request>::new(array_of_requests.cast()),
    IntOut::narrow(outcount), IntOut::narrow(array_of_indices), StatusOut::new(c::status(array_of_statuses))) }) });
export!(MPI_Topo_test PMPI_Topo_test (comm: c::MPI_Comm, status: *mut c_int) -> c_int { c::code(if status.is_null()
    { absent("MPI_Topo_test") } else { calls::topo_test(Comm(c::handle_in(Kind::Comm, comm as usize)),
    IntOut::mapped(status, c::topology_in, c::topology_out)) }) });
export!(MPI_Type_commit PMPI_Type_commit (datatype: *mut c::MPI_Datatype) -> c_int { c::code(if datatype.is_null() {
    absent("MPI_Type_commit") } else { calls::type_commit(Handles::<Datatype>::new(datatype.cast())) }) });
export!(MPI_Type_contiguous PMPI_Type_contiguous (count: c_int, oldtype: c::MPI_Datatype, newtype: *mut
    c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_contiguous") } else {
    calls::type_contiguous(i64::from(count), Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_contiguous_c PMPI_Type_contiguous_c (count: i64, oldtype: c::MPI_Datatype, newtype: *mut
    c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_contiguous_c") } else {
    calls::type_contiguous(count, Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_darray PMPI_Type_create_darray (size: c_int, rank: c_int, ndims: c_int, array_of_gsizes:
    *const c_int, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int,
    order: c_int, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() {
    absent("MPI_Type_create_darray") } else { calls::type_create_darray(size, c::rank_in(rank), ndims,
    Ints::narrow(array_of_gsizes), Ints::mapped(array_of_distribs, c::distribute_in), Ints::mapped(array_of_dargs,
    c::distribute_in), Ints::narrow(array_of_psizes), c::order_in(order), Datatype(c::handle_in(Kind::Datatype,
    oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_darray_c PMPI_Type_create_darray_c (size: c_int, rank: c_int, ndims: c_int, array_of_gsizes:
    *const i64, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order:
    c_int, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() {
    absent("MPI_Type_create_darray_c") } else { calls::type_create_darray(size, c::rank_in(rank), ndims,
    Ints::wide(array_of_gsizes), Ints::mapped(array_of_distribs, c::distribute_in), Ints::mapped(array_of_dargs,
    c::distribute_in), Ints::narrow(array_of_psizes), c::order_in(order), Datatype(c::handle_in(Kind::Datatype,
    oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_f90_complex PMPI_Type_create_f90_complex (p: c_int, r: c_int, newtype: *mut c::MPI_Datatype)
    -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_f90_complex") } else {
    calls::type_create_f90_complex(p, r, Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_f90_integer PMPI_Type_create_f90_integer (r: c_int, newtype: *mut c::MPI_Datatype) -> c_int
    { c::code(if newtype.is_null() { absent("MPI_Type_create_f90_integer") } else {
    calls::type_create_f90_integer(r, Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_f90_real PMPI_Type_create_f90_real (p: c_int, r: c_int, newtype: *mut c::MPI_Datatype) ->
    c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_f90_real") } else {
    calls::type_create_f90_real(p, r, Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_hindexed PMPI_Type_create_hindexed (count: c_int, array_of_blocklengths: *const c_int,
    array_of_displacements: *const isize, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_create_hindexed") } else {
    calls::type_create_hindexed(i64::from(count), Ints::narrow(array_of_blocklengths),
    Ints::wide(array_of_displacements.cast()), Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_hindexed_c PMPI_Type_create_hindexed_c (count: i64, array_of_blocklengths: *const i64,
    array_of_displacements: *const i64, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_create_hindexed_c") } else { calls::type_create_hindexed(count,
    Ints::wide(array_of_blocklengths), Ints::wide(array_of_displacements), Datatype(c::handle_in(Kind::Datatype,
    oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_hindexed_block PMPI_Type_create_hindexed_block (count: c_int, blocklength: c_int,
    array_of_displacements: *const isize, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_create_hindexed_block") } else {
    calls::type_create_hindexed_block(i64::from(count), i64::from(blocklength),
    Ints::wide(array_of_displacements.cast()), Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_hindexed_block_c PMPI_Type_create_hindexed_block_c (count: i64, blocklength: i64,
    array_of_displacements: *const i64, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_create_hindexed_block_c") } else {
    calls::type_create_hindexed_block(count, blocklength, Ints::wide(array_of_displacements),
    Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_hvector PMPI_Type_create_hvector (count: c_int, blocklength: c_int, stride: isize, oldtype:
    c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() {
    absent("MPI_Type_create_hvector") } else { calls::type_create_hvector(i64::from(count), i64::from(blocklength),
    stride as i64, Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_hvector_c PMPI_Type_create_hvector_c (count: i64, blocklength: i64, stride: i64, oldtype:
    c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() {
    absent("MPI_Type_create_hvector_c") } else { calls::type_create_hvector(count, blocklength, stride,
    Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_indexed_block PMPI_Type_create_indexed_block (count: c_int, blocklength: c_int,
    array_of_displacements: *const c_int, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_create_indexed_block") } else {
    calls::type_create_indexed_block(i64::from(count), i64::from(blocklength), Ints::narrow(array_of_displacements),
    Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_indexed_block_c PMPI_Type_create_indexed_block_c (count: i64, blocklength: i64,
    array_of_displacements: *const i64, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_create_indexed_block_c") } else {
    calls::type_create_indexed_block(count, blocklength, Ints::wide(array_of_displacements),
    Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_keyval PMPI_Type_create_keyval (type_copy_attr_fn: *mut c_void, type_delete_attr_fn: *mut
    c_void, type_keyval: *mut c_int, extra_state: *mut c_void) -> c_int { c::code(if type_keyval.is_null() {
    absent("MPI_Type_create_keyval") } else { calls::type_create_keyval(Address::new(type_copy_attr_fn),
    Address::new(type_delete_attr_fn), IntOut::mapped(type_keyval, c::keyval_in, c::keyval_out),
    Address::new(extra_state)) }) });
export!(MPI_Type_create_resized PMPI_Type_create_resized (oldtype: c::MPI_Datatype, lb: isize, extent: isize,
    newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_resized") }
    else { calls::type_create_resized(Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), lb as i64, extent as
    i64, Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_resized_c PMPI_Type_create_resized_c (oldtype: c::MPI_Datatype, lb: i64, extent: i64,
    newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_resized_c") }
    else { calls::type_create_resized(Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), lb, extent,
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_struct PMPI_Type_create_struct (count: c_int, array_of_blocklengths: *const c_int,
    array_of_displacements: *const isize, array_of_types: *const c::MPI_Datatype, newtype: *mut c::MPI_Datatype) ->
    c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_struct") } else {
    calls::type_create_struct(i64::from(count), Ints::narrow(array_of_blocklengths),
    Ints::wide(array_of_displacements.cast()), Handles::<Datatype>::new(array_of_types.cast_mut().cast()),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_struct_c PMPI_Type_create_struct_c (count: i64, array_of_blocklengths: *const i64,
    array_of_displacements: *const i64, array_of_types: *const c::MPI_Datatype, newtype: *mut c::MPI_Datatype) ->
    c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_struct_c") } else {
    calls::type_create_struct(count, Ints::wide(array_of_blocklengths), Ints::wide(array_of_displacements),
    Handles::<Datatype>::new(array_of_types.cast_mut().cast()), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_subarray PMPI_Type_create_subarray (ndims: c_int, array_of_sizes: *const c_int,
    array_of_subsizes: *const c_int, array_of_starts: *const c_int, order: c_int, oldtype: c::MPI_Datatype, newtype:
    *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_subarray") } else {
    calls::type_create_subarray(ndims, Ints::narrow(array_of_sizes), Ints::narrow(array_of_subsizes),
    Ints::narrow(array_of_starts), c::order_in(order), Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_create_subarray_c PMPI_Type_create_subarray_c (ndims: c_int, array_of_sizes: *const i64,
    array_of_subsizes: *const i64, array_of_starts: *const i64, order: c_int, oldtype: c::MPI_Datatype, newtype:
    *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_create_subarray_c") } else {
    calls::type_create_subarray(ndims, Ints::wide(array_of_sizes), Ints::wide(array_of_subsizes),
    Ints::wide(array_of_starts), c::order_in(order), Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_delete_attr PMPI_Type_delete_attr (datatype: c::MPI_Datatype, type_keyval: c_int) -> c_int {
    c::code(calls::type_delete_attr(Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    c::keyval_in(type_keyval))) });
export!(MPI_Type_dup PMPI_Type_dup (oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int { c::code(if
    newtype.is_null() { absent("MPI_Type_dup") } else { calls::type_dup(Datatype(c::handle_in(Kind::Datatype,
    oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_free PMPI_Type_free (datatype: *mut c::MPI_Datatype) -> c_int { c::code(if datatype.is_null() {
    absent("MPI_Type_free") } else { calls::type_free(Handles::<Datatype>::new(datatype.cast())) }) });
export!(MPI_Type_free_keyval PMPI_Type_free_keyval (type_keyval: *mut c_int) -> c_int { c::code(if
    type_keyval.is_null() { absent("MPI_Type_free_keyval") } else {
    calls::type_free_keyval(IntOut::mapped(type_keyval, c::keyval_in, c::keyval_out)) }) });
export!(MPI_Type_get_attr PMPI_Type_get_attr (datatype: c::MPI_Datatype, type_keyval: c_int, attribute_val: *mut
    c_void, flag: *mut c_int) -> c_int { c::code(if flag.is_null() { absent("MPI_Type_get_attr") } else {
    calls::type_get_attr(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), c::keyval_in(type_keyval),
    Address::new(attribute_val), IntOut::narrow(flag)) }) });
export!(MPI_Type_get_contents PMPI_Type_get_contents (datatype: c::MPI_Datatype, max_integers: c_int, max_addresses:
    c_int, max_datatypes: c_int, array_of_integers: *mut c_int, array_of_addresses: *mut isize, array_of_datatypes:
    *mut c::MPI_Datatype) -> c_int { c::code(calls::type_get_contents(Datatype(c::handle_in(Kind::Datatype, datatype
    as usize)), max_integers, max_addresses, max_datatypes, IntOut::narrow(array_of_integers),
    IntOut::wide(array_of_addresses.cast()), Handles::<Datatype>::new(array_of_datatypes.cast()))) });
export!(MPI_Type_get_contents_c PMPI_Type_get_contents_c (datatype: c::MPI_Datatype, max_integers: i64,
    max_addresses: i64, max_large_counts: i64, max_datatypes: i64, array_of_integers: *mut c_int,
    array_of_addresses: *mut isize, array_of_large_counts: *mut i64, array_of_datatypes: *mut c::MPI_Datatype) ->
    c_int { c::code(calls::type_get_contents_c(Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    max_integers, max_addresses, max_large_counts, max_datatypes, IntOut::narrow(array_of_integers),
    IntOut::wide(array_of_addresses.cast()), IntOut::wide(array_of_large_counts),
    Handles::<Datatype>::new(array_of_datatypes.cast()))) });
export!(MPI_Type_get_envelope PMPI_Type_get_envelope (datatype: c::MPI_Datatype, num_integers: *mut c_int,
    num_addresses: *mut c_int, num_datatypes: *mut c_int, combiner: *mut c_int) -> c_int { c::code(if
    num_integers.is_null() || num_addresses.is_null() || num_datatypes.is_null() || combiner.is_null() {
    absent("MPI_Type_get_envelope") } else { calls::type_get_envelope(Datatype(c::handle_in(Kind::Datatype, datatype
    as usize)), IntOut::narrow(num_integers), IntOut::narrow(num_addresses), IntOut::narrow(num_datatypes),
    IntOut::mapped(combiner, c::combiner_in, c::combiner_out)) }) });
export!(MPI_Type_get_envelope_c PMPI_Type_get_envelope_c (datatype: c::MPI_Datatype, num_integers: *mut i64,
    num_addresses: *mut i64, num_large_counts: *mut i64, num_datatypes: *mut i64, combiner: *mut c_int) -> c_int {
    c::code(if num_integers.is_null() || num_addresses.is_null() || num_large_counts.is_null() ||
    num_datatypes.is_null() || combiner.is_null() { absent("MPI_Type_get_envelope_c") } else {
    calls::type_get_envelope_c(Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    IntOut::wide(num_integers), IntOut::wide(num_addresses), IntOut::wide(num_large_counts),
    IntOut::wide(num_datatypes), IntOut::mapped(combiner, c::combiner_in, c::combiner_out)) }) });
export!(MPI_Type_get_extent PMPI_Type_get_extent (datatype: c::MPI_Datatype, lb: *mut isize, extent: *mut isize) ->
    c_int { c::code(if lb.is_null() || extent.is_null() { absent("MPI_Type_get_extent") } else {
    calls::type_get_extent(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), IntOut::wide(lb.cast()),
    IntOut::wide(extent.cast())) }) });
export!(MPI_Type_get_extent_c PMPI_Type_get_extent_c (datatype: c::MPI_Datatype, lb: *mut i64, extent: *mut i64) ->
    c_int { c::code(if lb.is_null() || extent.is_null() { absent("MPI_Type_get_extent_c") } else {
    calls::type_get_extent(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), IntOut::wide(lb),
    IntOut::wide(extent)) }) });
export!(MPI_Type_get_extent_x PMPI_Type_get_extent_x (datatype: c::MPI_Datatype, lb: *mut i64, extent: *mut i64) ->
    c_int { c::code(if lb.is_null() || extent.is_null() { absent("MPI_Type_get_extent_x") } else {
    calls::type_get_extent_x(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), IntOut::wide(lb),
    IntOut::wide(extent)) }) });
export!(MPI_Type_get_name PMPI_Type_get_name (datatype: c::MPI_Datatype, type_name: *mut c_char, resultlen: *mut
    c_int) -> c_int { c::code(if resultlen.is_null() { absent("MPI_Type_get_name") } else {
    calls::type_get_name(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), TextOut::new(type_name),
    IntOut::narrow(resultlen)) }) });
export!(MPI_Type_get_true_extent PMPI_Type_get_true_extent (datatype: c::MPI_Datatype, true_lb: *mut isize,
    true_extent: *mut isize) -> c_int { c::code(if true_lb.is_null() || true_extent.is_null() {
    absent("MPI_Type_get_true_extent") } else { calls::type_get_true_extent(Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::wide(true_lb.cast()), IntOut::wide(true_extent.cast())) }) });
export!(MPI_Type_get_true_extent_c PMPI_Type_get_true_extent_c (datatype: c::MPI_Datatype, true_lb: *mut i64,
    true_extent: *mut i64) -> c_int { c::code(if true_lb.is_null() || true_extent.is_null() {
    absent("MPI_Type_get_true_extent_c") } else { calls::type_get_true_extent(Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::wide(true_lb), IntOut::wide(true_extent)) }) });
export!(MPI_Type_get_true_extent_x PMPI_Type_get_true_extent_x (datatype: c::MPI_Datatype, true_lb: *mut i64,
    true_extent: *mut i64) -> c_int { c::code(if true_lb.is_null() || true_extent.is_null() {
    absent("MPI_Type_get_true_extent_x") } else {
    calls::type_get_true_extent_x(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), IntOut::wide(true_lb),
    IntOut::wide(true_extent)) }) });
export!(MPI_Type_get_value_index PMPI_Type_get_value_index (value_type: c::MPI_Datatype, index_type:
    c::MPI_Datatype, pair_type: *mut c::MPI_Datatype) -> c_int { c::code(if pair_type.is_null() {
    absent("MPI_Type_get_value_index") } else { calls::type_get_value_index(Datatype(c::handle_in(Kind::Datatype,
    value_type as usize)), Datatype(c::handle_in(Kind::Datatype, index_type as usize)),
    Handles::<Datatype>::new(pair_type.cast())) }) });
export!(MPI_Type_indexed PMPI_Type_indexed (count: c_int, array_of_blocklengths: *const c_int,
    array_of_displacements: *const c_int, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_indexed") } else { calls::type_indexed(i64::from(count),
    Ints::narrow(array_of_blocklengths), Ints::narrow(array_of_displacements), Datatype(c::handle_in(Kind::Datatype,
    oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_indexed_c PMPI_Type_indexed_c (count: i64, array_of_blocklengths: *const i64,
    array_of_displacements: *const i64, oldtype: c::MPI_Datatype, newtype: *mut c::MPI_Datatype) -> c_int {
    c::code(if newtype.is_null() { absent("MPI_Type_indexed_c") } else { calls::type_indexed(count,
    Ints::wide(array_of_blocklengths), Ints::wide(array_of_displacements), Datatype(c::handle_in(Kind::Datatype,
    oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_match_size PMPI_Type_match_size (typeclass: c_int, size: c_int, datatype: *mut c::MPI_Datatype) ->
    c_int { c::code(if datatype.is_null() { absent("MPI_Type_match_size") } else {
    calls::type_match_size(c::typeclass_in(typeclass), size, Handles::<Datatype>::new(datatype.cast())) }) });
export!(MPI_Type_set_attr PMPI_Type_set_attr (datatype: c::MPI_Datatype, type_keyval: c_int, attribute_val: *mut
    c_void) -> c_int { c::code(calls::type_set_attr(Datatype(c::handle_in(Kind::Datatype, datatype as usize)),
    c::keyval_in(type_keyval), Address::new(attribute_val))) });
export!(MPI_Type_set_name PMPI_Type_set_name (datatype: c::MPI_Datatype, type_name: *const c_char) -> c_int {
    c::code(calls::type_set_name(Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Text::new(type_name)))
    });
export!(MPI_Type_size PMPI_Type_size (datatype: c::MPI_Datatype, size: *mut c_int) -> c_int { c::code(if
    size.is_null() { absent("MPI_Type_size") } else { calls::type_size(Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::narrow(size)) }) });
export!(MPI_Type_size_c PMPI_Type_size_c (datatype: c::MPI_Datatype, size: *mut i64) -> c_int { c::code(if
    size.is_null() { absent("MPI_Type_size_c") } else { calls::type_size(Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::wide(size)) }) });
export!(MPI_Type_size_x PMPI_Type_size_x (datatype: c::MPI_Datatype, size: *mut i64) -> c_int { c::code(if
    size.is_null() { absent("MPI_Type_size_x") } else { calls::type_size_x(Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), IntOut::wide(size)) }) });
export!(MPI_Type_vector PMPI_Type_vector (count: c_int, blocklength: c_int, stride: c_int, oldtype: c::MPI_Datatype,
    newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_vector") } else {
    calls::type_vector(i64::from(count), i64::from(blocklength), i64::from(stride),
    Datatype(c::handle_in(Kind::Datatype, oldtype as usize)), Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Type_vector_c PMPI_Type_vector_c (count: i64, blocklength: i64, stride: i64, oldtype: c::MPI_Datatype,
    newtype: *mut c::MPI_Datatype) -> c_int { c::code(if newtype.is_null() { absent("MPI_Type_vector_c") } else {
    calls::type_vector(count, blocklength, stride, Datatype(c::handle_in(Kind::Datatype, oldtype as usize)),
    Handles::<Datatype>::new(newtype.cast())) }) });
export!(MPI_Unpack PMPI_Unpack (inbuf: *const c_void, insize: c_int, position: *mut c_int, outbuf: *mut c_void,
    outcount: c_int, datatype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int { c::code(if position.is_null() {
    absent("MPI_Unpack") } else { calls::unpack(Address::new(c::buffer(inbuf.cast_mut())), i64::from(insize),
    IntOut::narrow(position), Address::new(c::buffer(outbuf)), i64::from(outcount),
    Datatype(c::handle_in(Kind::Datatype, datatype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize))) }) });
export!(MPI_Unpack_c PMPI_Unpack_c (inbuf: *const c_void, insize: i64, position: *mut i64, outbuf: *mut c_void,
    outcount: i64, datatype: c::MPI_Datatype, comm: c::MPI_Comm) -> c_int { c::code(if position.is_null() {
    absent("MPI_Unpack_c") } else { calls::unpack(Address::new(c::buffer(inbuf.cast_mut())), insize,
    IntOut::wide(position), Address::new(c::buffer(outbuf)), outcount, Datatype(c::handle_in(Kind::Datatype,
    datatype as usize)), Comm(c::handle_in(Kind::Comm, comm as usize))) }) });
export!(MPI_Unpack_external PMPI_Unpack_external (datarep: *const c_char, inbuf: *const c_void, insize: isize,
    position: *mut isize, outbuf: *mut c_void, outcount: c_int, datatype: c::MPI_Datatype) -> c_int { c::code(if
    position.is_null() { absent("MPI_Unpack_external") } else { calls::unpack_external(Text::new(datarep),
    Address::new(c::buffer(inbuf.cast_mut())), insize as i64, IntOut::wide(position.cast()),
    Address::new(c::buffer(outbuf)), i64::from(outcount), Datatype(c::handle_in(Kind::Datatype, datatype as usize)))
    }) });
export!(MPI_Unpack_external_c PMPI_Unpack_external_c (datarep: *const c_char, inbuf: *const c_void, insize: i64,
    position: *mut i64, outbuf: *mut c_void, outcount: i64, datatype: c::MPI_Datatype) -> c_int { c::code(if
    position.is_null() { absent("MPI_Unpack_external_c") } else { calls::unpack_external(Text::new(datarep),
    Address::new(c::buffer(inbuf.cast_mut())), insize, IntOut::wide(position), Address::new(c::buffer(outbuf)),
    outcount, Datatype(c::handle_in(Kind::Datatype, datatype as usize))) }) });
export!(MPI_Unpublish_name PMPI_Unpublish_name (service_name: *const c_char, info: c::MPI_Info, port_name: *const
    c_char) -> c_int { c::code(unsupported("MPI_Unpublish_name")) });
export!(MPI_Wait PMPI_Wait (request: *mut c::MPI_Request, status: *mut c::MPI_Status) -> c_int { c::code(if
    request.is_null() { absent("MPI_Wait") } else { calls::wait(Handles::<Request>::new(request.cast()),
    StatusOut::new(c::status(status))) }) });
export!(MPI_Waitall PMPI_Waitall (count: c_int, array_of_requests: *mut c::MPI_Request, array_of_statuses: *mut
    c::MPI_Status) -> c_int { c::code(calls::waitall(count, Handles::<Request>::new(array_of_requests.cast()),
    StatusOut::new(c::status(array_of_statuses)))) });
export!(MPI_Waitany PMPI_Waitany (count: c_int, array_of_requests: *mut c::MPI_Request, indx: *mut c_int, status:
    *mut c::MPI_Status) -> c_int { c::code(if indx.is_null() { absent("MPI_Waitany") } else { calls::waitany(count,
    Handles::<Request>::new(array_of_requests.cast()), IntOut::narrow(indx), StatusOut::new(c::status(status))) })
    });
export!(MPI_Waitsome PMPI_Waitsome (incount: c_int, array_of_requests: *mut c::MPI_Request, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut c::MPI_Status) -> c_int { c::code(if outcount.is_null() {
    absent("MPI_Waitsome") } else { calls::waitsome(incount, Handles::<Request>::new(array_of_requests.cast()),
    IntOut::narrow(outcount), IntOut::narrow(array_of_indices), StatusOut::new(c::status(array_of_statuses))) }) });
export!(MPI_Win_allocate PMPI_Win_allocate (size: isize, disp_unit: c_int, info: c::MPI_Info, comm: c::MPI_Comm,
    baseptr: *mut c_void, win: *mut c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_allocate")) });
export!(MPI_Win_allocate_c PMPI_Win_allocate_c (size: isize, disp_unit: isize, info: c::MPI_Info, comm: c::MPI_Comm,
    baseptr: *mut c_void, win: *mut c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_allocate_c")) });
export!(MPI_Win_allocate_shared PMPI_Win_allocate_shared (size: isize, disp_unit: c_int, info: c::MPI_Info, comm:
    c::MPI_Comm, baseptr: *mut c_void, win: *mut c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_allocate_shared")) });
export!(MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c (size: isize, disp_unit: isize, info: c::MPI_Info,
    comm: c::MPI_Comm, baseptr: *mut c_void, win: *mut c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_allocate_shared_c")) });
export!(MPI_Win_attach PMPI_Win_attach (win: c::MPI_Win, base: *mut c_void, size: isize) -> c_int {
    c::code(unsupported("MPI_Win_attach")) });
export!(MPI_Win_call_errhandler PMPI_Win_call_errhandler (win: c::MPI_Win, errorcode: c_int) -> c_int {
    c::code(unsupported("MPI_Win_call_errhandler")) });
export!(MPI_Win_complete PMPI_Win_complete (win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_complete")) });
export!(MPI_Win_create PMPI_Win_create (base: *mut c_void, size: isize, disp_unit: c_int, info: c::MPI_Info, comm:
    c::MPI_Comm, win: *mut c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_create")) });
export!(MPI_Win_create_c PMPI_Win_create_c (base: *mut c_void, size: isize, disp_unit: isize, info: c::MPI_Info,
    comm: c::MPI_Comm, win: *mut c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_create_c")) });
export!(MPI_Win_create_dynamic PMPI_Win_create_dynamic (info: c::MPI_Info, comm: c::MPI_Comm, win: *mut c::MPI_Win)
    -> c_int { c::code(unsupported("MPI_Win_create_dynamic")) });
export!(MPI_Win_create_errhandler PMPI_Win_create_errhandler (win_errhandler_fn: *mut c_void, errhandler: *mut
    c::MPI_Errhandler) -> c_int { c::code(unsupported("MPI_Win_create_errhandler")) });
export!(MPI_Win_create_keyval PMPI_Win_create_keyval (win_copy_attr_fn: *mut c_void, win_delete_attr_fn: *mut
    c_void, win_keyval: *mut c_int, extra_state: *mut c_void) -> c_int {
    c::code(unsupported("MPI_Win_create_keyval")) });
export!(MPI_Win_delete_attr PMPI_Win_delete_attr (win: c::MPI_Win, win_keyval: c_int) -> c_int {
    c::code(unsupported("MPI_Win_delete_attr")) });
export!(MPI_Win_detach PMPI_Win_detach (win: c::MPI_Win, base: *const c_void) -> c_int {
    c::code(unsupported("MPI_Win_detach")) });
export!(MPI_Win_fence PMPI_Win_fence (assert: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_fence")) });
export!(MPI_Win_flush PMPI_Win_flush (rank: c_int, win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_flush"))
    });
export!(MPI_Win_flush_all PMPI_Win_flush_all (win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_flush_all"))
    });
export!(MPI_Win_flush_local PMPI_Win_flush_local (rank: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_flush_local")) });
export!(MPI_Win_flush_local_all PMPI_Win_flush_local_all (win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_flush_local_all")) });
export!(MPI_Win_free PMPI_Win_free (win: *mut c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_free")) });
export!(MPI_Win_free_keyval PMPI_Win_free_keyval (win_keyval: *mut c_int) -> c_int {
    c::code(unsupported("MPI_Win_free_keyval")) });
export!(MPI_Win_get_attr PMPI_Win_get_attr (win: c::MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, flag:
    *mut c_int) -> c_int { c::code(unsupported("MPI_Win_get_attr")) });
export!(MPI_Win_get_errhandler PMPI_Win_get_errhandler (win: c::MPI_Win, errhandler: *mut c::MPI_Errhandler) ->
    c_int { c::code(unsupported("MPI_Win_get_errhandler")) });
export!(MPI_Win_get_group PMPI_Win_get_group (win: c::MPI_Win, group: *mut c::MPI_Group) -> c_int {
    c::code(unsupported("MPI_Win_get_group")) });
export!(MPI_Win_get_info PMPI_Win_get_info (win: c::MPI_Win, info_used: *mut c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_Win_get_info")) });
export!(MPI_Win_get_name PMPI_Win_get_name (win: c::MPI_Win, win_name: *mut c_char, resultlen: *mut c_int) -> c_int
    { c::code(unsupported("MPI_Win_get_name")) });
export!(MPI_Win_lock PMPI_Win_lock (lock_type: c_int, rank: c_int, assert: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_lock")) });
export!(MPI_Win_lock_all PMPI_Win_lock_all (assert: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_lock_all")) });
export!(MPI_Win_post PMPI_Win_post (group: c::MPI_Group, assert: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_post")) });
export!(MPI_Win_set_attr PMPI_Win_set_attr (win: c::MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) -> c_int
    { c::code(unsupported("MPI_Win_set_attr")) });
export!(MPI_Win_set_errhandler PMPI_Win_set_errhandler (win: c::MPI_Win, errhandler: c::MPI_Errhandler) -> c_int {
    c::code(unsupported("MPI_Win_set_errhandler")) });
export!(MPI_Win_set_info PMPI_Win_set_info (win: c::MPI_Win, info: c::MPI_Info) -> c_int {
    c::code(unsupported("MPI_Win_set_info")) });
export!(MPI_Win_set_name PMPI_Win_set_name (win: c::MPI_Win, win_name: *const c_char) -> c_int {
    c::code(unsupported("MPI_Win_set_name")) });
export!(MPI_Win_shared_query PMPI_Win_shared_query (win: c::MPI_Win, rank: c_int, size: *mut isize, disp_unit: *mut
    c_int, baseptr: *mut c_void) -> c_int { c::code(unsupported("MPI_Win_shared_query")) });
export!(MPI_Win_shared_query_c PMPI_Win_shared_query_c (win: c::MPI_Win, rank: c_int, size: *mut isize, disp_unit:
    *mut isize, baseptr: *mut c_void) -> c_int { c::code(unsupported("MPI_Win_shared_query_c")) });
export!(MPI_Win_start PMPI_Win_start (group: c::MPI_Group, assert: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_start")) });
export!(MPI_Win_sync PMPI_Win_sync (win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_sync")) });
export!(MPI_Win_test PMPI_Win_test (win: c::MPI_Win, flag: *mut c_int) -> c_int {
    c::code(unsupported("MPI_Win_test")) });
export!(MPI_Win_unlock PMPI_Win_unlock (rank: c_int, win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_unlock")) });
export!(MPI_Win_unlock_all PMPI_Win_unlock_all (win: c::MPI_Win) -> c_int {
    c::code(unsupported("MPI_Win_unlock_all")) });
export!(MPI_Win_wait PMPI_Win_wait (win: c::MPI_Win) -> c_int { c::code(unsupported("MPI_Win_wait")) });
export!(MPI_Aint_add PMPI_Aint_add (base: isize, disp: isize) -> isize { calls::aint_add(base as i64, disp as i64)
    });
export!(MPI_Aint_diff PMPI_Aint_diff (addr1: isize, addr2: isize) -> isize { calls::aint_diff(addr1 as i64, addr2 as
    i64) });
export!(MPI_Wtick PMPI_Wtick () -> f64 { calls::wtick() });
export!(MPI_Wtime PMPI_Wtime () -> f64 { calls::wtime() });
export!(MPI_Comm_fromint PMPI_Comm_fromint (comm: c_int) -> c::MPI_Comm { c::from_int(comm) as c::MPI_Comm });
export!(MPI_Comm_toint PMPI_Comm_toint (comm: c::MPI_Comm) -> c_int { c::to_int(comm as usize) });
export!(MPI_Errhandler_fromint PMPI_Errhandler_fromint (errhandler: c_int) -> c::MPI_Errhandler {
    c::from_int(errhandler) as c::MPI_Errhandler });
export!(MPI_Errhandler_toint PMPI_Errhandler_toint (errhandler: c::MPI_Errhandler) -> c_int { c::to_int(errhandler
    as usize) });
export!(MPI_File_fromint PMPI_File_fromint (file: c_int) -> c::MPI_File { c::from_int(file) as c::MPI_File });
export!(MPI_File_toint PMPI_File_toint (file: c::MPI_File) -> c_int { c::to_int(file as usize) });
export!(MPI_Group_fromint PMPI_Group_fromint (group: c_int) -> c::MPI_Group { c::from_int(group) as c::MPI_Group });
export!(MPI_Group_toint PMPI_Group_toint (group: c::MPI_Group) -> c_int { c::to_int(group as usize) });
export!(MPI_Info_fromint PMPI_Info_fromint (info: c_int) -> c::MPI_Info { c::from_int(info) as c::MPI_Info });
export!(MPI_Info_toint PMPI_Info_toint (info: c::MPI_Info) -> c_int { c::to_int(info as usize) });
export!(MPI_Message_fromint PMPI_Message_fromint (message: c_int) -> c::MPI_Message { c::from_int(message) as
    c::MPI_Message });
export!(MPI_Message_toint PMPI_Message_toint (message: c::MPI_Message) -> c_int { c::to_int(message as usize) });
export!(MPI_Op_fromint PMPI_Op_fromint (op: c_int) -> c::MPI_Op { c::from_int(op) as c::MPI_Op });
export!(MPI_Op_toint PMPI_Op_toint (op: c::MPI_Op) -> c_int { c::to_int(op as usize) });
export!(MPI_Request_fromint PMPI_Request_fromint (request: c_int) -> c::MPI_Request { c::from_int(request) as
    c::MPI_Request });
export!(MPI_Request_toint PMPI_Request_toint (request: c::MPI_Request) -> c_int { c::to_int(request as usize) });
export!(MPI_Session_fromint PMPI_Session_fromint (session: c_int) -> c::MPI_Session { c::from_int(session) as
    c::MPI_Session });
export!(MPI_Session_toint PMPI_Session_toint (session: c::MPI_Session) -> c_int { c::to_int(session as usize) });
export!(MPI_Type_fromint PMPI_Type_fromint (datatype: c_int) -> c::MPI_Datatype { c::from_int(datatype) as
    c::MPI_Datatype });
export!(MPI_Type_toint PMPI_Type_toint (datatype: c::MPI_Datatype) -> c_int { c::to_int(datatype as usize) });
export!(MPI_Win_fromint PMPI_Win_fromint (win: c_int) -> c::MPI_Win { c::from_int(win) as c::MPI_Win });
export!(MPI_Win_toint PMPI_Win_toint (win: c::MPI_Win) -> c_int { c::to_int(win as usize) });
export!(MPI_T_category_changed PMPI_T_category_changed (update_number: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_category_changed")) });
export!(MPI_T_category_get_categories PMPI_T_category_get_categories (cat_index: c_int, len: c_int, indices: *mut
    c_int) -> c_int { c::code(unsupported("MPI_T_category_get_categories")) });
export!(MPI_T_category_get_cvars PMPI_T_category_get_cvars (cat_index: c_int, len: c_int, indices: *mut c_int) ->
    c_int { c::code(unsupported("MPI_T_category_get_cvars")) });
export!(MPI_T_category_get_events PMPI_T_category_get_events (cat_index: c_int, len: c_int, indices: *mut c_int) ->
    c_int { c::code(unsupported("MPI_T_category_get_events")) });
export!(MPI_T_category_get_index PMPI_T_category_get_index (name: *const c_char, cat_index: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_category_get_index")) });
export!(MPI_T_category_get_info PMPI_T_category_get_info (cat_index: c_int, name: *mut c_char, name_len: *mut c_int,
    desc: *mut c_char, desc_len: *mut c_int, num_cvars: *mut c_int, num_pvars: *mut c_int, num_categories: *mut
    c_int) -> c_int { c::code(unsupported("MPI_T_category_get_info")) });
export!(MPI_T_category_get_num PMPI_T_category_get_num (num_cat: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_category_get_num")) });
export!(MPI_T_category_get_num_events PMPI_T_category_get_num_events (cat_index: c_int, num_events: *mut c_int) ->
    c_int { c::code(unsupported("MPI_T_category_get_num_events")) });
export!(MPI_T_category_get_pvars PMPI_T_category_get_pvars (cat_index: c_int, len: c_int, indices: *mut c_int) ->
    c_int { c::code(unsupported("MPI_T_category_get_pvars")) });
export!(MPI_T_cvar_get_index PMPI_T_cvar_get_index (name: *const c_char, cvar_index: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_cvar_get_index")) });
export!(MPI_T_cvar_get_info PMPI_T_cvar_get_info (cvar_index: c_int, name: *mut c_char, name_len: *mut c_int,
    verbosity: *mut c_int, datatype: *mut c::MPI_Datatype, enumtype: *mut c_void, desc: *mut c_char, desc_len: *mut
    c_int, bind: *mut c_int, scope: *mut c_int) -> c_int { c::code(unsupported("MPI_T_cvar_get_info")) });
export!(MPI_T_cvar_get_num PMPI_T_cvar_get_num (num_cvar: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_cvar_get_num")) });
export!(MPI_T_cvar_handle_alloc PMPI_T_cvar_handle_alloc (cvar_index: c_int, obj_handle: *mut c_void, handle: *mut
    c_void, count: *mut c_int) -> c_int { c::code(unsupported("MPI_T_cvar_handle_alloc")) });
export!(MPI_T_cvar_handle_free PMPI_T_cvar_handle_free (handle: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_cvar_handle_free")) });
export!(MPI_T_cvar_read PMPI_T_cvar_read (handle: *mut c_void, buf: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_cvar_read")) });
export!(MPI_T_cvar_write PMPI_T_cvar_write (handle: *mut c_void, buf: *const c_void) -> c_int {
    c::code(unsupported("MPI_T_cvar_write")) });
export!(MPI_T_enum_get_info PMPI_T_enum_get_info (enumtype: *mut c_void, num: *mut c_int, name: *mut c_char,
    name_len: *mut c_int) -> c_int { c::code(unsupported("MPI_T_enum_get_info")) });
export!(MPI_T_enum_get_item PMPI_T_enum_get_item (enumtype: *mut c_void, indx: c_int, value: *mut c_int, name: *mut
    c_char, name_len: *mut c_int) -> c_int { c::code(unsupported("MPI_T_enum_get_item")) });
export!(MPI_T_event_callback_get_info PMPI_T_event_callback_get_info (event_registration: *mut c_void, cb_safety:
    c_int, info_used: *mut c::MPI_Info) -> c_int { c::code(unsupported("MPI_T_event_callback_get_info")) });
export!(MPI_T_event_callback_set_info PMPI_T_event_callback_set_info (event_registration: *mut c_void, cb_safety:
    c_int, info: c::MPI_Info) -> c_int { c::code(unsupported("MPI_T_event_callback_set_info")) });
export!(MPI_T_event_copy PMPI_T_event_copy (event_instance: *mut c_void, buffer: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_event_copy")) });
export!(MPI_T_event_get_index PMPI_T_event_get_index (name: *const c_char, event_index: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_event_get_index")) });
export!(MPI_T_event_get_info PMPI_T_event_get_info (event_index: c_int, name: *mut c_char, name_len: *mut c_int,
    verbosity: *mut c_int, array_of_datatypes: *mut c::MPI_Datatype, array_of_displacements: *mut isize,
    num_elements: *mut c_int, enumtype: *mut c_void, info: *mut c::MPI_Info, desc: *mut c_char, desc_len: *mut
    c_int, bind: *mut c_int) -> c_int { c::code(unsupported("MPI_T_event_get_info")) });
export!(MPI_T_event_get_num PMPI_T_event_get_num (num_events: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_event_get_num")) });
export!(MPI_T_event_get_source PMPI_T_event_get_source (event_instance: *mut c_void, source_index: *mut c_int) ->
    c_int { c::code(unsupported("MPI_T_event_get_source")) });
export!(MPI_T_event_get_timestamp PMPI_T_event_get_timestamp (event_instance: *mut c_void, event_timestamp: *mut
    i64) -> c_int { c::code(unsupported("MPI_T_event_get_timestamp")) });
export!(MPI_T_event_handle_alloc PMPI_T_event_handle_alloc (event_index: c_int, obj_handle: *mut c_void, info:
    c::MPI_Info, event_registration: *mut c_void) -> c_int { c::code(unsupported("MPI_T_event_handle_alloc")) });
export!(MPI_T_event_handle_free PMPI_T_event_handle_free (event_registration: *mut c_void, user_data: *mut c_void,
    free_cb_function: *mut c_void) -> c_int { c::code(unsupported("MPI_T_event_handle_free")) });
export!(MPI_T_event_handle_get_info PMPI_T_event_handle_get_info (event_registration: *mut c_void, info_used: *mut
    c::MPI_Info) -> c_int { c::code(unsupported("MPI_T_event_handle_get_info")) });
export!(MPI_T_event_handle_set_info PMPI_T_event_handle_set_info (event_registration: *mut c_void, info:
    c::MPI_Info) -> c_int { c::code(unsupported("MPI_T_event_handle_set_info")) });
export!(MPI_T_event_read PMPI_T_event_read (event_instance: *mut c_void, element_index: c_int, buffer: *mut c_void)
    -> c_int { c::code(unsupported("MPI_T_event_read")) });
export!(MPI_T_event_register_callback PMPI_T_event_register_callback (event_registration: *mut c_void, cb_safety:
    c_int, info: c::MPI_Info, user_data: *mut c_void, event_cb_function: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_event_register_callback")) });
export!(MPI_T_event_set_dropped_handler PMPI_T_event_set_dropped_handler (event_registration: *mut c_void,
    dropped_cb_function: *mut c_void) -> c_int { c::code(unsupported("MPI_T_event_set_dropped_handler")) });
export!(MPI_T_finalize PMPI_T_finalize () -> c_int { c::code(unsupported("MPI_T_finalize")) });
export!(MPI_T_init_thread PMPI_T_init_thread (required: c_int, provided: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_init_thread")) });
export!(MPI_T_pvar_get_index PMPI_T_pvar_get_index (name: *const c_char, var_class: c_int, pvar_index: *mut c_int)
    -> c_int { c::code(unsupported("MPI_T_pvar_get_index")) });
export!(MPI_T_pvar_get_info PMPI_T_pvar_get_info (pvar_index: c_int, name: *mut c_char, name_len: *mut c_int,
    verbosity: *mut c_int, var_class: *mut c_int, datatype: *mut c::MPI_Datatype, enumtype: *mut c_void, desc: *mut
    c_char, desc_len: *mut c_int, bind: *mut c_int, readonly: *mut c_int, continuous: *mut c_int, atomic: *mut
    c_int) -> c_int { c::code(unsupported("MPI_T_pvar_get_info")) });
export!(MPI_T_pvar_get_num PMPI_T_pvar_get_num (num_pvar: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_pvar_get_num")) });
export!(MPI_T_pvar_handle_alloc PMPI_T_pvar_handle_alloc (session: *mut c_void, pvar_index: c_int, obj_handle: *mut
    c_void, handle: *mut c_void, count: *mut c_int) -> c_int { c::code(unsupported("MPI_T_pvar_handle_alloc")) });
export!(MPI_T_pvar_handle_free PMPI_T_pvar_handle_free (session: *mut c_void, handle: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_handle_free")) });
export!(MPI_T_pvar_read PMPI_T_pvar_read (session: *mut c_void, handle: *mut c_void, buf: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_read")) });
export!(MPI_T_pvar_readreset PMPI_T_pvar_readreset (session: *mut c_void, handle: *mut c_void, buf: *mut c_void) ->
    c_int { c::code(unsupported("MPI_T_pvar_readreset")) });
export!(MPI_T_pvar_reset PMPI_T_pvar_reset (session: *mut c_void, handle: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_reset")) });
export!(MPI_T_pvar_session_create PMPI_T_pvar_session_create (session: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_session_create")) });
export!(MPI_T_pvar_session_free PMPI_T_pvar_session_free (session: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_session_free")) });
export!(MPI_T_pvar_start PMPI_T_pvar_start (session: *mut c_void, handle: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_start")) });
export!(MPI_T_pvar_stop PMPI_T_pvar_stop (session: *mut c_void, handle: *mut c_void) -> c_int {
    c::code(unsupported("MPI_T_pvar_stop")) });
export!(MPI_T_pvar_write PMPI_T_pvar_write (session: *mut c_void, handle: *mut c_void, buf: *const c_void) -> c_int
    { c::code(unsupported("MPI_T_pvar_write")) });
export!(MPI_T_source_get_info PMPI_T_source_get_info (source_index: c_int, name: *mut c_char, name_len: *mut c_int,
    desc: *mut c_char, desc_len: *mut c_int, ordering: *mut c_void, ticks_per_second: *mut i64, max_ticks: *mut i64,
    info: *mut c::MPI_Info) -> c_int { c::code(unsupported("MPI_T_source_get_info")) });
export!(MPI_T_source_get_num PMPI_T_source_get_num (num_sources: *mut c_int) -> c_int {
    c::code(unsupported("MPI_T_source_get_num")) });
export!(MPI_T_source_get_timestamp PMPI_T_source_get_timestamp (source_index: c_int, timestamp: *mut i64) -> c_int {
    c::code(unsupported("MPI_T_source_get_timestamp")) });
