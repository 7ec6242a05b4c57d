//! One rank's share of the learning: sum the gradients of some images, then step by the sum of all ranks.
//!
//! Between the two calls the caller adds the ranks' sums up. Invariant: [`Learner::step`] depends on the summed
//! buffer and on nothing that differs between ranks, so learners that start equal stay equal, bit for bit.
//! Neighbours: `network` and `adam` do the arithmetic, `training` does the all-reduce.

use crate::adam::Adam;
use crate::digits::Image;
use crate::network::{Network, Workspace};
use crate::rng::SplitMix64;

/// Widths of the hidden layers: 64-128-64-10 in all, 17,226 parameters, so 69 kB to all-reduce per step.
const HIDDEN: [usize; 2] = [128, 64];

/// A network that is being trained.
#[derive(Debug)]
pub(crate) struct Learner {
    network: Network,
    adam: Adam,
    workspace: Workspace,
    /// The sum of the gradients, and behind it the sum of the losses, so that one all-reduce carries both.
    sums: Vec<f32>,
}

impl Learner {
    /// A new network; equal random numbers make equal learners.
    pub(crate) fn new(rng: &mut SplitMix64) -> Self {
        let network = Network::new(&HIDDEN, rng);
        let weights = network.parameters().len();
        let workspace = network.workspace();
        Self { network, adam: Adam::new(weights), workspace, sums: vec![0.0; weights + 1] }
    }

    /// Sums gradients and losses over `images`, which may be none. The sums are to be added up over all ranks, in
    /// place, and then taken by [`Learner::step`].
    pub(crate) fn sum<'a>(&mut self, images: impl IntoIterator<Item = &'a Image>) -> &mut [f32] {
        self.sums.fill(0.0);
        if let Some((loss, gradient)) = self.sums.split_last_mut() {
            for image in images {
                *loss += self.network.accumulate(image, &mut self.workspace, gradient);
            }
        }
        &mut self.sums
    }

    /// Takes one step by the sums over a global batch of `images` (not 0), and returns the sum of their losses.
    pub(crate) fn step(&mut self, images: usize) -> f32 {
        let Some((loss, gradient)) = self.sums.split_last() else { return 0.0 };
        self.adam.step(self.network.parameters_mut(), gradient, 1.0 / images as f32);
        *loss
    }

    /// How many of `images` the network tells rightly.
    pub(crate) fn correct(&mut self, images: &[Image]) -> usize {
        images.iter().filter(|image| self.network.classify(image, &mut self.workspace) == image.label).count()
    }

    /// A hash of all weights, see [`Network::fingerprint`].
    pub(crate) fn fingerprint(&self) -> u64 {
        self.network.fingerprint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::{Split, TEXT, parse};
    use crate::shard::shard;

    const SEED: u64 = 1;

    /// Trains `ranks` learners as a world would, with a sum in rank order in place of the all-reduce, and
    /// returns the test accuracy and every learner's fingerprint.
    fn train(ranks: usize, epochs: usize, batch: usize) -> (f64, Vec<u64>) {
        let mut rng = SplitMix64::new(SEED);
        let split = Split::new(parse(TEXT).unwrap(), &mut rng);
        let first = rng.fork();
        let mut learners: Vec<Learner> = (0..ranks).map(|_| Learner::new(&mut first.clone())).collect();
        let mut order: Vec<&Image> = split.training.iter().collect();
        for _ in 0..epochs {
            rng.shuffle(&mut order);
            for images in order.chunks(batch) {
                let mut total = vec![0.0; learners[0].sums.len()];
                for (rank, learner) in learners.iter_mut().enumerate() {
                    let part = learner.sum(images[shard(images.len(), rank, ranks)].iter().copied());
                    total.iter_mut().zip(part).for_each(|(sum, term)| *sum += *term);
                }
                for learner in &mut learners {
                    learner.sums.copy_from_slice(&total);
                    learner.step(images.len());
                }
            }
        }
        let correct = learners[0].correct(&split.test);
        (correct as f64 / split.test.len() as f64, learners.iter().map(Learner::fingerprint).collect())
    }

    #[test]
    fn any_number_of_ranks_learns_as_well_and_all_of_them_end_equal() {
        for ranks in [1, 2, 4, 8] {
            let (accuracy, fingerprints) = train(ranks, 8, 64);
            assert!(accuracy >= 0.95, "seed {SEED}, {ranks} ranks: {accuracy}");
            assert!(fingerprints.iter().all(|f| *f == fingerprints[0]), "seed {SEED}: {fingerprints:?}");
        }
    }

    #[test]
    fn the_same_run_again_gives_the_same_bits() {
        assert_eq!(train(4, 2, 64), train(4, 2, 64));
    }

    #[test]
    fn more_ranks_than_images_in_a_batch_still_learn() {
        let (accuracy, fingerprints) = train(5, 1, 3);
        assert!(accuracy > 0.8, "seed {SEED}: {accuracy}");
        assert_eq!(fingerprints.len(), 5);
    }

    #[test]
    fn the_sums_of_two_shards_are_the_sums_of_the_whole() {
        let images = parse(TEXT).unwrap();
        let mut learner = Learner::new(&mut SplitMix64::new(SEED));
        let whole = learner.sum(&images[..40]).to_vec();
        let first = learner.sum(&images[..13]).to_vec();
        let second = learner.sum(&images[13..40]).to_vec();
        for ((x, y), sum) in first.iter().zip(&second).zip(&whole) {
            assert!((x + y - sum).abs() < 1e-3, "{x} + {y} is not {sum}");
        }
        assert!(learner.sum([]).iter().all(|sum| *sum == 0.0), "nothing left over from before");
    }
}
