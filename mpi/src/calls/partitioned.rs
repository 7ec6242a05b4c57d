//! Partitioned communication.

use std::sync::Arc;

use super::shared::buffer;
use crate::arguments::{Address, Handles, IntOut, Ints};
use crate::error::{Result, fail};
use crate::guard::{on_comm, on_none};
use crate::partitioned::Partitioned;
use crate::requests::{self, existing};
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

fn of(request: Request) -> Result<Arc<Partitioned>> {
    match &existing(request)?.partitioned {
        Some(partitioned) => Ok(Arc::clone(partitioned)),
        None => fail(ERR_REQUEST, "the request is not a partitioned one"),
    }
}

pub fn pready(partition: i32, request: Request) -> i32 {
    on_none("MPI_Pready", || of(request)?.ready(partition.into()))
}

pub fn pready_range(partition_low: i32, partition_high: i32, request: Request) -> i32 {
    on_none("MPI_Pready_range", || {
        let partitioned = of(request)?;
        (partition_low..=partition_high).try_for_each(|place| partitioned.ready(place.into()))
    })
}

pub fn pready_list(length: i32, array_of_partitions: Ints, request: Request) -> i32 {
    on_none("MPI_Pready_list", || {
        let partitioned = of(request)?;
        array_of_partitions
            .vec(length.max(0) as usize)
            .into_iter()
            .try_for_each(|place| partitioned.ready(place))
    })
}

pub fn parrived(request: Request, partition: i32, flag: IntOut) -> i32 {
    on_none("MPI_Parrived", || {
        flag.flag(if request == Request::NULL { true } else { of(request)?.arrived(partition.into())? });
        Ok(())
    })
}
