//! Attributes: values of the program's that are kept at communicators and datatypes, copied and deleted by functions
//! of its own (MPI 5.0, section 7.7).

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Result, error, fail};
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
    life: Mutex<Life>,
}

/// How long a key can be given: until it is freed, and as long as it has values.
#[derive(Default)]
struct Life {
    uses: usize,
    freed: bool,
}

/// A key that has a value.
struct Use(Arc<Key>);

static KEYS: Table<Key> = Table::new();

/// Makes a key; its number.
pub(crate) fn create(kind: Kind, copy: Function, delete: Function, extra: usize) -> i32 {
    let number = AtomicI32::new(0);
    let key = Arc::new(Key { kind, copy, delete, extra, number, life: Mutex::default() });
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

/// Frees a key. Values that are kept by it stay, and by its number they can be had and deleted.
pub(crate) fn free(kind: Kind, number: i32) -> Result<()> {
    key(kind, number)?.lives(|life| life.freed = true);
    Ok(())
}

/// The attributes of one object, in the order in which they were set.
#[derive(Default)]
pub(crate) struct Attributes {
    values: Mutex<Vec<(Use, usize)>>,
}

/// An error that a function of the program has returned: its own code.
fn returned(code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        code => fail(code, ""),
    }
}

impl Attributes {
    fn values(&self) -> MutexGuard<'_, Vec<(Use, usize)>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, number: i32) -> Option<usize> {
        let is_it = |(key, _): &&(Use, usize)| key.0.number.load(Ordering::Relaxed) == number;
        self.values().iter().find(is_it).map(|(_, value)| *value)
    }

    /// Sets a value; one that is replaced is deleted first. `object`: whose they are, as the standard's handle.
    pub(crate) fn set(&self, object: usize, key: &Arc<Key>, value: usize) -> Result<()> {
        let number = key.number.load(Ordering::Relaxed);
        if self.get(number).is_some() {
            self.delete(object, number)?;
        }
        self.values().push((Use::of(key), value));
        Ok(())
    }

    pub(crate) fn delete(&self, object: usize, number: i32) -> Result<()> {
        let place = self.values().iter().position(|(key, _)| key.0.number.load(Ordering::Relaxed) == number);
        let Some(place) = place else { return Err(error(ERR_KEYVAL, "there is no attribute of this key")) };
        let (key, value) = self.values()[place].clone();
        self.call_and_remove(object, &key, value)
    }

    fn call_and_remove(&self, object: usize, key: &Use, value: usize) -> Result<()> {
        key.0.call_delete(object, value)?;
        self.values().retain(|(other, _)| !Arc::ptr_eq(&other.0, &key.0));
        Ok(())
    }

    /// Deletes all, the last one first.
    pub(crate) fn delete_all(&self, object: usize) -> Result<()> {
        loop {
            let Some((key, value)) = self.values().last().cloned() else { return Ok(()) };
            self.call_and_remove(object, &key, value)?;
        }
    }

    /// What an object gets that is made like this one.
    pub(crate) fn copies(&self, object: usize) -> Result<Self> {
        let values = self.values().clone();
        let copies = Self::default();
        for (key, value) in values {
            if let Some(value) = key.0.call_copy(object, value)? {
                copies.values().push((key, value));
            }
        }
        Ok(copies)
    }
}

impl Use {
    fn of(key: &Arc<Key>) -> Self {
        key.lives(|life| life.uses += 1);
        Self(Arc::clone(key))
    }
}

impl Clone for Use {
    fn clone(&self) -> Self {
        Self::of(&self.0)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.0.lives(|life| life.uses -= 1);
    }
}

impl Key {
    /// Changes its life, at whose end its number stands for nothing.
    fn lives(&self, change: impl FnOnce(&mut Life)) {
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        let over = |life: &Life| life.freed && life.uses == 0;
        let was_over = over(&life);
        change(&mut life);
        if over(&life) && !was_over {
            KEYS.remove(self.number.load(Ordering::Relaxed) as usize);
        }
    }

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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_freed_is_one_as_long_as_it_has_values() {
        let number = create(Kind::Comm, Function(NULL_FN), Function(NULL_FN), 0);
        let attributes = Attributes::default();
        attributes.set(0, &key(Kind::Comm, number).unwrap(), 7).unwrap();
        free(Kind::Comm, number).unwrap();
        free(Kind::Comm, number).unwrap();
        assert!(key(Kind::Comm, number).is_ok());
        assert_eq!(attributes.get(number), Some(7));
        attributes.delete(0, number).unwrap();
        assert!(key(Kind::Comm, number).is_err());
        // Also when what has the values is dropped.
        let number = create(Kind::Comm, Function(DUP_FN), Function(NULL_FN), 0);
        attributes.set(0, &key(Kind::Comm, number).unwrap(), 8).unwrap();
        let copies = attributes.copies(0).unwrap();
        free(Kind::Comm, number).unwrap();
        drop(attributes);
        assert_eq!(copies.get(number), Some(8));
        assert!(key(Kind::Comm, number).is_ok());
        drop(copies);
        assert!(key(Kind::Comm, number).is_err());
    }
}
