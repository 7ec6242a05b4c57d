//! The short path: predefined elements that lie one behind the other, which are sent, received, or given to a
//! collective by a call that waits, or sent at once or received by one that does not, within one group.
//!
//! This file decides whether it may be taken; whatever it declines, and every argument that is wrong, goes by the
//! ordinary path of `point_to_point.rs` and `plan.rs`, which knows more cases and says what is wrong. What it saves is
//! most of what this library adds to a call of the runtime: no datatype is looked up, nothing is kept but the
//! communicator, and how elements are combined is found out once.

use std::sync::Arc;

use ringworld::foreign::{Blocks, Call, Foreign, Pending, Reducer};
use ringworld::{Source, Tag};

use crate::arguments::{Address, Ints, StatusOut};
use crate::bare::Bare;
use crate::comms::{self, Comm};
use crate::datatypes::basic;
use crate::errhandlers::raise;
use crate::guard::tell_failed;
use crate::operations;
use crate::standard::{self, ANY_SOURCE, ANY_TAG};
use crate::work::{not_received, status_of};

/// The memory of a call, if it is of the plain kind.
#[inline]
fn memory(address: Address, count: i64, datatype: standard::Datatype) -> Option<Foreign> {
    // What is no buffer may be an error.
    if address.is_constant() {
        return None;
    }
    let size = basic::dense_size(datatype)?;
    // As numbers with a sign: no more than memory can have.
    Some(address.foreign(usize::try_from(count.checked_mul(size as i64)?).ok()?))
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

/// `MPI_Irecv`, likewise: what has begun.
#[inline]
pub(crate) fn irecv(
    (address, count, datatype): (Address, i64, standard::Datatype),
    (source, tag): (i32, i32),
    comm: standard::Comm,
) -> Option<Bare> {
    let data = memory(address, count, datatype)?;
    let tag = tags(tag)?;
    let comm = comms::hold(comm).filter(|comm| comm.remote.is_none())?;
    let call = Call::Receive { from: from(&comm, source)?, tag };
    Pending::begin(comm, &call, None, Some(data)).ok().map(Bare)
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
        Err(why) => Some(failed_receive(call, comm, why, out)),
    }
}

