//! From the arguments of collectives to what makes their plans, as often as they are started.

use std::sync::Arc;

use super::shared::{self, blocks, of_each, unless_in_place, varied};
use crate::arguments::{Address, Handles, Ints};
use crate::collectives::{self, root as root_of};
use crate::comms::Comm;
use crate::datatypes::Buffer;
use crate::error::Result;
use crate::neighbourhood;
use crate::plan::{Plan, Root};
use crate::standard::{Datatype, Op};

/// A buffer that everybody gives, but for roots of intercommunicators.
fn given(comm: &Comm, root: Root, buffer: impl FnOnce() -> Result<Option<Buffer>>) -> Result<Option<Buffer>> {
    match root {
        Root::Beside => Ok(None),
        Root::Me if comm.is_inter() => Ok(None),
        Root::Me | Root::Rank(_) => buffer(),
    }
}

/// Buffers that only the root gives.
fn got(root: Root, buffers: impl FnOnce() -> Result<Vec<Buffer>>) -> Result<Vec<Buffer>> {
    if root == Root::Me { buffers() } else { Ok(Vec::new()) }
}

/// The same for each of so many neighbours: without any, nobody looks at it.
fn to_each(address: Address, count: i64, datatype: Datatype, number: usize) -> Result<Vec<Buffer>> {
    if number == 0 { Ok(Vec::new()) } else { Ok(vec![shared::buffer(address, count, datatype)?; number]) }
}

fn parts_unless_in_place(
    address: Address,
    buffers: impl FnOnce() -> Result<Vec<Buffer>>,
) -> Result<Option<Vec<Buffer>>> {
    if address.is_in_place() { Ok(None) } else { buffers().map(Some) }
}

#[inline]
pub(super) fn barrier(comm: &Arc<Comm>) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let comm = Arc::clone(comm);
    Ok(move || collectives::barrier(&comm))
}

#[inline]
pub(super) fn bcast(
    comm: &Arc<Comm>,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    root: i32,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let root = root_of(comm, root)?;
    let whole = if root == Root::Beside { None } else { Some(shared::buffer(buffer, count, datatype)?) };
    let comm = Arc::clone(comm);
    Ok(move || match &whole {
        Some(whole) => collectives::bcast(&comm, whole, root),
        None => collectives::beside(&comm),
    })
}

#[inline]
pub(super) fn gather(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let root = root_of(comm, root)?;
    let send = given(comm, root, || unless_in_place(sendbuf, sendcount, sendtype))?;
    let parts = got(root, || blocks(recvbuf, recvcount, recvtype, comm.peers()))?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::gather(&comm, send.as_ref(), parts.clone(), root, false))
}

#[inline]
pub(super) fn gatherv(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    root: i32,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let root = root_of(comm, root)?;
    let send = given(comm, root, || unless_in_place(sendbuf, sendcount, sendtype))?;
    let parts = got(root, || varied(recvbuf, recvcounts, Some(displs), recvtype, comm.peers()))?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::gather(&comm, send.as_ref(), parts.clone(), root, true))
}

#[inline]
pub(super) fn scatter(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let root = root_of(comm, root)?;
    let recv = given(comm, root, || unless_in_place(recvbuf, recvcount, recvtype))?;
    let parts = got(root, || blocks(sendbuf, sendcount, sendtype, comm.peers()))?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::scatter(&comm, parts.clone(), recv.as_ref(), root, false))
}

#[inline]
pub(super) fn scatterv(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcounts: Ints,
    displs: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let root = root_of(comm, root)?;
    let recv = given(comm, root, || unless_in_place(recvbuf, recvcount, recvtype))?;
    let parts = got(root, || varied(sendbuf, sendcounts, Some(displs), sendtype, comm.peers()))?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::scatter(&comm, parts.clone(), recv.as_ref(), root, true))
}

#[inline]
pub(super) fn allgather(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let send = unless_in_place(sendbuf, sendcount, sendtype)?;
    let parts = blocks(recvbuf, recvcount, recvtype, comm.peers())?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::all_gather(&comm, send.as_ref(), parts.clone(), false))
}

#[inline]
pub(super) fn allgatherv(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let send = unless_in_place(sendbuf, sendcount, sendtype)?;
    let parts = varied(recvbuf, recvcounts, Some(displs), recvtype, comm.peers())?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::all_gather(&comm, send.as_ref(), parts.clone(), true))
}

#[inline]
pub(super) fn alltoall(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let send = parts_unless_in_place(sendbuf, || blocks(sendbuf, sendcount, sendtype, comm.peers()))?;
    let recv = blocks(recvbuf, recvcount, recvtype, comm.peers())?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::all_to_all(&comm, send.as_deref(), recv.clone(), false))
}

#[inline]
pub(super) fn alltoallv(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let send = parts_unless_in_place(sendbuf, || {
        varied(sendbuf, sendcounts, Some(sdispls), sendtype, comm.peers())
    })?;
    let recv = varied(recvbuf, recvcounts, Some(rdispls), recvtype, comm.peers())?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::all_to_all(&comm, send.as_deref(), recv.clone(), true))
}

#[inline]
pub(super) fn alltoallw(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: Handles<Datatype>,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: Handles<Datatype>,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let send =
        parts_unless_in_place(sendbuf, || of_each(sendbuf, sendcounts, sdispls, sendtypes, comm.peers()))?;
    let recv = of_each(recvbuf, recvcounts, rdispls, recvtypes, comm.peers())?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::all_to_all(&comm, send.as_deref(), recv.clone(), true))
}

