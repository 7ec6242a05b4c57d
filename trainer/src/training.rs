//! Training on all ranks together: the phases, and the checks between ranks.
//!
//! A run is a row of phases: the steps of an epoch, its tally, the steps of the next. A phase is done on a rank as a
//! whole or not at all, and what a rank knows after so many phases is the same on all: that is what lets a world go on
//! after a failure (`elastic`). Exchanges: before training the ranks check that they were asked the same, every step
//! adds up the gradients, every epoch the losses and test results, and at the end the ranks compare their weights.
//! Invariant:
//! all ranks make the same calls in the same order, also when they find an error, because each error is found from
//! data that all of them have. Neighbours: `reducer` for the step, `learner` for its arithmetic, `shard` for whose
//! images are whose, `console` for what is shown.

use std::time::{Duration, Instant};

use ringworld::{Communicator, Op, SharedState};
use serde::{Deserialize, Serialize};

use crate::adam::Powers;
use crate::console::{Console, Summary};
use crate::digits::{Image, Split};
use crate::error::Error;
use crate::learner::Learner;
use crate::options::Options;
use crate::reducer::Reducer;
use crate::rng::SplitMix64;
use crate::shard::shard;

/// Checks that every rank was started with the same arguments: with others they would learn from different
/// batches, or wait for one another for ever.
///
/// # Errors
///
/// [`Error::Options`] on every rank, naming the first rank that differs from rank 0; or what the world says.
pub(crate) fn check_options(world: &Communicator, options: &Options) -> Result<(), Error> {
    let mut all = world.all_gather_objects(&options.to_string())?;
    match first_difference(&all) {
        Some(rank) => {
            let theirs = std::mem::take(&mut all[rank]);
            Err(Error::Options { rank, theirs, ours: std::mem::take(&mut all[0]) })
        }
        None => Ok(()),
    }
}

/// One rank's part of a run, from its first phase to its last.
#[derive(Debug)]
pub(crate) struct Training<'a> {
    split: &'a Split,
    options: &'a Options,
    batch: usize,
    learner: Learner,
    /// The images of the epoch, by their numbers.
    order: Vec<u32>,
    rng: SplitMix64,
    /// Phases that are done; `None` where the rest says nothing.
    done: Option<u64>,
    /// How many there are, if that is known.
    phases: Option<u64>,
    /// Test images told rightly in the last tally.
    correct: u64,
    /// This rank's losses in the epoch, and of how many images.
    losses: (f64, usize),
    /// This rank's images of a step.
    mine: Vec<&'a Image>,
    console: Option<Console>,
    begin: Instant,
    stepping: Duration,
    waiting: Duration,
}

/// What is shared besides vectors.
#[derive(Serialize, Deserialize)]
struct Rest {
    rng: SplitMix64,
    correct: u64,
    powers: Powers,
}

impl<'a> Training<'a> {
    /// At the beginning, in steps of `batch` images. Equal random numbers make equal runs.
    pub(crate) fn new(split: &'a Split, options: &'a Options, batch: usize, mut rng: SplitMix64) -> Self {
        let learner = Learner::new(&options.hidden.0, options.bucket.0, &mut rng.fork());
        // There are some thousand images.
        let mut order: Vec<u32> = (0..split.training.len()).map(|number| number as u32).collect();
        rng.shuffle(&mut order);
        Self {
            split,
            options,
            batch,
            learner,
            order,
            rng,
            done: Some(0),
            phases: None,
            correct: 0,
            losses: (0.0, 0),
            mine: Vec::new(),
            console: None,
            begin: Instant::now(),
            stepping: Duration::ZERO,
            waiting: Duration::ZERO,
        }
    }

    /// Likewise, of a rank that others will tell how far they are.
    pub(crate) fn newcomer(self) -> Self {
        Self { done: None, ..self }
    }

    fn steps_each(&self) -> u64 {
        self.order.len().div_ceil(self.batch) as u64
    }

