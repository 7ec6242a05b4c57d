//! Collectives that return when they are done.

use super::plans;
use crate::arguments::{Address, Handles, Ints};
use crate::guard::on_comm;
use crate::short;
use crate::standard::{Comm, Datatype, Op};

pub fn barrier(comm: Comm) -> i32 {
    let call = "MPI_Barrier";
    if let Some(code) = short::barrier(call, comm) {
        return code;
    }
    on_comm(call, comm, |comm| plans::barrier(comm)?()?.run())
}

pub fn bcast(buffer: Address, count: i64, datatype: Datatype, root: i32, comm: Comm) -> i32 {
    let call = "MPI_Bcast";
    if let Some(code) = short::bcast(call, (buffer, count, datatype), root, comm) {
        return code;
    }
    on_comm(call, comm, |comm| plans::bcast(comm, buffer, count, datatype, root)?()?.run())
}

pub fn gather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> i32 {
    let call = "MPI_Gather";
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(code) = short::gather(call, send, recv, root, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::gather(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)?()?.run()
    })
}

pub fn gatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> i32 {
    let call = "MPI_Gatherv";
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcounts, displs, recvtype));
    if let Some(code) = short::gather_varied(call, send, recv, root, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::gatherv(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root)?()?
            .run()
    })
}

pub fn scatter(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> i32 {
    let call = "MPI_Scatter";
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(code) = short::scatter(call, send, recv, root, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::scatter(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)?()?.run()
    })
}

pub fn scatterv(
    sendbuf: Address,
    sendcounts: Ints,
    displs: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
) -> i32 {
    let call = "MPI_Scatterv";
    let (send, recv) = ((sendbuf, sendcounts, displs, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(code) = short::scatter_varied(call, send, recv, root, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::scatterv(comm, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root)?()?
            .run()
    })
}

pub fn allgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    let call = "MPI_Allgather";
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(code) = short::all_gather(call, send, recv, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::allgather(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?.run()
    })
}

pub fn allgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    let (call, send) = ("MPI_Allgatherv", (sendbuf, sendcount, sendtype));
    if let Some(code) = short::all_gather_varied(call, send, (recvbuf, recvcounts, displs, recvtype), comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::allgatherv(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype)?()?.run()
    })
}

pub fn alltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    let call = "MPI_Alltoall";
    let (send, recv) = ((sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(code) = short::all_to_all(call, send, recv, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::alltoall(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?.run()
    })
}

pub fn alltoallv(
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    let call = "MPI_Alltoallv";
    let (send, recv) = ((sendbuf, sendcounts, sdispls, sendtype), (recvbuf, recvcounts, rdispls, recvtype));
    if let Some(code) = short::all_to_all_varied(call, send, recv, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::alltoallv(
            comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
        )?()?
        .run()
    })
}

pub fn alltoallw(
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: Handles<Datatype>,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: Handles<Datatype>,
    comm: Comm,
) -> i32 {
    on_comm("MPI_Alltoallw", comm, |comm| {
        plans::alltoallw(
            comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
        )?()?
        .run()
    })
}

pub fn reduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: i32,
    comm: Comm,
) -> i32 {
    let call = "MPI_Reduce";
    if let Some(code) = short::reduce(call, (sendbuf, recvbuf), (count, datatype), op, root, comm) {
        return code;
    }
    on_comm(call, comm, |comm| plans::reduce(comm, sendbuf, recvbuf, count, datatype, op, root)?()?.run())
}

pub fn allreduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> i32 {
    let call = "MPI_Allreduce";
    if let Some(code) = short::all_reduce(call, (sendbuf, recvbuf), (count, datatype), op, comm) {
        return code;
    }
    on_comm(call, comm, |comm| plans::allreduce(comm, sendbuf, recvbuf, count, datatype, op)?()?.run())
}

pub fn reduce_scatter_block(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> i32 {
    let call = "MPI_Reduce_scatter_block";
    if let Some(code) = short::reduce_scatter_block(call, (sendbuf, recvbuf), (recvcount, datatype), op, comm)
    {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::reduce_scatter_block(comm, sendbuf, recvbuf, recvcount, datatype, op)?()?.run()
    })
}

pub fn reduce_scatter(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> i32 {
    let call = "MPI_Reduce_scatter";
    if let Some(code) = short::reduce_scatter(call, (sendbuf, recvbuf), (recvcounts, datatype), op, comm) {
        return code;
    }
    on_comm(call, comm, |comm| {
        plans::reduce_scatter(comm, sendbuf, recvbuf, recvcounts, datatype, op)?()?.run()
    })
}

pub fn scan(sendbuf: Address, recvbuf: Address, count: i64, datatype: Datatype, op: Op, comm: Comm) -> i32 {
    let call = "MPI_Scan";
    if let Some(code) = short::scan(call, (sendbuf, recvbuf), (count, datatype), op, false, comm) {
        return code;
    }
    on_comm(call, comm, |comm| plans::scan(comm, sendbuf, recvbuf, count, datatype, op)?()?.run())
}

pub fn exscan(sendbuf: Address, recvbuf: Address, count: i64, datatype: Datatype, op: Op, comm: Comm) -> i32 {
    let call = "MPI_Exscan";
    if let Some(code) = short::scan(call, (sendbuf, recvbuf), (count, datatype), op, true, comm) {
        return code;
    }
    on_comm(call, comm, |comm| plans::exscan(comm, sendbuf, recvbuf, count, datatype, op)?()?.run())
}
