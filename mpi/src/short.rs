//! The short path: predefined elements that lie one behind the other, which are sent, received or reduced to all by a
//! call that waits, or sent at once or received by one that does not, within one group.
//!
//! This file decides whether it may be taken; whatever it declines, and every argument that is wrong, goes by the
//! ordinary path of `point_to_point.rs` and `plan.rs`, which knows more cases and says what is wrong. What it saves is
//! most of what this library adds to a call of the runtime: no datatype is looked up, nothing is kept but the
//! communicator, and how elements are combined is found out once.

use std::sync::Arc;

use ringworld::foreign::{Call, Foreign};
use ringworld::{Source, Tag};

use crate::arguments::{Address, StatusOut};
use crate::comms::{self, Comm, Held};
use crate::datatypes::basic;
use crate::errhandlers::raise;
use crate::operations;
use crate::standard::{self, ANY_SOURCE, ANY_TAG};
use crate::work::{Work, status_of};

/// The memory of a call, if it is of the plain kind.
#[inline]
fn memory(address: Address, count: i64, datatype: standard::Datatype) -> Option<Foreign> {
    // What is no buffer may be an error.
    if address.is_constant() {
        return None;
    }
    let size = basic::dense_size(datatype)?;
    Some(address.foreign(usize::try_from(count).ok()?.checked_mul(size)?))
}

/// The communicator, if its ranks are the runtime's.
#[inline]
fn of_one_group(handle: standard::Comm, kept: &mut Option<Arc<Comm>>) -> Option<&Comm> {
    comms::find(handle, kept).filter(|comm| comm.remote.is_none())
}

#[inline]
fn rank(comm: &Comm, rank: i32) -> Option<usize> {
    usize::try_from(rank).ok().filter(|rank| *rank < comm.all.size())
}

#[inline]
fn from(comm: &Comm, source: i32) -> Option<Source> {
    if source == ANY_SOURCE { Some(Source::Any) } else { rank(comm, source).map(Source::Rank) }
}

#[inline]
fn tags(tag: i32) -> Option<Tag> {
    if tag == ANY_TAG { Some(Tag::Any) } else { u32::try_from(tag).ok().map(Tag::Value) }
}

/// `MPI_Send` and what is the same, if it may go this way: the code that it returns.
#[inline(always)]
pub(crate) fn send(
    call: &str,
    (address, count, datatype): (Address, i64, standard::Datatype),
    (dest, tag): (i32, i32),
    comm: standard::Comm,
) -> Option<i32> {
    let data = memory(address, count, datatype)?;
    let tag = u32::try_from(tag).ok()?;
    let mut kept = None;
    let comm = of_one_group(comm, &mut kept)?;
    let to = rank(comm, dest)?;
    match comm.all.send_foreign(data, to, tag) {
        Ok(()) => Some(0),
        Err(why) => Some(failed(call, comm, why)),
    }
}

/// `MPI_Isend` and what is the same, of a message that leaves at once: whether it has, and its request is
/// [that of all such](crate::requests::sent).
#[inline]
pub(crate) fn isend(
    (address, count, datatype): (Address, i64, standard::Datatype),
    (dest, tag): (i32, i32),
    comm: standard::Comm,
) -> bool {
    let leaves = || {
        let data = memory(address, count, datatype)?;
        let tag = u32::try_from(tag).ok()?;
        let mut kept = None;
        let comm = of_one_group(comm, &mut kept)?;
        // What is wrong is said by the ordinary path.
        comm.all.try_send_foreign(data, rank(comm, dest)?, tag).ok()
    };
    leaves().unwrap_or(false)
}

/// `MPI_Irecv`, likewise: the communicator, and what has begun.
#[inline]
pub(crate) fn irecv(
    (address, count, datatype): (Address, i64, standard::Datatype),
    (source, tag): (i32, i32),
    comm: standard::Comm,
) -> Option<(Held, Work)> {
    let data = memory(address, count, datatype)?;
    let tag = tags(tag)?;
    let comm = comms::hold(comm).filter(|comm| comm.remote.is_none())?;
    let call = Call::Receive { from: from(&comm, source)?, tag };
    let pending = comm.all.begin_foreign(&call, None, Some(data)).ok()?;
    Some((comm, Work::One(pending, 0)))
}

/// `MPI_Recv`, likewise.
#[inline(always)]
pub(crate) fn recv(
    call: &str,
    (address, count, datatype): (Address, i64, standard::Datatype),
    (source, tag): (i32, i32),
    comm: standard::Comm,
    out: StatusOut,
) -> Option<i32> {
    let data = memory(address, count, datatype)?;
    let tag = tags(tag)?;
    let mut kept = None;
    let comm = of_one_group(comm, &mut kept)?;
    match comm.all.recv_foreign(data, from(comm, source)?, tag) {
        Ok(status) => {
            if out.is_wanted() {
                out.set(&status_of(Some(status), 0));
            }
            Some(0)
        }
        Err(why) => Some(failed(call, comm, why)),
    }
}

/// `MPI_Allreduce`, likewise.
#[inline(always)]
pub(crate) fn all_reduce(
    call: &str,
    (input, output): (Address, Address),
    (count, datatype): (i64, standard::Datatype),
    op: standard::Op,
    comm: standard::Comm,
) -> Option<i32> {
    let reducer = operations::known(op, datatype)?;
    // One and the same buffer is an error.
    let in_place = input.is_in_place();
    if input == output {
        return None;
    }
    let input = if in_place { None } else { Some(memory(input, count, datatype)?) };
    let output = memory(output, count, datatype)?;
    let alignment = reducer.alignment();
    if !output.is_aligned_to(alignment) || input.is_some_and(|input| !input.is_aligned_to(alignment)) {
        return None;
    }
    let mut kept = None;
    let comm = of_one_group(comm, &mut kept)?;
    match comm.all.all_reduce_foreign(reducer, input, output) {
        Ok(()) => Some(0),
        Err(why) => Some(failed(call, comm, why)),
    }
}

#[cold]
fn failed(call: &str, comm: &Comm, why: ringworld::Error) -> i32 {
    raise(&comm.handler(), comm.handle().0, call, &why.into())
}
