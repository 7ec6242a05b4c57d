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
        self.place(Some(object))
    }

    /// A handle for an object that is still to come, by [`Table::fill`].
    pub(crate) fn reserve(&self) -> usize {
        self.place(None)
    }

    fn place(&self, object: Option<Arc<T>>) -> usize {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let place = slots.free.pop().unwrap_or(slots.objects.len());
        if place == slots.objects.len() {
            slots.objects.push(object);
        } else {
            slots.objects[place] = object;
        }
        FIRST_HANDLE + place
    }

    /// Gives a reserved handle its object.
    pub(crate) fn fill(&self, handle: usize, object: Arc<T>) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = handle.checked_sub(FIRST_HANDLE).and_then(|place| slots.objects.get_mut(place)) {
            *slot = Some(object);
        }
    }

    /// What a handle stands for.
    #[inline]
    pub(crate) fn get(&self, handle: usize) -> Option<Arc<T>> {
        let place = handle.checked_sub(FIRST_HANDLE)?;
        self.slots.read().unwrap_or_else(PoisonError::into_inner).objects.get(place)?.clone()
    }

    /// What each of many handles stands for, in their order: one lock for all.
    pub(crate) fn get_each(&self, handles: impl Iterator<Item = usize>) -> Vec<Option<Arc<T>>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let at = |handle: usize| slots.objects.get(handle.checked_sub(FIRST_HANDLE)?)?.clone();
        handles.map(at).collect()
    }

    /// The first object of which something is true.
    pub(crate) fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.objects.iter().flatten().find(|object| is_it(object)).cloned()
    }

    /// All objects of which something is true.
    pub(crate) fn find_all(&self, is_it: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.objects.iter().flatten().filter(|object| is_it(object)).cloned().collect()
    }

    /// Takes the object from its handle, which stands for nothing then.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.slots.write().unwrap_or_else(PoisonError::into_inner).remove(handle)
    }

    /// Takes many objects from their handles. Whoever calls has them, so that none is dropped under the lock.
    pub(crate) fn remove_each(&self, handles: impl Iterator<Item = usize>) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        handles.for_each(|handle| drop(slots.remove(handle)));
    }
}

impl<T> Slots<T> {
    fn remove(&mut self, handle: usize) -> Option<Arc<T>> {
        let place = handle.checked_sub(FIRST_HANDLE)?;
        let object = self.objects.get_mut(place)?.take()?;
        self.free.push(place);
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
        assert_eq!(table.find_all(|object| *object != 'c'), [Arc::new('b')]);
    }

    #[test]
    fn many_handles_are_looked_up_and_removed_like_each() {
        let table = Table::new();
        let handles = ['a', 'b', 'c'].map(|object| table.insert(Arc::new(object)));
        let asked = [handles[2], 0, handles[0], usize::MAX];
        let found = table.get_each(asked.into_iter());
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some(&'c'), None, Some(&'a'), None]);
        table.remove_each(asked.into_iter().chain(asked));
        assert_eq!(handles.map(|handle| table.get(handle).is_some()), [false, true, false]);
        let again = ['d', 'e', 'f'].map(|object| table.insert(Arc::new(object)));
        assert!(!again.contains(&handles[1]) && again[0] != again[1], "each place is free once");
    }

    #[test]
    fn a_reserved_handle_is_nobody_elses_and_stands_for_nothing_yet() {
        let table = Table::new();
        let reserved = table.reserve();
        assert_ne!(table.insert(Arc::new('a')), reserved);
        assert_eq!((table.get(reserved), table.remove(reserved)), (None, None));
        table.fill(reserved, Arc::new('b'));
        assert_eq!(table.get(reserved).as_deref(), Some(&'b'));
    }
}
