//! Messages.

use std::sync::Arc;

use super::shared::{buffer, give};
use crate::arguments::{Address, Handles, IntOut, StatusOut};
use crate::buffered;
use crate::comms::{self, Held, tags};
use crate::datatypes::Buffer;
use crate::error::{Result, fail};
use crate::guard::{of_request, on_comm, on_none, tell_failed};
use crate::matched;
use crate::point_to_point::{Matched, Mode, Receive, Send, exchange};
use crate::requests;
use crate::short;
use crate::standard::{Comm, Datatype, ERR_REQUEST, Message, Request};
use crate::status::Status;
use crate::work::{Work, status_of};

fn send_as(
    call: &str,
    mode: Mode,
    (buf, count, datatype): (Address, i64, Datatype),
    (dest, tag): (i32, i32),
    comm: Comm,
) -> i32 {
    on_comm(call, comm, |comm| Send::new(comm, buffer(buf, count, datatype)?, dest, tag, mode)?.run())
}

fn start_as(
    call: &str,
    mode: Mode,
    (buf, count, datatype): (Address, i64, Datatype),
    (dest, tag): (i32, i32),
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm(call, comm, |comm| {
        let work = Send::new(comm, buffer(buf, count, datatype)?, dest, tag, mode)?.start()?;
        give(request, comm, work);
        Ok(())
    })
}

/// Most short messages leave at once, and are no more than that.
fn standard_start(
    call: &str,
    data: (Address, i64, Datatype),
    to: (i32, i32),
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    if short::isend(data, to, comm) {
        request.set(requests::sent());
        return 0;
    }
    start_as(call, Mode::Standard, data, to, comm, request)
}

fn prepare_as(
    call: &str,
    mode: Mode,
    (buf, count, datatype): (Address, i64, Datatype),
    (dest, tag): (i32, i32),
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm(call, comm, |comm| {
        let send = Send::new(comm, buffer(buf, count, datatype)?, dest, tag, mode)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || send.start())));
        Ok(())
    })
}

pub fn send(buf: Address, count: i64, datatype: Datatype, dest: i32, tag: i32, comm: Comm) -> i32 {
    let (call, data, to) = ("MPI_Send", (buf, count, datatype), (dest, tag));
    match short::send(call, data, to, comm) {
        Some(code) => code,
        None => send_as(call, Mode::Standard, data, to, comm),
    }
}

pub fn isend(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    standard_start("MPI_Isend", (buf, count, datatype), (dest, tag), comm, request)
}

pub fn send_init(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    prepare_as("MPI_Send_init", Mode::Standard, (buf, count, datatype), (dest, tag), comm, request)
}

pub fn bsend(buf: Address, count: i64, datatype: Datatype, dest: i32, tag: i32, comm: Comm) -> i32 {
    send_as("MPI_Bsend", Mode::Buffered, (buf, count, datatype), (dest, tag), comm)
}

pub fn ibsend(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    start_as("MPI_Ibsend", Mode::Buffered, (buf, count, datatype), (dest, tag), comm, request)
}

pub fn bsend_init(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    prepare_as("MPI_Bsend_init", Mode::Buffered, (buf, count, datatype), (dest, tag), comm, request)
}

pub fn ssend(buf: Address, count: i64, datatype: Datatype, dest: i32, tag: i32, comm: Comm) -> i32 {
    send_as("MPI_Ssend", Mode::Synchronous, (buf, count, datatype), (dest, tag), comm)
}

pub fn issend(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    start_as("MPI_Issend", Mode::Synchronous, (buf, count, datatype), (dest, tag), comm, request)
}

pub fn ssend_init(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    prepare_as("MPI_Ssend_init", Mode::Synchronous, (buf, count, datatype), (dest, tag), comm, request)
}

pub fn rsend(buf: Address, count: i64, datatype: Datatype, dest: i32, tag: i32, comm: Comm) -> i32 {
    let (call, data, to) = ("MPI_Rsend", (buf, count, datatype), (dest, tag));
    match short::send(call, data, to, comm) {
        Some(code) => code,
        None => send_as(call, Mode::Standard, data, to, comm),
    }
}

