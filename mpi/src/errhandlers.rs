//! Error handlers: what becomes of an error of a call (MPI 5.0, section 9.3).

#![allow(unsafe_code)]

use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use crate::abort;
use crate::error::{Error, Result, fail};
use crate::host::{Function, host};
use crate::kind::Kind;
use crate::objects::Table;
use crate::standard::{self, ERR_ERRHANDLER};

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Handler {
    /// End the world.
    Fatal,
    /// End the processes of the communicator, which ends the world.
    Abort,
    /// Return the code.
    Return,
    /// Call a function of the program, which was made for objects of a kind.
    Function(Kind, Function),
}

static MADE: Table<Handler> = Table::new();
static PREDEFINED: LazyLock<[Arc<Handler>; 3]> =
    LazyLock::new(|| [Handler::Fatal, Handler::Abort, Handler::Return].map(Arc::new));

pub(crate) fn fatal() -> Arc<Handler> {
    Arc::clone(&PREDEFINED[0])
}

pub(crate) fn insert(handler: Arc<Handler>) -> standard::Errhandler {
    match *handler {
        Handler::Fatal => standard::Errhandler::ARE_FATAL,
        Handler::Abort => standard::Errhandler::ABORT,
        Handler::Return => standard::Errhandler::RETURN,
        Handler::Function(..) => standard::Errhandler(MADE.insert(handler)),
    }
}

/// What a handle stands for, at objects of this kind.
pub(crate) fn get(handle: standard::Errhandler, kind: Kind) -> Result<Arc<Handler>> {
    let found = match handle {
        standard::Errhandler::ARE_FATAL => Some(Arc::clone(&PREDEFINED[0])),
        standard::Errhandler::ABORT => Some(Arc::clone(&PREDEFINED[1])),
        standard::Errhandler::RETURN => Some(Arc::clone(&PREDEFINED[2])),
        _ => MADE.get(handle.0),
    };
    match found {
        Some(handler) => match *handler {
            Handler::Function(of, _) if of != kind => {
                fail(ERR_ERRHANDLER, format!("the error handler is for {of:?}, not for {kind:?}"))
            }
            _ => Ok(handler),
        },
        None => fail(ERR_ERRHANDLER, format!("{:#x} is no error handler", handle.0)),
    }
}

pub(crate) fn remove(handle: standard::Errhandler) -> Result<()> {
    let predefined = standard::Errhandler::ARE_FATAL.0..=standard::Errhandler::RETURN.0;
    if predefined.contains(&handle.0) || MADE.remove(handle.0).is_some() {
        return Ok(());
    }
    fail(ERR_ERRHANDLER, format!("{:#x} is no error handler", handle.0))
}

/// Does with an error of a call what the handler says; the code for the caller. `object`: whose handler it is.
#[cold]
pub(crate) fn raise(handler: &Handler, object: usize, call: &str, why: &Error) -> i32 {
    let code = why.code();
    match handler {
        Handler::Return => {}
        Handler::Fatal | Handler::Abort => give_up(call, code, &why.words()),
        Handler::Function(kind, function) => {
            // SAFETY: it is what the program has made the handler with, for objects of this kind.
            unsafe { (host().call_errhandler)(*function, *kind, object, code) }
        }
    }
    code
}

/// Ends the world by name.
pub(crate) fn give_up(call: &str, code: i32, words: &str) -> ! {
    let reason = format!("{call} failed: {words}");
    // There is nobody else to tell if it cannot be written.
    let _ = writeln!(std::io::stderr(), "ringworld: {reason}");
    let class = match code & 0xffff {
        0 => standard::ERR_OTHER,
        class => class,
    };
    abort::abort(class, &reason)
}
