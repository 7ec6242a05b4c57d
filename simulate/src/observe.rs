//! Watching a simulation: who wants to know what happens to each step, and when.
//!
//! Neighbours: [`crate::engine`] tells, [`crate::timeline`] keeps everything, `()` wants to know nothing.

use std::cell::Cell;

use crate::Time;

/// Told what happens, in the order of time. Steps are numbered through all actors.
pub(crate) trait Observer {
    /// Everything the step waited for is complete.
    fn begun(&mut self, _step: u32, _at: Time) {}
    /// A send has the port.
    fn leaving(&mut self, _step: u32, _start: Time, _end: Time) {}
    /// A receive has the port.
    fn landing(&mut self, _step: u32, _start: Time, _end: Time) {}
    /// A reduction or copy has the processor, or a receive whose message must be copied.
    fn processing(&mut self, _step: u32, _start: Time, _end: Time) {}
    /// The step is complete.
    fn completed(&mut self, _step: u32, _at: Time) {}
}

impl Observer for () {}

/// How many steps have been run of something long, for whoever waits.
pub(crate) struct Steps<'a> {
    run: Cell<u64>,
    watch: &'a dyn Fn(u64),
}

impl<'a> Steps<'a> {
    /// So many steps are run between two words to `watch`: a fraction of a second.
    const PAUSE: u64 = 1 << 17;

    pub(crate) fn new(watch: &'a dyn Fn(u64)) -> Self {
        Self { run: Cell::new(0), watch }
    }

    fn one_more(&self) {
        let run = self.run.get() + 1;
        self.run.set(run);
        if run.is_multiple_of(Self::PAUSE) {
            (self.watch)(run);
        }
    }
}

/// Counts the steps that `inner` watches.
pub(crate) struct Counted<'a, O> {
    pub(crate) steps: &'a Steps<'a>,
    pub(crate) inner: O,
}

impl<O: Observer> Observer for Counted<'_, O> {
    fn begun(&mut self, step: u32, at: Time) {
        self.inner.begun(step, at);
    }
    fn leaving(&mut self, step: u32, start: Time, end: Time) {
        self.inner.leaving(step, start, end);
    }
    fn landing(&mut self, step: u32, start: Time, end: Time) {
        self.inner.landing(step, start, end);
    }
    fn processing(&mut self, step: u32, start: Time, end: Time) {
        self.inner.processing(step, start, end);
    }
    fn completed(&mut self, step: u32, at: Time) {
        self.steps.one_more();
        self.inner.completed(step, at);
    }
}
