//! The collectives of a communicator, from arguments to plans. Those of intercommunicators are in `inter`.
//!
//! The runtime moves bytes that lie one behind the other; so what has holes or displacements is staged. Ranks may give
//! other datatypes and counts for the same bytes: only bytes are compared.

use std::sync::Arc;

use ringworld::foreign::{Blocks, Call, Reducer};

use crate::comms::Comm;
use crate::datatypes::{Buffer, Owned};
use crate::error::{Result, fail};
use crate::inter;
use crate::plan::{Parts, Plan, Root, Staging, bytes_of};
use crate::standard::{ERR_BUFFER, ERR_COUNT, ERR_ROOT, PROC_NULL, ROOT};

/// Who is meant by a root.
pub(crate) fn root(comm: &Comm, given: i32) -> Result<Root> {
    let invalid = || fail(ERR_ROOT, format!("rank {given} cannot be the root"));
    if comm.is_inter() {
        return match given {
            ROOT => Ok(Root::Me),
            PROC_NULL => Ok(Root::Beside),
            _ => usize::try_from(given)
                .ok()
                .filter(|rank| *rank < comm.peers())
                .map_or_else(invalid, |rank| Ok(Root::Rank(rank))),
        };
    }
    match usize::try_from(given) {
        Ok(rank) if rank == comm.rank() => Ok(Root::Me),
        Ok(rank) if rank < comm.size() => Ok(Root::Rank(rank)),
        _ => invalid(),
    }
}

/// What is sent and what comes must not be the same memory, of which nobody could say when it is what.
#[inline]
pub(crate) fn apart(send: Option<&Buffer>, recv: Option<&Buffer>) -> Result<()> {
    // Where the first element lies: datatypes that are given MPI_BOTTOM have all addresses themselves.
    let begins = |buffer: &Buffer| buffer.address.plus(buffer.datatype.true_lb);
    match (send, recv) {
        (Some(send), Some(recv)) if begins(send) == begins(recv) && send.bytes() > 0 && recv.bytes() > 0 => {
            fail(ERR_BUFFER, "the send buffer and the receive buffer are one; give MPI_IN_PLACE instead")
        }
        _ => Ok(()),
    }
}

fn number(comm: &Comm, root: Root) -> usize {
    match root {
        Root::Rank(rank) => rank,
        Root::Me | Root::Beside => comm.rank(),
    }
}

pub(crate) fn barrier(comm: &Arc<Comm>) -> Result<Plan> {
    Ok(Staging::default().call(&comm.all, Call::Barrier, None, None))
}

pub(crate) fn bcast(comm: &Arc<Comm>, buffer: &Buffer, root: Root) -> Result<Plan> {
    if comm.is_inter() {
        return inter::bcast(comm, buffer, root);
    }
    let mut staging = Staging::default();
    let memory = staging.output(buffer, 1, root == Root::Me);
    Ok(staging.call(&comm.all, Call::Broadcast { root: number(comm, root) }, None, Some(memory)))
}

/// Of those in the root's group of an intercommunicator, who have no part in it, but count it as the others do.
pub(crate) fn beside(comm: &Arc<Comm>) -> Result<Plan> {
    let _counted = comm.sequence();
    Ok(Plan::Nothing)
}

/// `send`: `None` in place. `parts`: at the root. `varied`: each rank may give another count.
pub(crate) fn gather(
    comm: &Arc<Comm>,
    send: Option<&Buffer>,
    parts: Parts,
    root: Root,
    varied: bool,
) -> Result<Plan> {
    if comm.is_inter() {
        return inter::gather(comm, send, parts, root);
    }
    apart(send, parts.get(comm.rank()))?;
    let mut staging = Staging::default();
    let input = match send {
        Some(send) => staging.input(send, 1),
        None if root == Root::Me => staging.hold(parts[comm.rank()].pack()),
        None => return fail(ERR_BUFFER, "MPI_IN_PLACE is for the root only"),
    };
    let counts = bytes_of(&parts);
    let output = (root == Root::Me).then(|| staging.scattered(parts));
    let blocks = if varied { Blocks::Each(counts) } else { Blocks::Same };
    Ok(staging.call(&comm.all, Call::Gather { root: number(comm, root), blocks }, Some(input), output))
}

/// `recv`: `None` in place. `parts`: at the root.
pub(crate) fn scatter(
    comm: &Arc<Comm>,
    parts: Parts,
    recv: Option<&Buffer>,
    root: Root,
    varied: bool,
) -> Result<Plan> {
    if comm.is_inter() {
        return inter::scatter(comm, parts, recv, root);
    }
    apart(recv, parts.get(comm.rank()))?;
    let mut staging = Staging::default();
    let output = match recv {
        Some(recv) => staging.output(recv, 1, false),
        None if root == Root::Me => staging.hold(Owned::new(parts[comm.rank()].bytes())),
        None => return fail(ERR_BUFFER, "MPI_IN_PLACE is for the root only"),
    };
    let input = (root == Root::Me).then(|| staging.gathered(&parts));
    let blocks = if varied { Blocks::Each(bytes_of(&parts)) } else { Blocks::Same };
    Ok(staging.call(&comm.all, Call::Scatter { root: number(comm, root), blocks }, input, Some(output)))
}

