//! Sessions: ways into MPI beside `MPI_Init`, each with its own error handler (MPI 5.0, section 11.3).
//!
//! There are two process sets, `mpi://WORLD` and `mpi://SELF`. All sessions, and `MPI_COMM_WORLD`, are of one world of
//! the runtime's, which `process` brings together for the first of them.

use std::sync::{Arc, Mutex, PoisonError};

use ringworld::Group;

use crate::buffered::Pool;
use crate::errhandlers::{self, Handler, raise};
use crate::error::{Result, error, fail};
use crate::groups;
use crate::guard::nowhere;
use crate::info::Info;
use crate::kind::Kind;
use crate::objects::Table;
use crate::process;
use crate::standard::{self, ERR_ARG, ERR_SESSION};

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) pool: Pool,
    handler: Mutex<Arc<Handler>>,
}

static MADE: Table<Session> = Table::new();

/// The process sets, by their numbers.
pub(crate) const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

impl Session {
    pub(crate) fn handler(&self) -> Arc<Handler> {
        Arc::clone(&self.handler.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_handler(&self, handler: Arc<Handler>) {
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner) = handler;
    }
}

/// Begins one.
pub(crate) fn begin(handler: Arc<Handler>) -> Result<standard::Session> {
    process::enter()?;
    let session = Session { pool: Pool::default(), handler: Mutex::new(handler) };
    Ok(standard::Session(MADE.insert(Arc::new(session))))
}

fn get(handle: standard::Session) -> Result<Arc<Session>> {
    MADE.get(handle.0).ok_or_else(|| match handle {
        standard::Session::NULL => error(ERR_SESSION, "MPI_SESSION_NULL was given"),
        _ => error(ERR_SESSION, format!("{:#x} is no session, or one that has been finalized", handle.0)),
    })
}

/// Ends one.
pub(crate) fn end(handle: standard::Session) -> Result<()> {
    // Refused within an operation of the program's.
    get(handle)?.pool.flush()?;
    // Whoever takes it out of the table is the one that ends it.
    match MADE.remove(handle.0) {
        Some(_) => process::leave(),
        None => get(handle).map(drop),
    }
}

/// The processes of a set.
pub(crate) fn set(name: &str) -> Result<Group> {
    let base = process::base()?;
    if name.eq_ignore_ascii_case(SETS[0]) {
        return Ok(base.all.group());
    }
    if name.eq_ignore_ascii_case(SETS[1]) {
        return Ok(groups::of([base.all.rank()]));
    }
    fail(ERR_ARG, format!("there is no process set {name:?}; there are {}", SETS.join(" and ")))
}

/// What is told of a set.
pub(crate) fn info(name: &str) -> Result<Info> {
    let info = Info::default();
    info.set("mpi_size".into(), set(name)?.len().to_string())?;
    Ok(info)
}

/// A call about a session: errors go to its handler.
pub(crate) fn on_session(
    call: &str,
    handle: standard::Session,
    body: impl FnOnce(&Arc<Session>) -> Result<()>,
) -> i32 {
    let session = match get(handle) {
        Ok(session) => session,
        Err(why) => return nowhere(call, &why),
    };
    match body(&session) {
        Ok(()) => 0,
        Err(why) => raise(&session.handler(), handle.0, call, &why),
    }
}

/// A call that makes a session or a communicator: errors go to the handler that it is to have. `null`: what a handler
/// of the program's is told in place of what has not been made.
pub(crate) fn on_new(
    call: &str,
    (errhandler, kind): (standard::Errhandler, Kind),
    null: usize,
    body: impl FnOnce(&Arc<Handler>) -> Result<()>,
) -> i32 {
    let handler = match errhandlers::get(errhandler, kind) {
        Ok(handler) => handler,
        Err(why) => return nowhere(call, &why),
    };
    match body(&handler) {
        Ok(()) => 0,
        Err(why) => raise(&handler, null, call, &why),
    }
}

/// Waits until all has been sent that sessions buffer for a communicator.
pub(crate) fn flush_on(comm: standard::Comm) -> Result<()> {
    MADE.find_all(|_| true).iter().try_for_each(|session| session.pool.flush_on(comm))
}

/// A session with a buffer for buffered sends. Which one a communicator was made by is not kept: it is that of any.
pub(crate) fn buffering() -> Option<Arc<Session>> {
    MADE.find(|session| session.pool.is_attached())
}
