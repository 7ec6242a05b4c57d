//! Info objects.

use crate::arguments::{Address, Handles, IntOut, Text, TextOut};
use crate::error::{Result, fail};
use crate::guard::on_none;
use crate::host::host;
use crate::info::{self, get, insert, remove};
use crate::standard::{ERR_ARG, Info};

pub fn info_create(info: Handles<Info>) -> i32 {
    info.set(insert(info::Info::default()));
    0
}

pub fn info_create_env(_argc: i32, _argv: Address, info: Handles<Info>) -> i32 {
    info.set(insert(info::Info::environment()));
    0
}

pub fn info_free(info: Handles<Info>) -> i32 {
    on_none("MPI_Info_free", || {
        remove(info.get(0))?;
        info.set(Info::NULL);
        Ok(())
    })
}

pub fn info_dup(info: Info, newinfo: Handles<Info>) -> i32 {
    on_none("MPI_Info_dup", || {
        newinfo.set(insert(get(info)?.copy()));
        Ok(())
    })
}

pub fn info_set(info: Info, key: Text, value: Text) -> i32 {
    on_none("MPI_Info_set", || {
        if key.is_null() || value.is_null() {
            return fail(ERR_ARG, "a key and a value must be given");
        }
        get(info)?.set(key.get(), value.get())
    })
}

pub fn info_delete(info: Info, key: Text) -> i32 {
    on_none("MPI_Info_delete", || get(info)?.delete(&key.get()))
}

fn value_of(info: Info, key: Text) -> Result<Option<String>> {
    get(info)?.get(&key.get())
}

pub fn info_get(info: Info, key: Text, valuelen: i32, value: TextOut, flag: IntOut) -> i32 {
    on_none("MPI_Info_get", || {
        let found = value_of(info, key)?;
        flag.flag(found.is_some());
        if let Some(found) = found {
            value.set(&found, valuelen.max(0) as usize + 1);
        }
        Ok(())
    })
}

pub fn info_get_valuelen(info: Info, key: Text, valuelen: IntOut, flag: IntOut) -> i32 {
    on_none("MPI_Info_get_valuelen", || {
        let found = value_of(info, key)?;
        flag.flag(found.is_some());
        if let Some(found) = found {
            valuelen.set(found.len() as i64);
        }
        Ok(())
    })
}

pub fn info_get_string(info: Info, key: Text, buflen: IntOut, value: TextOut, flag: IntOut) -> i32 {
    on_none("MPI_Info_get_string", || {
        let found = value_of(info, key)?;
        flag.flag(found.is_some());
        if let Some(found) = found {
            let room = buflen.get(0).max(0) as usize;
            if room > 0 {
                value.set(&found, room);
            }
            buflen.set(found.len() as i64 + 1);
        }
        Ok(())
    })
}

pub fn info_get_nkeys(info: Info, nkeys: IntOut) -> i32 {
    on_none("MPI_Info_get_nkeys", || {
        nkeys.set(get(info)?.len() as i64);
        Ok(())
    })
}

pub fn info_get_nthkey(info: Info, n: i32, key: TextOut) -> i32 {
    on_none("MPI_Info_get_nthkey", || {
        key.set(&get(info)?.key(n.into())?, host().max_info_key);
        Ok(())
    })
}
