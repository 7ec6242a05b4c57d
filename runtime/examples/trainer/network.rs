//! A multi-layer perceptron: dense layers with ReLU between them, softmax and cross entropy at the end.
//!
//! All weights lie in one flat slice, and so does the gradient, so that one all-reduce carries everything. A
//! layer's part is its weights, one row of `outputs` per input, and then its biases. Rows by input make the
//! inner loops run over outputs, which the compiler turns into vector instructions without reordering a sum:
//! speed costs no determinism. Neighbours: `learner` sums gradients and applies them, `rng` gives the first
//! weights.

use crate::digits::{CLASSES, Image, PIXELS};
use crate::rng::SplitMix64;

/// A dense layer: its shape and where its parameters begin.
#[derive(Clone, Copy, Debug)]
struct Layer {
    inputs: usize,
    outputs: usize,
    offset: usize,
}

impl Layer {
    /// Weights and biases together.
    fn len(self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    /// This layer's weights and biases in the parameters of the network, or in a gradient of them.
    fn of(self, parameters: &[f32]) -> (&[f32], &[f32]) {
        parameters[self.offset..self.offset + self.len()].split_at(self.inputs * self.outputs)
    }

    /// The same as [`Layer::of`], to be written to.
    fn of_mut(self, parameters: &mut [f32]) -> (&mut [f32], &mut [f32]) {
        parameters[self.offset..self.offset + self.len()].split_at_mut(self.inputs * self.outputs)
    }
}

/// The network: its shape and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    layers: Vec<Layer>,
    parameters: Vec<f32>,
}

/// What one image leaves behind on its way through: kept from image to image, so that nothing is allocated.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Outputs of each layer, after ReLU; the last are the probabilities of the classes.
    activations: Vec<Vec<f32>>,
    /// The derivative of the loss by each layer's outputs before ReLU.
    deltas: Vec<Vec<f32>>,
}

impl Network {
    /// A network with hidden layers of these widths. First weights are uniform in plus or minus
    /// `sqrt(6 / inputs)` (He and others, 2015), which keeps the size of the signals through ReLU layers; biases
    /// are zero. Uniform, because a normal distribution needs a logarithm, and system libraries round those
    /// differently, whereas a square root is exact everywhere.
    pub(crate) fn new(hidden: &[usize], rng: &mut SplitMix64) -> Self {
        let mut network = Self { layers: Vec::new(), parameters: Vec::new() };
        let mut inputs = PIXELS;
        for &outputs in hidden.iter().chain([&CLASSES]) {
            let offset = network.parameters.len();
            let bound = (6.0 / inputs as f32).sqrt();
            network.parameters.extend((0..inputs * outputs).map(|_| bound * rng.signed_unit()));
            network.parameters.resize(network.parameters.len() + outputs, 0.0);
            network.layers.push(Layer { inputs, outputs, offset });
            inputs = outputs;
        }
        network
    }

    /// All weights and biases.
    pub(crate) fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All weights and biases, to be changed.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Room for one image to pass.
    pub(crate) fn workspace(&self) -> Workspace {
        let room = || self.layers.iter().map(|layer| vec![0.0; layer.outputs]).collect();
        Workspace { activations: room(), deltas: room() }
    }

    /// FNV-1a (64 bits) over the bits of every parameter: equal for equal weights, and so good as surely
    /// different for weights that differ anywhere.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.parameters
            .iter()
            .flat_map(|weight| weight.to_bits().to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// The class that the network finds most likely; the lowest of several.
    pub(crate) fn classify(&self, image: &Image, workspace: &mut Workspace) -> usize {
        self.forward(image, workspace);
        let scores = workspace.activations.last().map_or(&[][..], Vec::as_slice);
        let mut best = 0;
        for (class, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = class;
            }
        }
        best
    }

    /// Adds the gradient of the loss on one image to `gradient`, shaped like [`Network::parameters`], and
    /// returns the loss.
    pub(crate) fn accumulate(&self, image: &Image, workspace: &mut Workspace, gradient: &mut [f32]) -> f32 {
        let loss = self.forward(image, workspace);
        self.backward(image, workspace, gradient);
        loss
    }