/// `send`: `None` in place.
pub(crate) fn all_gather(
    comm: &Arc<Comm>,
    send: Option<&Buffer>,
    parts: Parts,
    varied: bool,
) -> Result<Plan> {
    if comm.is_inter() {
        return inter::all_gather(comm, send, parts);
    }
    apart(send, parts.get(comm.rank()))?;
    let mut staging = Staging::default();
    let input = match send {
        Some(send) => staging.input(send, 1),
        None => staging.hold(parts[comm.rank()].pack()),
    };
    // All ranks know how much each gives, so all see whether it is the same, which is faster.
    let varied = varied && parts.iter().any(|part| part.bytes() != parts[0].bytes());
    let blocks = if varied { Blocks::Each(bytes_of(&parts)) } else { Blocks::Same };
    let output = staging.scattered(parts);
    Ok(staging.call(&comm.all, Call::AllGather { blocks }, Some(input), Some(output)))
}

/// `send`: `None` in place. `varied`: each pair of ranks may exchange another count.
pub(crate) fn all_to_all(
    comm: &Arc<Comm>,
    send: Option<&[Buffer]>,
    recv: Parts,
    varied: bool,
) -> Result<Plan> {
    if comm.is_inter() {
        return inter::all_to_all(comm, send, recv);
    }
    apart(send.and_then(|send| send.get(comm.rank())), recv.get(comm.rank()))?;
    let mut staging = Staging::default();
    let from = send.unwrap_or(&recv);
    let input = match send {
        Some(send) => staging.gathered(send),
        // What is sent must not be overwritten before it has left.
        None => {
            let mut copy = Owned::new(recv.iter().map(Buffer::bytes).sum());
            let mut rest = copy.bytes_mut();
            for part in &recv {
                let (bytes, after) = rest.split_at_mut(part.bytes());
                part.pack_into(bytes);
                rest = after;
            }
            staging.hold(copy)
        }
    };
    let call = if varied {
        Call::AllToAllVaried { send: bytes_of(from), recv: bytes_of(&recv) }
    } else {
        Call::AllToAll
    };
    let output = staging.scattered(recv);
    Ok(staging.call(&comm.all, call, Some(input), Some(output)))
}

/// `send`: `None` in place. `recv`: at the root.
pub(crate) fn reduce(
    comm: &Arc<Comm>,
    send: Option<&Buffer>,
    recv: &Buffer,
    op: Reducer,
    root: Root,
) -> Result<Plan> {
    if comm.is_inter() {
        return inter::reduce(comm, send.unwrap_or(recv), recv, op, root);
    }
    let mut staging = Staging::default();
    let (input, output) = if root == Root::Me {
        apart(send, Some(recv))?;
        let input = send.map(|send| staging.input(send, op.alignment()));
        (input, Some(staging.output(recv, op.alignment(), send.is_none())))
    } else {
        (Some(staging.input(send.unwrap_or(recv), op.alignment())), None)
    };
    Ok(staging.call(&comm.all, Call::Reduce { root: number(comm, root), op }, input, output))
}

/// `send`: `None` in place.
#[inline]
pub(crate) fn all_reduce(
    comm: &Arc<Comm>,
    send: Option<&Buffer>,
    recv: &Buffer,
    op: Reducer,
) -> Result<Plan> {
    if comm.is_inter() {
        return inter::all_reduce(comm, send.unwrap_or(recv), recv, op);
    }
    apart(send, Some(recv))?;
    let mut staging = Staging::default();
    let input = send.map(|send| staging.input(send, op.alignment()));
    let output = staging.output(recv, op.alignment(), send.is_none());
    Ok(staging.call(&comm.all, Call::AllReduce { op }, input, Some(output)))
}

/// `recv`: `None` where nothing comes.
pub(crate) fn scan(
    comm: &Arc<Comm>,
    send: Option<&Buffer>,
    recv: Option<&Buffer>,
    op: Reducer,
    exclusive: bool,
) -> Result<Plan> {
    if comm.is_inter() {
        return fail(crate::standard::ERR_COMM, "there is no scan on an intercommunicator");
    }
    let mut staging = Staging::default();
    let input = send.map(|send| staging.input(send, op.alignment()));
    apart(send, recv)?;
    let output = match (recv, send) {
        (Some(recv), _) => {
            staging.output(recv, op.alignment(), send.is_none() || (exclusive && comm.rank() == 0))
        }
        (None, Some(send)) => staging.hold(Owned::new(send.bytes())),
        (None, None) => return fail(ERR_BUFFER, "MPI_IN_PLACE needs a receive buffer"),
    };
    Ok(staging.call(&comm.all, Call::Scan { exclusive, op }, input, Some(output)))
}

/// `send`: `None` in place. `counts`: elements of each rank's part. `recv`: this rank's part, or in place all of them.
pub(crate) fn reduce_scatter(
    comm: &Arc<Comm>,
    send: Option<&Buffer>,
    recv: &Buffer,
    counts: &[usize],
    op: Reducer,
) -> Result<Plan> {
    let size = recv.datatype.size;
    if comm.is_inter() {
        return inter::reduce_scatter(comm, send.unwrap_or(recv), recv, counts, op);
    }
    let mut staging = Staging::default();
    let whole = counts.iter().sum::<usize>();
    let Some(mine) = counts.get(comm.rank()) else {
        return fail(ERR_COUNT, "there is no count for this rank");
    };
    let given = send.map(|send| send.part(0, whole));
    apart(given.as_ref(), Some(&recv.part(0, whole)))?;
    let input = match &given {
        Some(send) => staging.input(send, op.alignment()),
        None => staging.hold(recv.part(0, whole).pack()),
    };
    let output = staging.output(&recv.part(0, *mine), op.alignment(), false);
    // All ranks know all counts, so all see whether they are the same, which is faster.
    let blocks = if counts.iter().all(|count| count == mine) {
        Blocks::Same
    } else {
        Blocks::Each(counts.iter().map(|count| count * size).collect())
    };
    Ok(staging.call(&comm.all, Call::ReduceScatter { blocks, op }, Some(input), Some(output)))
}
