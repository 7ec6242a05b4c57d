//! Groups, which are values, and their handles.

use std::sync::{Arc, LazyLock};

use ringworld::Group;

use crate::error::{Result, fail};
use crate::objects::Table;
use crate::standard::{self, ERR_GROUP};

static MADE: Table<Group> = Table::new();
static EMPTY: LazyLock<Arc<Group>> = LazyLock::new(|| Arc::new(of([])));

/// The group of these ranks of the world, which are distinct.
pub(crate) fn of(ranks: impl IntoIterator<Item = usize>) -> Group {
    // Nothing can be given twice in what comes from communicators and groups.
    Group::new(ranks).unwrap_or_else(|_| of([]))
}

pub(crate) fn insert(group: Group) -> standard::Group {
    if group.is_empty() { standard::Group::EMPTY } else { standard::Group(MADE.insert(Arc::new(group))) }
}

pub(crate) fn get(handle: standard::Group) -> Result<Arc<Group>> {
    let found = if handle == standard::Group::EMPTY { Some(Arc::clone(&EMPTY)) } else { MADE.get(handle.0) };
    found.map_or_else(|| fail(ERR_GROUP, format!("{:#x} is no group", handle.0)), Ok)
}

pub(crate) fn remove(handle: standard::Group) -> Result<()> {
    if handle == standard::Group::EMPTY || MADE.remove(handle.0).is_some() {
        return Ok(());
    }
    fail(ERR_GROUP, format!("{:#x} is no group", handle.0))
}
