//! Attributes: values of the program's that are kept at communicators and datatypes, copied and deleted by functions
//! of its own (MPI 5.0, section 7.7).

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result, error, fail};
use crate::host::{Function, host};
use crate::kind::Kind;
use crate::objects::Table;
use crate::standard::{ERR_KEYVAL, KEYVAL_INVALID};

/// The functions of a key: two of them are the standard's own.
const NULL_FN: usize = 0;
const DUP_FN: usize = 1;

/// A key, and what becomes of its values.
pub(crate) struct Key {
    kind: Kind,
    copy: Function,
    delete: Function,
    extra: usize,
    number: AtomicI32,
}

static KEYS: Table<Key> = Table::new();

/// Makes a key; its number.
pub(crate) fn create(kind: Kind, copy: Function, delete: Function, extra: usize) -> i32 {
    let key = Arc::new(Key { kind, copy, delete, extra, number: AtomicI32::new(0) });
    // A table's handles are small.
    let number = KEYS.insert(Arc::clone(&key)) as i32;
    key.number.store(number, Ordering::Relaxed);
    number
}

/// The key of this number, for objects of this kind.
pub(crate) fn key(kind: Kind, number: i32) -> Result<Arc<Key>> {
    let found = usize::try_from(number).ok().and_then(|number| KEYS.get(number));
    match found {
        Some(key) if key.kind == kind => Ok(key),
        _ if number == KEYVAL_INVALID => fail(ERR_KEYVAL, "MPI_KEYVAL_INVALID was given"),
        _ => fail(ERR_KEYVAL, format!("{number} is no key for attributes of this object")),
    }
}

/// Frees a key. Values that are kept by it stay.
pub(crate) fn free(kind: Kind, number: i32) -> Result<()> {
    key(kind, number)?;
    KEYS.remove(number as usize);
    Ok(())
}

/// The attributes of one object, in the order in which they were set.
#[derive(Default)]
pub(crate) struct Attributes {
    values: Mutex<Vec<(Arc<Key>, usize)>>,
}

/// An error that a function of the program has returned: its own code.
fn returned(code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error { class: code, text: String::new() }),
    }
}

impl Attributes {
    fn values(&self) -> MutexGuard<'_, Vec<(Arc<Key>, usize)>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, number: i32) -> Option<usize> {
        let is_it = |(key, _): &&(Arc<Key>, usize)| key.number.load(Ordering::Relaxed) == number;
        self.values().iter().find(is_it).map(|(_, value)| *value)
    }

    /// Sets a value; one that is replaced is deleted first. `object`: whose they are, as the standard's handle.
    pub(crate) fn set(&self, object: usize, key: &Arc<Key>, value: usize) -> Result<()> {
        let number = key.number.load(Ordering::Relaxed);
        if self.get(number).is_some() {
            self.delete(object, number)?;
        }
        self.values().push((Arc::clone(key), value));
        Ok(())
    }

    pub(crate) fn delete(&self, object: usize, number: i32) -> Result<()> {
        let place = self.values().iter().position(|(key, _)| key.number.load(Ordering::Relaxed) == number);
        let Some(place) = place else { return Err(error(ERR_KEYVAL, "there is no attribute of this key")) };
        let (key, value) = self.values()[place].clone();
        key.call_delete(object, value)?;
        self.values().retain(|(other, _)| !Arc::ptr_eq(other, &key));
        Ok(())
    }

    /// Deletes all, the last one first.
    pub(crate) fn delete_all(&self, object: usize) -> Result<()> {
        loop {
            let Some((key, value)) = self.values().last().cloned() else { return Ok(()) };
            key.call_delete(object, value)?;
            self.values().retain(|(other, _)| !Arc::ptr_eq(other, &key));
        }
    }

    /// What an object gets that is made like this one.
    pub(crate) fn copies(&self, object: usize) -> Result<Self> {
        let values = self.values().clone();
        let copies = Self::default();
        for (key, value) in values {
            if let Some(value) = key.call_copy(object, value)? {
                copies.values().push((key, value));
            }
        }
        Ok(copies)
    }
}

impl Key {
    fn call_copy(&self, object: usize, value: usize) -> Result<Option<usize>> {
        let number = self.number.load(Ordering::Relaxed);
        match self.copy {
            Function(NULL_FN) => Ok(None),
            Function(DUP_FN) => Ok(Some(value)),
            // SAFETY: it is what the program has made the key with, for objects of this kind.
            copy => match unsafe { (host().call_copy)(copy, self.kind, object, number, self.extra, value) } {
                Ok(value) => Ok(value),
                Err(code) => returned(code).map(|()| None),
            },
        }
    }

    fn call_delete(&self, object: usize, value: usize) -> Result<()> {
        let number = self.number.load(Ordering::Relaxed);
        match self.delete {
            Function(NULL_FN) => Ok(()),
            // SAFETY: as above.
            delete => returned(unsafe {
                (host().call_delete)(delete, self.kind, object, number, value, self.extra)
            }),
        }
    }
}
