//! Communicators, and intercommunicators.

use std::sync::{Arc, PoisonError};

use super::shared::give;
use crate::arguments::{Handles, IntOut, Text, TextOut};
use crate::bare;
use crate::buffered;
use crate::comms::{self, Comm as Object, tag as checked_tag};
use crate::errhandlers::Handler;
use crate::error::{Result, error, fail};
use crate::freed;
use crate::groups;
use crate::guard::{on_comm, on_none};
use crate::info;
use crate::inside;
use crate::kind::Kind;
use crate::making::{self, Leaders};
use crate::process;
use crate::requests;
use crate::sessions::{self, on_new};
use crate::standard::{
    COMM_TYPE_HW_GUIDED, COMM_TYPE_HW_UNGUIDED, COMM_TYPE_RESOURCE_GUIDED, COMM_TYPE_SHARED, CONGRUENT, Comm,
    ERR_ARG, ERR_COMM, ERR_RANK, Errhandler, Group, IDENT, Info, MAX_OBJECT_NAME, Request, SIMILAR,
    UNDEFINED, UNEQUAL,
};
use crate::work::{Pause, Work};

pub fn comm_size(comm: Comm, size: IntOut) -> i32 {
    on_comm("MPI_Comm_size", comm, |comm| {
        size.set(comm.size() as i64);
        Ok(())
    })
}

pub fn comm_rank(comm: Comm, rank: IntOut) -> i32 {
    on_comm("MPI_Comm_rank", comm, |comm| {
        rank.set(comm.rank() as i64);
        Ok(())
    })
}

pub fn comm_test_inter(comm: Comm, flag: IntOut) -> i32 {
    on_comm("MPI_Comm_test_inter", comm, |comm| {
        flag.flag(comm.is_inter());
        Ok(())
    })
}

pub fn comm_remote_size(comm: Comm, size: IntOut) -> i32 {
    on_comm("MPI_Comm_remote_size", comm, |comm| {
        inter(comm)?;
        size.set(comm.peers() as i64);
        Ok(())
    })
}

fn inter(comm: &Object) -> Result<()> {
    if comm.is_inter() { Ok(()) } else { fail(ERR_COMM, "this is no intercommunicator") }
}

fn intra(comm: &Object) -> Result<()> {
    if comm.is_inter() { fail(ERR_COMM, "this is an intercommunicator") } else { Ok(()) }
}

pub fn comm_group(comm: Comm, group: Handles<Group>) -> i32 {
    on_comm("MPI_Comm_group", comm, |comm| {
        group.set(groups::insert(comm.group()));
        Ok(())
    })
}

pub fn comm_remote_group(comm: Comm, group: Handles<Group>) -> i32 {
    on_comm("MPI_Comm_remote_group", comm, |comm| {
        inter(comm)?;
        group.set(groups::insert(comm.remote_group()));
        Ok(())
    })
}

pub fn comm_compare(comm1: Comm, comm2: Comm, result: IntOut) -> i32 {
    on_comm("MPI_Comm_compare", comm1, |first| {
        let second = comms::get(comm2)?;
        let compared = |a: &ringworld::Group, b: &ringworld::Group| match a.compare(b) {
            ringworld::Comparison::Identical | ringworld::Comparison::Congruent => CONGRUENT,
            ringworld::Comparison::Similar => SIMILAR,
            ringworld::Comparison::Different => UNEQUAL,
        };
        let outcome = if comm1 == comm2 {
            IDENT
        } else if first.is_inter() != second.is_inter() {
            UNEQUAL
        } else if first.is_inter() {
            let local = compared(&first.group(), &second.group());
            local.max(compared(&first.remote_group(), &second.remote_group()))
        } else {
            compared(&first.group(), &second.group())
        };
        result.set(outcome.into());
        Ok(())
    })
}

/// Gives the program a communicator, or none.
fn give_comm(newcomm: Handles<Comm>, made: Option<Object>) {
    newcomm.set(made.map_or(Comm::NULL, comms::insert));
}

/// What a duplicate gets beside its ranks: attributes, and hints when they are given.
fn dressed(comm: &Object, hints: Option<Info>) -> Result<impl FnOnce(Object) -> Object + Send + use<>> {
    let attributes = comm.attributes.copies(comm.handle().0)?;
    let hints = hints.map_or(Ok(None), info::optional)?;
    Ok(move |mut made: Object| {
        made.attributes = attributes;
        if let Some(hints) = hints {
            made.info.take_promises(&hints);
        }
        made
    })
}

pub fn comm_dup(comm: Comm, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_dup", comm, |comm| {
        // What a function of the program that copies attributes may fail with leaves no handle behind.
        newcomm.set(Comm::NULL);
        let made = making::duplicate(comm)?;
        give_comm(newcomm, Some(dressed(comm, None)?(made)));
        Ok(())
    })
}

