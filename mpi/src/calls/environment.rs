//! From `MPI_Init` to `MPI_Finalize`, and what can be asked at any time.

use crate::arguments::{Address, IntOut, TextOut};
use crate::errhandlers::{Handler, raise};
use crate::error::fail;
use crate::guard::{on_comm, on_none};
use crate::host::host;
use crate::process;
use crate::standard::{Comm, ERR_NO_MEM, Info, MAX_LIBRARY_VERSION_STRING, THREAD_MULTIPLE};

pub fn init(_argc: IntOut, _argv: Address) -> i32 {
    initialize("MPI_Init")
}

pub fn init_thread(_argc: IntOut, _argv: Address, _required: i32, provided: IntOut) -> i32 {
    // Whatever is asked for: every call may be made from any thread.
    provided.set(THREAD_MULTIPLE.into());
    initialize("MPI_Init_thread")
}

fn initialize(call: &str) -> i32 {
    match process::initialize() {
        Ok(()) => 0,
        Err(why) => raise(&Handler::Fatal, 0, call, &why),
    }
}

pub fn initialized(flag: IntOut) -> i32 {
    flag.flag(process::is_initialized());
    0
}

pub fn finalize() -> i32 {
    on_none("MPI_Finalize", process::finalize)
}

pub fn finalized(flag: IntOut) -> i32 {
    flag.flag(process::is_finalized());
    0
}

pub fn query_thread(provided: IntOut) -> i32 {
    provided.set(THREAD_MULTIPLE.into());
    0
}

pub fn is_thread_main(flag: IntOut) -> i32 {
    on_none("MPI_Is_thread_main", || {
        flag.flag(process::is_main_thread()?);
        Ok(())
    })
}

pub fn abort(comm: Comm, errorcode: i32) -> i32 {
    on_comm("MPI_Abort", comm, |_| crate::abort::abort(errorcode, "MPI_Abort was called"))
}

pub fn get_version(version: IntOut, subversion: IntOut) -> i32 {
    version.set(5);
    subversion.set(0);
    0
}

pub fn get_library_version(version: TextOut, resultlen: IntOut) -> i32 {
    let text = format!("ringworld {} ({})", env!("CARGO_PKG_VERSION"), host().library);
    resultlen.set(version.set(&text, MAX_LIBRARY_VERSION_STRING) as i64);
    0
}

pub fn abi_get_version(abi_major: IntOut, abi_minor: IntOut) -> i32 {
    let (major, minor) = host().abi_version;
    abi_major.set(major.into());
    abi_minor.set(minor.into());
    0
}

pub fn get_processor_name(name: TextOut, resultlen: IntOut) -> i32 {
    on_none("MPI_Get_processor_name", || {
        let world = process::base()?;
        let host = world.all.host(world.all.rank());
        resultlen.set(name.set(host, crate::host::host().max_processor_name) as i64);
        Ok(())
    })
}

pub fn wtime() -> f64 {
    process::seconds()
}

pub fn wtick() -> f64 {
    1e-9
}

pub fn pcontrol(_level: i32) -> i32 {
    0
}

/// Before the memory that `MPI_Alloc_mem` gives lies how much it is.
const BEFORE: usize = 64;

pub fn alloc_mem(size: i64, _info: Info, baseptr: Address) -> i32 {
    on_none("MPI_Alloc_mem", || {
        match usize::try_from(size).ok().and_then(|size| crate::arguments::allocate(size, BEFORE)) {
            Some(memory) => {
                baseptr.write_pointer(memory);
                Ok(())
            }
            None => fail(ERR_NO_MEM, format!("there is no memory of {size} bytes")),
        }
    })
}

pub fn free_mem(base: Address) -> i32 {
    crate::arguments::release(base, BEFORE);
    0
}

pub fn aint_add(base: i64, disp: i64) -> isize {
    base.wrapping_add(disp) as isize
}

pub fn aint_diff(addr1: i64, addr2: i64) -> isize {
    addr1.wrapping_sub(addr2) as isize
}