    /// Runs the image through and returns its loss: cross entropy, `-ln` of the probability of its label.
    fn forward(&self, image: &Image, workspace: &mut Workspace) -> f32 {
        let last = self.layers.len() - 1;
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, rest) = workspace.activations.split_at_mut(index);
            let inputs = before.last().map_or(&image.pixels[..], Vec::as_slice);
            let outputs = &mut rest[0];
            let (weights, biases) = layer.of(&self.parameters);
            outputs.copy_from_slice(biases);
            for (input, row) in inputs.iter().zip(weights.chunks_exact(layer.outputs)) {
                for (output, weight) in outputs.iter_mut().zip(row) {
                    *output += input * weight;
                }
            }
            if index < last {
                outputs.iter_mut().for_each(|output| *output = output.max(0.0));
            }
        }
        softmax_cross_entropy(&mut workspace.activations[last], image.label)
    }

    /// Follows the loss back from the probabilities that [`Network::forward`] left in the workspace.
    fn backward(&self, image: &Image, workspace: &mut Workspace, gradient: &mut [f32]) {
        let Workspace { activations, deltas } = workspace;
        let last = self.layers.len() - 1;
        // Softmax and cross entropy together have the simplest derivative there is: what was said less what
        // was right.
        deltas[last].copy_from_slice(&activations[last]);
        deltas[last][image.label] -= 1.0;
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let (earlier, rest) = deltas.split_at_mut(index);
            let delta = rest[0].as_slice();
            let inputs = if index == 0 { &image.pixels[..] } else { &activations[index - 1] };
            let (weight_sums, bias_sums) = layer.of_mut(gradient);
            add_scaled(bias_sums, 1.0, delta);
            for (row, input) in weight_sums.chunks_exact_mut(layer.outputs).zip(inputs) {
                add_scaled(row, *input, delta);
            }
            let Some(below) = earlier.last_mut() else { continue };
            let (weights, _) = layer.of(&self.parameters);
            for ((slope, input), row) in below.iter_mut().zip(inputs).zip(weights.chunks_exact(layer.outputs))
            {
                // ReLU lets the derivative through only where it let the signal through.
                *slope = if *input > 0.0 { row.iter().zip(delta).map(|(w, d)| w * d).sum() } else { 0.0 };
            }
        }
    }
}

/// `sums += factor * terms`, element by element.
fn add_scaled(sums: &mut [f32], factor: f32, terms: &[f32]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += factor * term;
    }
}

