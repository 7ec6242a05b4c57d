//! The gradients of all ranks added up, bucket by bucket: while the backward pass goes on, or after it.
//!
//! Every bucket has a buffer and a persistent all-reduce of its own, made once. The backward pass writes into the
//! buffer and starts the all-reduce; a helper thread of the world advances it while earlier layers are computed;
//! the optimiser waits for it and reads the sums where they are. So a step copies no gradient and allocates
//! nothing. Where a world may go on after a failure, no weight moves before all sums are there: a step is taken as a
//! whole or not at all. Invariant: both ways start the same all-reduces on the same buffers in the same order, so they
//! give the same bits, and ranks that chose differently would still agree. Neighbours: `learner` computes what is
//! reduced, `training` calls this once per step.

use std::time::{Duration, Instant};

use ringworld::{Communicator, Op, Prepared};

use crate::digits::Image;
use crate::learner::Learner;
use crate::options::{MOST_LAYERS, Overlap};

/// One all-reduce per bucket, started once per step.
#[derive(Debug)]
pub(crate) struct Reducer {
    buckets: Vec<Prepared<f32>>,
    overlap: Overlap,
    /// No update before all sums have come.
    whole: bool,
    waiting: Duration,
}

impl Reducer {
    /// For the buckets of `learner`.
    ///
    /// The operation is a sum and not an average: ranks may have shares of different length, and the mean of their
    /// means would give the images of short ones more weight. With `whole`, a step that fails has changed nothing; the
    /// updates are then not made while later buckets are still on their way.
    ///
    /// # Errors
    ///
    /// What the world says.
    pub(crate) fn new(
        world: &Communicator,
        learner: &Learner,
        overlap: Overlap,
        whole: bool,
    ) -> Result<Self, ringworld::Error> {
        let prepare = |length| world.prepare_all_reduce(vec![0.0; length], Op::Sum);
        let buckets = learner.buckets().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self { buckets, overlap, whole, waiting: Duration::ZERO })
    }

    /// What was spent waiting for sums so far: the part of the communication that nothing hid.
    pub(crate) fn waiting(&self) -> Duration {
        self.waiting
    }

    /// Takes one step of `learner`: `images` are this rank's share of a global batch of `global`. Returns the sum
    /// of their losses.
    ///
    /// # Errors
    ///
    /// What the world says when a rank is lost.
    pub(crate) fn step(
        &mut self,
        learner: &mut Learner,
        images: &[&Image],
        global: usize,
    ) -> Result<f32, ringworld::Error> {
        let loss = learner.begin(images);
        match self.overlap {
            Overlap::On => self.overlapped(learner, images, global)?,
            Overlap::Off => self.one_after_the_other(learner, images, global)?,
        }
        Ok(loss)
    }

    fn overlapped(
        &mut self,
        learner: &mut Learner,
        images: &[&Image],
        global: usize,
    ) -> Result<(), ringworld::Error> {
        // Of fixed length, so that it lies on the stack. A bucket has one layer at least.
        let mut running = [const { None }; MOST_LAYERS];
        for ((index, bucket), slot) in self.buckets.iter_mut().enumerate().zip(&mut running) {
            learner.gradient(index, images, bucket.input_mut());
            *slot = Some(bucket.start()?);
        }
        let mut all = [const { None }; MOST_LAYERS];
        if !self.whole {
            learner.begin_update();
        }
        // In the order in which they began, which is that in which they end but for small differences.
        for ((index, running), kept) in running.into_iter().flatten().enumerate().zip(&mut all) {
            let before = Instant::now();
            let sums = running.wait()?;
            self.waiting += before.elapsed();
            if self.whole {
                *kept = Some(&*sums);
            } else {
                learner.update(index, sums, global);
            }
        }
        if self.whole {
            update_all(learner, &all, global);
        }
        Ok(())
    }

    fn one_after_the_other(
        &mut self,
        learner: &mut Learner,
        images: &[&Image],
        global: usize,
    ) -> Result<(), ringworld::Error> {
        for (index, bucket) in self.buckets.iter_mut().enumerate() {
            learner.gradient(index, images, bucket.input_mut());
        }
        let mut all = [const { None }; MOST_LAYERS];
        for (bucket, sums) in self.buckets.iter_mut().zip(&mut all) {
            let before = Instant::now();
            *sums = Some(&*bucket.run()?);
            self.waiting += before.elapsed();
        }
        update_all(learner, &all, global);
        Ok(())
    }
}

