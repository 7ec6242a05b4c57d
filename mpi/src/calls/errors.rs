//! Error handlers, classes, codes and words.

use crate::arguments::{Address, Handles, IntOut, Text, TextOut};
use crate::errhandlers::{self, Handler, raise};
use crate::error;
use crate::guard::{on_comm, on_none};
use crate::kind::Kind;
use crate::standard::{Comm, ERR_ARG, Errhandler, MAX_ERROR_STRING};

pub fn comm_create_errhandler(function: Address, errhandler: Handles<Errhandler>) -> i32 {
    let handler = Handler::Function(Kind::Comm, function.into());
    errhandler.set(errhandlers::insert(std::sync::Arc::new(handler)));
    0
}

pub fn errhandler_create(function: Address, errhandler: Handles<Errhandler>) -> i32 {
    comm_create_errhandler(function, errhandler)
}

pub fn comm_set_errhandler(comm: Comm, errhandler: Errhandler) -> i32 {
    on_comm("MPI_Comm_set_errhandler", comm, |comm| {
        comm.set_handler(errhandlers::get(errhandler, Kind::Comm)?);
        Ok(())
    })
}

pub fn errhandler_set(comm: Comm, errhandler: Errhandler) -> i32 {
    comm_set_errhandler(comm, errhandler)
}

pub fn comm_get_errhandler(comm: Comm, errhandler: Handles<Errhandler>) -> i32 {
    on_comm("MPI_Comm_get_errhandler", comm, |comm| {
        errhandler.set(errhandlers::insert(comm.handler()));
        Ok(())
    })
}

pub fn errhandler_get(comm: Comm, errhandler: Handles<Errhandler>) -> i32 {
    comm_get_errhandler(comm, errhandler)
}

pub fn comm_call_errhandler(comm: Comm, errorcode: i32) -> i32 {
    on_comm("MPI_Comm_call_errhandler", comm, |comm| {
        let why = error::error(errorcode, "");
        raise(&comm.handler(), comm.handle().0, "MPI_Comm_call_errhandler", &why);
        Ok(())
    })
}

pub fn errhandler_free(errhandler: Handles<Errhandler>) -> i32 {
    on_none("MPI_Errhandler_free", || {
        errhandlers::remove(errhandler.get(0))?;
        errhandler.set(Errhandler::NULL);
        Ok(())
    })
}

pub fn error_class(errorcode: i32, errorclass: IntOut) -> i32 {
    on_none("MPI_Error_class", || match error::class(errorcode) {
        Some(class) => {
            errorclass.set(class.into());
            Ok(())
        }
        None => error::fail(ERR_ARG, format!("{errorcode} is no error code")),
    })
}

pub fn error_string(errorcode: i32, string: TextOut, resultlen: IntOut) -> i32 {
    on_none("MPI_Error_string", || match error::words(errorcode) {
        Some(words) => {
            resultlen.set(string.set(&words, MAX_ERROR_STRING) as i64);
            Ok(())
        }
        None => error::fail(ERR_ARG, format!("{errorcode} is no error code")),
    })
}

pub fn add_error_class(errorclass: IntOut) -> i32 {
    on_none("MPI_Add_error_class", || {
        errorclass.set(error::add_class()?.into());
        Ok(())
    })
}

pub fn add_error_code(errorclass: i32, errorcode: IntOut) -> i32 {
    on_none("MPI_Add_error_code", || {
        errorcode.set(error::add_code(errorclass)?.into());
        Ok(())
    })
}

pub fn add_error_string(errorcode: i32, string: Text) -> i32 {
    on_none("MPI_Add_error_string", || error::add_text(errorcode, string.get()))
}

pub fn remove_error_class(errorclass: i32) -> i32 {
    on_none("MPI_Remove_error_class", || error::remove(errorclass, true))
}

pub fn remove_error_code(errorcode: i32) -> i32 {
    on_none("MPI_Remove_error_code", || error::remove(errorcode, false))
}

pub fn remove_error_string(errorcode: i32) -> i32 {
    on_none("MPI_Remove_error_string", || error::add_text(errorcode, String::new()))
}