pub fn comm_dup_with_info(comm: Comm, info: Info, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_dup_with_info", comm, |comm| {
        // What a function of the program that copies attributes may fail with leaves no handle behind.
        newcomm.set(Comm::NULL);
        let made = making::duplicate(comm)?;
        give_comm(newcomm, Some(dressed(comm, Some(info))?(made)));
        Ok(())
    })
}

/// Gives the handle of a communicator that a request makes.
fn give_later(
    newcomm: Handles<Comm>,
    handle: Comm,
    request: Handles<Request>,
    comm: &Arc<Object>,
    work: Work,
) -> Result<()> {
    newcomm.set(handle);
    give(request, comm, work);
    let made = requests::existing(request.get(0))?;
    comms::awaited(handle, move || made.wait());
    Ok(())
}

pub fn comm_idup(comm: Comm, newcomm: Handles<Comm>, request: Handles<Request>) -> i32 {
    on_comm("MPI_Comm_idup", comm, |comm| {
        newcomm.set(Comm::NULL);
        let dressed = dressed(comm, None)?;
        let handle = comms::reserve();
        let work = making::start_duplicate(comm, move |made| comms::fill(handle, dressed(made)))?;
        give_later(newcomm, handle, request, comm, work)
    })
}

pub fn comm_idup_with_info(comm: Comm, info: Info, newcomm: Handles<Comm>, request: Handles<Request>) -> i32 {
    on_comm("MPI_Comm_idup_with_info", comm, |comm| {
        newcomm.set(Comm::NULL);
        let dressed = dressed(comm, Some(info))?;
        let handle = comms::reserve();
        let work = making::start_duplicate(comm, move |made| comms::fill(handle, dressed(made)))?;
        give_later(newcomm, handle, request, comm, work)
    })
}

pub fn comm_split(comm: Comm, color: i32, key: i32, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_split", comm, |comm| {
        give_comm(newcomm, making::split(comm, (color != UNDEFINED).then_some(color), key)?);
        Ok(())
    })
}

pub fn comm_split_type(comm: Comm, split_type: i32, key: i32, info: Info, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_split_type", comm, |comm| {
        let resource = match info::optional(info)? {
            Some(info) if matches!(split_type, COMM_TYPE_HW_GUIDED | COMM_TYPE_RESOURCE_GUIDED) => {
                info.get("mpi_hw_resource_type")?
            }
            _ => None,
        };
        let by_host = split_type == COMM_TYPE_SHARED || resource.as_deref() == Some("mpi_shared_memory");
        let made = match split_type {
            UNDEFINED => making::split_by_host(comm, false, key)?,
            _ if by_host => making::split_by_host(comm, true, key)?,
            // Nothing finer than a host is known.
            COMM_TYPE_HW_UNGUIDED | COMM_TYPE_HW_GUIDED | COMM_TYPE_RESOURCE_GUIDED => None,
            _ => return fail(ERR_ARG, format!("{split_type} is no way to split")),
        };
        give_comm(newcomm, made);
        Ok(())
    })
}

pub fn comm_create(comm: Comm, group: Group, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_create", comm, |comm| {
        give_comm(newcomm, making::create(comm, &*groups::get(group)?)?);
        Ok(())
    })
}

pub fn comm_create_group(comm: Comm, group: Group, tag: i32, newcomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_create_group", comm, |comm| {
        give_comm(newcomm, making::create_group(comm, &*groups::get(group)?, checked_tag(tag)?)?);
        Ok(())
    })
}

pub fn comm_free(comm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_free", comm.get(0), |of| {
        inside::refuse("free the communicator")?;
        of.pool.flush()?;
        take_away(comm)
    })
}

pub fn comm_disconnect(comm: Handles<Comm>) -> i32 {
    on_comm("MPI_Comm_disconnect", comm.get(0), |of| {
        comms::made(comm.get(0))?;
        inside::refuse("disconnect the communicator")?;
        end_of_all_on(of)?;
        take_away(comm)
    })
}

/// Waits for whatever is under way on a communicator. The program takes the ends of its requests later.
fn end_of_all_on(comm: &Arc<Object>) -> Result<()> {
    requests::on(comm).iter().for_each(|request| request.wait());
    // Whoever waits for one may wait for others as well, which are none of this call's.
    let mut pause = Pause::default();
    for id in bare::waited_for_on(comm) {
        while comm.all.is_foreign_under_way(id) {
            pause.wait();
        }
    }
    freed::end_on(comm);
    comm.pool.flush()?;
    buffered::PROCESS.flush_on(comm.handle())?;
    sessions::flush_on(comm.handle())
}

fn take_away(handle: Handles<Comm>) -> Result<()> {
    comms::remove(handle.get(0))?;
    handle.set(Comm::NULL);
    Ok(())
}

pub fn comm_set_name(comm: Comm, comm_name: Text) -> i32 {
    on_comm("MPI_Comm_set_name", comm, |comm| {
        *comm.name.lock().unwrap_or_else(PoisonError::into_inner) = comm_name.get();
        Ok(())
    })
}

