//! Tables of objects: from handles to what they stand for. A handle that stands for nothing is found, never followed.

use std::sync::{Arc, PoisonError, RwLock};

use crate::standard::FIRST_HANDLE;

/// The objects of one kind, by handle.
pub(crate) struct Table<T> {
    slots: RwLock<Slots<T>>,
}

struct Slots<T> {
    objects: Vec<Option<Arc<T>>>,
    free: Vec<usize>,
}

impl<T> Table<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: RwLock::new(Slots { objects: Vec::new(), free: Vec::new() }) }
    }

    /// A handle for an object.
    pub(crate) fn insert(&self, object: Arc<T>) -> usize {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let place = slots.free.pop().unwrap_or(slots.objects.len());
        if place == slots.objects.len() {
            slots.objects.push(Some(object));
        } else {
            slots.objects[place] = Some(object);
        }
        FIRST_HANDLE + place
    }

    /// What a handle stands for.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        let place = handle.checked_sub(FIRST_HANDLE)?;
        self.slots.read().unwrap_or_else(PoisonError::into_inner).objects.get(place)?.clone()
    }

    /// Takes the object from its handle, which stands for nothing then.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let place = handle.checked_sub(FIRST_HANDLE)?;
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let object = slots.objects.get_mut(place)?.take()?;
        slots.free.push(place);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_that_stand_for_nothing_are_found() {
        let table = Table::new();
        let (a, b) = (table.insert(Arc::new('a')), table.insert(Arc::new('b')));
        assert_ne!(a, b);
        assert_eq!(table.remove(a).as_deref(), Some(&'a'));
        assert_eq!((table.get(a), table.get(0), table.get(usize::MAX)), (None, None, None));
        assert_eq!(table.get(table.insert(Arc::new('c'))).as_deref(), Some(&'c'));
        assert_eq!(table.get(b).as_deref(), Some(&'b'));
    }
}
