//! A multi-layer perceptron: dense layers with ReLU between them, softmax and cross entropy at the end.
//!
//! All weights lie in one flat slice. A layer's part is its weights, one row of `outputs` per input, and then its
//! biases. Rows by input make the inner loops run over outputs, which the compiler turns into vector instructions
//! without reordering a sum: speed costs no determinism. A batch goes through layer by layer, and comes back layer
//! by layer, so that the gradient of the last layers is complete while the first ones still have to be computed:
//! that is what lets a reduction overlap. Neighbours: `learner` asks for the gradients and applies them, `bucket`
//! says which layers travel together, `rng` gives the first weights.

use std::hash::Hasher as _;
use std::ops::Range;

use crate::digits::{CLASSES, Image, PIXELS};
use crate::rng::SplitMix64;

/// Sums in [`dot`] that are independent of one another: four vector registers of the smallest vector unit there
/// is, which hides how long an addition takes.
const LANES: usize = 16;

/// A dense layer: its shape and where its parameters begin.
#[derive(Clone, Copy, Debug)]
struct Layer {
    inputs: usize,
    outputs: usize,
    offset: usize,
}

impl Layer {
    /// Where its weights and biases lie among the parameters of the network.
    fn range(self) -> Range<usize> {
        self.offset..self.offset + (self.inputs + 1) * self.outputs
    }

    /// This layer's weights and biases in the parameters of the network.
    fn of(self, parameters: &[f32]) -> (&[f32], &[f32]) {
        parameters[self.range()].split_at(self.inputs * self.outputs)
    }
}

/// The network: its shape and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    layers: Vec<Layer>,
    parameters: Vec<f32>,
}

/// What a batch leaves behind on its way through: kept from batch to batch, so that nothing is allocated once the
/// longest has passed.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Outputs of each layer, after ReLU, image by image; the last are the scores of the classes, until
    /// [`Network::losses`] turns them into probabilities.
    activations: Vec<Vec<f32>>,
    /// The derivative of the loss by each layer's outputs before ReLU, image by image.
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

    /// All weights and biases, to be changed but not in number.
    pub(crate) fn parameters_mut(&mut self) -> &mut Vec<f32> {
        &mut self.parameters
    }

    /// Where the parameters of each layer lie, from the first layer to the last.
    pub(crate) fn layers(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator {
        self.layers.iter().map(|layer| layer.range())
    }

    /// Room for batches to pass.
    pub(crate) fn workspace(&self) -> Workspace {
        let room = || self.layers.iter().map(|_| Vec::new()).collect();
        Workspace { activations: room(), deltas: room() }
    }

    /// FNV-1a (64 bits) over the bits of every parameter: equal for equal weights, and so good as surely
    /// different for weights that differ anywhere.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = fnv::FnvHasher::default();
        for weight in &self.parameters {
            hasher.write(&weight.to_bits().to_le_bytes());
        }
        hasher.finish()
    }

    /// How many of `images` the network tells rightly: those whose label has the highest score, the lowest class
    /// of several that have it.
    pub(crate) fn correct(&self, images: &[&Image], workspace: &mut Workspace) -> usize {
        self.forward(images, workspace);
        let scores = workspace.activations.last().map_or(&[][..], Vec::as_slice);
        images
            .iter()
            .zip(scores.chunks_exact(CLASSES))
            .filter(|(image, row)| best(row) == image.label)
            .count()
    }

    /// Runs a batch through, as far as the scores of the classes.
    fn forward(&self, images: &[&Image], workspace: &mut Workspace) {
        for (index, layer) in self.layers.iter().enumerate() {
            let (before, rest) = workspace.activations.split_at_mut(index);
            let all_outputs = &mut rest[0];
            all_outputs.resize(images.len() * layer.outputs, 0.0);
            let (weights, biases) = layer.of(&self.parameters);
            for (number, outputs) in all_outputs.chunks_exact_mut(layer.outputs).enumerate() {
                outputs.copy_from_slice(biases);
                let inputs = inputs_of(images, before, layer.inputs, number);
                for (input, row) in inputs.iter().zip(weights.chunks_exact(layer.outputs)) {
                    add_scaled(outputs, *input, row);
                }
                if index + 1 < self.layers.len() {
                    outputs.iter_mut().for_each(|output| *output = output.max(0.0));
                }
            }
        }
    }

    /// Runs a batch through and returns the sum of its losses: cross entropy, `-ln` of the probability of the
    /// label. The workspace is ready for [`Network::backward`] from the last layer on.
    pub(crate) fn losses(&self, images: &[&Image], workspace: &mut Workspace) -> f32 {
        self.forward(images, workspace);
        let Workspace { activations, deltas } = workspace;
        let (Some(scores), Some(deltas)) = (activations.last_mut(), deltas.last_mut()) else { return 0.0 };
        let mut sum = 0.0;
        for (image, scores) in images.iter().zip(scores.chunks_exact_mut(CLASSES)) {
            sum += softmax_cross_entropy(scores, image.label);
        }
        // Softmax and cross entropy together have the simplest derivative there is: what was said less what
        // was right.
        deltas.clone_from(scores);
        for (image, delta) in images.iter().zip(deltas.chunks_exact_mut(CLASSES)) {
            delta[image.label] -= 1.0;
        }
        sum
    }

    /// Follows the losses of the batch of [`Network::losses`] back through one layer: adds their derivative by the
    /// layer's parameters to `gradient`, which is shaped like them, and leaves for the layer below what it needs.
    /// Layers go from the last to the first.
    pub(crate) fn backward(
        &self,
        index: usize,
        images: &[&Image],
        workspace: &mut Workspace,
        gradient: &mut [f32],
    ) {
        let Workspace { activations, deltas } = workspace;
        let layer = self.layers[index];
        let (earlier, rest) = deltas.split_at_mut(index);
        let deltas = rest[0].as_slice();
        let (weight_sums, bias_sums) = gradient.split_at_mut(layer.inputs * layer.outputs);
        for delta in deltas.chunks_exact(layer.outputs) {
            add_scaled(bias_sums, 1.0, delta);
        }
        // Row by row, so that a row stays in the nearest cache for the whole batch.
        for (input, row) in weight_sums.chunks_exact_mut(layer.outputs).enumerate() {
            for (number, delta) in deltas.chunks_exact(layer.outputs).enumerate() {
                add_scaled(row, inputs_of(images, &activations[..index], layer.inputs, number)[input], delta);
            }
        }
        let Some(below) = earlier.last_mut() else { return };
        below.resize(images.len() * layer.inputs, 0.0);
        let (weights, _) = layer.of(&self.parameters);
        let slopes =
            below.chunks_exact_mut(layer.inputs).zip(activations[index - 1].chunks_exact(layer.inputs));
        for ((slopes, inputs), delta) in slopes.zip(deltas.chunks_exact(layer.outputs)) {
            for ((slope, input), row) in
                slopes.iter_mut().zip(inputs).zip(weights.chunks_exact(layer.outputs))
            {
                // ReLU lets the derivative through only where it let the signal through.
                *slope = if *input > 0.0 { dot(row, delta) } else { 0.0 };
            }
        }
    }
}

