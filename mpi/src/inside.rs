//! Whether this thread is in a function of the program's that reduces elements.
//!
//! It is called under the engine's lock, so whatever needs that would wait for itself; MPI allows no communication
//! there, but other calls, such as those about datatypes.

use std::cell::Cell;

thread_local! {
    static AN_OPERATION: Cell<bool> = const { Cell::new(false) };
}

/// Calls such a function.
pub(crate) fn calling_an_operation<R>(call: impl FnOnce() -> R) -> R {
    let before = AN_OPERATION.replace(true);
    let returned = call();
    AN_OPERATION.set(before);
    returned
}

/// Whether this thread is in such a function.
pub(crate) fn an_operation() -> bool {
    AN_OPERATION.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_calls_it_is_in_an_operation() {
        assert!(!an_operation());
        calling_an_operation(|| {
            calling_an_operation(|| assert!(an_operation()));
            assert!(an_operation());
            let elsewhere = std::thread::scope(|threads| threads.spawn(an_operation).join());
            assert!(matches!(elsewhere, Ok(false)));
        });
        assert!(!an_operation());
    }
}
