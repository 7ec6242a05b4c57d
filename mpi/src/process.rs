//! This process: from `MPI_Init` to `MPI_Finalize`.

use std::sync::{Mutex, PoisonError, RwLock};
use std::thread::ThreadId;
use std::time::Instant;

use ringworld::World;

use crate::abort;
use crate::comms::{self, Comm};
use crate::error::{Result, fail};
use crate::requests;
use crate::standard::{self, ERR_OTHER};

/// Where the process is.
enum Life {
    Before,
    /// The thread is the one that has initialized.
    During(Box<World>, ThreadId),
    After,
}

static LIFE: Mutex<Life> = Mutex::new(Life::Before);
static BEGAN: RwLock<Option<Instant>> = RwLock::new(None);

fn life() -> std::sync::MutexGuard<'static, Life> {
    LIFE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Brings the world together.
pub(crate) fn initialize() -> Result<()> {
    let mut life = life();
    if !matches!(*life, Life::Before) {
        return fail(ERR_OTHER, "MPI has been initialized before, which can be done once");
    }
    let world = World::from_env()?;
    let me = world.group().include([world.rank()])?;
    let own = world.create_among(&me, |word| Ok::<_, ringworld::Error>(vec![word]))?;
    abort::of(Some(ringworld::Communicator::clone(&world)));
    comms::begin(Comm::new(ringworld::Communicator::clone(&world))?, Comm::new(own)?);
    *life = Life::During(Box::new(world), std::thread::current().id());
    Ok(())
}

/// Leaves the world.
pub(crate) fn finalize() -> Result<()> {
    if !matches!(*life(), Life::During(..)) {
        return fail(ERR_OTHER, "MPI has not been initialized, or has been finalized already");
    }
    // Before anything else: functions of the program may still communicate.
    for handle in [standard::Comm::SELF, standard::Comm::WORLD] {
        let comm = comms::get(handle)?;
        comm.attributes.delete_all(handle.0)?;
    }
    for handle in [standard::Comm::SELF, standard::Comm::WORLD] {
        comms::get(handle)?.pool.flush()?;
    }
    crate::buffered::PROCESS.flush()?;
    requests::end_of_all()?;
    comms::end();
    abort::of(None);
    let ended = std::mem::replace(&mut *life(), Life::After);
    match ended {
        Life::During(world, _) => Ok(world.finish()?),
        Life::Before | Life::After => Ok(()),
    }
}

pub(crate) fn is_initialized() -> bool {
    !matches!(*life(), Life::Before)
}

pub(crate) fn is_finalized() -> bool {
    matches!(*life(), Life::After)
}

/// Whether this is the thread that has initialized.
pub(crate) fn is_main_thread() -> Result<bool> {
    match &*life() {
        Life::During(_, thread) => Ok(*thread == std::thread::current().id()),
        Life::Before | Life::After => fail(ERR_OTHER, "MPI has not been initialized, or has been finalized"),
    }
}

/// This process's rank among all.
pub(crate) fn rank() -> Result<usize> {
    Ok(comms::get(standard::Comm::WORLD)?.rank())
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