/// What image `number` of a batch gives a layer of so many inputs: the outputs of the layer before, the last of
/// `before`, or its pixels where there is none.
fn inputs_of<'a>(images: &[&'a Image], before: &'a [Vec<f32>], inputs: usize, number: usize) -> &'a [f32] {
    match before.last() {
        Some(outputs) => &outputs[number * inputs..][..inputs],
        None => &images[number].pixels,
    }
}

/// The class with the highest score; the lowest of several.
fn best(scores: &[f32]) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    best
}

/// The sum of products. Added up in an order of its own, but always the same one: element `i` into sum
/// `i % LANES`, the sums one after the other, then what is left over.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f32>()
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

    /// The sum of the losses over a batch, and its gradient.
    fn gradient(network: &Network, workspace: &mut Workspace, images: &[&Image]) -> (f32, Vec<f32>) {
        let mut gradient = vec![0.0; network.parameters().len()];
        let losses = network.losses(images, workspace);
        for (index, range) in network.layers().enumerate().rev() {
            network.backward(index, images, workspace, &mut gradient[range]);
        }
        (losses, gradient)
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
            let (loss, gradient) = gradient(&network, &mut workspace, &[&image]);
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
        let mut sum_of = |images: &[&Image]| gradient(&network, &mut workspace, images).1;
        // The longer one in between, so that nothing may be left over from another batch.
        let (first, both, second) = (sum_of(&[&a]), sum_of(&[&a, &b]), sum_of(&[&b]));
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
        let images: Vec<Image> = (0..CLASSES).map(|label| image(&mut SplitMix64::new(1), label)).collect();
        let mut right = |network: &Network| -> Vec<usize> {
            (0..CLASSES).filter(|label| network.correct(&[&images[*label]], &mut workspace) == 1).collect()
        };
        network.parameters_mut().fill(0.0);
        assert_eq!(right(&network), [0], "all equal: the lowest");
        let biases = network.parameters().len() - CLASSES;
        network.parameters_mut()[biases + 7] = 0.5;
        assert_eq!(right(&network), [7]);
        let all: Vec<&Image> = images.iter().collect();
        assert_eq!(network.correct(&all, &mut network.workspace()), 1, "one of a batch of all classes");
        assert_eq!(network.correct(&[], &mut network.workspace()), 0);
    }

    #[test]
    fn a_dot_product_leaves_nothing_out_at_any_length() {
        for length in 0..3 * LANES {
            let (a, b): (Vec<f32>, Vec<f32>) = (0..length).map(|i| (i as f32, 2.0)).unzip();
            // Small integers: exact in any order.
            assert_eq!(dot(&a, &b), (length * length.saturating_sub(1)) as f32, "length {length}");
        }
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