#[inline]
pub(super) fn reduce(
    comm: &Arc<Comm>,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: i32,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let root = root_of(comm, root)?;
    let send = given(comm, root, || unless_in_place(sendbuf, count, datatype))?;
    // Nobody but the root looks at where the result goes, and who only belongs to its group looks at nothing.
    let result = if root == Root::Me { recvbuf } else { sendbuf };
    let reduced = if root == Root::Beside {
        None
    } else {
        Some((shared::reducer(op, datatype)?, shared::buffer(result, count, datatype)?))
    };
    let comm = Arc::clone(comm);
    Ok(move || match &reduced {
        Some((op, recv)) => collectives::reduce(&comm, send.as_ref(), recv, op.clone(), root),
        None => collectives::beside(&comm),
    })
}

#[inline]
pub(super) fn allreduce(
    comm: &Arc<Comm>,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let op = shared::reducer(op, datatype)?;
    let send = unless_in_place(sendbuf, count, datatype)?;
    let recv = shared::buffer(recvbuf, count, datatype)?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::all_reduce(&comm, send.as_ref(), &recv, op.clone()))
}

#[inline]
pub(super) fn reduce_scatter_block(
    comm: &Arc<Comm>,
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let op = shared::reducer(op, datatype)?;
    let counts = vec![shared::number(recvcount, "recvcount")?; comm.size()];
    let send = unless_in_place(sendbuf, recvcount, datatype)?;
    let recv = shared::buffer(recvbuf, recvcount, datatype)?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::reduce_scatter(&comm, send.as_ref(), &recv, &counts, op.clone()))
}

#[inline]
pub(super) fn reduce_scatter(
    comm: &Arc<Comm>,
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let op = shared::reducer(op, datatype)?;
    let counts = shared::counts(recvcounts, comm.size())?;
    let send = unless_in_place(sendbuf, 0, datatype)?;
    let recv = shared::buffer(recvbuf, 0, datatype)?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::reduce_scatter(&comm, send.as_ref(), &recv, &counts, op.clone()))
}

#[inline]
pub(super) fn scan(
    comm: &Arc<Comm>,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let op = shared::reducer(op, datatype)?;
    let send = unless_in_place(sendbuf, count, datatype)?;
    let recv = shared::buffer(recvbuf, count, datatype)?;
    let comm = Arc::clone(comm);
    Ok(move || collectives::scan(&comm, send.as_ref(), Some(&recv), op.clone(), false))
}

#[inline]
pub(super) fn exscan(
    comm: &Arc<Comm>,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let op = shared::reducer(op, datatype)?;
    let send = unless_in_place(sendbuf, count, datatype)?;
    // The first rank gets nothing, and need not say where.
    let nowhere = recvbuf.is_null() && comm.rank() == 0;
    let recv = if nowhere { None } else { Some(shared::buffer(recvbuf, count, datatype)?) };
    let comm = Arc::clone(comm);
    Ok(move || collectives::scan(&comm, send.as_ref(), recv.as_ref(), op.clone(), true))
}

#[inline]
pub(super) fn neighbor_allgather(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let around = neighbourhood::neighbours(comm)?;
    let (sources, destinations) = (around.0.len(), around.1.len());
    let sends = to_each(sendbuf, sendcount, sendtype, destinations)?;
    let receives = blocks(recvbuf, recvcount, recvtype, sources)?;
    let comm = Arc::clone(comm);
    Ok(move || neighbourhood::exchange(&comm, around.clone(), sends.clone(), receives.clone()))
}

#[inline]
pub(super) fn neighbor_allgatherv(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let around = neighbourhood::neighbours(comm)?;
    let (sources, destinations) = (around.0.len(), around.1.len());
    let sends = to_each(sendbuf, sendcount, sendtype, destinations)?;
    let receives = varied(recvbuf, recvcounts, Some(displs), recvtype, sources)?;
    let comm = Arc::clone(comm);
    Ok(move || neighbourhood::exchange(&comm, around.clone(), sends.clone(), receives.clone()))
}

#[inline]
pub(super) fn neighbor_alltoall(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let around = neighbourhood::neighbours(comm)?;
    let (sources, destinations) = (around.0.len(), around.1.len());
    let sends = blocks(sendbuf, sendcount, sendtype, destinations)?;
    let receives = blocks(recvbuf, recvcount, recvtype, sources)?;
    let comm = Arc::clone(comm);
    Ok(move || neighbourhood::exchange(&comm, around.clone(), sends.clone(), receives.clone()))
}

#[inline]
pub(super) fn neighbor_alltoallv(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Datatype,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let around = neighbourhood::neighbours(comm)?;
    let (sources, destinations) = (around.0.len(), around.1.len());
    let sends = varied(sendbuf, sendcounts, Some(sdispls), sendtype, destinations)?;
    let receives = varied(recvbuf, recvcounts, Some(rdispls), recvtype, sources)?;
    let comm = Arc::clone(comm);
    Ok(move || neighbourhood::exchange(&comm, around.clone(), sends.clone(), receives.clone()))
}

#[inline]
pub(super) fn neighbor_alltoallw(
    comm: &Arc<Comm>,
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: Handles<Datatype>,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: Handles<Datatype>,
) -> Result<impl Fn() -> Result<Plan> + Send + Sync + 'static> {
    let around = neighbourhood::neighbours(comm)?;
    let (sources, destinations) = (around.0.len(), around.1.len());
    let sends = of_each(sendbuf, sendcounts, sdispls, sendtypes, destinations)?;
    let receives = of_each(recvbuf, recvcounts, rdispls, recvtypes, sources)?;
    let comm = Arc::clone(comm);
    Ok(move || neighbourhood::exchange(&comm, around.clone(), sends.clone(), receives.clone()))
}
