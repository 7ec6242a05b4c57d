//! This process: from `MPI_Init`, or a first session, to `MPI_Finalize`.
//!
//! There is one world in a process, which the first of them brings together. It is left by `MPI_Finalize`, or by the
//! last session if that ends later. Where there were only sessions it stays after the last of them, so that others may
//! follow, until the process ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::ThreadId;
use std::time::Instant;

use ringworld::World;

use crate::abort;
use crate::comms::{self, Comm};
use crate::error::{Result, error, fail};
use crate::freed;
use crate::inside;
use crate::standard::{self, ERR_OTHER};

/// Where the process is with `MPI_Init` and `MPI_Finalize`.
#[derive(Clone, Copy)]
enum Life {
    Before,
    /// The thread is the one that has initialized.
    During(ThreadId),
    After,
}

struct Process {
    life: Life,
    sessions: usize,
    world: Option<Box<World>>,
    /// The world has been left, or the process ends, and there is no other.
    left: bool,
    /// Something is done at the end of the process.
    ends_well: bool,
}

static PROCESS: Mutex<Process> =
    Mutex::new(Process { life: Life::Before, sessions: 0, world: None, left: false, ends_well: false });
static BEGAN: RwLock<Option<Instant>> = RwLock::new(None);

fn process() -> MutexGuard<'static, Process> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    /// Brings the world together, if that has not been done.
    fn join(&mut self) -> Result<()> {
        if self.left {
            return fail(ERR_OTHER, "MPI has been finalized, and a process can be in one world only");
        }
        if self.world.is_some() {
            return Ok(());
        }
        let world = World::from_env()?;
        let me = world.group().include([world.rank()])?;
        let own = world.create_among(&me, |word| Ok::<_, ringworld::Error>(vec![word]))?;
        abort::of(Some(ringworld::Communicator::clone(&world)));
        comms::begin(Comm::new(ringworld::Communicator::clone(&world))?, Comm::new(own)?);
        self.world = Some(Box::new(world));
        Ok(())
    }

    /// The world, to be left, if nobody needs it any more.
    fn parting(&mut self) -> Option<Box<World>> {
        let may_come_back = match self.life {
            // Unless the end of the process has been here.
            Life::Before => !self.left,
            Life::During(_) => true,
            Life::After => false,
        };
        if self.sessions > 0 || may_come_back {
            return None;
        }
        self.left = true;
        self.world.take()
    }
}

fn part(world: Option<Box<World>>) -> Result<()> {
    // A child that was forked since then has a copy, and says nothing to anybody.
    let Some(world) = world.filter(|world| !world.is_forked()) else { return Ok(()) };
    freed::end_of_all()?;
    abort::of(None);
    Ok(world.finish()?)
}

/// `MPI_Init`.
pub(crate) fn initialize() -> Result<()> {
    let mut process = process();
    if !matches!(process.life, Life::Before) {
        return fail(ERR_OTHER, "MPI has been initialized before, which can be done once");
    }
    process.join()?;
    comms::appear();
    process.life = Life::During(std::thread::current().id());
    Ok(())
}

/// `MPI_Finalize`.
pub(crate) fn finalize() -> Result<()> {
    if !matches!(process().life, Life::During(..)) {
        return fail(ERR_OTHER, "MPI has not been initialized, or has been finalized already");
    }
    if is_forked() {
        // The program's atexit, say, which a child has from its parent, whose world goes on.
        process().life = Life::After;
        return Ok(());
    }
    inside::refuse("finalize")?;
    // Before anything else: functions of the program may still communicate.
    for handle in [standard::Comm::SELF, standard::Comm::WORLD] {
        let comm = comms::get(handle)?;
        comm.attributes.delete_all(handle.0)?;
    }
    for handle in [standard::Comm::SELF, standard::Comm::WORLD] {
        comms::get(handle)?.pool.flush()?;
    }
    crate::buffered::PROCESS.flush()?;
    comms::end();
    let world = {
        let mut process = process();
        process.life = Life::After;
        process.parting()
    };
    part(world)
}

/// Whether this process is a child of the one that has joined, forked since then.
fn is_forked() -> bool {
    process().world.as_ref().is_some_and(|world| world.is_forked())
}

/// A session begins.
pub(crate) fn enter() -> Result<()> {
    let mut process = process();
    process.join()?;
    process.sessions += 1;
    if !process.ends_well {
        process.ends_well = true;
        at_exit(end_of_process);
    }
    Ok(())
}

/// Leaves a world that there were only sessions in, all of which have ended: the others are told so, and do not take
/// the end of the process for a failure. Of its own errors nobody hears any more.
extern "C" fn end_of_process() {
    if abort::is_under_way() {
        return;
    }
    let world = {
        let mut process = process();
        process.left = true;
        process.parting()
    };
    let Some(world) = world.filter(|world| !world.is_forked()) else { return };
    // In a thread of its own: what this one kept for itself is gone.
    let parting = std::thread::Builder::new().spawn(|| part(Some(world)).is_ok());
    let _ = parting.map(std::thread::JoinHandle::join);
}

/// Has a function called at the end of the process, or when the library is unloaded.
#[allow(unsafe_code)]
fn at_exit(function: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: it is C's own function, and the other is as long there as this library. Without memory for it, the world
    // is left without a word.
    let _ = unsafe { atexit(function) };
}

/// A session ends.
pub(crate) fn leave() -> Result<()> {
    let world = {
        let mut process = process();
        process.sessions = process.sessions.saturating_sub(1);
        process.parting()
    };
    part(world)
}

pub(crate) fn is_initialized() -> bool {
    !matches!(process().life, Life::Before)
}

pub(crate) fn is_finalized() -> bool {
    matches!(process().life, Life::After)
}

/// Whether this is the thread that has initialized.
pub(crate) fn is_main_thread() -> Result<bool> {
    match process().life {
        Life::During(thread) => Ok(thread == std::thread::current().id()),
        Life::Before | Life::After => fail(ERR_OTHER, "MPI has not been initialized, or has been finalized"),
    }
}

/// The communicator of all, for whoever is in MPI by `MPI_Init` or by a session.
pub(crate) fn base() -> Result<Arc<Comm>> {
    let is_in = {
        let process = process();
        process.sessions > 0 || matches!(process.life, Life::During(_))
    };
    let found = if is_in { comms::of_all() } else { None };
    found.ok_or_else(|| error(ERR_OTHER, "MPI has not been initialized, or has been finalized"))
}

/// This process's rank among all.
pub(crate) fn rank() -> Result<usize> {
    Ok(base()?.rank())
}

/// Seconds since some moment of the past.
pub(crate) fn seconds() -> f64 {
    let began = *BEGAN.read().unwrap_or_else(PoisonError::into_inner);
    let began = began.unwrap_or_else(|| {
        *BEGAN.write().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now)
    });
    // Never 0, which a program might take for a clock that stands still.
    1.0 + began.elapsed().as_secs_f64()
}
