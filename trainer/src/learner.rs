//! One rank's share of the learning: the gradients of some images, bucket by bucket, then a step by the sums of all
//! ranks.
//!
//! A step is [`Learner::begin`], then for every bucket in order [`Learner::gradient`]; and, once
//! [`Learner::begin_update`] has been called, at any time after its gradient, [`Learner::update`] with what the ranks'
//! gradients of that bucket add up to, which is the caller's work. What has come before `begin_update` leaves no trace.
//! Invariant: the weights depend on those sums and on nothing that differs between ranks, nor on when they came,
//! so learners that start equal stay equal, bit for bit. Neighbours: `network` and `adam` do the arithmetic,
//! `bucket` cuts, `training` adds up.

use crate::adam::{Adam, Powers};
use crate::bucket::{Bucket, buckets};
use crate::digits::Image;
use crate::network::{Network, Workspace};
use crate::rng::SplitMix64;

/// A network that is being trained.
#[derive(Debug)]
pub(crate) struct Learner {
    network: Network,
    adam: Adam,
    workspace: Workspace,
    buckets: Vec<Bucket>,
}

impl Learner {
    /// A new network with hidden layers of these widths, reduced in buckets of so many bytes; equal random numbers
    /// make equal learners.
    pub(crate) fn new(hidden: &[usize], bucket: usize, rng: &mut SplitMix64) -> Self {
        let network = Network::new(hidden, rng);
        let workspace = network.workspace();
        let buckets = buckets(network.layers(), bucket);
        Self { adam: Adam::new(network.parameters().len()), workspace, buckets, network }
    }

    /// How many weights each bucket has, in the order in which their gradients are computed.
    pub(crate) fn buckets(&self) -> impl ExactSizeIterator<Item = usize> {
        self.buckets.iter().map(|bucket| bucket.parameters.len())
    }

    /// Begins a step on `images`, which may be none: runs them through and returns the sum of their losses.
    pub(crate) fn begin(&mut self, images: &[&Image]) -> f32 {
        self.network.losses(images, &mut self.workspace)
    }

    /// Writes the sum over `images`, those of [`Learner::begin`], of the gradients of one bucket. Buckets come in
    /// order; the weights of earlier ones may have been updated already.
    pub(crate) fn gradient(&mut self, bucket: usize, images: &[&Image], sums: &mut [f32]) {
        sums.fill(0.0);
        let Bucket { layers, parameters } = &self.buckets[bucket];
        let mut rest = sums;
        for (layer, range) in self.network.layers().enumerate().take(layers.end).skip(layers.start).rev() {
            let (earlier, gradient) = rest.split_at_mut(range.start - parameters.start);
            self.network.backward(layer, images, &mut self.workspace, gradient);
            rest = earlier;
        }
    }

    /// From here on the step changes weights.
    pub(crate) fn begin_update(&mut self) {
        self.adam.begin_step();
    }

    /// What it has learnt so far, apart from [`Learner::powers`]: weights, and the memory of the optimiser for each.
    pub(crate) fn vectors(&mut self) -> [&mut Vec<f32>; 3] {
        let [means, squares] = self.adam.means_and_squares();
        [self.network.parameters_mut(), means, squares]
    }

    /// What else the optimiser knows.
    pub(crate) fn powers(&mut self) -> &mut Powers {
        self.adam.powers()
    }

    /// Moves the weights of one bucket by `sums` over a global batch of `images` (not 0).
    pub(crate) fn update(&mut self, bucket: usize, sums: &[f32], images: usize) {
        let range = self.buckets[bucket].parameters.clone();
        self.adam.update(range, self.network.parameters_mut(), sums, 1.0 / images as f32);
    }

    /// How many of `images` the network tells rightly.
    pub(crate) fn correct(&mut self, images: &[&Image]) -> usize {
        self.network.correct(images, &mut self.workspace)
    }

