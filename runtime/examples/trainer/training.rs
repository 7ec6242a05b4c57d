//! Training on all ranks together: the one part of the trainer that communicates.
//!
//! Four exchanges in all: before training the ranks check that they were asked the same, every step sums the
//! gradients, every epoch sums the test results, and at the end the ranks compare their weights. Invariant: all
//! ranks make the same calls in the same order, also when they find an error, because each error is found from
//! data that all of them have. Neighbours: `learner` for what happens between two sums, `shard` for whose
//! images are whose, `console` for what is shown.

use std::time::{Duration, Instant};

use ringworld::{Communicator, Op};

use crate::console::{Console, Summary};
use crate::digits::{Image, Split};
use crate::learner::Learner;
use crate::rng::SplitMix64;
use crate::shard::shard;
use crate::{Error, Options};

/// Checks that every rank was started with the same arguments: with others they would learn from different
/// batches, or wait for one another for ever.
///
/// # Errors
///
/// [`Error::Options`] on every rank, naming the first rank that differs from rank 0; or what the world says.
pub(crate) fn check_options(world: &Communicator, options: &Options) -> Result<(), Error> {
    let mine = [options.epochs, options.batch, options.seed];
    let mut all = vec![0; mine.len() * world.size()];
    world.all_gather(&mine, &mut all)?;
    let line = |given: &[u64]| match given {
        [epochs, batch, seed] => format!("--epochs {epochs} --batch {batch} --seed {seed}"),
        _ => String::new(),
    };
    match first_difference(&all, mine.len()) {
        Some((rank, theirs, ours)) => Err(Error::Options { rank, theirs: line(theirs), ours: line(ours) }),
        None => Ok(()),
    }
}

/// Trains, and shows on rank 0 how it goes.
///
/// # Errors
///
/// [`Error::Weights`] on every rank when the weights differ in the end; what the world says when a rank is lost;
/// on rank 0 also [`Error::Output`].
pub(crate) fn train(
    world: &Communicator,
    split: &Split,
    epochs: u64,
    batch: usize,
    rng: &mut SplitMix64,
) -> Result<(), Error> {
    let mut learner = Learner::new(&mut rng.fork());
    let mut order: Vec<&Image> = split.training.iter().collect();
    let steps = epochs * order.len().div_ceil(batch) as u64;
    let mut console = (world.rank() == 0).then(|| Console::new(epochs, steps));
    let my_test = &split.test[shard(split.test.len(), world.rank(), world.size())];
    let mut correct = 0;
    let mut reducing = Duration::ZERO;
    let begin = Instant::now();

    for epoch in 1..=epochs {
        rng.shuffle(&mut order);
        let mut loss = 0.0;
        for images in order.chunks(batch) {
            let mine = shard(images.len(), world.rank(), world.size());
            let sums = learner.sum(images[mine].iter().copied());
            let before = Instant::now();
            world.all_reduce(sums, Op::Sum)?;
            reducing += before.elapsed();
            loss += f64::from(learner.step(images.len()));
            if let Some(console) = &console {
                console.step();
            }
        }
        let mut tally = [learner.correct(my_test) as u64];
        world.all_reduce(&mut tally, Op::Sum)?;
        [correct] = tally;
        if let Some(console) = &mut console {
            console.epoch(epoch, loss / order.len() as f64, correct, split.test.len())?;
        }
    }

    let time = begin.elapsed();
    let weights = check_weights(world, learner.fingerprint())?;
    if let Some(console) = console {
        let (ranks, tested) = (world.size(), split.test.len());
        console.finish(&Summary { ranks, correct, tested, weights, time, reducing, steps })?;
    }
    Ok(())
}

/// Checks that every rank ended with the same weights, and returns their fingerprint.
fn check_weights(world: &Communicator, mine: u64) -> Result<u64, Error> {
    let mut all = vec![0; world.size()];
    world.all_gather(&[mine], &mut all)?;
    match first_difference(&all, 1) {
        Some((rank, theirs, ours)) => Err(Error::Weights { rank, theirs: theirs[0], ours: ours[0] }),
        None => Ok(mine),
    }
}

/// In what `all_gather` of `each` elements per rank gave: the first rank that differs from rank 0, what it gave,
/// and what rank 0 gave.
fn first_difference(all: &[u64], each: usize) -> Option<(usize, &[u64], &[u64])> {
    let ours = all.get(..each)?;
    let mut parts = all.chunks_exact(each).enumerate();
    parts.find(|(_, theirs)| *theirs != ours).map(|(rank, theirs)| (rank, theirs, ours))
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_rank_that_differs_from_rank_0_is_found() {
        assert_eq!(first_difference(&[5, 5, 5], 1), None);
        assert_eq!(first_difference(&[5, 5, 6, 7], 1), Some((2, &[6][..], &[5][..])));
        assert_eq!(first_difference(&[1, 2, 3, 1, 2, 3], 3), None);
        assert_eq!(first_difference(&[1, 2, 3, 1, 9, 3], 3), Some((1, &[1, 9, 3][..], &[1, 2, 3][..])));
    }
}
