//! A data-parallel trainer: handwritten digits, a small network in plain Rust, gradients summed by `all_reduce`.
//!
//! Every rank holds the whole data set and the same network. A global batch has the same images whatever the
//! number of ranks; each rank works on its shard of it, one all-reduce per step sums the gradients, and all ranks
//! take the same step. So more ranks do not change what is learnt, and at the end the ranks prove to one another
//! that their weights agree bit for bit. The page to read is `training`: the only one that communicates.
//!
//! | file | what it does |
//! |---|---|
//! | `training` | the loop, the all-reduce, the checks between ranks |
//! | `learner` | one rank's share: sum gradients, take a step |
//! | `network`, `adam` | forward and backward, the optimiser |
//! | `digits`, `shard`, `rng` | the images, whose they are, random numbers |
//! | `console` | what rank 0 shows |

#![forbid(unsafe_code)]

mod adam;
mod console;
mod digits;
mod learner;
mod network;
mod rng;
mod shard;
mod training;

use std::process::ExitCode;

use clap::Parser;
use ringworld::World;

use crate::digits::{ParseError, Split};
use crate::rng::SplitMix64;

/// Trains a small network on handwritten digits, on all ranks of a world together.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(about, version)]
struct Options {
    /// How many times to go through the training images
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    epochs: u64,
    /// Images per step, over all ranks together
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// Decides the split, the first weights and the order of the images
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Why there is no trained network.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Digits(#[from] ParseError),
    #[error("--batch {given} is more than there are training images; ask for 1 to {images}")]
    Batch { given: u64, images: usize },
    #[error(
        "rank {rank} was started with {theirs}, but rank 0 with {ours}; give every rank the same arguments"
    )]
    Options { rank: usize, theirs: String, ours: String },
    #[error(
        "the weights differ after training: rank {rank} has {theirs:016x}, rank 0 has {ours:016x}; all ranks must \
         run the same build, and if they do, an all-reduce gave ranks different sums: please report it"
    )]
    Weights { rank: usize, theirs: u64, ours: u64 },
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
    #[error(transparent)]
    World(#[from] ringworld::Error),
}

fn main() -> ExitCode {
    // Before the world, so that a wrong argument or `--help` keeps no other rank waiting.
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trainer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Error> {
    let mut rng = SplitMix64::new(options.seed);
    let split = Split::new(digits::parse(digits::TEXT)?, &mut rng.fork());
    let images = split.training.len();
    let batch = usize::try_from(options.batch)
        .ok()
        .filter(|batch| *batch <= images)
        .ok_or(Error::Batch { given: options.batch, images })?;
    let world = World::from_env()?;
    training::check_options(&world, options)?;
    training::train(&world, &split, options.epochs, batch, &mut rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_defaults_and_wrong_ones_are_refused() {
        let parse = |line: &str| Options::try_parse_from(line.split(' '));
        assert_eq!(parse("trainer").unwrap(), Options { epochs: 20, batch: 64, seed: 1 });
        assert_eq!(
            parse("trainer --epochs 3 --batch 10 --seed 18446744073709551615").unwrap(),
            Options { epochs: 3, batch: 10, seed: u64::MAX }
        );
        for wrong in ["trainer --epochs 0", "trainer --batch 0", "trainer --seed -1", "trainer --epoch 1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_batch_larger_than_the_training_images_is_refused_before_a_world_forms() {
        let error = run(&Options { epochs: 1, batch: 1_438, seed: 1 }).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--batch 1438 is more than there are training images; ask for 1 to 1437"
        );
    }
}
