//! A training loop in bf16: weights are kept in `f32`, gradients travel as `bf16`, half as many bytes, and each layer's
//! is on its way while the one before it is computed.
//!
//! ```text
//! ringworld run -n 4 -- target/release/examples/train_bf16
//! ```

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "an example that shows its result")]

use ringworld::{Communicator, Op, Result, World, bf16};

const LAYERS: usize = 3;
const WIDTH: usize = 64;
const STEPS: usize = 200;
const RATE: f32 = 0.2;

fn main() -> Result<()> {
    let world = World::from_env()?;
    let loss = train(&world)?;
    if world.rank() == 0 {
        println!("{} ranks: the loss is {loss:.6} after {STEPS} steps", world.size());
    }
    world.finish()
}

/// Trains, and returns the loss over all ranks after the last step.
fn train(world: &Communicator) -> Result<f64> {
    // Rank 0 has drawn the weights; everybody begins with the same.
    let mut weights = vec![vec![0f32; WIDTH]; LAYERS];
    if world.rank() == 0 {
        weights.iter_mut().flatten().enumerate().for_each(|(i, weight)| *weight = (i % 7) as f32);
    }
    for layer in &mut weights {
        world.broadcast(layer, 0)?;
    }

    // The average would do, too; with the factor first, the sum cannot leave the range of the small type.
    let mut gradients = world.all_reduce_buckets(Op::Sum.scaled(1.0 / world.size() as f64, 1.0));
    let mut loss = 0.0;
    for step in 0..STEPS {
        loss = 0.0;
        for layer in (0..LAYERS).rev() {
            let (part, gradient) = backward(&weights[layer], layer, world.rank(), step);
            loss += part;
            gradients.push(gradient)?;
        }
        // In the order in which they were pushed: the last layer first.
        for (layer, gradient) in (0..LAYERS).rev().zip(gradients.finish()?) {
            for (weight, slope) in weights[layer].iter_mut().zip(gradient) {
                *weight -= RATE * slope.to_f32();
            }
        }
    }
    world.all_reduce_one(loss, Op::Average)
}

/// A layer's part of the loss, and its gradient, for this rank's share of the data: the mean square distance to weights
/// that the data, with some noise, speak of.
fn backward(weights: &[f32], layer: usize, rank: usize, step: usize) -> (f64, Vec<bf16>) {
    let wanted = |i: usize| (layer + i) as f32 / WIDTH as f32;
    let noise = |i: usize| ((i * 31 + rank * 17 + step * 7) % 13) as f32 / 13.0 - 6.0 / 13.0;
    let slopes: Vec<f32> =
        weights.iter().enumerate().map(|(i, weight)| weight - wanted(i) - 0.01 * noise(i)).collect();
    let loss = slopes.iter().map(|slope| f64::from(slope * slope)).sum::<f64>() / WIDTH as f64;
    (loss, slopes.into_iter().map(bf16::from_f32).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_loss_comes_down_to_the_noise_on_any_number_of_ranks() {
        for size in [1, 4] {
            let losses = ringworld::testing::ranks(size, |world| super::train(&world).expect("a training"));
            assert!(losses.iter().all(|loss| *loss < 1e-3 && *loss == losses[0]), "{losses:?}");
        }
    }
}
