//! Collectives with the neighbours of a topology: blocking, non-blocking and persistent.

use std::sync::Arc;

use super::plans;
use super::shared::give;
use crate::arguments::{Address, Handles, Ints};
use crate::guard::on_comm;
use crate::making;
use crate::requests;
use crate::standard::{Comm, Datatype, Info, Request};

pub fn neighbor_allgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    on_comm("MPI_Neighbor_allgather", comm, |comm| {
        plans::neighbor_allgather(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?.run()
    })
}

pub fn ineighbor_allgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ineighbor_allgather", comm, |comm| {
        give(
            request,
            comm,
            plans::neighbor_allgather(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?
                .start()?,
        );
        Ok(())
    })
}

pub fn neighbor_allgather_init(
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
    on_comm("MPI_Neighbor_allgather_init", comm, |comm| {
        let plan = plans::neighbor_allgather(
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

pub fn neighbor_allgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcounts: Ints,
    displs: Ints,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    on_comm("MPI_Neighbor_allgatherv", comm, |comm| {
        plans::neighbor_allgatherv(
            comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
        )?()?
        .run()
    })
}

pub fn ineighbor_allgatherv(
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
    on_comm("MPI_Ineighbor_allgatherv", comm, |comm| {
        give(
            request,
            comm,
            plans::neighbor_allgatherv(
                comm, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
            )?()?
            .start()?,
        );
        Ok(())
    })
}

pub fn neighbor_allgatherv_init(
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
    on_comm("MPI_Neighbor_allgatherv_init", comm, |comm| {
        let plan = plans::neighbor_allgatherv(
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

pub fn neighbor_alltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
) -> i32 {
    on_comm("MPI_Neighbor_alltoall", comm, |comm| {
        plans::neighbor_alltoall(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?.run()
    })
}

pub fn ineighbor_alltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Ineighbor_alltoall", comm, |comm| {
        give(
            request,
            comm,
            plans::neighbor_alltoall(comm, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype)?()?
                .start()?,
        );
        Ok(())
    })
}

pub fn neighbor_alltoall_init(
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
    on_comm("MPI_Neighbor_alltoall_init", comm, |comm| {
        let plan = plans::neighbor_alltoall(
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

pub fn neighbor_alltoallv(
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
    on_comm("MPI_Neighbor_alltoallv", comm, |comm| {
        plans::neighbor_alltoallv(
            comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
        )?()?
        .run()
    })
}

pub fn ineighbor_alltoallv(
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
    on_comm("MPI_Ineighbor_alltoallv", comm, |comm| {
        give(
            request,
            comm,
            plans::neighbor_alltoallv(
                comm, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
            )?()?
            .start()?,
        );
        Ok(())
    })
}

pub fn neighbor_alltoallv_init(
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
    on_comm("MPI_Neighbor_alltoallv_init", comm, |comm| {
        let plan = plans::neighbor_alltoallv(
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

pub fn neighbor_alltoallw(
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
    on_comm("MPI_Neighbor_alltoallw", comm, |comm| {
        plans::neighbor_alltoallw(
            comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
        )?()?
        .run()
    })
}

pub fn ineighbor_alltoallw(
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
    on_comm("MPI_Ineighbor_alltoallw", comm, |comm| {
        give(
            request,
            comm,
            plans::neighbor_alltoallw(
                comm, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
            )?()?
            .start()?,
        );
        Ok(())
    })
}

pub fn neighbor_alltoallw_init(
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
    on_comm("MPI_Neighbor_alltoallw_init", comm, |comm| {
        let plan = plans::neighbor_alltoallw(
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
