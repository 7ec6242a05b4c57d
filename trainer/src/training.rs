//! Training on all ranks together: the loop, and the checks between ranks.
//!
//! Four exchanges in all: before training the ranks check that they were asked the same, every step adds up the
//! gradients, every epoch the losses and test results, and at the end the ranks compare their weights. Invariant:
//! all ranks make the same calls in the same order, also when they find an error, because each error is found from
//! data that all of them have. Neighbours: `reducer` for the step, `learner` for its arithmetic, `shard` for whose
//! images are whose, `console` for what is shown.

use std::time::{Duration, Instant};

use ringworld::{Communicator, Op};

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

/// Trains in steps of `batch` images, and shows on rank 0 how it goes.
///
/// # Errors
///
/// [`Error::Weights`] on every rank when the weights differ in the end; what the world says when a rank is lost;
/// on rank 0 also [`Error::Output`].
pub(crate) fn train(
    world: &Communicator,
    split: &Split,
    options: &Options,
    batch: usize,
    rng: &mut SplitMix64,
) -> Result<(), Error> {
    let epochs = options.epochs;
    let mut learner = Learner::new(&options.hidden.0, options.bucket.0, &mut rng.fork());
    let mut reducer = Reducer::new(world, &learner, options.overlap)?;
    let mut order: Vec<&Image> = split.training.iter().collect();
    let steps = epochs * order.len().div_ceil(batch) as u64;
    let mut console = (world.rank() == 0).then(|| Console::new(epochs, steps));
    let my_test: Vec<&Image> =
        split.test[shard(split.test.len(), world.rank(), world.size())].iter().collect();
    let mut correct = 0;
    let mut stepping = Duration::ZERO;
    let begin = Instant::now();

    for epoch in 1..=epochs {
        rng.shuffle(&mut order);
        let mut loss = 0.0;
        for images in order.chunks(batch) {
            let mine = shard(images.len(), world.rank(), world.size());
            let before = Instant::now();
            loss += f64::from(reducer.step(&mut learner, &images[mine], images.len())?);
            stepping += before.elapsed();
            if let Some(console) = &console {
                console.step();
            }
        }
        // Numbers of images are exact in `f64`, so both fit into one exchange.
        let mut tally = [loss, learner.correct(&my_test) as f64];
        world.all_reduce(&mut tally, Op::Sum)?;
        correct = tally[1] as u64;
        if let Some(console) = &mut console {
            console.epoch(epoch, tally[0] / order.len() as f64, correct, split.test.len())?;
        }
    }

    let time = begin.elapsed();
    let weights = check_weights(world, learner.fingerprint())?;
    if let Some(console) = console {
        console.finish(&Summary {
            ranks: world.size(),
            parameters: learner.weights(),
            buckets: reducer.buckets(),
            overlap: options.overlap,
            correct,
            tested: split.test.len(),
            weights,
            time,
            steps,
            stepping,
            waiting: reducer.waiting(),
        })?;
    }
    Ok(())
}

/// Checks that every rank ended with the same weights, and returns their fingerprint.
fn check_weights(world: &Communicator, mine: u64) -> Result<u64, Error> {
    let mut all = vec![0; world.size()];
    world.all_gather(&[mine], &mut all)?;
    match first_difference(&all) {
        Some(rank) => Err(Error::Weights { rank, theirs: all[rank], ours: all[0] }),
        None => Ok(mine),
    }
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