/// Turns scores into probabilities in place and returns the cross entropy with `label`. The largest score is
/// taken off first, so that no exponential overflows.
fn softmax_cross_entropy(scores: &mut [f32], label: usize) -> f32 {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let right = scores[label] - largest;
    let mut total = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - largest).exp();
        total += *score;
    }
    scores.iter_mut().for_each(|score| *score /= total);
    total.ln() - right
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 11;

    fn image(rng: &mut SplitMix64, label: usize) -> Image {
        Image { pixels: std::array::from_fn(|_| rng.signed_unit().abs()), label }
    }

    /// The loss again, written another way: in `f64`, unit by unit, straight from the definition.
    fn reference_loss(network: &Network, parameters: &[f64], image: &Image) -> f64 {
        let mut signal: Vec<f64> = image.pixels.iter().map(|pixel| f64::from(*pixel)).collect();
        for (index, layer) in network.layers.iter().enumerate() {
            let at = |input: usize, output: usize| parameters[layer.offset + input * layer.outputs + output];
            signal = (0..layer.outputs)
                .map(|output| {
                    let sum: f64 = (0..layer.inputs).map(|input| signal[input] * at(input, output)).sum();
                    let score = sum + at(layer.inputs, output);
                    if index + 1 < network.layers.len() { score.max(0.0) } else { score }
                })
                .collect();
        }
        signal.iter().map(|score| score.exp()).sum::<f64>().ln() - signal[image.label]
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let mut rng = SplitMix64::new(SEED);
        let mut network = Network::new(&[12, 9], &mut rng);
        // Biases start at zero, where a wrong index would go unseen.
        network.parameters_mut().iter_mut().for_each(|weight| *weight += 0.1 * rng.signed_unit());
        let mut workspace = network.workspace();
        for label in 0..CLASSES {
            let image = image(&mut rng, label);
            let mut gradient = vec![0.0; network.parameters().len()];
            let loss = network.accumulate(&image, &mut workspace, &mut gradient);
            let mut point: Vec<f64> = network.parameters().iter().map(|weight| f64::from(*weight)).collect();
            let reference = reference_loss(&network, &point, &image);
            assert!((f64::from(loss) - reference).abs() < 1e-5, "seed {SEED}: {loss} against {reference}");
            let step = 1e-5;
            for (index, analytic) in gradient.iter().enumerate() {
                let middle = point[index];
                point[index] = middle + step;
                let above = reference_loss(&network, &point, &image);
                point[index] = middle - step;
                let below = reference_loss(&network, &point, &image);
                point[index] = middle;
                let numeric = (above - below) / (2.0 * step);
                let error = (f64::from(*analytic) - numeric).abs();
                assert!(error < 1e-5, "seed {SEED}, parameter {index}: {analytic} against {numeric}");
            }
            assert!(
                gradient.iter().filter(|slope| slope.abs() > 1e-4).count() > 100,
                "seed {SEED}: too flat to test"
            );
        }
    }

    #[test]
    fn gradients_add_up_over_images() {
        let mut rng = SplitMix64::new(SEED);
        let network = Network::new(&[8], &mut rng);
        let mut workspace = network.workspace();
        let (a, b) = (image(&mut rng, 1), image(&mut rng, 2));
        let mut sum_of = |images: &[&Image]| {
            let mut gradient = vec![0.0; network.parameters().len()];
            images.iter().for_each(|image| {
                network.accumulate(image, &mut workspace, &mut gradient);
            });
            gradient
        };
        let (first, second, both) = (sum_of(&[&a]), sum_of(&[&b]), sum_of(&[&a, &b]));
        for ((x, y), sum) in first.iter().zip(&second).zip(&both) {
            assert!((x + y - sum).abs() < 1e-6, "seed {SEED}: {x} + {y} is not {sum}");
        }
    }

    #[test]
    fn probabilities_stay_finite_for_huge_scores() {
        let mut scores = [1.0e30, -1.0e30, 0.0];
        assert_eq!(softmax_cross_entropy(&mut scores, 0), 0.0);
        assert_eq!(scores, [1.0, 0.0, 0.0]);
        let mut even = [4.0; CLASSES];
        assert!((softmax_cross_entropy(&mut even, 3) - (CLASSES as f32).ln()).abs() < 1e-6);
        assert!(even.iter().all(|probability| (probability - 0.1).abs() < 1e-7));
    }

    #[test]
    fn the_class_is_the_one_with_the_highest_score() {
        let mut network = Network::new(&[4], &mut SplitMix64::new(SEED));
        let mut workspace = network.workspace();
        let image = image(&mut SplitMix64::new(1), 0);
        network.parameters_mut().fill(0.0);
        assert_eq!(network.classify(&image, &mut workspace), 0, "all equal: the lowest");
        let biases = network.parameters().len() - CLASSES;
        network.parameters_mut()[biases + 7] = 0.5;
        assert_eq!(network.classify(&image, &mut workspace), 7);
    }

    #[test]
    fn the_fingerprint_is_fnv_1a_and_sees_every_bit() {
        // The published hash of the four bytes of "foob".
        let foob = Network { layers: Vec::new(), parameters: vec![f32::from_le_bytes(*b"foob")] };
        assert_eq!(foob.fingerprint(), 0xdd12_0e79_0c25_12af);
        let mut network = Network::new(&[4], &mut SplitMix64::new(SEED));
        let before = network.fingerprint();
        assert_eq!(before, network.clone().fingerprint());
        let last = network.parameters_mut().last_mut().unwrap();
        *last = f32::from_bits(last.to_bits() ^ 1);
        assert_ne!(before, network.fingerprint());
    }
}