    /// Those that are asked for; with `--until`, at least.
    fn phases_asked_for(&self) -> u64 {
        self.options.epochs * (self.steps_each() + 1)
    }

    /// Where an end has been asked for (`--until`): the end of this epoch, or `None` while it has not. To be called on
    /// all ranks alike.
    pub(crate) fn ends(&mut self, wanted: bool) {
        let asked_for = self.phases_asked_for();
        let epoch = self.done().div_ceil(self.steps_each() + 1).max(1);
        self.phases = match (&self.options.until, wanted) {
            (None, _) => Some(asked_for),
            (Some(_), true) => Some((epoch * (self.steps_each() + 1)).max(asked_for)),
            (Some(_), false) => None,
        };
    }

    /// The epoch, from 0, and the place in it of what comes after so many phases: a step, or after these the tally.
    fn place(&self, done: u64) -> (u64, u64) {
        (done / (self.steps_each() + 1), done % (self.steps_each() + 1))
    }

    /// Steps that are done.
    pub(crate) fn steps(&self) -> u64 {
        let (epoch, place) = self.place(self.done.unwrap_or(0));
        epoch * self.steps_each() + place
    }

    /// Phases that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done.unwrap_or(0)
    }

    /// Whether no phase is left.
    pub(crate) fn is_over(&self) -> bool {
        self.done.is_some() && self.done == self.phases
    }

    /// A reducer for the learner.
    ///
    /// # Errors
    ///
    /// What the world says.
    pub(crate) fn reducer(&self, world: &Communicator) -> Result<Reducer, ringworld::Error> {
        Reducer::new(world, &self.learner, self.options.overlap, self.options.elastic)
    }

    /// Rank 0 shows how it goes.
    pub(crate) fn show_on(&mut self, rank: usize) {
        if rank > 0 {
            self.console = None;
        } else if self.console.is_none() {
            let epochs = self.options.epochs;
            self.console = Some(Console::new(epochs, epochs * self.steps_each(), self.steps()));
        }
    }

    /// Shows a line, where this is rank 0.
    ///
    /// # Errors
    ///
    /// [`Error::Output`].
    pub(crate) fn tell(&self, line: &str) -> Result<(), Error> {
        self.console.as_ref().map_or(Ok(()), |console| console.generation(line)).map_err(Error::from)
    }

    /// Gives every rank the newest state that one of them has, or finds that it is the same on all.
    ///
    /// # Errors
    ///
    /// What the world says.
    pub(crate) fn share(&mut self, world: &Communicator) -> Result<SharedState, ringworld::Error> {
        let before = self.done;
        let mut rest = Rest { rng: self.rng.clone(), correct: self.correct, powers: *self.learner.powers() };
        let [weights, means, squares] = self.learner.vectors();
        let shared =
            world.share_state(&mut self.done, &mut rest, &mut [weights, means, squares, &mut self.order]);
        // Also after an error: the state may have come whole.
        let Rest { rng, correct, powers } = rest;
        (self.rng, self.correct, *self.learner.powers()) = (rng, correct, powers);
        if let Some(done) = self.done
            && before.is_none_or(|before| self.place(before).0 != self.place(done).0)
        {
            self.losses = (0.0, 0);
        }
        shared
    }

    /// Does the next phase.
    ///
    /// # Errors
    ///
    /// What the world says when a rank is lost: then nothing is done. On rank 0 also [`Error::Output`].
    pub(crate) fn phase(&mut self, world: &Communicator, reducer: &mut Reducer) -> Result<(), Error> {
        let done = self.done();
        let (epoch, place) = self.place(done);
        if place < self.steps_each() {
            let from = place as usize * self.batch;
            let images = from..self.order.len().min(from + self.batch);
            let mine = shard(images.len(), world.rank(), world.size());
            let (split, numbers) = (self.split, &self.order[images.clone()][mine]);
            self.mine.clear();
            self.mine.extend(numbers.iter().map(|number| &split.training[*number as usize]));
            let (before, waited) = (Instant::now(), reducer.waiting());
            let loss = reducer.step(&mut self.learner, &self.mine, images.len())?;
            self.losses = (self.losses.0 + f64::from(loss), self.losses.1 + self.mine.len());
            self.stepping += before.elapsed();
            self.waiting += reducer.waiting() - waited;
            self.done = Some(done + 1);
            if let Some(console) = &self.console {
                console.step(self.steps());
            }
            return Ok(());
        }
        let test = &self.split.test;
        self.mine.clear();
        self.mine.extend(&test[shard(test.len(), world.rank(), world.size())]);
        // Numbers of images are exact in `f64`, so all fit into one exchange.
        let mut tally = [self.losses.0, self.losses.1 as f64, self.learner.correct(&self.mine) as f64];
        world.all_reduce(&mut tally, Op::Sum)?;
        self.correct = tally[2] as u64;
        self.losses = (0.0, 0);
        self.done = Some(done + 1);
        if !self.is_over() {
            self.rng.shuffle(&mut self.order);
        }
        if let Some(console) = &mut self.console {
            // What a rank that has failed knew of its losses is lost, with the images they were of.
            let loss = if tally[1] > 0.0 { tally[0] / tally[1] } else { 0.0 };
            console.epoch(epoch + 1, loss, self.correct, test.len())?;
        }
        Ok(())
    }

    /// Checks that every rank ended with the same weights, and returns their fingerprint.
    ///
    /// # Errors
    ///
    /// [`Error::Weights`] on every rank when they differ; or what the world says.
    pub(crate) fn check_weights(&self, world: &Communicator) -> Result<u64, Error> {
        let mine = self.learner.fingerprint();
        let mut all = vec![0; world.size()];
        world.all_gather(&[mine], &mut all)?;
        match first_difference(&all) {
            Some(rank) => Err(Error::Weights { rank, theirs: all[rank], ours: all[0] }),
            None => Ok(mine),
        }
    }

    /// Test images told rightly, and how many there are.
    pub(crate) fn score(&self) -> (u64, usize) {
        (self.correct, self.split.test.len())
    }

    /// Shows the end, where this is rank 0.
    ///
    /// # Errors
    ///
    /// [`Error::Output`].
    pub(crate) fn summarize(&mut self, ranks: usize, weights: u64) -> Result<(), Error> {
        let time = self.begin.elapsed();
        let Some(console) = self.console.take() else { return Ok(()) };
        console.finish(&Summary {
            ranks,
            parameters: self.learner.weights(),
            buckets: self.learner.buckets().len(),
            overlap: self.options.overlap,
            correct: self.correct,
            tested: self.split.test.len(),
            weights,
            time,
            steps: self.steps(),
            stepping: self.stepping,
            waiting: self.waiting,
        })?;
        Ok(())
    }
}

