//! Collectives that return at once.

use super::plans;
use super::shared::give;
use crate::arguments::{Address, Handles, Ints};
use crate::guard::on_comm;
use crate::standard::{Comm, Datatype, Op, Request};

pub fn ibarrier(comm: Comm, request: Handles<Request>) -> i32 {
    on_comm("MPI_Ibarrier", comm, |comm| {
        give(request, comm, plans::barrier(comm)?()?.start()?);
        Ok(())
    })
}

pub fn ibcast(
    buffer: Address,
    count: i64,
    datatype: Datatype,
    root: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ibcast", comm, |comm| {
        give(request, comm, plans::bcast(comm, buffer, count, datatype, root)?()?.start()?);
        Ok(())
    })
}

pub fn igather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Igather", comm, |comm| {
        give(
            request,
            comm,
            plans::gather(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)?()?
                .start()?,
        );
        Ok(())
    })
}

pub fn igatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Igatherv", comm, |comm| {
        give(
            request,
            comm,
            plans::gatherv(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root)?(
            )?
            .start()?,
        );
        Ok(())
    })
}

pub fn iscatter(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iscatter", comm, |comm| {
        give(
            request,
            comm,
            plans::scatter(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root)?()?
                .start()?,
        );
        Ok(())
    })
}

pub fn iscatterv(
    sendbuf: Address,
    sendcounts: Ints,
    displs: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iscatterv", comm, |comm| {
        give(
            request,
            comm,
            plans::scatterv(
                comm, sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,
            )?()?
            .start()?,
        );
        Ok(())
    })
}

pub fn iallgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iallgather", comm, |comm| {
        give(
            request,
            comm,
            plans::allgather(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?.start()?,
        );
        Ok(())
    })
}

pub fn iallgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iallgatherv", comm, |comm| {
        give(
            request,
            comm,
            plans::allgatherv(comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype)?()?
                .start()?,
        );
        Ok(())
    })
}

pub fn ialltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ialltoall", comm, |comm| {
        give(
            request,
            comm,
            plans::alltoall(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?.start()?,
        );
        Ok(())
    })
}

pub fn ialltoallv(
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Datatype,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ialltoallv", comm, |comm| {
        give(
            request,
            comm,
            plans::alltoallv(
                comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
            )?()?
            .start()?,
        );
        Ok(())
    })
}

pub fn ialltoallw(
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: Handles<Datatype>,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: Handles<Datatype>,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ialltoallw", comm, |comm| {
        give(
            request,
            comm,
            plans::alltoallw(
                comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
            )?()?
            .start()?,
        );
        Ok(())
    })
}

pub fn ireduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ireduce", comm, |comm| {
        give(request, comm, plans::reduce(comm, sendbuf, recvbuf, count, datatype, op, root)?()?.start()?);
        Ok(())
    })
}

pub fn iallreduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iallreduce", comm, |comm| {
        give(request, comm, plans::allreduce(comm, sendbuf, recvbuf, count, datatype, op)?()?.start()?);
        Ok(())
    })
}

pub fn ireduce_scatter_block(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ireduce_scatter_block", comm, |comm| {
        give(
            request,
            comm,
            plans::reduce_scatter_block(comm, sendbuf, recvbuf, recvcount, datatype, op)?()?.start()?,
        );
        Ok(())
    })
}

pub fn ireduce_scatter(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ireduce_scatter", comm, |comm| {
        give(
            request,
            comm,
            plans::reduce_scatter(comm, sendbuf, recvbuf, recvcounts, datatype, op)?()?.start()?,
        );
        Ok(())
    })
}

pub fn iscan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iscan", comm, |comm| {
        give(request, comm, plans::scan(comm, sendbuf, recvbuf, count, datatype, op)?()?.start()?);
        Ok(())
    })
}

pub fn iexscan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Iexscan", comm, |comm| {
        give(request, comm, plans::exscan(comm, sendbuf, recvbuf, count, datatype, op)?()?.start()?);
        Ok(())
    })
}
