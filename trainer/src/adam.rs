//! Adam: gradient descent with a step size of its own for every weight.
//!
//! From Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, with the constants of the paper but
//! for the rate. Invariant: nothing but additions, products, quotients and square roots, which IEEE 754 rounds
//! exactly, in a fixed order: equal gradients make equal weights on every rank, whatever its machine. Weights do not
//! know of one another, so a step may be taken part by part, in any order. Neighbour: `learner` does so, as the
//! gradients of the global batch arrive.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How far a weight moves per step at most, roughly.
const RATE: f32 = 0.002;
/// How slowly the mean of the gradients forgets.
const MEAN_DECAY: f32 = 0.9;
/// How slowly the mean of the squares forgets.
const SQUARE_DECAY: f32 = 0.999;
/// Keeps the quotient finite where gradients have all been zero.
const EPSILON: f32 = 1e-8;

/// The optimiser's memory: two running means per weight.
#[derive(Clone, Debug)]
pub(crate) struct Adam {
    means: Vec<f32>,
    squares: Vec<f32>,
    powers: Powers,
}

/// How far the bias of both means has gone: all that changes with a step as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Powers {
    /// `MEAN_DECAY` and `SQUARE_DECAY` to the number of steps, by repeated products: a library's power
    /// function may round differently elsewhere.
    mean: f32,
    square: f32,
}

impl Adam {
    /// For this many weights, with no step taken yet.
    pub(crate) fn new(weights: usize) -> Self {
        let powers = Powers { mean: 1.0, square: 1.0 };
        Self { means: vec![0.0; weights], squares: vec![0.0; weights], powers }
    }

    /// Begins a step, in which [`Adam::update`] may move every weight once.
    pub(crate) fn begin_step(&mut self) {
        self.powers.mean *= MEAN_DECAY;
        self.powers.square *= SQUARE_DECAY;
    }

    /// Part of its state.
    pub(crate) fn powers(&mut self) -> &mut Powers {
        &mut self.powers
    }

    /// The rest of its state.
    pub(crate) fn means_and_squares(&mut self) -> [&mut Vec<f32>; 2] {
        [&mut self.means, &mut self.squares]
    }

    /// Moves the weights of `range` against their `gradient`, of which each element is multiplied by `scale` first.
    /// `weights` are all there are, `gradient` is that of the range.
    pub(crate) fn update(&mut self, range: Range<usize>, weights: &mut [f32], gradient: &[f32], scale: f32) {
        // Both means start at zero; these undo that bias.
        let rate = RATE / (1.0 - self.powers.mean);
        let correction = 1.0 / (1.0 - self.powers.square);
        let memory = self.means[range.clone()].iter_mut().zip(&mut self.squares[range.clone()]);
        for ((weight, slope), (mean, square)) in weights[range].iter_mut().zip(gradient).zip(memory) {
            let slope = slope * scale;
            *mean = MEAN_DECAY * *mean + (1.0 - MEAN_DECAY) * slope;
            *square = SQUARE_DECAY * *square + (1.0 - SQUARE_DECAY) * slope * slope;
            *weight -= rate * *mean / ((*square * correction).sqrt() + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(adam: &mut Adam, weights: &mut [f32], gradient: &[f32], scale: f32) {
        adam.begin_step();
        adam.update(0..weights.len(), weights, gradient, scale);
    }

    #[test]
    fn the_first_step_has_the_length_of_the_rate_against_the_slope() {
        let mut weights = [1.0, 1.0, 1.0];
        step(&mut Adam::new(3), &mut weights, &[3.0, -0.01, 0.0], 1.0);
        assert!((weights[0] - (1.0 - RATE)).abs() < 1e-6, "{weights:?}");
        assert!((weights[1] - (1.0 + RATE)).abs() < 1e-6, "{weights:?}");
        assert_eq!(weights[2], 1.0);
    }

    #[test]
    fn the_gradient_is_scaled_before_it_counts() {
        let (mut a, mut b) = ([0.5], [0.5]);
        let (mut first, mut second) = (Adam::new(1), Adam::new(1));
        for slope in [1.0, -4.0, 2.5] {
            step(&mut first, &mut a, &[slope], 0.25);
            step(&mut second, &mut b, &[slope * 0.25], 1.0);
        }
        assert_eq!(a, b);
    }

    #[test]
    fn a_step_in_parts_is_the_step_as_a_whole() {
        let (mut whole, mut parts) = ([0.5, -0.25, 1.0], [0.5, -0.25, 1.0]);
        let (mut a, mut b) = (Adam::new(3), Adam::new(3));
        for gradient in [[3.0, -1.0, 0.5], [0.1, 2.0, -4.0]] {
            step(&mut a, &mut whole, &gradient, 0.5);
            b.begin_step();
            b.update(1..3, &mut parts, &gradient[1..], 0.5);
            b.update(0..1, &mut parts, &gradient[..1], 0.5);
        }
        assert_eq!(whole.map(f32::to_bits), parts.map(f32::to_bits));
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let mut weights = [1.0f32, -0.5];
        let mut adam = Adam::new(2);
        for _ in 0..3_000 {
            let gradient = [2.0 * (weights[0] - 0.3), 200.0 * (weights[1] - 0.1)];
            step(&mut adam, &mut weights, &gradient, 1.0);
        }
        assert!((weights[0] - 0.3).abs() < 1e-2 && (weights[1] - 0.1).abs() < 1e-2, "{weights:?}");
    }
}
