//! The trace of a rank: where it goes, and whose it is.
//!
//! Room for it is taken before anything else is done, so that a folder that cannot be written ends nobody but the rank
//! that it was given to. Neighbours: the engine writes, `ringworld_trace` knows the file.

use std::hash::{BuildHasher as _, RandomState};

use ringworld_bootstrap::{Session, Settings};
use ringworld_engine::trace::{Info, Recorder, Room};

use crate::{Error, Result};

/// Takes the room, if there is to be a trace.
pub(super) fn room(settings: &Settings) -> Result<Option<Room>> {
    let room = settings.trace.as_deref().map(|folder| Room::take(folder, settings.trace_size));
    room.transpose().map_err(|error| Error::Bootstrap(error.to_string()))
}

/// The same, for a later generation: it is not to end for want of room.
pub(super) fn room_if_any(settings: &Settings) -> Option<Room> {
    room(settings).unwrap_or_else(|error| {
        tracing::warn!("this generation is not traced: {error}");
        None
    })
}

/// Begins the trace of a rank of a world that has formed.
pub(super) fn begin(room: Option<Room>, settings: &Settings, session: &Session) -> Result<Option<Recorder>> {
    let member = session.members.get(session.rank);
    let info = Info {
        world: session.job,
        rank: session.rank,
        size: session.size,
        host: member.map_or_else(String::new, |member| member.host.clone()),
        host_id: member.map_or(0, |member| member.host_id),
        ..of_this_process(settings)
    };
    named(room, &info)
}

/// Begins the trace of a world of one.
pub(super) fn begin_alone(room: Option<Room>, settings: &Settings) -> Result<Option<Recorder>> {
    let world = RandomState::new().hash_one(std::process::id());
    let info = Info { world, size: 1, host: ringworld_bootstrap::host_name(), ..of_this_process(settings) };
    named(room, &info)
}

fn named(room: Option<Room>, info: &Info) -> Result<Option<Recorder>> {
    room.map(|room| room.begin(info)).transpose().map_err(|error| Error::Bootstrap(error.to_string()))
}

fn of_this_process(settings: &Settings) -> Info {
    let program = std::env::args_os().next().unwrap_or_default();
    Info {
        job: settings.job.clone(),
        pid: std::process::id(),
        program: program.to_string_lossy().into_owned(),
        ..Info::default()
    }
}
