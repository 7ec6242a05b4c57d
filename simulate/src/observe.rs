//! Watching a simulation: who wants to know what happens to each step, and when.
//!
//! Neighbours: [`crate::engine`] tells, [`crate::timeline`] keeps everything, `()` wants to know nothing.

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
