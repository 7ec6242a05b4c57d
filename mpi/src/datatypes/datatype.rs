//! A datatype, and the handles of datatypes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use super::basic::{self, ALL, Basic};
use super::layout::{Layout, Map};
use crate::attributes::Attributes;
use crate::error::{Result, fail};
use crate::objects::Table;
use crate::standard::{self, ERR_TYPE};

/// A datatype.
pub(crate) struct Datatype {
    /// Bytes of data.
    pub(crate) size: usize,
    pub(crate) lb: i64,
    pub(crate) ub: i64,
    pub(crate) true_lb: i64,
    pub(crate) true_ub: i64,
    pub(crate) map: Arc<Map>,
    pub(crate) layout: Layout,
    /// The largest alignment of its basic elements.
    pub(crate) alignment: usize,
    pub(crate) recipe: Recipe,
    pub(crate) committed: AtomicBool,
    pub(crate) name: Mutex<String>,
    pub(crate) attributes: Attributes,
    /// `None` of a predefined one.
    pub(crate) made: bool,
}

/// How a datatype was made, for `MPI_Type_get_contents`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) combiner: i32,
    pub(crate) integers: Vec<i64>,
    pub(crate) addresses: Vec<i64>,
    pub(crate) types: Vec<(standard::Datatype, Option<Arc<Datatype>>)>,
}

impl Recipe {
    /// Whether a number of it does not fit into 32 bits, so that it must have been made by a call for large counts.
    pub(crate) fn is_large(&self) -> bool {
        self.integers.iter().any(|number| i32::try_from(*number).is_err())
    }
}

impl std::fmt::Debug for Datatype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Datatype({} bytes)", self.size)
    }
}

static MADE: Table<Datatype> = Table::new();

/// The predefined ones, by handle less the first of them.
static PREDEFINED: LazyLock<Vec<Option<Arc<Datatype>>>> = LazyLock::new(|| {
    let mut all = vec![None; 0x100];
    for basic in ALL {
        all[basic.handle - standard::Datatype::NULL.0] = Some(Arc::new(Datatype::predefined(basic)));
    }
    all
});

impl Datatype {
    fn predefined(basic: &'static Basic) -> Self {
        let map = Arc::new(Map::Basic(basic));
        let layout = map.layout();
        Self {
            size: basic.size,
            lb: 0,
            ub: basic.extent as i64,
            true_lb: 0,
            true_ub: match basic.nature {
                basic::Nature::Pair(_, at) => at as i64 + 4,
                _ => basic.extent as i64,
            },
            layout,
            map,
            alignment: basic.alignment,
            recipe: Recipe { combiner: standard::NAMED, ..Recipe::default() },
            committed: AtomicBool::new(true),
            name: Mutex::new(basic.name.into()),
            attributes: Attributes::default(),
            made: false,
        }
    }

    pub(crate) fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// Whether elements lie one behind the other without holes, from their address on.
    #[inline]
    pub(crate) fn is_dense(&self) -> bool {
        matches!(self.layout, Layout::Run(_)) && self.lb == 0 && self.ub == self.size as i64
    }

    /// How many whole elements so many bytes are.
    pub(crate) fn count_of(&self, bytes: i64) -> Option<i64> {
        let size = self.size as i64;
        match (size, bytes) {
            (0, 0) => Some(0),
            (0, _) => None,
            _ => (bytes % size == 0).then(|| bytes / size),
        }
    }

    /// How many basic elements so many bytes are.
    pub(crate) fn elements_of(&self, bytes: i64) -> Option<i64> {
        let size = self.size as i64;
        if size == 0 {
            return (bytes == 0).then_some(0);
        }
        let mut elements = bytes / size * self.map.elements() as i64;
        let mut rest = bytes % size;
        self.map.visit(0, &mut |_, basic| {
            let parts = match basic.nature {
                basic::Nature::Pair(..) => [basic.size - 4, 4],
                _ => [basic.size, 0],
            };
            for part in parts.into_iter().filter(|part| *part > 0) {
                if rest < part as i64 {
                    return false;
                }
                rest -= part as i64;
                elements += 1;
            }
            true
        });
        (rest == 0).then_some(elements)
    }
}

/// What a handle stands for.
#[inline]
pub(crate) fn get(handle: standard::Datatype) -> Result<Arc<Datatype>> {
    let found = if handle.0 < standard::FIRST_HANDLE {
        handle.0.checked_sub(standard::Datatype::NULL.0).and_then(|place| PREDEFINED.get(place)?.clone())
    } else {
        MADE.get(handle.0)
    };
    found.ok_or_else(|| no_datatype(handle))
}

#[cold]
fn no_datatype(handle: standard::Datatype) -> crate::error::Error {
    let text = match handle {
        standard::Datatype::NULL => "MPI_DATATYPE_NULL was given".to_owned(),
        _ => format!("{:#x} is no datatype, or one that has been freed", handle.0),
    };
    crate::error::error(ERR_TYPE, text)
}

/// One that messages may be made of.
#[inline]
pub(crate) fn usable(handle: standard::Datatype) -> Result<Arc<Datatype>> {
    let datatype = get(handle)?;
    if datatype.committed.load(Ordering::Relaxed) {
        return Ok(datatype);
    }
    fail(ERR_TYPE, "the datatype has not been committed; call MPI_Type_commit first")
}

pub(crate) fn insert(datatype: Arc<Datatype>) -> standard::Datatype {
    standard::Datatype(MADE.insert(datatype))
}

pub(crate) fn remove(handle: standard::Datatype) -> Result<Arc<Datatype>> {
    match MADE.remove(handle.0) {
        Some(datatype) => Ok(datatype),
        None if get(handle).is_ok() => fail(ERR_TYPE, "a predefined datatype cannot be freed"),
        None => Err(no_datatype(handle)),
    }
}
