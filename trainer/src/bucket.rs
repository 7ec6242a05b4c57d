//! Buckets: runs of layers whose gradients are reduced together, in the order in which they are complete.
//!
//! The backward pass completes the gradient of the last layer first. A bucket gathers layers from there on until
//! it holds enough bytes to be worth a reduction: small ones would each pay the latency, one large one could only
//! begin when there is nothing left to hide it behind (Li and others, "PyTorch Distributed", VLDB 2020).
//! Invariant: every layer is in exactly one bucket, and the cut depends on the shapes and the size alone, so all
//! ranks cut alike, whether they overlap or not. Neighbours: `learner` fills buckets, `training` reduces them.

use std::ops::Range;

/// A run of layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Which layers, counted from the first of the network.
    pub(crate) layers: Range<usize>,
    /// Where their parameters lie among those of the network.
    pub(crate) parameters: Range<usize>,
}

/// Cuts `layers`, given as where their parameters lie, from the last to the first. A bucket is closed as soon as
/// it holds `bytes`; only the last one may hold less.
pub(crate) fn buckets(layers: impl ExactSizeIterator<Item = Range<usize>>, bytes: usize) -> Vec<Bucket> {
    let layers: Vec<_> = layers.collect();
    let mut buckets: Vec<Bucket> = Vec::new();
    for (index, parameters) in layers.into_iter().enumerate().rev() {
        match buckets.last_mut() {
            Some(open) if size_of::<f32>() * open.parameters.len() < bytes => {
                open.layers.start = index;
                open.parameters.start = parameters.start;
            }
            _ => buckets.push(Bucket { layers: index..index + 1, parameters }),
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(lengths: &[usize], bytes: usize) -> Vec<(Range<usize>, Range<usize>)> {
        let mut end = 0;
        let layers: Vec<_> = lengths
            .iter()
            .map(|length| {
                end += length;
                end - length..end
            })
            .collect();
        buckets(layers.into_iter(), bytes).into_iter().map(|b| (b.layers, b.parameters)).collect()
    }

    #[test]
    fn a_bucket_is_closed_as_soon_as_it_is_full_and_the_last_layers_come_first() {
        assert_eq!(cut(&[10, 300, 300, 5], 1_000), [(2..4, 310..615), (1..2, 10..310), (0..1, 0..10)]);
        assert_eq!(cut(&[10, 300, 300, 5], 1_220), [(2..4, 310..615), (0..2, 0..310)], "full at 305 weights");
        assert_eq!(cut(&[10, 300, 300, 5], 1_221), [(1..4, 10..615), (0..1, 0..10)], "one byte is missing");
    }

    #[test]
    fn every_layer_is_in_exactly_one_bucket_at_any_size() {
        let lengths = [8_320, 8_256, 650];
        for bytes in [1, 2_600, 2_601, 40_000, usize::MAX] {
            let cut = cut(&lengths, bytes);
            let back: Vec<usize> = cut.iter().flat_map(|(layers, _)| layers.clone().rev()).collect();
            assert_eq!(back, [2, 1, 0], "{bytes} bytes");
            assert_eq!(cut.iter().map(|(_, parameters)| parameters.len()).sum::<usize>(), 17_226);
        }
        assert_eq!(cut(&lengths, 1).len(), 3, "one each");
        assert_eq!(cut(&lengths, usize::MAX).len(), 1, "all together");
    }
}
