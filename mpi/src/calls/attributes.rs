//! Attributes of communicators and datatypes.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::arguments::{Address, IntOut};
use crate::attributes::{self, create, free};
use crate::comms::Comm as Object;
use crate::datatypes;
use crate::error::{Result, last_used};
use crate::guard::{on_comm, on_none};
use crate::host::{error_out, host};
use crate::kind::Kind;
use crate::standard::{
    APPNUM, Comm, Datatype, HIGHEST_TAG, HOST, IO, KEYVAL_INVALID, LASTUSEDCODE, TAG_UB, UNIVERSE_SIZE,
    WTIME_IS_GLOBAL,
};

pub fn comm_create_keyval(
    comm_copy_attr_fn: Address,
    comm_delete_attr_fn: Address,
    comm_keyval: IntOut,
    extra_state: Address,
) -> i32 {
    let number =
        create(Kind::Comm, comm_copy_attr_fn.into(), comm_delete_attr_fn.into(), extra_state.exposed());
    comm_keyval.set(number.into());
    0
}

pub fn keyval_create(copy_fn: Address, delete_fn: Address, keyval: IntOut, extra_state: Address) -> i32 {
    comm_create_keyval(copy_fn, delete_fn, keyval, extra_state)
}

fn freed(call: &str, kind: Kind, keyval: IntOut) -> i32 {
    on_none(call, || {
        free(kind, keyval.get(0) as i32)?;
        keyval.set(KEYVAL_INVALID.into());
        Ok(())
    })
}

pub fn comm_free_keyval(comm_keyval: IntOut) -> i32 {
    freed("MPI_Comm_free_keyval", Kind::Comm, comm_keyval)
}

pub fn keyval_free(keyval: IntOut) -> i32 {
    freed("MPI_Keyval_free", Kind::Comm, keyval)
}

pub fn type_free_keyval(type_keyval: IntOut) -> i32 {
    freed("MPI_Type_free_keyval", Kind::Datatype, type_keyval)
}

pub fn comm_set_attr(comm: Comm, comm_keyval: i32, attribute_val: Address) -> i32 {
    on_comm("MPI_Comm_set_attr", comm, |comm| {
        let key = attributes::key(Kind::Comm, comm_keyval)?;
        comm.attributes.set(comm.handle().0, &key, attribute_val.exposed())
    })
}

pub fn attr_put(comm: Comm, keyval: i32, attribute_val: Address) -> i32 {
    comm_set_attr(comm, keyval, attribute_val)
}

/// What the standard keeps at `MPI_COMM_WORLD`: where the number lies, which stays there.
fn predefined(comm: &Object, keyval: i32) -> Option<usize> {
    static PLACES: [AtomicI32; 7] = [const { AtomicI32::new(0) }; 7];
    let value = match keyval {
        TAG_UB => HIGHEST_TAG,
        // Every process can read and write.
        IO => host().any_source,
        HOST => host().proc_null,
        WTIME_IS_GLOBAL | APPNUM => 0,
        LASTUSEDCODE => error_out(last_used()),
        UNIVERSE_SIZE => i32::try_from(comm.all.size()).unwrap_or(i32::MAX),
        _ => return None,
    };
    let place = PLACES.get((keyval - TAG_UB) as usize)?;
    place.store(value, Ordering::Relaxed);
    Some(place.as_ptr().expose_provenance())
}

pub fn comm_get_attr(comm: Comm, comm_keyval: i32, attribute_val: Address, flag: IntOut) -> i32 {
    on_comm("MPI_Comm_get_attr", comm, |comm| {
        let found = match predefined(comm, comm_keyval) {
            Some(place) => Some(place),
            None => {
                attributes::key(Kind::Comm, comm_keyval)?;
                comm.attributes.get(comm_keyval)
            }
        };
        give(found, attribute_val, flag)
    })
}

fn give(found: Option<usize>, value: Address, flag: IntOut) -> Result<()> {
    flag.flag(found.is_some());
    if let Some(found) = found {
        value.write_pointer(found);
    }
    Ok(())
}

pub fn attr_get(comm: Comm, keyval: i32, attribute_val: Address, flag: IntOut) -> i32 {
    comm_get_attr(comm, keyval, attribute_val, flag)
}

pub fn comm_delete_attr(comm: Comm, comm_keyval: i32) -> i32 {
    on_comm("MPI_Comm_delete_attr", comm, |comm| {
        attributes::key(Kind::Comm, comm_keyval)?;
        comm.attributes.delete(comm.handle().0, comm_keyval)
    })
}

pub fn attr_delete(comm: Comm, keyval: i32) -> i32 {
    comm_delete_attr(comm, keyval)
}

pub fn type_create_keyval(
    type_copy_attr_fn: Address,
    type_delete_attr_fn: Address,
    type_keyval: IntOut,
    extra_state: Address,
) -> i32 {
    let (copy, delete) = (type_copy_attr_fn.into(), type_delete_attr_fn.into());
    type_keyval.set(create(Kind::Datatype, copy, delete, extra_state.exposed()).into());
    0
}

pub fn type_set_attr(datatype: Datatype, type_keyval: i32, attribute_val: Address) -> i32 {
    on_none("MPI_Type_set_attr", || {
        let key = attributes::key(Kind::Datatype, type_keyval)?;
        datatypes::get(datatype)?.attributes.set(datatype.0, &key, attribute_val.exposed())
    })
}

pub fn type_get_attr(datatype: Datatype, type_keyval: i32, attribute_val: Address, flag: IntOut) -> i32 {
    on_none("MPI_Type_get_attr", || {
        attributes::key(Kind::Datatype, type_keyval)?;
        give(datatypes::get(datatype)?.attributes.get(type_keyval), attribute_val, flag)
    })
}

pub fn type_delete_attr(datatype: Datatype, type_keyval: i32) -> i32 {
    on_none("MPI_Type_delete_attr", || {
        attributes::key(Kind::Datatype, type_keyval)?;
        datatypes::get(datatype)?.attributes.delete(datatype.0, type_keyval)
    })
}
