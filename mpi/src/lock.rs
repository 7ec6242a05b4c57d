//! A lock that says of itself when nobody will ever release it: in a child that was forked while another thread of its
//! parent had it, for that thread is not in the child.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Nobody has it. No process that calls a function has this number.
const FREE: u32 = 0;

/// How often its turn is offered before a thread that waits sleeps; whoever has it may bring a world together.
const OFFERS: u32 = 100;
const NAP: Duration = Duration::from_millis(1);

/// What one thread at a time may use.
pub(crate) struct Lock<T> {
    /// The process that has it: known from the moment on in which it is had, so that no child is in doubt.
    holder: AtomicU32,
    /// Free whenever `holder` is, so nobody waits for it.
    value: Mutex<T>,
}

/// It is had.
pub(crate) struct Guard<'l, T> {
    value: Option<MutexGuard<'l, T>>,
    holder: &'l AtomicU32,
}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { holder: AtomicU32::new(FREE), value: Mutex::new(value) }
    }

    /// Waits for it; `None`: it never comes free, see above.
    pub(crate) fn lock(&self) -> Option<Guard<'_, T>> {
        let me = std::process::id();
        let mut offers = 0;
        while let Err(holder) = self.holder.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed) {
            if holder != me {
                return None;
            }
            if offers < OFFERS {
                offers += 1;
                std::thread::yield_now();
            } else {
                // A lock of the system's to sleep at would have the same fault as this one would without `holder`.
                std::thread::sleep(NAP);
            }
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Guard { value: Some(value), holder: &self.holder })
    }
}

#[expect(clippy::expect_used, reason = "it is there until the guard is dropped")]
impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("had")
    }
}

#[expect(clippy::expect_used, reason = "as above")]
impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("had")
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // In this order: whoever comes next finds both free.
        self.value = None;
        self.holder.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let lock = Lock::new(0u32);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        *lock.lock().unwrap() += 1;
                    }
                });
            }
            let _had = lock.lock().unwrap();
            // So long that they sleep.
            std::thread::sleep(Duration::from_millis(20));
        });
        assert_eq!(*lock.lock().unwrap(), 4000);
    }

    #[test]
    fn a_lock_of_another_process_is_not_waited_for() {
        let lock = Lock::new(());
        // As a child finds it.
        lock.holder.store(std::process::id() + 1, Ordering::Relaxed);
        assert!(lock.lock().is_none());
    }
}
