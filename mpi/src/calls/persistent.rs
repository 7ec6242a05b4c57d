//! Collectives that are started again and again. Each has messages of its own, because those of one communicator are
//! started in any order; so each is made by all ranks, who wait for one another, as the standard allows.

use std::sync::Arc;

use super::plans;
use crate::arguments::{Address, Handles, Ints};
use crate::guard::on_comm;
use crate::making;
use crate::requests;
use crate::standard::{Comm, Datatype, Info, Op, Request};

pub fn barrier_init(comm: Comm, _info: Info, request: Handles<Request>) -> i32 {
    on_comm("MPI_Barrier_init", comm, |comm| {
        let plan = plans::barrier(&making::apart(comm)?)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn bcast_init(
    buffer: Address,
    count: i64,
    datatype: Datatype,
    root: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Bcast_init", comm, |comm| {
        let plan = plans::bcast(&making::apart(comm)?, buffer, count, datatype, root)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn gather_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Gather_init", comm, |comm| {
        let plan = plans::gather(
            &making::apart(comm)?,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn gatherv_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Gatherv_init", comm, |comm| {
        let plan = plans::gatherv(
            &making::apart(comm)?,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcounts,
            displs,
            recvtype,
            root,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn scatter_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Scatter_init", comm, |comm| {
        let plan = plans::scatter(
            &making::apart(comm)?,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn scatterv_init(
    sendbuf: Address,
    sendcounts: Ints,
    displs: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    root: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Scatterv_init", comm, |comm| {
        let plan = plans::scatterv(
            &making::apart(comm)?,
            sendbuf,
            sendcounts,
            displs,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn allgather_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Allgather_init", comm, |comm| {
        let plan = plans::allgather(
            &making::apart(comm)?,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn allgatherv_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Allgatherv_init", comm, |comm| {
        let plan = plans::allgatherv(
            &making::apart(comm)?,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcounts,
            displs,
            recvtype,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn alltoall_init(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Alltoall_init", comm, |comm| {
        let plan = plans::alltoall(
            &making::apart(comm)?,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn alltoallv_init(
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtype: Datatype,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Alltoallv_init", comm, |comm| {
        let plan = plans::alltoallv(
            &making::apart(comm)?,
            sendbuf,
            sendcounts,
            sdispls,
            sendtype,
            recvbuf,
            recvcounts,
            rdispls,
            recvtype,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn alltoallw_init(
    sendbuf: Address,
    sendcounts: Ints,
    sdispls: Ints,
    sendtypes: Handles<Datatype>,
    recvbuf: Address,
    recvcounts: Ints,
    rdispls: Ints,
    recvtypes: Handles<Datatype>,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Alltoallw_init", comm, |comm| {
        let plan = plans::alltoallw(
            &making::apart(comm)?,
            sendbuf,
            sendcounts,
            sdispls,
            sendtypes,
            recvbuf,
            recvcounts,
            rdispls,
            recvtypes,
        )?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn reduce_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Reduce_init", comm, |comm| {
        let plan = plans::reduce(&making::apart(comm)?, sendbuf, recvbuf, count, datatype, op, root)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn allreduce_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Allreduce_init", comm, |comm| {
        let plan = plans::allreduce(&making::apart(comm)?, sendbuf, recvbuf, count, datatype, op)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn reduce_scatter_block_init(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Reduce_scatter_block_init", comm, |comm| {
        let plan =
            plans::reduce_scatter_block(&making::apart(comm)?, sendbuf, recvbuf, recvcount, datatype, op)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn reduce_scatter_init(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Ints,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Reduce_scatter_init", comm, |comm| {
        let plan = plans::reduce_scatter(&making::apart(comm)?, sendbuf, recvbuf, recvcounts, datatype, op)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn scan_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Scan_init", comm, |comm| {
        let plan = plans::scan(&making::apart(comm)?, sendbuf, recvbuf, count, datatype, op)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}

pub fn exscan_init(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Exscan_init", comm, |comm| {
        let plan = plans::exscan(&making::apart(comm)?, sendbuf, recvbuf, count, datatype, op)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || plan()?.start())));
        Ok(())
    })
}
