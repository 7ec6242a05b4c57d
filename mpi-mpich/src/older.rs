//! What MPI 5.0 has not and programs for this ABI may still name: functions of MPI-1 that MPI 3.0 has removed, and
//! handles as Fortran's integers.

#![allow(non_snake_case, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "the standard says what each argument must be")]

use std::ffi::{c_int, c_void};

use crate::c::{self, MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_Status, Symbol};
use crate::exports;

/// A function under both its names, by those that have taken its place.
macro_rules! older {
    ($($name:ident $profiled:ident ($($argument:ident: $type:ty),*) -> $returns:ty $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $profiled($($argument: $type),*) -> $returns {
            // SAFETY: the program gives what the standard says of each argument.
            #[allow(unused_unsafe, reason = "functions without pointers")]
            unsafe {
                $body
            }
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $returns {
            // SAFETY: it is the same function.
            unsafe { $profiled($($argument),*) }
        }
    )* };
}

older! {
    MPI_Address PMPI_Address (location: *const c_void, address: *mut isize) -> c_int {
        exports::PMPI_Get_address(location, address)
    }
    MPI_Type_extent PMPI_Type_extent (datatype: MPI_Datatype, extent: *mut isize) -> c_int {
        let mut lower = 0;
        exports::PMPI_Type_get_extent(datatype, &raw mut lower, extent)
    }
    MPI_Type_lb PMPI_Type_lb (datatype: MPI_Datatype, lower: *mut isize) -> c_int {
        let mut extent = 0;
        exports::PMPI_Type_get_extent(datatype, lower, &raw mut extent)
    }
    MPI_Type_ub PMPI_Type_ub (datatype: MPI_Datatype, upper: *mut isize) -> c_int {
        if upper.is_null() {
            return c::code(ringworld_mpi::absent("MPI_Type_ub"));
        }
        let (mut lower, mut extent) = (0_isize, 0_isize);
        let code = exports::PMPI_Type_get_extent(datatype, &raw mut lower, &raw mut extent);
        if code == 0 {
            upper.write(lower.wrapping_add(extent));
        }
        code
    }
    MPI_Type_hvector PMPI_Type_hvector (count: c_int, length: c_int, stride: isize, old: MPI_Datatype,
        new: *mut MPI_Datatype) -> c_int {
        exports::PMPI_Type_create_hvector(count, length, stride, old, new)
    }
    MPI_Type_hindexed PMPI_Type_hindexed (count: c_int, lengths: *const c_int, places: *const isize, old: MPI_Datatype,
        new: *mut MPI_Datatype) -> c_int {
        exports::PMPI_Type_create_hindexed(count, lengths, places, old, new)
    }
    MPI_Type_struct PMPI_Type_struct (count: c_int, lengths: *const c_int, places: *const isize,
        old: *const MPI_Datatype, new: *mut MPI_Datatype) -> c_int {
        exports::PMPI_Type_create_struct(count, lengths, places, old, new)
    }
    MPI_Errhandler_create PMPI_Errhandler_create (function: *mut c_void, errhandler: *mut MPI_Errhandler) -> c_int {
        exports::PMPI_Comm_create_errhandler(function, errhandler)
    }
    MPI_Errhandler_set PMPI_Errhandler_set (comm: MPI_Comm, errhandler: MPI_Errhandler) -> c_int {
        exports::PMPI_Comm_set_errhandler(comm, errhandler)
    }
    MPI_Errhandler_get PMPI_Errhandler_get (comm: MPI_Comm, errhandler: *mut MPI_Errhandler) -> c_int {
        exports::PMPI_Comm_get_errhandler(comm, errhandler)
    }

    MPI_Comm_c2f PMPI_Comm_c2f (handle: c_int) -> c_int { handle }
    MPI_Comm_f2c PMPI_Comm_f2c (handle: c_int) -> c_int { handle }
    MPI_Errhandler_c2f PMPI_Errhandler_c2f (handle: c_int) -> c_int { handle }
    MPI_Errhandler_f2c PMPI_Errhandler_f2c (handle: c_int) -> c_int { handle }
    MPI_Group_c2f PMPI_Group_c2f (handle: c_int) -> c_int { handle }
    MPI_Group_f2c PMPI_Group_f2c (handle: c_int) -> c_int { handle }
    MPI_Info_c2f PMPI_Info_c2f (handle: c_int) -> c_int { handle }
    MPI_Info_f2c PMPI_Info_f2c (handle: c_int) -> c_int { handle }
    MPI_Message_c2f PMPI_Message_c2f (handle: c_int) -> c_int { handle }
    MPI_Message_f2c PMPI_Message_f2c (handle: c_int) -> c_int { handle }
    MPI_Op_c2f PMPI_Op_c2f (handle: c_int) -> c_int { handle }
    MPI_Op_f2c PMPI_Op_f2c (handle: c_int) -> c_int { handle }
    MPI_Request_c2f PMPI_Request_c2f (handle: c_int) -> c_int { handle }
    MPI_Request_f2c PMPI_Request_f2c (handle: c_int) -> c_int { handle }
    MPI_Session_c2f PMPI_Session_c2f (handle: c_int) -> c_int { handle }
    MPI_Session_f2c PMPI_Session_f2c (handle: c_int) -> c_int { handle }
    MPI_Type_c2f PMPI_Type_c2f (handle: c_int) -> c_int { handle }
    MPI_Type_f2c PMPI_Type_f2c (handle: c_int) -> c_int { handle }
    MPI_Win_c2f PMPI_Win_c2f (handle: c_int) -> c_int { handle }
    MPI_Win_f2c PMPI_Win_f2c (handle: c_int) -> c_int { handle }

    MPI_Status_c2f PMPI_Status_c2f (status: *const MPI_Status, integers: *mut c_int) -> c_int {
        integers.cast::<MPI_Status>().write_unaligned(status.read_unaligned());
        0
    }
    MPI_Status_f2c PMPI_Status_f2c (integers: *const c_int, status: *mut MPI_Status) -> c_int {
        status.write_unaligned(integers.cast::<MPI_Status>().read_unaligned());
        0
    }
}

static FORTRAN: [c_int; 2] = [0; 2];

/// What a program in Fortran gives for a status that it does not want.
#[unsafe(no_mangle)]
pub(crate) static MPI_F_STATUS_IGNORE: Symbol = Symbol::new(&FORTRAN[0]);

/// The same for several.
#[unsafe(no_mangle)]
pub(crate) static MPI_F_STATUSES_IGNORE: Symbol = Symbol::new(&FORTRAN[1]);
