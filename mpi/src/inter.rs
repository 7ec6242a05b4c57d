//! Collectives of intercommunicators: each group gets what the other gives (MPI 5.0, section 6.2.2).
//!
//! Where everybody gives and gets, they are one exchange of blocks among both groups, in which nothing goes to one's
//! own; reductions are done by those who get. With a root they are messages to and from it.

use std::sync::Arc;

use ringworld::foreign::{Call, Reducer};

use crate::comms::{Comm, Remote};
use crate::datatypes::{Buffer, Owned};
use crate::error::{Error, Result, fail};
use crate::inside;
use crate::plan::{Parts, Plan, Root, Staging, bytes_of};
use crate::standard::ERR_COMM;
use crate::status::Status;
use crate::steps::Messages;
use crate::work::Work;

fn remote(comm: &Comm) -> Result<&Remote> {
    comm.remote.as_ref().map_or_else(|| fail(ERR_COMM, "this is no intercommunicator"), Ok)
}

fn steps(begin: impl FnOnce() -> Result<Work> + Send + 'static) -> Result<Plan> {
    Ok(Plan::Steps(Box::new(begin)))
}

pub(crate) fn bcast(comm: &Arc<Comm>, buffer: &Buffer, root: Root) -> Result<Plan> {
    let (first, peers, tag) = (comm.first_peer(), comm.peers(), comm.sequence());
    let mut messages = Messages::new(&comm.twin);
    match root {
        Root::Beside => return Ok(Plan::Nothing),
        Root::Me => (0..peers).for_each(|rank| messages.send(first + rank, tag, buffer.clone())),
        Root::Rank(rank) => messages.receive(first + rank, tag, buffer.clone()),
    }
    steps(|| messages.start_only())
}

pub(crate) fn gather(comm: &Arc<Comm>, send: Option<&Buffer>, parts: Parts, root: Root) -> Result<Plan> {
    let (first, tag) = (comm.first_peer(), comm.sequence());
    let mut messages = Messages::new(&comm.twin);
    match (root, send) {
        (Root::Me, _) => {
            parts.into_iter().enumerate().for_each(|(rank, part)| messages.receive(first + rank, tag, part));
        }
        (Root::Rank(rank), Some(send)) => messages.send(first + rank, tag, send.clone()),
        _ => return Ok(Plan::Nothing),
    }
    steps(|| messages.start_only())
}

pub(crate) fn scatter(comm: &Arc<Comm>, parts: Parts, recv: Option<&Buffer>, root: Root) -> Result<Plan> {
    let (first, tag) = (comm.first_peer(), comm.sequence());
    let mut messages = Messages::new(&comm.twin);
    match (root, recv) {
        (Root::Me, _) => {
            parts.into_iter().enumerate().for_each(|(rank, part)| messages.send(first + rank, tag, part));
        }
        (Root::Rank(rank), Some(recv)) => messages.receive(first + rank, tag, recv.clone()),
        _ => return Ok(Plan::Nothing),
    }
    steps(|| messages.start_only())
}

/// Of what goes to and comes from the ranks of the other group: bytes by rank among all.
fn among_all(comm: &Comm, remote: &Remote, bytes: &[usize]) -> Arc<[usize]> {
    let mut all = vec![0; comm.all.size()];
    all[remote.first_remote..][..bytes.len()].copy_from_slice(bytes);
    all.into()
}

pub(crate) fn all_gather(comm: &Arc<Comm>, send: Option<&Buffer>, recv: Parts) -> Result<Plan> {
    let Some(send) = send else { return fail(ERR_COMM, "MPI_IN_PLACE is not for intercommunicators") };
    let to_each: Vec<Buffer> = (0..comm.peers()).map(|_| send.clone()).collect();
    all_to_all(comm, Some(&to_each), recv)
}

