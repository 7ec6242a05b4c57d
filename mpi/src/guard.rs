//! From the result of a call to the code that it returns: errors go to the handler of whatever the call was about.

use std::sync::Arc;

use crate::arguments::StatusOut;
use crate::comms::{self, Comm};
use crate::errhandlers::{Handler, raise};
use crate::error::{Error, Result, error};
use crate::host::error_out;
use crate::requests::{Request, existing};
use crate::standard::{self, ERR_ARG, ERR_UNSUPPORTED_OPERATION};
use crate::status::Status;

/// Of a call on a communicator.
#[inline]
pub(crate) fn on_comm(
    call: &str,
    handle: standard::Comm,
    body: impl FnOnce(&Arc<Comm>) -> Result<()>,
) -> i32 {
    let comm = match comms::get(handle) {
        Ok(comm) => comm,
        Err(why) => return nowhere(call, &why),
    };
    match body(&comm) {
        Ok(()) => 0,
        Err(why) => raise(&comm.handler(), comm.handle().0, call, &why),
    }
}

/// Of a call that is about no communicator, or is not known to be.
#[inline]
pub(crate) fn on_none(call: &str, body: impl FnOnce() -> Result<()>) -> i32 {
    match body() {
        Ok(()) => 0,
        Err(why) => nowhere(call, &why),
    }
}

/// An error that belongs to no object goes to the handler of `MPI_COMM_SELF`. Before MPI 4.0 it went to that of
/// `MPI_COMM_WORLD`, and programs of that time have set only that one: so it is asked where the program has never said
/// what becomes of errors on `MPI_COMM_SELF`.
#[cold]
pub(crate) fn nowhere(call: &str, why: &Error) -> i32 {
    let of = |handle| comms::get(handle).ok().filter(|comm| comm.chosen_handler());
    match of(standard::Comm::SELF).or_else(|| of(standard::Comm::WORLD)) {
        Some(comm) => raise(&comm.handler(), comm.handle().0, call, why),
        None => raise(&Handler::Fatal, standard::Comm::SELF.0, call, why),
    }
}

/// Of a call that the program waits in for a request.
#[cold]
pub(crate) fn of_request(call: &str, comm: Option<&Arc<Comm>>, why: &Error) -> i32 {
    match comm {
        Some(comm) => raise(&comm.handler(), comm.handle().0, call, why),
        None => nowhere(call, why),
    }
}

/// Of a call that does something else with a request: it concerns the request's communicator, if there is one.
pub(crate) fn on_request(
    call: &str,
    handle: standard::Request,
    body: impl FnOnce(&Arc<Request>) -> Result<()>,
) -> i32 {
    match existing(handle) {
        Err(why) => nowhere(call, &why),
        Ok(request) => match body(&request) {
            Ok(()) => 0,
            Err(why) => of_request(call, request.comm.as_deref(), &why),
        },
    }
}

/// The status of what has failed.
pub(crate) fn of_failed(why: &Error) -> Status {
    let (source, tag) = why.of.unwrap_or((Status::EMPTY.source, Status::EMPTY.tag));
    Status { source, tag, error: error_out(why.code()), ..Status::EMPTY }
}

/// Tells the program which message could not be received, where that is known: with a wildcard it could not find out.
#[cold]
pub(crate) fn tell_failed(why: &Error, status: StatusOut) {
    if why.of.is_some() {
        status.set(&of_failed(why));
    }
}

/// A call without a place for a result.
#[cold]
pub fn absent(call: &str) -> i32 {
    nowhere(call, &error(ERR_ARG, "NULL was given as the place for a result"))
}

/// A function that is not there.
#[cold]
pub fn unsupported(call: &str) -> i32 {
    let why = error(ERR_UNSUPPORTED_OPERATION, format!("{call} is not there; see docs/mpi-programs.md"));
    // Errors of files are returned unless a program says otherwise, and those of the tools interface always.
    if call.starts_with("MPI_File_") || call.starts_with("MPI_T_") { why.code() } else { nowhere(call, &why) }
}
