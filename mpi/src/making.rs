//! New communicators out of old ones.

use std::sync::Arc;

use ringworld::foreign::{Blocks, Call};
use ringworld::{Communicator, Group};

use crate::comms::{Comm, Remote};
use crate::datatypes::Owned;
use crate::error::{Error, Result, error, fail};
use crate::groups;
use crate::standard::{ERR_ARG, ERR_GROUP, ERR_OTHER};
use crate::status::Status;
use crate::work::{Work, all_well};

/// Tags of the twin that belong to messages which programs give a tag for; those below are for collectives. Partitioned
/// messages have theirs in lanes of their own.
const TAGGED: u32 = 0x8000_0000;

/// The ranks of the same color, in the order of their keys; `None` joins nothing.
#[track_caller]
pub(crate) fn split(comm: &Comm, color: Option<i32>, key: i32) -> Result<Option<Comm>> {
    let color = match color {
        Some(color) if color < 0 => {
            return fail(ERR_ARG, format!("{color} is no color; it must be 0 or more"));
        }
        color => color.map(|color| color as usize),
    };
    // Keys may be negative, and only their order counts.
    let key = (i64::from(key) - i64::from(i32::MIN)) as usize;
    if comm.is_inter() {
        return split_inter(comm, color, key);
    }
    let made = comm.all.split(color, key)?;
    made.map(|made| Ok(Comm::new(made)?.like(comm))).transpose()
}

/// The ranks that share memory.
#[track_caller]
pub(crate) fn split_by_host(comm: &Comm, joins: bool, key: i32) -> Result<Option<Comm>> {
    let key = (i64::from(key) - i64::from(i32::MIN)) as usize;
    if comm.is_inter() {
        // Named by the first rank of the host, of whichever group.
        let host = comm.all.split_by_host()?.group().ranks()[0];
        return split_inter(comm, joins.then_some(host), key);
    }
    let Some(joined) = comm.local().split(joins.then_some(0), key)? else { return Ok(None) };
    Ok(Some(Comm::new(joined.split_by_host()?)?.like(comm)))
}

/// The same ranks again, without attributes.
#[track_caller]
pub(crate) fn duplicate(comm: &Comm) -> Result<Comm> {
    let all = comm.all.duplicate()?;
    let local = comm.remote.as_ref().map(|remote| remote.local.duplicate()).transpose()?;
    again(comm, all, local)
}

/// The same ranks again, for a collective whose messages are to go together with those of no other.
#[track_caller]
pub(crate) fn apart(comm: &Comm) -> Result<Arc<Comm>> {
    duplicate(comm).map(Arc::new)
}

/// What is made like another one, of communicators of all and of its own group.
fn again(comm: &Comm, all: Communicator, local: Option<Communicator>) -> Result<Comm> {
    let mut made = Comm::new(all)?.like(comm);
    if let (Some(remote), Some(local)) = (&comm.remote, local) {
        made.remote = Some(Remote { local_twin: local.twin()?, local, ..*remote });
    }
    made.topology = comm.topology.clone();
    Ok(made)
}

/// Begins what [`duplicate`] does; nobody is waited for until its end, when `done` gets the communicator.
#[track_caller]
pub(crate) fn start_duplicate(comm: &Arc<Comm>, done: impl FnOnce(Comm) + Send + 'static) -> Result<Work> {
    const WORD: usize = 8;
    let all = comm.all.offer_among(&comm.all.group())?;
    let local =
        comm.remote.as_ref().map(|remote| remote.local.offer_among(&remote.local.group())).transpose()?;
    // Everybody tells a word for all, and one for its own group.
    let (mut mine, mut theirs) = (Owned::new(2 * WORD), Owned::new(2 * WORD * comm.all.size()));
    let words = [all.word(), local.as_ref().map_or([0; WORD], ringworld::Offered::word)];
    mine.bytes_mut().copy_from_slice(words.as_flattened());
    let call = Call::AllGather { blocks: Blocks::Same };
    let pending = comm.twin.begin_foreign(&call, Some(mine.foreign()), Some(theirs.foreign()))?;
    let comm = Arc::clone(comm);
    Ok(Work::many(
        vec![pending],
        Box::new(move |ended| {
            drop(mine);
            all_well(ended)?;
            let (words, _) = theirs.bytes().as_chunks::<WORD>();
            let all = all.made(&words.iter().copied().step_by(2).collect::<Vec<_>>())?;
            let local = match (local, &comm.remote) {
                (Some(local), Some(remote)) => {
                    let own = words.iter().copied().skip(1).step_by(2).skip(remote.first_local);
                    Some(local.made(&own.take(remote.local.size()).collect::<Vec<_>>())?)
                }
                _ => None,
            };
            done(again(&comm, all, local)?);
            Ok(Work::Done(Status::EMPTY))
        }),
    ))
}