fn update_all(learner: &mut Learner, sums: &[Option<&[f32]>], global: usize) {
    learner.begin_update();
    for (index, sums) in sums.iter().flatten().enumerate() {
        learner.update(index, sums, global);
    }
}

#[cfg(test)]
mod tests {
    use ringworld::testing::Choice;

    use super::*;
    use crate::digits::{TEXT, parse};
    use crate::rng::SplitMix64;
    use crate::shard::shard;
    use crate::worlds::{Wire, owned_world, world};

    /// What `ranks` ranks end with after four steps: the fingerprint and the losses of each, and how many buckets.
    fn train(ranks: usize, overlap: Overlap, whole: bool, bytes: usize) -> Vec<(usize, u64, Vec<f32>)> {
        let images = parse(TEXT).unwrap();
        world(Wire::Sim(7), ranks, &Choice::default(), |world| {
            let mut learner = Learner::new(&[24, 16], bytes, &mut SplitMix64::new(5));
            let mut reducer = Reducer::new(world, &learner, overlap, whole).unwrap();
            let mut losses = Vec::new();
            for batch in images[..250].chunks(64) {
                let mine: Vec<&Image> = batch[shard(batch.len(), world.rank(), ranks)].iter().collect();
                losses.push(reducer.step(&mut learner, &mine, batch.len()).unwrap());
            }
            (learner.buckets().len(), learner.fingerprint(), losses)
        })
    }

    #[test]
    fn a_step_that_overlaps_gives_the_bits_of_one_that_does_not_on_any_number_of_ranks() {
        for ranks in [1, 2, 3, 5] {
            for (bytes, buckets) in [(1, 3), (1_000, 2), (usize::MAX, 1)] {
                let on = train(ranks, Overlap::On, false, bytes);
                for (overlap, whole) in [(Overlap::On, true), (Overlap::Off, false), (Overlap::Off, true)] {
                    assert_eq!(
                        on,
                        train(ranks, overlap, whole, bytes),
                        "{ranks} ranks, {bytes} bytes, {overlap}"
                    );
                }
                assert!(
                    on.iter().all(|(count, weights, _)| (*count, *weights) == (buckets, on[0].1)),
                    "{on:?}"
                );
            }
        }
    }

    #[test]
    fn losses_fall_whatever_the_number_of_ranks() {
        for ranks in [1, 4] {
            let ended = train(ranks, Overlap::On, false, 1_000);
            let at = |step: usize| ended.iter().map(|(_, _, losses)| losses[step]).sum::<f32>();
            // 64 images in the first batch, 58 in the last.
            assert!(at(3) / 58.0 < at(0) / 64.0, "{ended:?}");
        }
    }

    #[test]
    fn a_rank_that_is_lost_ends_the_step_of_the_others_and_a_whole_step_leaves_no_trace_then() {
        for (overlap, whole) in
            [(Overlap::On, false), (Overlap::On, true), (Overlap::Off, false), (Overlap::Off, true)]
        {
            let ended = owned_world(Wire::Sim(7), 3, &Choice::default(), |world| {
                let mut learner = Learner::new(&[24, 16], 1, &mut SplitMix64::new(5));
                let mut reducer = Reducer::new(&world, &learner, overlap, whole).unwrap();
                if world.rank() == 2 {
                    world.vanish();
                    return true;
                }
                let before = (learner.fingerprint(), *learner.powers());
                let failed = reducer.step(&mut learner, &[], 1).is_err();
                failed && (!whole || before == (learner.fingerprint(), *learner.powers()))
            });
            assert_eq!(ended, [true; 3], "overlap {overlap}, whole {whole}");
        }
    }
}
