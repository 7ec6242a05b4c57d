//! The handwritten digits: read from the text that is compiled in, and split into training and test images.
//!
//! Invariant: every image has 64 pixels in `0.0..=1.0` and a label in `0..10`, or parsing says which line is
//! wrong. The split depends on the random numbers given and on nothing else, so every rank makes the same one.
//! Neighbours: `../data/README.md` has the source, the licence and the form of the text; `network` reads the
//! pixels.

use crate::rng::SplitMix64;

/// Pixels of an image, 8 rows of 8.
pub(crate) const PIXELS: usize = 64;

/// How many different labels there are.
pub(crate) const CLASSES: usize = 10;

/// The data set, inside the program so that it runs from any folder and on any host.
pub(crate) const TEXT: &str = include_str!("../data/digits.txt");

/// Of every five images, one is kept for the test.
const TEST_SHARE: usize = 5;

/// Pixels count the inked dots of a cell, at most this many.
const FULL_INK: u32 = 16;

/// One handwritten digit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    /// Row by row, 0 for paper, 1 for ink.
    pub(crate) pixels: [f32; PIXELS],
    /// The digit that was meant, below [`CLASSES`].
    pub(crate) label: usize,
}

/// A line of the data set that is no image.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the digits is not an image: {reason}; make the file again with convert_digits.py")]
pub(crate) struct ParseError {
    line: usize,
    reason: String,
}

/// Reads all images of `text`.
///
/// # Errors
///
/// Names the first line that is not [`PIXELS`] base-17 digits, a blank and a label.
pub(crate) fn parse(text: &str) -> Result<Vec<Image>, ParseError> {
    text.lines()
        .enumerate()
        .map(|(index, line)| parse_line(line).map_err(|reason| ParseError { line: index + 1, reason }))
        .collect()
}

fn parse_line(line: &str) -> Result<Image, String> {
    let (ink, label) = line.split_once(' ').ok_or("expected pixels, a blank and a label")?;
    let label = match label.parse() {
        Ok(label) if label < CLASSES => label,
        _ => return Err(format!("the label is {label:?}, expected 0 to {}", CLASSES - 1)),
    };
    let count = ink.chars().count();
    if count != PIXELS {
        return Err(format!("it has {count} pixels, expected {PIXELS}"));
    }
    let mut pixels = [0.0; PIXELS];
    for (pixel, digit) in pixels.iter_mut().zip(ink.chars()) {
        let dots =
            digit.to_digit(FULL_INK + 1).ok_or(format!("{digit:?} is not a pixel, expected 0-9 or a-g"))?;
        *pixel = dots as f32 / FULL_INK as f32;
    }
    Ok(Image { pixels, label })
}

/// Images to learn from and images to be tested on, with none in common.
#[derive(Debug)]
pub(crate) struct Split {
    /// Four fifths of the images.
    pub(crate) training: Vec<Image>,
    /// The other fifth, rounded up.
    pub(crate) test: Vec<Image>,
}

impl Split {
    /// Deals `images` out by chance.
    pub(crate) fn new(mut images: Vec<Image>, rng: &mut SplitMix64) -> Self {
        rng.shuffle(&mut images);
        let training = images.split_off(images.len().div_ceil(TEST_SHARE));
        Self { training, test: images }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_set_is_whole() {
        let images = parse(TEXT).unwrap();
        assert_eq!(images.len(), 1_797);
        let mut per_class = [0; CLASSES];
        images.iter().for_each(|image| per_class[image.label] += 1);
        assert_eq!(per_class, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert!(images.iter().flat_map(|image| image.pixels).all(|pixel| (0.0..=1.0).contains(&pixel)));
        assert_eq!(images[0].pixels[..8], [0.0, 0.0, 0.3125, 0.8125, 0.5625, 0.0625, 0.0, 0.0]);
    }

    #[test]
    fn a_wrong_line_is_named_with_what_is_wrong() {
        let good = format!("{} 3", "g".repeat(PIXELS));
        let error = |line: &str| parse(&format!("{good}\n{line}\n")).unwrap_err().to_string();
        assert!(error("").starts_with("line 2 of the digits is not an image: expected pixels"));
        assert!(
            error(&format!("{} 10", "0".repeat(PIXELS))).contains("the label is \"10\", expected 0 to 9")
        );
        assert!(error("0123 4").contains("it has 4 pixels, expected 64"));
        assert!(error(&format!("{} 4", "h".repeat(PIXELS))).contains("'h' is not a pixel"));
    }

    #[test]
    fn a_split_shares_out_every_image_once_and_depends_on_the_seed_alone() {
        let images = parse(TEXT).unwrap();
        let split = |seed| Split::new(images.clone(), &mut SplitMix64::new(seed));
        let (a, b, other) = (split(1), split(1), split(2));
        assert_eq!((a.training.len(), a.test.len()), (1_437, 360));
        assert_eq!((&a.training, &a.test), (&b.training, &b.test));
        assert_ne!(a.test, other.test);
        let key = |image: &Image| (image.pixels.map(f32::to_bits), image.label);
        let mut dealt: Vec<_> = a.training.iter().chain(&a.test).map(key).collect();
        let mut all: Vec<_> = images.iter().map(key).collect();
        dealt.sort_unstable();
        all.sort_unstable();
        assert_eq!(dealt, all);
    }
}