/// A word of each rank of a communicator, and of them those of some.
fn words(on: &Communicator, word: [u8; 8], of: impl Iterator<Item = usize>) -> Result<Vec<[u8; 8]>> {
    let all = on.all_gather_vec(&[word])?;
    of.map(|rank| {
        all.get(rank).copied().ok_or_else(|| error(ERR_GROUP, "the group has ranks that do not take part"))
    })
    .collect()
}

/// The places of a group's members in a communicator.
fn places(on: &Communicator, group: &Group) -> Result<Vec<usize>> {
    let ranks = on.group();
    let place = |rank: &usize| {
        ranks
            .rank_of(*rank)
            .ok_or_else(|| error(ERR_GROUP, "the group has processes that the communicator has not"))
    };
    group.ranks().iter().map(place).collect()
}

/// A communicator of a group, made by all of the communicator; `None` for those who are not in it.
pub(crate) fn create(comm: &Comm, group: &Group) -> Result<Option<Comm>> {
    if comm.is_inter() {
        let me = comm.local().rank();
        let key = places(comm.local(), group)?.iter().position(|place| *place == me);
        return split_inter(comm, key.map(|_| 0), key.unwrap_or(0));
    }
    let members = places(&comm.all, group)?;
    if !members.contains(&comm.all.rank()) {
        // The others exchange words nevertheless.
        let _theirs = comm.twin.all_gather_vec(&[[0u8; 8]])?;
        return Ok(None);
    }
    let made = comm.all.create_among(group, |word| words(&comm.twin, word, members.iter().copied()))?;
    Ok(Some(Comm::new(made)?.like(comm)))
}

/// A communicator of a group, made by its members alone.
pub(crate) fn create_group(comm: &Comm, group: &Group, tag: u32) -> Result<Option<Comm>> {
    let on = comm.local_twin();
    let members = places(comm.local(), group)?;
    if !members.contains(&comm.local().rank()) {
        return Ok(None);
    }
    let made = on.create_among(group, |word| exchange(on, &members, TAGGED | tag, word))?;
    Ok(Some(Comm::new(made)?.like(comm)))
}

/// A word of each member, by messages: the first one collects them.
fn exchange(on: &Communicator, members: &[usize], tag: u32, word: [u8; 8]) -> Result<Vec<[u8; 8]>> {
    let mut words = vec![[0u8; 8]; members.len()];
    let first = members[0];
    if on.rank() != first {
        on.send(&[word], first, tag)?;
        on.recv(&mut words, first, tag)?;
        return Ok(words);
    }
    words[0] = word;
    for (place, member) in members.iter().enumerate().skip(1) {
        on.recv(&mut words[place..=place], *member, tag)?;
    }
    for member in &members[1..] {
        on.send(&words, *member, tag)?;
    }
    Ok(words)
}

/// A leader's way to the other group's leader.
pub(crate) struct Leaders<'a> {
    pub(crate) local: usize,
    /// At the leader: a communicator that has both, and the other's rank there.
    pub(crate) peer: Option<(&'a Comm, usize)>,
    pub(crate) tag: u32,
}

impl Leaders<'_> {
    /// Gives all of this group what the leaders give each other.
    fn swap(&self, on: &Communicator, mine: &[u64]) -> Result<Vec<u64>> {
        let mut theirs = Vec::new();
        let mut trouble = None;
        if let Some((peer, remote)) = self.peer {
            let tag = TAGGED | self.tag;
            let sent = peer.twin.start_send(mine.to_vec(), remote, tag)?;
            match peer.twin.recv_vec(remote, tag).and_then(|came| sent.wait().map(|_| came)) {
                Ok((came, _)) => theirs = came,
                Err(why) => trouble = Some(why),
            }
        }
        let mut length = [theirs.len() as u64];
        on.broadcast(&mut length, self.local)?;
        theirs.resize(length[0] as usize, 0);
        on.broadcast(&mut theirs, self.local)?;
        match trouble {
            Some(why) => Err(why.into()),
            None if theirs.is_empty() => fail(ERR_OTHER, "the leaders of the two groups could not speak"),
            None => Ok(theirs),
        }
    }
}

/// An intercommunicator of two groups that are brought together by their leaders.
pub(crate) fn intercomm(comm: &Comm, leaders: &Leaders<'_>) -> Result<Comm> {
    let on = comm.local_twin();
    let mine = comm.local().group();
    let numbers = |group: &Group| group.ranks().iter().map(|rank| *rank as u64).collect::<Vec<_>>();
    let theirs = leaders.swap(on, &numbers(&mine))?;
    let theirs = groups::of(theirs.into_iter().map(|rank| rank as usize));
    if !mine.intersection(&theirs).is_empty() {
        return fail(ERR_ARG, "the two groups of an intercommunicator must not overlap");
    }
    of_groups(comm, &mine, &theirs, |word| {
        let ours = on.all_gather_vec(&[word])?;
        let told: Vec<u64> = ours.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let theirs = leaders.swap(on, &told)?;
        Ok((ours, theirs.into_iter().map(u64::to_le_bytes).collect()))
    })
}