pub(crate) fn all_to_all(comm: &Arc<Comm>, send: Option<&[Buffer]>, recv: Parts) -> Result<Plan> {
    let Some(send) = send else { return fail(ERR_COMM, "MPI_IN_PLACE is not for intercommunicators") };
    let remote = remote(comm)?;
    let call = Call::AllToAllVaried {
        send: among_all(comm, remote, &bytes_of(send)),
        recv: among_all(comm, remote, &bytes_of(&recv)),
    };
    let mut staging = Staging::default();
    let input = staging.gathered(send);
    let output = staging.scattered(recv);
    Ok(staging.call(&comm.all, call, Some(input), Some(output)))
}

/// Combines runs of as many bytes, in their order.
fn combined(runs: &[u8], bytes: usize, op: &Reducer) -> Result<Owned> {
    let mut runs = runs.chunks_exact(bytes.max(1));
    let mut result = Owned::of(runs.next().unwrap_or(&[]));
    for run in runs {
        let mut next = Owned::of(run);
        inside::apply(|| op.combine(result.bytes(), next.bytes_mut())).map_err(Error::from)?;
        result = next;
    }
    Ok(result)
}

pub(crate) fn reduce(
    comm: &Arc<Comm>,
    send: &Buffer,
    recv: &Buffer,
    op: Reducer,
    root: Root,
) -> Result<Plan> {
    let (first, peers, tag) = (comm.first_peer(), comm.peers(), comm.sequence());
    let mut messages = Messages::new(&comm.twin);
    match root {
        Root::Beside => Ok(Plan::Nothing),
        Root::Rank(rank) => {
            messages.send(first + rank, tag, send.clone());
            steps(|| messages.start_only())
        }
        Root::Me => {
            let bytes = recv.bytes();
            let mut came = Owned::new(bytes * peers);
            let whole = crate::steps::bytes_of(&mut came)?;
            for rank in 0..peers {
                messages.receive(first + rank, tag, whole.part((rank * bytes) as i64, bytes));
            }
            let recv = recv.clone();
            steps(move || {
                messages.start(move || {
                    recv.unpack(combined(came.bytes(), bytes, &op)?.bytes());
                    Ok(Work::Done(Status::EMPTY))
                })
            })
        }
    }
}

/// What the other group gives, combined, of which a part is this process's.
fn exchanged(comm: &Arc<Comm>, send: &Buffer, recv: Buffer, from: usize, op: Reducer) -> Result<Plan> {
    let (first, peers, tag) = (comm.first_peer(), comm.peers(), comm.sequence());
    let bytes = send.bytes();
    let mut messages = Messages::new(&comm.twin);
    let mut came = Owned::new(bytes * peers);
    let whole = crate::steps::bytes_of(&mut came)?;
    for rank in 0..peers {
        messages.receive(first + rank, tag, whole.part((rank * bytes) as i64, bytes));
        messages.send(first + rank, tag, send.clone());
    }
    steps(move || {
        messages.start(move || {
            let result = combined(came.bytes(), bytes, &op)?;
            recv.unpack(result.bytes().get(from..).unwrap_or_default());
            Ok(Work::Done(Status::EMPTY))
        })
    })
}

pub(crate) fn all_reduce(comm: &Arc<Comm>, send: &Buffer, recv: &Buffer, op: Reducer) -> Result<Plan> {
    exchanged(comm, send, recv.clone(), 0, op)
}

pub(crate) fn reduce_scatter(
    comm: &Arc<Comm>,
    send: &Buffer,
    recv: &Buffer,
    counts: &[usize],
    op: Reducer,
) -> Result<Plan> {
    let before: usize = counts.iter().take(comm.rank()).sum();
    let mine = counts.get(comm.rank()).copied().unwrap_or(0);
    let whole = send.part(0, counts.iter().sum());
    let from = before * recv.datatype.size;
    let mut part = recv.part(0, mine);
    part.count = mine;
    exchanged(comm, &whole, part, from, op)
}