pub fn irsend(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    standard_start("MPI_Irsend", (buf, count, datatype), (dest, tag), comm, request)
}

pub fn rsend_init(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    prepare_as("MPI_Rsend_init", Mode::Standard, (buf, count, datatype), (dest, tag), comm, request)
}

/// Gives the program the status of a message that has come, or could not.
#[inline]
fn received(ended: Result<Status>, status: StatusOut) -> Result<()> {
    match ended {
        Ok(found) => {
            status.set(&found);
            Ok(())
        }
        Err(why) => {
            tell_failed(&why, status);
            Err(why)
        }
    }
}

pub fn recv(
    buf: Address,
    count: i64,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: Comm,
    status: StatusOut,
) -> i32 {
    let call = "MPI_Recv";
    if let Some(code) = short::recv(call, (buf, count, datatype), (source, tag), comm, status) {
        return code;
    }
    on_comm(call, comm, |comm| {
        received(Receive::new(comm, buffer(buf, count, datatype)?, source, tag)?.run(), status)
    })
}

pub fn irecv(
    buf: Address,
    count: i64,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    if let Some(receive) = short::irecv((buf, count, datatype), (source, tag), comm) {
        return match requests::bare(receive) {
            Ok(handle) => {
                request.set(handle);
                0
            }
            Err(why) => on_comm("MPI_Irecv", comm, |_| Err(why)),
        };
    }
    on_comm("MPI_Irecv", comm, |comm| {
        let work = Receive::new(comm, buffer(buf, count, datatype)?, source, tag)?.start()?;
        give(request, comm, work);
        Ok(())
    })
}

pub fn recv_init(
    buf: Address,
    count: i64,
    datatype: Datatype,
    source: i32,
    tag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Recv_init", comm, |comm| {
        let receive = Receive::new(comm, buffer(buf, count, datatype)?, source, tag)?;
        request.set(requests::persistent(Some(Arc::clone(comm)), Box::new(move || receive.start())));
        Ok(())
    })
}

pub fn sendrecv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    source: i32,
    recvtag: i32,
    comm: Comm,
    status: StatusOut,
) -> i32 {
    let (name, input, output) =
        ("MPI_Sendrecv", (sendbuf, sendcount, sendtype), (recvbuf, recvcount, recvtype));
    if let Some(code) = short::sendrecv(name, (input, dest, sendtag), (output, source, recvtag), comm, status)
    {
        return code;
    }
    on_comm(name, comm, |comm| {
        let send = Send::new(comm, buffer(sendbuf, sendcount, sendtype)?, dest, sendtag, Mode::Standard)?;
        let receive = Receive::new(comm, buffer(recvbuf, recvcount, recvtype)?, source, recvtag)?;
        received(exchange(&send, &receive), status)
    })
}

pub fn isendrecv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Datatype,
    source: i32,
    recvtag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Isendrecv", comm, |comm| {
        let send = Send::new(comm, buffer(sendbuf, sendcount, sendtype)?, dest, sendtag, Mode::Standard)?;
        let receive = Receive::new(comm, buffer(recvbuf, recvcount, recvtype)?, source, recvtag)?;
        let (received, sent) = (receive.start()?, send.start()?);
        give(request, comm, both(received, sent));
        Ok(())
    })
}

/// A receive and a send, with the status of the receive.
fn both(mut received: Work, mut sent: Work) -> Work {
    let mut ends: (Option<Result<Status>>, Option<Result<Status>>) = (None, None);
    Work::Poll(Box::new(move || {
        if ends.0.is_none() {
            ends.0 = received.poll();
        }
        if ends.1.is_none() {
            ends.1 = sent.poll();
        }
        match (&ends.0, &ends.1) {
            (Some(_), Some(Err(why))) => Some(Err(why.clone())),
            (Some(received), Some(Ok(_))) => Some(received.clone()),
            _ => None,
        }
    }))
}

