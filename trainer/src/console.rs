//! What rank 0 shows: a progress bar on a terminal, a line per epoch, and a summary.
//!
//! The lines go to standard output, so that they can be kept and compared; the bar goes to standard error and
//! hides itself when that is not a terminal. Neighbour: `training` makes one on rank 0 only.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::options::Overlap;

/// The display of one training run.
#[derive(Debug)]
pub(crate) struct Console {
    bar: ProgressBar,
    epochs: u64,
    epoch_begin: Instant,
}

/// How a training run ended.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// Size of the world.
    pub(crate) ranks: usize,
    /// Weights of the network.
    pub(crate) parameters: usize,
    /// In how many parts the gradients were reduced.
    pub(crate) buckets: usize,
    /// And when.
    pub(crate) overlap: Overlap,
    /// Test images told rightly.
    pub(crate) correct: u64,
    /// Test images.
    pub(crate) tested: usize,
    /// Fingerprint of the weights, the same on every rank.
    pub(crate) weights: u64,
    /// From the first step to the last test.
    pub(crate) time: Duration,
    /// How many steps that was.
    pub(crate) steps: u64,
    /// Spent by rank 0 in steps; the rest of the time went into tests.
    pub(crate) stepping: Duration,
    /// Spent by rank 0 waiting for gradients to be added up, and so for slower ranks too; part of `stepping`.
    pub(crate) waiting: Duration,
}

impl Console {
    /// Starts the display of a run of so many epochs and steps, of which some are done.
    pub(crate) fn new(epochs: u64, steps: u64, done: u64) -> Self {
        let bar = ProgressBar::new(steps);
        // The template is fixed and valid; if it were not, the default style would serve.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} step {pos}/{len}  {msg}  {eta} left") {
            bar.set_style(style);
        }
        bar.set_position(done);
        Self { bar, epochs, epoch_begin: Instant::now() }
    }

    /// So many steps are done.
    pub(crate) fn step(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// A generation of an elastic world has made its first step.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written.
    pub(crate) fn generation(&self, line: &str) -> std::io::Result<()> {
        self.bar.suspend(|| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{line}")?;
            out.flush()
        })
    }

    /// An epoch is done: `loss` is the mean over its images, each taken before the step that used it.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written.
    pub(crate) fn epoch(
        &mut self,
        epoch: u64,
        loss: f64,
        correct: u64,
        tested: usize,
    ) -> std::io::Result<()> {
        let (epochs, width) = (self.epochs, self.epochs.to_string().len());
        let accuracy = percent(correct as f64, tested as f64);
        let seconds = self.epoch_begin.elapsed().as_secs_f64();
        self.epoch_begin = Instant::now();
        self.bar.set_message(format!("loss {loss:.4}"));
        self.bar.suspend(|| {
            let mut out = std::io::stdout().lock();
            writeln!(
                out,
                "epoch {epoch:width$}/{epochs}  loss {loss:.4}  test accuracy {accuracy:6.2} %  {seconds:.2} s"
            )?;
            out.flush()
        })
    }

    /// Takes the bar away and writes the summary.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written.
    pub(crate) fn finish(self, summary: &Summary) -> std::io::Result<()> {
        self.bar.finish_and_clear();
        let mut out = std::io::stdout().lock();
        out.write_all(summary.text().as_bytes())?;
        out.flush()
    }
}

impl Summary {
    /// One line per number, each with its unit.
    fn text(&self) -> String {
        let Self { ranks, parameters, buckets, overlap, correct, tested, weights, time, steps, .. } = self;
        let accuracy = percent(*correct as f64, *tested as f64);
        let plural = if *buckets == 1 { "" } else { "s" };
        let share = percent(self.waiting.as_secs_f64(), self.stepping.as_secs_f64());
        let each = |spent: Duration| 1e3 * spent.as_secs_f64() / (*steps).max(1) as f64;
        format!(
            "ranks          {ranks}\n\
             network        {parameters} weights, reduced in {buckets} bucket{plural}, overlap {overlap}\n\
             test accuracy  {accuracy:.2} % ({correct} of {tested} images)\n\
             weights        {weights:016x}, the same on every rank\n\
             time           {:.2} s for {steps} steps\n\
             step           {:.3} ms\n\
             waiting        {:.3} ms of it for all-reduces, {share:.1} %\n",
            time.as_secs_f64(),
            each(self.stepping),
            each(self.waiting),
        )
    }
}

/// `part` of `whole` in percent; 0 of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_states_network_accuracy_weights_and_how_long_a_step_took_and_waited() {
        let summary = Summary {
            ranks: 4,
            parameters: 17_226,
            buckets: 2,
            overlap: Overlap::Off,
            correct: 351,
            tested: 360,
            weights: 0x0123_4567_89ab_cdef,
            time: Duration::from_millis(2_000),
            steps: 1_000,
            stepping: Duration::from_millis(1_500),
            waiting: Duration::from_micros(375_250),
        };
        assert_eq!(
            summary.text().lines().collect::<Vec<_>>(),
            [
                "ranks          4",
                "network        17226 weights, reduced in 2 buckets, overlap off",
                "test accuracy  97.50 % (351 of 360 images)",
                "weights        0123456789abcdef, the same on every rank",
                "time           2.00 s for 1000 steps",
                "step           1.500 ms",
                "waiting        0.375 ms of it for all-reduces, 25.0 %",
            ]
        );
    }

    #[test]
    fn a_share_of_nothing_is_no_number_to_stumble_over() {
        assert_eq!(percent(0.0, 0.0), 0.0);
    }
}
