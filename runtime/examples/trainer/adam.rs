//! Adam: gradient descent with a step size of its own for every weight.
//!
//! From Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, with the constants of the paper but
//! for the rate. Invariant: nothing but additions, products, quotients and square roots, which IEEE 754 rounds
//! exactly, in a fixed order: equal gradients make equal weights on every rank, whatever its machine.
//! Neighbour: `learner` calls it once per step with the mean gradient of the global batch.

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
    /// `MEAN_DECAY` and `SQUARE_DECAY` to the number of steps, by repeated products: a library's power
    /// function may round differently elsewhere.
    mean_power: f32,
    square_power: f32,
}

impl Adam {
    /// For this many weights, with no step taken yet.
    pub(crate) fn new(weights: usize) -> Self {
        Self { means: vec![0.0; weights], squares: vec![0.0; weights], mean_power: 1.0, square_power: 1.0 }
    }

    /// Moves `weights` one step against `gradient`, of which each element is multiplied by `scale` first.
    pub(crate) fn step(&mut self, weights: &mut [f32], gradient: &[f32], scale: f32) {
        self.mean_power *= MEAN_DECAY;
        self.square_power *= SQUARE_DECAY;
        // Both means start at zero; these undo that bias.
        let rate = RATE / (1.0 - self.mean_power);
        let correction = 1.0 / (1.0 - self.square_power);
        let memory = self.means.iter_mut().zip(&mut self.squares);
        for ((weight, slope), (mean, square)) in weights.iter_mut().zip(gradient).zip(memory) {
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

    #[test]
    fn the_first_step_has_the_length_of_the_rate_against_the_slope() {
        let mut weights = [1.0, 1.0, 1.0];
        Adam::new(3).step(&mut weights, &[3.0, -0.01, 0.0], 1.0);
        assert!((weights[0] - (1.0 - RATE)).abs() < 1e-6, "{weights:?}");
        assert!((weights[1] - (1.0 + RATE)).abs() < 1e-6, "{weights:?}");
        assert_eq!(weights[2], 1.0);
    }

    #[test]
    fn the_gradient_is_scaled_before_it_counts() {
        let (mut a, mut b) = ([0.5], [0.5]);
        let (mut first, mut second) = (Adam::new(1), Adam::new(1));
        for slope in [1.0, -4.0, 2.5] {
            first.step(&mut a, &[slope], 0.25);
            second.step(&mut b, &[slope * 0.25], 1.0);
        }
        assert_eq!(a, b);
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let mut weights = [1.0f32, -0.5];
        let mut adam = Adam::new(2);
        for _ in 0..3_000 {
            let gradient = [2.0 * (weights[0] - 0.3), 200.0 * (weights[1] - 0.1)];
            adam.step(&mut weights, &gradient, 1.0);
        }
        assert!((weights[0] - 0.3).abs() < 1e-2 && (weights[1] - 0.1).abs() < 1e-2, "{weights:?}");
    }
}