/// What is sent is copied first, because what comes replaces it.
fn replacing(whole: &Buffer) -> Result<(crate::datatypes::Owned, Buffer)> {
    let mut copy = whole.pack();
    let bytes = crate::steps::bytes_of(&mut copy)?;
    Ok((copy, bytes))
}

pub fn sendrecv_replace(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: Comm,
    status: StatusOut,
) -> i32 {
    on_comm("MPI_Sendrecv_replace", comm, |comm| {
        let whole = buffer(buf, count, datatype)?;
        let (_copy, bytes) = replacing(&whole)?;
        let send = Send::new(comm, bytes, dest, sendtag, Mode::Standard)?;
        let receive = Receive::new(comm, whole, source, recvtag)?;
        received(exchange(&send, &receive), status)
    })
}

pub fn isendrecv_replace(
    buf: Address,
    count: i64,
    datatype: Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: Comm,
    request: Handles<Request>,
) -> i32 {
    on_comm("MPI_Isendrecv_replace", comm, |comm| {
        let whole = buffer(buf, count, datatype)?;
        let (copy, bytes) = replacing(&whole)?;
        let send = Send::new(comm, bytes, dest, sendtag, Mode::Standard)?;
        let receive = Receive::new(comm, whole, source, recvtag)?;
        let (received, sent) = (receive.start()?, send.start()?);
        let mut both = both(received, sent);
        // Leaked with the request if that is freed before the end: see `Many`.
        let mut copy = Some(std::mem::ManuallyDrop::new(copy));
        let work = Work::Poll(Box::new(move || {
            let ended = both.poll()?;
            if let Some(copy) = copy.take() {
                drop(std::mem::ManuallyDrop::into_inner(copy));
            }
            Some(ended)
        }));
        give(request, comm, work);
        Ok(())
    })
}

pub fn probe(source: i32, tag: i32, comm: Comm, status: StatusOut) -> i32 {
    on_comm("MPI_Probe", comm, |comm| {
        let found = match comm.source(source)? {
            None => Status::FROM_NOBODY,
            Some(from) => status_of(Some(comm.all.probe(from, tags(tag)?)?), comm.first_peer()),
        };
        status.set(&found);
        Ok(())
    })
}

pub fn iprobe(source: i32, tag: i32, comm: Comm, flag: IntOut, status: StatusOut) -> i32 {
    on_comm("MPI_Iprobe", comm, |comm| {
        let found = match comm.source(source)? {
            None => Some(Status::FROM_NOBODY),
            Some(from) => {
                let found = comm.all.try_probe(from, tags(tag)?)?;
                found.map(|found| status_of(Some(found), comm.first_peer()))
            }
        };
        flag.flag(found.is_some());
        if let Some(found) = found {
            status.set(&found);
        }
        Ok(())
    })
}

pub fn mprobe(source: i32, tag: i32, comm: Comm, message: Handles<Message>, status: StatusOut) -> i32 {
    on_comm("MPI_Mprobe", comm, |comm| {
        let Some(from) = comm.source(source)? else {
            message.set(Message::NO_PROC);
            status.set(&Status::FROM_NOBODY);
            return Ok(());
        };
        let found = Matched { comm: Arc::clone(comm), message: comm.all.probe_matched(from, tags(tag)?)? };
        status.set(&found.status());
        message.set(matched::insert(found));
        Ok(())
    })
}

pub fn improbe(
    source: i32,
    tag: i32,
    comm: Comm,
    flag: IntOut,
    message: Handles<Message>,
    status: StatusOut,
) -> i32 {
    on_comm("MPI_Improbe", comm, |comm| {
        let Some(from) = comm.source(source)? else {
            flag.flag(true);
            message.set(Message::NO_PROC);
            status.set(&Status::FROM_NOBODY);
            return Ok(());
        };
        let found = comm.all.try_probe_matched(from, tags(tag)?)?;
        flag.flag(found.is_some());
        match found {
            None => message.set(Message::NULL),
            Some(found) => {
                let found = Matched { comm: Arc::clone(comm), message: found };
                status.set(&found.status());
                message.set(matched::insert(found));
            }
        }
        Ok(())
    })
}

