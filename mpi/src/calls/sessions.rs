//! Sessions.

use std::sync::Arc;

use super::point_to_point::detached;
use crate::arguments::{Address, Handles, IntOut, Text, TextOut};
use crate::errhandlers::{self, Handler, raise};
use crate::error::{self, fail};
use crate::groups;
use crate::info::{self, Info as Pairs};
use crate::kind::Kind;
use crate::requests;
use crate::sessions::{self, SETS, on_new, on_session};
use crate::standard::{ERR_ARG, Errhandler, Group, Info, Request, Session};
use crate::work::Work;

pub fn session_init(info: Info, errhandler: Errhandler, session: Handles<Session>) -> i32 {
    on_new("MPI_Session_init", (errhandler, Kind::Session), Session::NULL.0, |handler| {
        info::optional(info)?;
        session.set(sessions::begin(Arc::clone(handler))?);
        Ok(())
    })
}

pub fn session_finalize(session: Handles<Session>) -> i32 {
    let handle = session.get(0);
    on_session("MPI_Session_finalize", handle, |_| {
        sessions::end(handle)?;
        session.set(Session::NULL);
        Ok(())
    })
}

pub fn session_get_info(session: Session, info_used: Handles<Info>) -> i32 {
    on_session("MPI_Session_get_info", session, |_| {
        let known = Pairs::default();
        known.set("thread_level".into(), "MPI_THREAD_MULTIPLE".into())?;
        info_used.set(info::insert(known));
        Ok(())
    })
}

pub fn session_get_num_psets(session: Session, _info: Info, npset_names: IntOut) -> i32 {
    on_session("MPI_Session_get_num_psets", session, |_| {
        npset_names.set(SETS.len() as i64);
        Ok(())
    })
}

pub fn session_get_nth_pset(
    session: Session,
    _info: Info,
    n: i32,
    pset_len: IntOut,
    pset_name: TextOut,
) -> i32 {
    on_session("MPI_Session_get_nth_pset", session, |_| {
        let Some(name) = usize::try_from(n).ok().and_then(|n| SETS.get(n)) else {
            return fail(ERR_ARG, format!("there is no process set {n} of {}", SETS.len()));
        };
        // Without room it is asked how much is needed.
        let room = pset_len.get(0);
        if room > 0 {
            pset_name.set(name, room as usize);
        }
        pset_len.set(name.len() as i64 + 1);
        Ok(())
    })
}

pub fn session_get_pset_info(session: Session, pset_name: Text, info: Handles<Info>) -> i32 {
    on_session("MPI_Session_get_pset_info", session, |_| {
        info.set(info::insert(sessions::info(&pset_name.get())?));
        Ok(())
    })
}

pub fn group_from_session_pset(session: Session, pset_name: Text, newgroup: Handles<Group>) -> i32 {
    on_session("MPI_Group_from_session_pset", session, |_| {
        newgroup.set(groups::insert(sessions::set(&pset_name.get())?));
        Ok(())
    })
}

pub fn session_create_errhandler(session_errhandler_fn: Address, errhandler: Handles<Errhandler>) -> i32 {
    let handler = Handler::Function(Kind::Session, session_errhandler_fn.into());
    errhandler.set(errhandlers::insert(Arc::new(handler)));
    0
}

pub fn session_set_errhandler(session: Session, errhandler: Errhandler) -> i32 {
    on_session("MPI_Session_set_errhandler", session, |session| {
        session.set_handler(errhandlers::get(errhandler, Kind::Session)?);
        Ok(())
    })
}

pub fn session_get_errhandler(session: Session, errhandler: Handles<Errhandler>) -> i32 {
    on_session("MPI_Session_get_errhandler", session, |session| {
        errhandler.set(errhandlers::insert(session.handler()));
        Ok(())
    })
}

pub fn session_call_errhandler(session: Session, errorcode: i32) -> i32 {
    on_session("MPI_Session_call_errhandler", session, |of| {
        let why = error::error(errorcode, "");
        raise(&of.handler(), session.0, "MPI_Session_call_errhandler", &why);
        Ok(())
    })
}

pub fn session_attach_buffer(session: Session, buffer: Address, size: i64) -> i32 {
    on_session("MPI_Session_attach_buffer", session, |session| session.pool.attach(buffer.number(), size))
}

pub fn session_detach_buffer(session: Session, buffer_addr: Address, size: IntOut) -> i32 {
    on_session("MPI_Session_detach_buffer", session, |session| detached(&session.pool, buffer_addr, size))
}

pub fn session_flush_buffer(session: Session) -> i32 {
    on_session("MPI_Session_flush_buffer", session, |session| session.pool.flush())
}

pub fn session_iflush_buffer(session: Session, request: Handles<Request>) -> i32 {
    on_session("MPI_Session_iflush_buffer", session, |session| {
        let of = Arc::clone(session);
        request.set(requests::active(None, Work::Poll(Box::new(move || of.pool.poll()))));
        Ok(())
    })
}
