//! How far a long computation has come: a line on standard error that is drawn anew, in a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often the line shows that time goes on.
const TICK: Duration = Duration::from_millis(200);

/// The line. It disappears with this value.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Of `total` parts, none is done. In a file or a pipe nothing is drawn.
    pub(crate) fn new(total: usize) -> Self {
        let bar = ProgressBar::new(total as u64);
        // The template is fixed, and the plain style is as good for a moment.
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {bar:16} {pos} of {len}, {elapsed} so far: {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// What is being done now.
    pub(crate) fn now(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }

    /// Another part is done; `show` may print without being drawn over.
    pub(crate) fn done<R>(&self, show: impl FnOnce() -> R) -> R {
        self.0.inc(1);
        self.0.suspend(show)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
