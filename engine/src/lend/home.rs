//! The engine of a loan, found by who borrows.

use std::sync::Arc;

use crate::engine::Engine;

/// Whoever holds a loan, by which its engine is found.
pub trait Borrower {
    /// The engine that moves the operation: always the same.
    fn engine(&self) -> &Arc<Engine>;
}

impl Borrower for Arc<Engine> {
    #[inline]
    fn engine(&self) -> &Arc<Engine> {
        self
    }
}

/// By what the engine is found.
pub(super) struct Home<B> {
    pub(super) borrower: B,
    /// Where it is.
    engine: usize,
}

impl<B: Borrower> Home<B> {
    #[inline]
    pub(super) fn new(borrower: B) -> Self {
        let engine = Arc::as_ptr(borrower.engine()).addr();
        Self { borrower, engine }
    }

    /// The engine that the operation was started with. Any other would say of one under way that there is none, and of
    /// memory in use that it is free; or it would be waited in for what never ends there.
    #[inline]
    pub(super) fn engine(&self) -> &Arc<Engine> {
        let engine = self.borrower.engine();
        if Arc::as_ptr(engine).addr() != self.engine {
            // To unwind from here would free that memory.
            std::process::abort();
        }
        engine
    }

    /// The same, by another borrower.
    pub(super) fn passed_on<C: Borrower>(self, hold: impl FnOnce(B) -> C) -> Home<C> {
        Home { borrower: hold(self.borrower), engine: self.engine }
    }
}