    /// How many weights there are.
    pub(crate) fn weights(&self) -> usize {
        self.network.parameters().len()
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
    const HIDDEN: [usize; 2] = [128, 64];

    /// The gradients of all buckets, one behind the other.
    fn gradients(learner: &mut Learner, images: &[&Image]) -> Vec<f32> {
        learner.begin(images);
        let lengths: Vec<usize> = learner.buckets().collect();
        let mut all = Vec::new();
        for (bucket, length) in lengths.into_iter().enumerate() {
            // Whatever was in the buffer before must not count.
            let mut sums = vec![f32::NAN; length];
            learner.gradient(bucket, images, &mut sums);
            all.extend(sums);
        }
        all
    }

    /// Takes the step, with the gradients of all buckets one behind the other, in this order of buckets.
    fn update(learner: &mut Learner, sums: &[f32], images: usize, order: impl Iterator<Item = usize>) {
        let lengths: Vec<usize> = learner.buckets().collect();
        learner.begin_update();
        for bucket in order {
            let start = lengths[..bucket].iter().sum();
            learner.update(bucket, &sums[start..][..lengths[bucket]], images);
        }
    }

    /// Trains `ranks` learners as a world would, with a sum in rank order in place of the all-reduce, and
    /// returns the test accuracy and every learner's fingerprint.
    fn train(ranks: usize, epochs: usize, batch: usize, bucket: usize) -> (f64, Vec<u64>) {
        let mut rng = SplitMix64::new(SEED);
        let split = Split::new(parse(TEXT).unwrap(), &mut rng);
        let first = rng.fork();
        let new = |_| Learner::new(&HIDDEN, bucket, &mut first.clone());
        let mut learners: Vec<Learner> = (0..ranks).map(new).collect();
        let mut order: Vec<&Image> = split.training.iter().collect();
        for _ in 0..epochs {
            rng.shuffle(&mut order);
            for images in order.chunks(batch) {
                let mut total = vec![0.0; learners[0].weights()];
                for (rank, learner) in learners.iter_mut().enumerate() {
                    let part = gradients(learner, &images[shard(images.len(), rank, ranks)]);
                    total.iter_mut().zip(part).for_each(|(sum, term)| *sum += term);
                }
                for learner in &mut learners {
                    let buckets = learner.buckets().len();
                    update(learner, &total, images.len(), 0..buckets);
                }
            }
        }
        let test: Vec<&Image> = split.test.iter().collect();
        let correct = learners[0].correct(&test);
        (correct as f64 / test.len() as f64, learners.iter().map(Learner::fingerprint).collect())
    }

    #[test]
    fn any_number_of_ranks_learns_as_well_and_all_of_them_end_equal() {
        for ranks in [1, 2, 4, 8] {
            let (accuracy, fingerprints) = train(ranks, 8, 64, usize::MAX);
            assert!(accuracy >= 0.95, "seed {SEED}, {ranks} ranks: {accuracy}");
            assert!(fingerprints.iter().all(|f| *f == fingerprints[0]), "seed {SEED}: {fingerprints:?}");
        }
    }

    #[test]
    fn the_same_run_again_gives_the_same_bits() {
        assert_eq!(train(4, 2, 64, 4_096), train(4, 2, 64, 4_096));
    }

    #[test]
    fn the_cut_into_buckets_changes_no_bit_where_sums_are_made_in_rank_order() {
        assert_eq!(train(3, 2, 64, 1), train(3, 2, 64, usize::MAX));
    }

    #[test]
    fn more_ranks_than_images_in_a_batch_still_learn() {
        let (accuracy, fingerprints) = train(5, 1, 3, 4_096);
        assert!(accuracy > 0.8, "seed {SEED}: {accuracy}");
        assert_eq!(fingerprints.len(), 5);
    }

    #[test]
    fn a_bucket_may_be_updated_before_the_gradients_of_later_ones_are_computed() {
        let images = parse(TEXT).unwrap();
        let images: Vec<&Image> = images[..40].iter().collect();
        let new = || Learner::new(&HIDDEN, 1, &mut SplitMix64::new(SEED));
        let (mut late, mut early) = (new(), new());
        for _ in 0..3 {
            let sums = gradients(&mut late, &images);
            update(&mut late, &sums, images.len(), (0..3).rev());
            early.begin(&images);
            let lengths: Vec<usize> = early.buckets().collect();
            assert_eq!(lengths.len(), 3, "one per layer");
            early.begin_update();
            for (bucket, length) in lengths.into_iter().enumerate() {
                let mut sums = vec![0.0; length];
                early.gradient(bucket, &images, &mut sums);
                early.update(bucket, &sums, images.len());
            }
        }
        assert_eq!(late.fingerprint(), early.fingerprint());
    }

    #[test]
    fn the_sums_of_two_shards_are_the_sums_of_the_whole() {
        let images = parse(TEXT).unwrap();
        let images: Vec<&Image> = images[..40].iter().collect();
        let mut learner = Learner::new(&HIDDEN, 4_096, &mut SplitMix64::new(SEED));
        let whole = gradients(&mut learner, &images);
        let first = gradients(&mut learner, &images[..13]);
        let second = gradients(&mut learner, &images[13..]);
        for ((x, y), sum) in first.iter().zip(&second).zip(&whole) {
            assert!((x + y - sum).abs() < 1e-3, "{x} + {y} is not {sum}");
        }
        assert!(gradients(&mut learner, &[]).iter().all(|sum| *sum == 0.0), "nothing left over from before");
    }
}
