//! Partitioned communication.

use std::sync::Arc;

use super::shared::{buffer, number};
use crate::arguments::{Address, Handles, IntOut, Ints};
use crate::error::{Result, fail};
use crate::guard::{on_comm, on_request};
use crate::partitioned::Partitioned;
use crate::requests;
use crate::standard::{Comm, Datatype, ERR_REQUEST, Info, Request};
use crate::work::Work;

fn prepare(
    call: &str,
    sends: bool,
    partitions: i32,
    (buf, count, datatype): (Address, i64, Datatype),
    (rank, tag): (i32, i32),
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm(call, comm, |comm| {
        let peer = comm.peer(rank)?;
        let part = buffer(buf, count, datatype)?;
        let made = Arc::new(Partitioned::new(comm, peer, rank, tag, part, partitions.into(), sends)?);
        let of = Arc::clone(&made);
        let again = move || {
            of.start()?;
            let of = Arc::clone(&of);
            Ok(Work::Poll(Box::new(move || of.poll())))
        };
        request.set(requests::partitioned(Arc::clone(comm), Box::new(again), made));
        Ok(())
    })
}

pub fn psend_init(
    buf: Address,
    partitions: i32,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    prepare("MPI_Psend_init", true, partitions, (buf, count, datatype), (dest, tag), comm, request)
}

pub fn precv_init(
    buf: Address,
    partitions: i32,
    count: i64,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: Comm,
    _info: Info,
    request: Handles<Request>,
) -> i32 {
    prepare("MPI_Precv_init", false, partitions, (buf, count, datatype), (source, tag), comm, request)
}

/// Of a call on a partitioned request.
fn on_parts(call: &str, request: Request, body: impl FnOnce(&Partitioned) -> Result<()>) -> i32 {
    on_request(call, request, |request| match &request.partitioned {
        Some(partitioned) => body(partitioned),
        None => fail(ERR_REQUEST, "the request is not a partitioned one"),
    })
}

pub fn pready(partition: i32, request: Request) -> i32 {
    on_parts("MPI_Pready", request, |of| of.ready(partition.into()))
}

pub fn pready_range(partition_low: i32, partition_high: i32, request: Request) -> i32 {
    on_parts("MPI_Pready_range", request, |of| {
        (partition_low..=partition_high).try_for_each(|place| of.ready(place.into()))
    })
}

pub fn pready_list(length: i32, array_of_partitions: Ints, request: Request) -> i32 {
    on_parts("MPI_Pready_list", request, |of| {
        let length = number(length.into(), "the number of parts")?;
        array_of_partitions.vec(length).into_iter().try_for_each(|place| of.ready(place))
    })
}

pub fn parrived(request: Request, partition: i32, flag: IntOut) -> i32 {
    if request == Request::NULL {
        flag.flag(true);
        return 0;
    }
    on_parts("MPI_Parrived", request, |of| {
        flag.flag(of.arrived(partition.into())?);
        Ok(())
    })
}
