//! From the result of a call to the code that it returns: errors go to the handler of whatever the call was about.

use std::sync::Arc;

use crate::comms::{self, Comm};
use crate::errhandlers::{Handler, raise};
use crate::error::{Error, Result, error};
use crate::standard::{self, ERR_UNSUPPORTED_OPERATION};

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

/// An error that belongs to no object goes to the handler of `MPI_COMM_SELF`.
#[cold]
pub(crate) fn nowhere(call: &str, why: &Error) -> i32 {
    match comms::get(standard::Comm::SELF) {
        Ok(own) => raise(&own.handler(), standard::Comm::SELF.0, call, why),
        Err(_) => raise(&Handler::Fatal, 0, call, why),
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

/// A function that is not there.
#[cold]
pub fn unsupported(call: &str) -> i32 {
    let why = error(ERR_UNSUPPORTED_OPERATION, format!("{call} is not there; see docs/mpi-programs.md"));
    // Errors of files are returned unless a program says otherwise, and those of the tools interface always.
    if call.starts_with("MPI_File_") || call.starts_with("MPI_T_") { why.code() } else { nowhere(call, &why) }
}
