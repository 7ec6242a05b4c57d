//! This process: from `MPI_Init`, or a first session, to `MPI_Finalize`.
//!
//! There is one world in a process, which the first of them brings together. It is left by `MPI_Finalize`, or by the
//! last session if that ends later. Where there were only sessions it stays after the last of them, so that others may
//! follow, until the process ends.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::ThreadId;
use std::time::Instant;

use ringworld::World;

use crate::abort;
use crate::comms::{self, Comm};
use crate::error::{Error, Result, error, fail};
use crate::freed;
use crate::inside;
use crate::lock::Lock;
use crate::standard::{self, ERR_OTHER};

/// What is changed by one thread at a time.
struct Process {
    world: Option<Box<World>>,
    /// The world has been left, or the process ends, and there is no other.
    left: bool,
    /// Something is done at the end of the process.
    ends_well: bool,
}

static PROCESS: Lock<Process> = Lock::new(Process { world: None, left: false, ends_well: false });

// What follows is read without the lock. A thread has that for as long as the world takes to come together; another
// that asks meanwhile need not wait, and a child that is forked then could not.
/// `MPI_Init` has returned.
static INITIALIZED: AtomicBool = AtomicBool::new(false);
/// `MPI_Finalize` has done what may be done before it.
static FINALIZED: AtomicBool = AtomicBool::new(false);
/// The thread that has initialized.
static MAIN: OnceLock<ThreadId> = OnceLock::new();
/// The process that has joined; 0: none.
static MAKER: AtomicU32 = AtomicU32::new(0);
/// How many there are, changed with the lock.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);

static BEGAN: RwLock<Option<Instant>> = RwLock::new(None);

/// Whether the process is between `MPI_Init` and `MPI_Finalize`.
fn is_between() -> bool {
    INITIALIZED.load(Ordering::Acquire) && !FINALIZED.load(Ordering::Acquire)
}

/// A child cannot have what a thread of its parent had when it was forked.
#[cold]
fn forked_within() -> Error {
    error(
        ERR_OTHER,
        "this process was forked while another thread of its parent was about to begin or to end MPI, and has no part \
         in it; fork before MPI_Init or behind it, and call MPI in the parent, or in a program that the child executes",
    )
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
        MAKER.store(std::process::id(), Ordering::Release);
        Ok(())
    }

    /// The world, to be left, if nobody needs it any more.
    fn parting(&mut self) -> Option<Box<World>> {
        let may_come_back = if INITIALIZED.load(Ordering::Acquire) {
            !FINALIZED.load(Ordering::Acquire)
        } else {
            // Unless the end of the process has been here.
            !self.left
        };
        if SESSIONS.load(Ordering::Acquire) > 0 || may_come_back {
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
    let mut process = PROCESS.lock().ok_or_else(forked_within)?;
    if INITIALIZED.load(Ordering::Acquire) {
        return fail(ERR_OTHER, "MPI has been initialized before, which can be done once");
    }
    process.join()?;
    comms::appear();
    MAIN.get_or_init(|| std::thread::current().id());
    INITIALIZED.store(true, Ordering::Release);
    Ok(())
}

/// `MPI_Finalize`.
pub(crate) fn finalize() -> Result<()> {
    if !is_between() {
        return fail(ERR_OTHER, "MPI has not been initialized, or has been finalized already");
    }
    if is_forked() {
        // The program's atexit, say, which a child has from its parent, whose world goes on.
        FINALIZED.store(true, Ordering::Release);
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
        let process = PROCESS.lock();
        FINALIZED.store(true, Ordering::Release);
        process.and_then(|mut process| process.parting())
    };
    part(world)
}

/// Whether this process is a child of the one that has joined, forked since then.
fn is_forked() -> bool {
    let maker = MAKER.load(Ordering::Acquire);
    maker != 0 && maker != std::process::id()
}

/// A session begins.
pub(crate) fn enter() -> Result<()> {
    let mut process = PROCESS.lock().ok_or_else(forked_within)?;
    process.join()?;
    SESSIONS.fetch_add(1, Ordering::AcqRel);
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
        // A child that never gets it has nobody to tell.
        let Some(mut process) = PROCESS.lock() else { return };
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
        let process = PROCESS.lock();
        let _ =
            SESSIONS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |sessions| sessions.checked_sub(1));
        // A child that never gets it has nothing to leave.
        process.and_then(|mut process| process.parting())
    };
    part(world)
}

pub(crate) fn is_initialized() -> bool {
    INITIALIZED.load(Ordering::Acquire)
}

pub(crate) fn is_finalized() -> bool {
    FINALIZED.load(Ordering::Acquire)
}

/// Whether this is the thread that has initialized.
pub(crate) fn is_main_thread() -> Result<bool> {
    if !is_between() {
        return fail(ERR_OTHER, "MPI has not been initialized, or has been finalized");
    }
    Ok(MAIN.get() == Some(&std::thread::current().id()))
}

/// The communicator of all, for whoever is in MPI by `MPI_Init` or by a session.
pub(crate) fn base() -> Result<Arc<Comm>> {
    let is_in = SESSIONS.load(Ordering::Acquire) > 0 || is_between();
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
