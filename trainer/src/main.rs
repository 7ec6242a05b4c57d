//! A data-parallel trainer: handwritten digits, a small network in plain Rust, gradients summed by `all_reduce`.
//!
//! Every rank holds the whole data set and the same network. A global batch has the same images whatever the
//! number of ranks; each rank works on its shard of it, all-reduces sum the gradients, and all ranks take the same
//! step. So more ranks do not change what is learnt, and at the end the ranks prove to one another that their
//! weights agree bit for bit. The gradients of the last layers are on their way while those of the first are still
//! being computed. The pages to read are `reducer`, `training` and `elastic`: the only ones that communicate.
//!
//! | file | what it does |
//! |---|---|
//! | `training` | the phases, the checks between ranks |
//! | `elastic`, `events` | on through failures, with those that are left and those that come; what is told of it |
//! | `reducer` | a step: all-reduces that overlap with the backward pass |
//! | `learner`, `bucket` | one rank's share: gradients, bucket by bucket, and updates |
//! | `network`, `adam` | forward and backward, the optimiser |
//! | `digits`, `shard`, `rng` | the images, whose they are, random numbers |
//! | `options`, `console` | what is asked for, what rank 0 shows |

#![forbid(unsafe_code)]

mod adam;
mod bucket;
mod console;
mod digits;
mod elastic;
mod error;
mod events;
mod learner;
mod network;
mod options;
mod reducer;
mod rng;
mod shard;
mod training;
/// Worlds of threads, as the tests of the library have them.
#[cfg(test)]
#[path = "../../runtime/tests/common/mod.rs"]
mod worlds;

use std::process::ExitCode;

use clap::Parser;
use ringworld::World;

use crate::digits::Split;
use crate::error::Error;
use crate::options::Options;
use crate::rng::SplitMix64;
use crate::training::Training;

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
    let start = || Training::new(&split, options, batch, rng.clone());
    if options.elastic {
        return elastic::train(world, options, start);
    }
    training::train(&world, &mut start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_larger_than_the_training_images_is_refused_before_a_world_forms() {
        let error = run(&Options::parse_from(["trainer", "--batch", "1438"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--batch 1438 is more than there are training images; ask for 1 to 1437"
        );
    }
}