/// `MPI_Sendrecv`, likewise.
#[inline]
pub(crate) fn sendrecv(
    call: &str,
    (input, dest, sendtag): (Side, i32, i32),
    (output, source, recvtag): (Side, i32, i32),
    comm: standard::Comm,
    out: StatusOut,
) -> Option<i32> {
    let (input, output) = (memory(input.0, input.1, input.2)?, memory(output.0, output.1, output.2)?);
    let (sendtag, recvtag) = (u32::try_from(sendtag).ok()?, tags(recvtag)?);
    let mut kept = None;
    let comm = of_one_group(comm, &mut kept)?;
    let (to, from) = (rank(comm, dest)?, from(comm, source)?);
    match comm.all.send_recv_foreign((input, to, sendtag), (output, from, recvtag)) {
        Ok(status) => {
            if out.is_wanted() {
                out.set(&status_of(Some(status), 0));
            }
            Some(0)
        }
        Err(why) => Some(failed_receive(call, comm, why, out)),
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
    if !are_aligned(reducer, input, Some(output)) {
        return None;
    }
    let mut kept = None;
    let comm = of_one_group(comm, &mut kept)?;
    match comm.all.all_reduce_foreign(reducer, input, output) {
        Ok(()) => Some(0),
        Err(why) => Some(failed(call, comm, why)),
    }
}

/// A collective of one group, likewise: what it is, and its memory.
#[inline(always)]
#[track_caller]
fn collective(
    call: &str,
    comm: standard::Comm,
    what: impl FnOnce(&Comm) -> Option<(Call, Option<Foreign>, Option<Foreign>)>,
) -> Option<i32> {
    let mut kept = None;
    let comm = of_one_group(comm, &mut kept)?;
    let (what, input, output) = what(comm)?;
    match comm.all.run_foreign(&what, input, output) {
        Ok(_) => Some(0),
        Err(why) => Some(failed(call, comm, why)),
    }
}

/// What one rank gives or gets.
type Side = (Address, i64, standard::Datatype);

/// The memory of a block for each rank.
#[inline]
fn blocks((address, count, datatype): Side, comm: &Comm) -> Option<Foreign> {
    memory(address, count.checked_mul(i64::try_from(comm.all.size()).ok()?)?, datatype)
}

/// The same, unless this rank's block is the memory of the other side: one and the same buffer is an error.
#[inline]
fn blocks_beside(side: Side, other: Address, comm: &Comm) -> Option<Foreign> {
    let all = blocks(side, comm)?;
    let own = all.len() / comm.all.size() * comm.all.rank();
    (side.0.number().checked_add(own) != Some(other.number())).then_some(all)
}

/// What one rank gives to each, or gets of each: as many elements of one datatype as there are counts.
type Sides = (Address, Ints, Ints, standard::Datatype);

/// Blocks by rank, each of which begins where the one before ends.
struct Row {
    begin: Address,
    whole: usize,
    /// Of each.
    bytes: Arc<[usize]>,
}

impl Row {
    /// Where blocks without elements would begin does not matter.
    #[inline]
    fn of((address, counts, displacements, datatype): Sides, comm: &Comm) -> Option<Self> {
        if address.is_constant() || counts.is_null() || displacements.is_null() {
            return None;
        }
        let size = i64::try_from(basic::dense_size(datatype)?).ok()?;
        let (mut begin, mut next, mut whole) = (None, 0, 0usize);
        let mut bytes = Vec::with_capacity(comm.all.size());
        for rank in 0..comm.all.size() {
            let count = counts.get(rank);
            let length = usize::try_from(count.checked_mul(size)?).ok()?;
            bytes.push(length);
            if length > 0 {
                let at = displacements.get(rank);
                if begin.is_some() && at != next {
                    return None;
                }
                begin.get_or_insert(address.plus(at.checked_mul(size)?));
                next = at.checked_add(count)?;
                whole = whole.checked_add(length)?;
            }
        }
        Some(Self { begin: begin.unwrap_or(address), whole, bytes: bytes.into() })
    }

    #[inline]
    fn memory(&self) -> Foreign {
        self.begin.foreign(self.whole)
    }

    /// Where a rank's block begins.
    #[inline]
    fn block(&self, rank: usize) -> usize {
        self.begin.number().wrapping_add(self.bytes.iter().take(rank).sum())
    }
}

/// `MPI_Barrier`, likewise.
#[inline]
#[track_caller]
pub(crate) fn barrier(call: &str, comm: standard::Comm) -> Option<i32> {
    collective(call, comm, |_| Some((Call::Barrier, None, None)))
}

/// `MPI_Bcast`, likewise.
#[inline]
#[track_caller]
pub(crate) fn bcast(
    call: &str,
    (address, count, datatype): Side,
    root: i32,
    comm: standard::Comm,
) -> Option<i32> {
    let data = memory(address, count, datatype)?;
    collective(call, comm, |comm| Some((Call::Broadcast { root: rank(comm, root)? }, None, Some(data))))
}

/// `MPI_Gather`, likewise.
#[inline]
#[track_caller]
pub(crate) fn gather(call: &str, send: Side, recv: Side, root: i32, comm: standard::Comm) -> Option<i32> {
    collective(call, comm, |comm| {
        let root = rank(comm, root)?;
        let input = memory(send.0, send.1, send.2)?;
        let output = if comm.all.rank() == root { Some(blocks_beside(recv, send.0, comm)?) } else { None };
        Some((Call::Gather { root, blocks: Blocks::Same }, Some(input), output))
    })
}

/// `MPI_Gatherv`, likewise, where blocks lie one behind the other at the root.
#[inline]
#[track_caller]
pub(crate) fn gather_varied(
    call: &str,
    send: Side,
    recv: Sides,
    root: i32,
    comm: standard::Comm,
) -> Option<i32> {
    collective(call, comm, |comm| {
        let root = rank(comm, root)?;
        let input = memory(send.0, send.1, send.2)?;
        if comm.all.rank() != root {
            let blocks = Blocks::Each(Arc::default());
            return Some((Call::Gather { root, blocks }, Some(input), None));
        }
        let output = Row::of(recv, comm).filter(|row| row.block(root) != send.0.number())?;
        let memory = output.memory();
        Some((Call::Gather { root, blocks: Blocks::Each(output.bytes) }, Some(input), Some(memory)))
    })
}

/// `MPI_Scatter`, likewise.
#[inline]
#[track_caller]
pub(crate) fn scatter(call: &str, send: Side, recv: Side, root: i32, comm: standard::Comm) -> Option<i32> {
    collective(call, comm, |comm| {
        let root = rank(comm, root)?;
        let output = memory(recv.0, recv.1, recv.2)?;
        let input = if comm.all.rank() == root { Some(blocks_beside(send, recv.0, comm)?) } else { None };
        Some((Call::Scatter { root, blocks: Blocks::Same }, input, Some(output)))
    })
}

/// `MPI_Scatterv`, likewise.
#[inline]
#[track_caller]
pub(crate) fn scatter_varied(
    call: &str,
    send: Sides,
    recv: Side,
    root: i32,
    comm: standard::Comm,
) -> Option<i32> {
    collective(call, comm, |comm| {
        let root = rank(comm, root)?;
        let output = memory(recv.0, recv.1, recv.2)?;
        if comm.all.rank() != root {
            let blocks = Blocks::Each(Arc::default());
            return Some((Call::Scatter { root, blocks }, None, Some(output)));
        }
        let input = Row::of(send, comm).filter(|row| row.block(root) != recv.0.number())?;
        let memory = input.memory();
        Some((Call::Scatter { root, blocks: Blocks::Each(input.bytes) }, Some(memory), Some(output)))
    })
}

/// `MPI_Allgather`, likewise.
#[inline]
#[track_caller]
pub(crate) fn all_gather(call: &str, send: Side, recv: Side, comm: standard::Comm) -> Option<i32> {
    collective(call, comm, |comm| {
        let blocks = Blocks::Same;
        if send.0.is_in_place() {
            return Some((Call::AllGather { blocks }, None, Some(self::blocks(recv, comm)?)));
        }
        let input = memory(send.0, send.1, send.2)?;
        let output = blocks_beside(recv, send.0, comm)?;
        Some((Call::AllGather { blocks }, Some(input), Some(output)))
    })
}

/// `MPI_Allgatherv`, likewise, where every rank gives as much and its block lies behind the one before: how much, which
/// all ranks know of all, decides which collective it is, also on the ordinary path.
#[inline]
#[track_caller]
pub(crate) fn all_gather_varied(
    call: &str,
    send: Side,
    (address, counts, displacements, datatype): (Address, Ints, Ints, standard::Datatype),
    comm: standard::Comm,
) -> Option<i32> {
    if counts.is_null() || displacements.is_null() {
        return None;
    }
    collective(call, comm, |comm| {
        let count = counts.get(0);
        let mut ranks = 0..comm.all.size();
        let is_regular = ranks.all(|rank| {
            counts.get(rank) == count && Some(displacements.get(rank)) == count.checked_mul(rank as i64)
        });
        let input = memory(send.0, send.1, send.2).filter(|_| is_regular)?;
        let output = blocks_beside((address, count, datatype), send.0, comm)?;
        Some((Call::AllGather { blocks: Blocks::Same }, Some(input), Some(output)))
    })
}

/// `MPI_Alltoall`, likewise.
#[inline]
#[track_caller]
pub(crate) fn all_to_all(call: &str, send: Side, recv: Side, comm: standard::Comm) -> Option<i32> {
    if send.0 == recv.0 {
        return None;
    }
    collective(call, comm, |comm| {
        Some((Call::AllToAll, Some(blocks(send, comm)?), Some(blocks(recv, comm)?)))
    })
}

/// `MPI_Alltoallv`, likewise, where blocks lie one behind the other on both sides.
#[inline]
#[track_caller]
pub(crate) fn all_to_all_varied(call: &str, send: Sides, recv: Sides, comm: standard::Comm) -> Option<i32> {
    collective(call, comm, |comm| {
        let (input, output) = (Row::of(send, comm)?, Row::of(recv, comm)?);
        let mine = comm.all.rank();
        if input.block(mine) == output.block(mine) {
            return None;
        }
        let (from, into) = (input.memory(), output.memory());
        Some((Call::AllToAllVaried { send: input.bytes, recv: output.bytes }, Some(from), Some(into)))
    })
}

/// `MPI_Reduce`, likewise.
#[inline]
#[track_caller]
pub(crate) fn reduce(
    call: &str,
    (input, output): (Address, Address),
    (count, datatype): (i64, standard::Datatype),
    op: standard::Op,
    root: i32,
    comm: standard::Comm,
) -> Option<i32> {
    let op = operations::known(op, datatype)?;
    collective(call, comm, |comm| {
        let root = rank(comm, root)?;
        let (input, output) = if comm.all.rank() != root {
            (Some(memory(input, count, datatype)?), None)
        } else if input == output {
            return None;
        } else {
            let given = if input.is_in_place() { None } else { Some(memory(input, count, datatype)?) };
            (given, Some(memory(output, count, datatype)?))
        };
        are_aligned(op, input, output).then(|| (Call::Reduce { root, op: op.clone() }, input, output))
    })
}

/// `MPI_Scan` and `MPI_Exscan`, likewise.
#[inline]
#[track_caller]
pub(crate) fn scan(
    call: &str,
    (input, output): (Address, Address),
    (count, datatype): (i64, standard::Datatype),
    op: standard::Op,
    exclusive: bool,
    comm: standard::Comm,
) -> Option<i32> {
    let op = operations::known(op, datatype)?;
    if input == output {
        return None;
    }
    let input = if input.is_in_place() { None } else { Some(memory(input, count, datatype)?) };
    let output = Some(memory(output, count, datatype)?);
    collective(call, comm, |_| {
        are_aligned(op, input, output).then(|| (Call::Scan { exclusive, op: op.clone() }, input, output))
    })
}

/// `MPI_Reduce_scatter_block`, likewise.
#[inline]
#[track_caller]
pub(crate) fn reduce_scatter_block(
    call: &str,
    (input, output): (Address, Address),
    (count, datatype): (i64, standard::Datatype),
    op: standard::Op,
    comm: standard::Comm,
) -> Option<i32> {
    let op = operations::known(op, datatype)?;
    if input == output {
        return None;
    }
    collective(call, comm, |comm| {
        let (input, output) =
            (Some(blocks((input, count, datatype), comm)?), Some(memory(output, count, datatype)?));
        let call = || Call::ReduceScatter { blocks: Blocks::Same, op: op.clone() };
        are_aligned(op, input, output).then(|| (call(), input, output))
    })
}

/// `MPI_Reduce_scatter`, likewise, where every rank gets as much.
#[inline]
#[track_caller]
pub(crate) fn reduce_scatter(
    call: &str,
    memory: (Address, Address),
    (counts, datatype): (Ints, standard::Datatype),
    op: standard::Op,
    comm: standard::Comm,
) -> Option<i32> {
    let mut kept = None;
    let size = of_one_group(comm, &mut kept)?.all.size();
    let count = (!counts.is_null()).then(|| counts.get(0))?;
    let is_regular = (1..size).all(|rank| counts.get(rank) == count);
    // Not from a closure, which would be the caller.
    if is_regular { reduce_scatter_block(call, memory, (count, datatype), op, comm) } else { None }
}

/// Whether memory is aligned as an operation needs it.
#[inline]
fn are_aligned(op: &Reducer, input: Option<Foreign>, output: Option<Foreign>) -> bool {
    let alignment = op.alignment();
    [input, output].into_iter().flatten().all(|memory| memory.is_aligned_to(alignment))
}

#[cold]
fn failed(call: &str, comm: &Comm, why: ringworld::Error) -> i32 {
    raise(&comm.handler(), comm.handle().0, call, &why.into())
}

/// The same of a message that was to come.
#[cold]
fn failed_receive(call: &str, comm: &Comm, why: ringworld::Error, out: StatusOut) -> i32 {
    // The ranks of the one group.
    let why = not_received(why, 0);
    tell_failed(&why, out);
    raise(&comm.handler(), comm.handle().0, call, &why)
}