pub fn comm_get_name(comm: Comm, comm_name: TextOut, resultlen: IntOut) -> i32 {
    if comm == Comm::NULL {
        resultlen.set(comm_name.set("MPI_COMM_NULL", MAX_OBJECT_NAME) as i64);
        return 0;
    }
    on_comm("MPI_Comm_get_name", comm, |comm| {
        resultlen.set(comm_name.set(&comm.name(), MAX_OBJECT_NAME) as i64);
        Ok(())
    })
}

pub fn comm_set_info(comm: Comm, info: Info) -> i32 {
    on_comm("MPI_Comm_set_info", comm, |comm| {
        if let Some(hints) = info::optional(info)? {
            comm.info.take_promises(&hints);
        }
        Ok(())
    })
}

pub fn comm_get_info(comm: Comm, info_used: Handles<Info>) -> i32 {
    on_comm("MPI_Comm_get_info", comm, |comm| {
        info_used.set(info::insert(comm.info.copy()));
        Ok(())
    })
}

pub fn comm_get_parent(parent: Handles<Comm>) -> i32 {
    // Nobody is spawned.
    parent.set(Comm::NULL);
    0
}

pub fn intercomm_create(
    local_comm: Comm,
    local_leader: i32,
    peer_comm: Comm,
    remote_leader: i32,
    tag: i32,
    newintercomm: Handles<Comm>,
) -> i32 {
    on_comm("MPI_Intercomm_create", local_comm, |comm| {
        intra(comm)?;
        let no_rank = |rank: i32| error(ERR_RANK, format!("rank {rank} cannot be a leader"));
        let local = usize::try_from(local_leader).ok().filter(|rank| *rank < comm.size());
        let local = local.ok_or_else(|| no_rank(local_leader))?;
        let peer = if comm.rank() == local { Some(comms::get(peer_comm)?) } else { None };
        let peer = match &peer {
            None => None,
            Some(peer) => {
                let remote = usize::try_from(remote_leader).ok().filter(|rank| *rank < peer.peers());
                Some((&**peer, peer.first_peer() + remote.ok_or_else(|| no_rank(remote_leader))?))
            }
        };
        let leaders = Leaders { local, peer, tag: checked_tag(tag)? };
        give_comm(newintercomm, Some(making::intercomm(comm, &leaders)?));
        Ok(())
    })
}

/// A tag for the messages by which a communicator is made, of what the program calls it.
fn tag_of(name: Text) -> u32 {
    name.get().bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
        >> 1
}

/// A communicator with another error handler.
fn handled(made: Object, handler: &Arc<Handler>) -> Object {
    made.set_handler(Arc::clone(handler));
    made
}

pub fn comm_create_from_group(
    group: Group,
    stringtag: Text,
    _info: Info,
    errhandler: Errhandler,
    newcomm: Handles<Comm>,
) -> i32 {
    on_new("MPI_Comm_create_from_group", (errhandler, Kind::Comm), Comm::NULL.0, |handler| {
        let made = making::create_group(&*process::base()?, &*groups::get(group)?, tag_of(stringtag))?;
        give_comm(newcomm, made.map(|made| handled(made, handler)));
        Ok(())
    })
}

pub fn intercomm_create_from_groups(
    local_group: Group,
    local_leader: i32,
    remote_group: Group,
    remote_leader: i32,
    stringtag: Text,
    _info: Info,
    errhandler: Errhandler,
    newintercomm: Handles<Comm>,
) -> i32 {
    on_new("MPI_Intercomm_create_from_groups", (errhandler, Kind::Comm), Comm::NULL.0, |handler| {
        let world = process::base()?;
        let (mine, theirs) = (groups::get(local_group)?, groups::get(remote_group)?);
        let rank = |group: &ringworld::Group, leader: i32| {
            let found = usize::try_from(leader).ok().and_then(|leader| group.ranks().get(leader).copied());
            found.ok_or_else(|| error(ERR_RANK, format!("rank {leader} cannot be a leader")))
        };
        let (here, there) = (rank(&mine, local_leader)?, rank(&theirs, remote_leader)?);
        let tag = tag_of(stringtag);
        let Some(local) = making::create_group(&world, &mine, tag)? else {
            return fail(ERR_ARG, "this process is not in the local group");
        };
        let peer = (world.rank() == here).then_some((&*world, there));
        let leaders = Leaders { local: local_leader as usize, peer, tag };
        let made = making::intercomm(&local, &leaders)?;
        give_comm(newintercomm, Some(handled(made, handler)));
        Ok(())
    })
}

pub fn intercomm_merge(intercomm: Comm, high: i32, newintracomm: Handles<Comm>) -> i32 {
    on_comm("MPI_Intercomm_merge", intercomm, |comm| {
        inter(comm)?;
        give_comm(newintracomm, Some(making::merge(comm, high != 0)?));
        Ok(())
    })
}

pub fn get_hw_resource_info(hw_info: Handles<Info>) -> i32 {
    on_none("MPI_Get_hw_resource_info", || {
        let known = info::Info::default();
        known.set("mpi_shared_memory".into(), "true".into())?;
        hw_info.set(info::insert(known));
        Ok(())
    })
}
