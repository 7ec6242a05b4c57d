//! What the trainer can be asked for on its command line.
//!
//! Invariant: what has been parsed makes sense by itself; what depends on the data is checked in `main`. The text
//! that [`Options`] displays is the whole of it, so ranks that show the same text were asked the same. Neighbours:
//! `main` parses, `training` compares the ranks.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};

/// Layers a network may have, so that what a step has under way fits into a list of fixed length.
pub(crate) const MOST_LAYERS: usize = 32;

/// Units a hidden layer may have: two of them make 16 GiB of weights.
const MOST_UNITS: usize = 1 << 16;

/// Trains a small network on handwritten digits, on all ranks of a world together.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "trainer", version)]
pub(crate) struct Options {
    /// How many times to go through the training images
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) epochs: u64,
    /// Images per step, over all ranks together
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: u64,
    /// Decides the split, the first weights and the order of the images
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Widths of the hidden layers, from the first to the last: 128,64 or, four times the same, 512x4
    #[arg(long, value_name = "WIDTHS", default_value = "128,64")]
    pub(crate) hidden: Widths,
    /// Gradients are reduced in buckets of at least so many bytes (K, M: times 1024, 1024²), layer by layer
    #[arg(long, value_name = "BYTES", default_value = "256K")]
    pub(crate) bucket: Bytes,
    /// Whether a bucket is reduced while the gradients of earlier layers are computed, or after all of them
    #[arg(long, default_value = "on")]
    pub(crate) overlap: Overlap,
    /// Go on from memory when a rank fails, and let others in that come later; needs RINGWORLD_ELASTIC=1
    #[arg(long)]
    pub(crate) elastic: bool,
    /// With --elastic: after those epochs, go on until a rank sees this file, and then to the end of the epoch
    #[arg(long, value_name = "FILE", requires = "elastic")]
    pub(crate) until: Option<PathBuf>,
    /// Compare the whole state of all ranks after each step
    #[arg(long)]
    pub(crate) check: bool,
    /// Every rank tells what happens in lines for programs
    #[arg(long)]
    pub(crate) events: bool,
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epochs, batch, seed, hidden, bucket, overlap, elastic, until, check, events } = self;
        write!(f, "--epochs {epochs} --batch {batch} --seed {seed} --hidden {hidden} --bucket {bucket} ")?;
        write!(f, "--overlap {overlap}")?;
        // Each rank may look elsewhere; that all look is what counts.
        f.write_str(if until.is_some() { " --until" } else { "" })?;
        let flags = [(elastic, "--elastic"), (check, "--check"), (events, "--events")];
        flags.iter().filter(|(set, _)| **set).try_for_each(|(_, name)| write!(f, " {name}"))
    }
}

/// When buckets are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Overlap {
    /// Each begins as soon as it is complete.
    On,
    /// Each blocks, once all are complete.
    Off,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// Widths of hidden layers, each 1 to [`MOST_UNITS`], one less than [`MOST_LAYERS`] at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Widths(pub(crate) Vec<usize>);

impl FromStr for Widths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str, most: usize| {
            part.parse().ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
                format!("{part:?} is not a number from 1 to {most}; expected widths like 128,64 or 512x4")
            })
        };
        let mut widths = Vec::new();
        for part in text.split(',') {
            let (width, times) = part.split_once('x').unwrap_or((part, "1"));
            let (width, times) = (number(width, MOST_UNITS)?, number(times, MOST_LAYERS - 1)?);
            widths.resize(widths.len() + times, width);
        }
        if widths.len() >= MOST_LAYERS {
            return Err(format!("{} hidden layers, expected at most {}", widths.len(), MOST_LAYERS - 1));
        }
        Ok(Self(widths))
    }
}

impl fmt::Display for Widths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.0.chunk_by(|a, b| a == b).enumerate() {
            f.write_str(if index > 0 { "," } else { "" })?;
            match run {
                [width] => write!(f, "{width}")?,
                // A run is never empty.
                _ => write!(f, "{}x{}", run[0], run.len())?,
            }
        }
        Ok(())
    }
}

/// A length of memory, not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

/// The units of [`Bytes`], the longest first.
const UNITS: [(char, usize); 2] = [('M', 1 << 20), ('K', 1 << 10)];

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(*name)?, *unit)));
        let (digits, unit) = unit.unwrap_or((text, 1));
        let bytes = digits.parse().ok().and_then(|number: usize| number.checked_mul(unit));
        bytes
            .filter(|bytes| *bytes > 0)
            .map(Self)
            .ok_or_else(|| "expected a number of bytes from 1 on, like 65536, 256K or 4M".to_owned())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, unit)| self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(line.split(' '))
    }

    fn defaults() -> Options {
        Options {
            epochs: 20,
            batch: 64,
            seed: 1,
            hidden: Widths(vec![128, 64]),
            bucket: Bytes(262_144),
            overlap: Overlap::On,
            elastic: false,
            until: None,
            check: false,
            events: false,
        }
    }

    #[test]
    fn the_help_begins_with_what_the_trainer_does() {
        let about = <Options as clap::CommandFactory>::command().get_about().map(ToString::to_string);
        assert!(about.is_some_and(|about| about.starts_with("Trains a small network")));
    }

    #[test]
    fn arguments_have_defaults_and_wrong_ones_are_refused() {
        assert_eq!(parse("trainer").unwrap(), defaults());
        assert_eq!(
            parse("trainer --epochs 3 --batch 10 --seed 18446744073709551615 --overlap off").unwrap(),
            Options { epochs: 3, batch: 10, seed: u64::MAX, overlap: Overlap::Off, ..defaults() }
        );
        for wrong in ["epochs 0", "batch 0", "seed -1", "epoch 1", "overlap maybe", "hidden 0", "bucket 0"] {
            assert!(parse(&format!("trainer --{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn widths_are_lists_with_repetitions() {
        let widths = |text: &str| Widths::from_str(text).map(|widths| widths.0);
        assert_eq!(widths("512x4"), Ok(vec![512; 4]));
        assert_eq!(widths("256,64x2,7"), Ok(vec![256, 64, 64, 7]));
        assert_eq!(widths("8x31").unwrap().len(), 31);
        for wrong in ["", "x", "4x", "4x0", "65537", "3,,3", "8x16,8x16", "8x32", "-1"] {
            assert!(widths(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bytes_have_units() {
        let bytes = |text: &str| Bytes::from_str(text).map(|bytes| bytes.0);
        assert_eq!((bytes("1"), bytes("3K"), bytes("2M")), (Ok(1), Ok(3_072), Ok(2_097_152)));
        for wrong in ["", "K", "0K", "1.5K", "18446744073709551615K", "1G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_is_the_whole_of_it_and_parses_back() {
        let options = Options {
            hidden: Widths(vec![9, 512, 512, 7]),
            bucket: Bytes(1_025),
            overlap: Overlap::Off,
            elastic: true,
            events: true,
            ..defaults()
        };
        for options in [defaults(), options] {
            assert_eq!(parse(&format!("trainer {options}")).unwrap(), options);
        }
        let shown = "--epochs 20 --batch 64 --seed 1 --hidden 128,64 --bucket 256K --overlap on";
        assert_eq!(defaults().to_string(), shown);
    }
}