/// Trains in a world that ends with its first failure, and shows on rank 0 how it goes.
///
/// # Errors
///
/// [`Error::Weights`] on every rank when the weights differ in the end; what the world says when a rank is lost;
/// on rank 0 also [`Error::Output`].
pub(crate) fn train(world: &Communicator, training: &mut Training<'_>) -> Result<(), Error> {
    check_options(world, training.options)?;
    training.ends(false);
    let mut reducer = training.reducer(world)?;
    training.show_on(world.rank());
    while !training.is_over() {
        training.phase(world, &mut reducer)?;
        if training.options.check {
            training.share(world)?;
        }
    }
    let weights = training.check_weights(world)?;
    training.summarize(world.size(), weights)
}

/// The first rank whose part differs from that of rank 0.
fn first_difference<T: PartialEq>(all: &[T]) -> Option<usize> {
    all.iter().position(|theirs| Some(theirs) != all.first())
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_rank_that_differs_from_rank_0_is_found() {
        assert_eq!(first_difference::<u64>(&[]), None);
        assert_eq!(first_difference(&[5, 5, 5]), None);
        assert_eq!(first_difference(&[5, 5, 6, 7]), Some(2));
        assert_eq!(first_difference(&["a".to_owned(), "b".to_owned()]), Some(1));
    }
}