/// Receives a message that was set aside, as `then` says. What is wrong concerns the communicator that it came by.
fn on_message(
    call: &str,
    (buf, count, datatype): (Address, i64, Datatype),
    message: Handles<Message>,
    then: impl FnOnce(Option<&Arc<comms::Comm>>, Work) -> Result<()>,
) -> i32 {
    let handle = message.get(0);
    let mut comm = None;
    let receive = || {
        let buffer = buffer(buf, count, datatype)?;
        if handle == Message::NO_PROC {
            message.set(Message::NULL);
            return then(None, Work::Done(Status::FROM_NOBODY));
        }
        let Some(found) = matched::take(handle) else {
            return fail(ERR_REQUEST, "there is no such message, or it has been received");
        };
        message.set(Message::NULL);
        let comm = &*comm.insert(Arc::clone(&found.comm));
        then(Some(comm), found.start(buffer)?)
    };
    match receive() {
        Ok(()) => 0,
        // One that has not been taken is still there.
        Err(why) => of_request(call, comm.or_else(|| matched::comm(handle)).as_ref(), &why),
    }
}

pub fn mrecv(
    buf: Address,
    count: i64,
    datatype: Datatype,
    message: Handles<Message>,
    status: StatusOut,
) -> i32 {
    on_message("MPI_Mrecv", (buf, count, datatype), message, |_, mut work| received(work.wait(), status))
}

pub fn imrecv(
    buf: Address,
    count: i64,
    datatype: Datatype,
    message: Handles<Message>,
    request: Handles<Request>,
) -> i32 {
    on_message("MPI_Imrecv", (buf, count, datatype), message, |comm, work| {
        request.set(requests::active(comm.map(Held::from), work));
        Ok(())
    })
}

pub fn buffer_attach(buffer: Address, size: i64) -> i32 {
    on_none("MPI_Buffer_attach", || buffered::PROCESS.attach(buffer.number(), size))
}

pub fn buffer_detach(buffer_addr: Address, size: IntOut) -> i32 {
    on_none("MPI_Buffer_detach", || detached(&buffered::PROCESS, buffer_addr, size))
}

pub fn buffer_flush() -> i32 {
    on_none("MPI_Buffer_flush", || buffered::PROCESS.flush())
}

pub fn buffer_iflush(request: Handles<Request>) -> i32 {
    on_none("MPI_Buffer_iflush", || {
        request.set(requests::active(None, Work::Poll(Box::new(|| buffered::PROCESS.poll()))));
        Ok(())
    })
}

pub fn comm_attach_buffer(comm: Comm, buffer: Address, size: i64) -> i32 {
    on_comm("MPI_Comm_attach_buffer", comm, |comm| comm.pool.attach(buffer.number(), size))
}

pub fn comm_detach_buffer(comm: Comm, buffer_addr: Address, size: IntOut) -> i32 {
    on_comm("MPI_Comm_detach_buffer", comm, |comm| detached(&comm.pool, buffer_addr, size))
}

pub fn comm_flush_buffer(comm: Comm) -> i32 {
    on_comm("MPI_Comm_flush_buffer", comm, |comm| comm.pool.flush())
}

pub fn comm_iflush_buffer(comm: Comm, request: Handles<Request>) -> i32 {
    on_comm("MPI_Comm_iflush_buffer", comm, |comm| {
        let of = Arc::clone(comm);
        give(request, comm, Work::Poll(Box::new(move || of.pool.poll())));
        Ok(())
    })
}

pub(super) fn detached(pool: &buffered::Pool, address: Address, size: IntOut) -> Result<()> {
    let (attached, length) = pool.detach()?;
    address.write_pointer(crate::host::address_out(attached));
    size.set(length);
    Ok(())
}