/// An intercommunicator of these groups. `exchange` gives everybody's words: of this group, and of the other.
fn of_groups(
    comm: &Comm,
    mine: &Group,
    theirs: &Group,
    exchange: impl Fn([u8; 8]) -> Result<(Vec<[u8; 8]>, Vec<[u8; 8]>)>,
) -> Result<Comm> {
    // Both sides must see the same order: that of the lowest rank.
    let lowest = |group: &Group| group.ranks().iter().min().copied();
    let is_low = lowest(mine) < lowest(theirs);
    let both = if is_low { mine.union(theirs) } else { theirs.union(mine) };
    let all = comm.all.create_among(&both, |word| {
        let (ours, theirs) = exchange(word)?;
        let (first, second) = if is_low { (ours, theirs) } else { (theirs, ours) };
        Ok::<_, Error>([first, second].concat())
    })?;
    let local = comm.all.create_among(mine, |word| Ok::<_, Error>(exchange(word)?.0))?;
    let (first_local, first_remote) = if is_low { (0, mine.len()) } else { (theirs.len(), 0) };
    let mut made = Comm::new(all)?.like(comm);
    made.remote =
        Some(Remote { local_twin: local.twin()?, local, first_local, first_remote, size: theirs.len() });
    Ok(made)
}

/// Intercommunicators of the ranks of the same color on both sides.
fn split_inter(comm: &Comm, color: Option<usize>, key: usize) -> Result<Option<Comm>> {
    let Some(remote) = &comm.remote else { return fail(ERR_ARG, "this is no intercommunicator") };
    let offer = [color.map_or(u64::MAX, |color| color as u64), key as u64];
    let offers = comm.twin.all_gather_vec(&[offer])?;
    let members = |first: usize, size: usize| {
        let mut members: Vec<(u64, usize)> = (first..first + size)
            .filter(|rank| color.is_some() && offers[*rank][0] == offer[0])
            .map(|rank| (offers[rank][1], rank))
            .collect();
        members.sort_unstable();
        members.into_iter().map(|(_, rank)| rank).collect::<Vec<_>>()
    };
    let mine = members(remote.first_local, comm.size());
    let theirs = members(remote.first_remote, remote.size);
    if mine.is_empty() || theirs.is_empty() {
        // The others make two communicators, for each of which all exchange words.
        for _ in 0..2 {
            let _theirs = comm.twin.all_gather_vec(&[[0u8; 8]])?;
        }
        return Ok(None);
    }
    let ranks = comm.all.group();
    let group = |members: &[usize]| groups::of(members.iter().map(|rank| ranks.ranks()[*rank]));
    of_groups(comm, &group(&mine), &group(&theirs), |word| {
        let all = comm.twin.all_gather_vec(&[word])?;
        let of = |members: &[usize]| members.iter().map(|rank| all[*rank]).collect();
        Ok((of(&mine), of(&theirs)))
    })
    .map(Some)
}

/// One communicator of both groups, those who say `high` last.
pub(crate) fn merge(comm: &Comm, high: bool) -> Result<Comm> {
    let Some(remote) = &comm.remote else { return fail(ERR_ARG, "this is no intercommunicator") };
    let flags = comm.twin.all_gather_vec(&[u8::from(high)])?;
    let group_of = |first: usize, size: usize| -> Result<u8> {
        let flags = &flags[first..first + size];
        if flags.iter().all(|flag| *flag == flags[0]) {
            return Ok(flags[0]);
        }
        fail(ERR_ARG, "all processes of a group must give the same value of high")
    };
    let (mine, theirs) =
        (group_of(remote.first_local, comm.size()), group_of(remote.first_remote, remote.size));
    let mut members: Vec<usize> = (0..comm.all.size()).collect();
    // Where both say the same, that with the lowest rank comes first, which it does already.
    let (low_local, size) = (remote.first_local == 0, comm.all.size());
    let (mine, theirs) = match (mine, theirs) {
        (Ok(mine), Ok(theirs)) => (mine, theirs),
        (Err(why), _) | (_, Err(why)) => return Err(why),
    };
    let first_is_high = if low_local { mine > theirs } else { theirs > mine };
    if first_is_high {
        let first = if low_local { size - remote.size } else { remote.size };
        members.rotate_left(first);
    }
    let ranks = comm.all.group();
    let group = groups::of(members.iter().map(|rank| ranks.ranks()[*rank]));
    let made = comm.all.create_among(&group, |word| words(&comm.twin, word, members.iter().copied()))?;
    Ok(Comm::new(made)?.like(comm))
}
