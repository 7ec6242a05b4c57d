//! Many tensors at once: small ones are fused into buckets, as Horovod and DDP do, large ones go alone.
//!
//! A model has hundreds of small tensors, and an all-reduce of each would cost its latency hundreds of
//! times. Copying a few megabytes together and apart again costs far less. Buckets are cut by lengths
//! alone, so all ranks cut alike. All of them are under way together: while one is on the wire, the next
//! is packed.

use bytemuck::Pod;

use super::plan::Plan;
use crate::Result;
use crate::communicator::Communicator;
use ringworld_engine::reduce::{Reduction, Shared};

/// A tensor of at least this many bytes goes alone: copying it would cost more than the latency saved.
/// Measured between two ranks over loopback, all tensors under way at once against fused: 256 of 4 KiB take
/// 4.2 ms and 0.7 ms, 128 of 32 KiB 2.6 and 1.6, 64 of 128 KiB 4.8 and 4.2, 32 of 256 KiB 4.5 and 8.2.
pub(super) const ALONE: usize = 128 << 10;

/// Buckets are closed at this many bytes. Long enough for full bandwidth, short enough that several are
/// under way for a model of some tens of megabytes.
pub(super) const BUCKET: usize = 4 << 20;

/// Cuts tensors of these lengths into runs: (first, end), fused when there is more than one in it.
fn buckets(lengths: impl Iterator<Item = usize>, element: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    // Bytes in the run that is still open; `None` when there is none.
    let mut open: Option<usize> = None;
    for (index, length) in lengths.enumerate() {
        let bytes = length.saturating_mul(element);
        match (&mut open, runs.last_mut()) {
            (Some(filled), Some(run)) if bytes < ALONE && *filled + bytes <= BUCKET => {
                run.1 = index + 1;
                *filled += bytes;
            }
            _ => {
                runs.push((index, index + 1));
                open = (bytes < ALONE).then_some(bytes);
            }
        }
    }
    runs
}

/// # Collectives on many tensors, all there
impl Communicator {
    /// A [`Communicator::all_reduce`] of many slices at once: the same result as one call for each, in
    /// far fewer messages when they are short.
    ///
    /// Short slices are copied together and reduced as one; long ones are reduced where they are. The bits
    /// of the result may differ from those of single calls as they may between lengths, unless the
    /// communicator is [reproducible](crate::Options::reproducible).
    ///
    /// # Errors
    ///
    /// As for [`Communicator::all_reduce`]; among them [`Error::Mismatch`](crate::Error::Mismatch) where slices have
    /// not the same lengths, in the same order, on all ranks.
    ///
    /// ```
    /// use ringworld::Op;
    /// # let world = ringworld::testing::alone();
    /// let (mut weights, mut bias) = (vec![1f32; 100], vec![2f32; 10]);
    /// world.all_reduce_many(&mut [&mut weights, &mut bias], Op::Average)?;
    /// assert_eq!((weights[0], bias[0]), (1.0, 2.0));
    /// # Ok::<(), ringworld::Error>(())
    /// ```
    #[track_caller]
    #[doc(alias("all_reduce_coalesced", "grouped_allreduce"))]
    pub fn all_reduce_many<T: Pod>(&self, tensors: &mut [&mut [T]], op: impl Reduction<T>) -> Result<()> {
        let runs = buckets(tensors.iter().map(|tensor| tensor.len()), size_of::<T>());
        let mut parts = Vec::with_capacity(runs.len());
        let mut rest: &mut [&mut [T]] = tensors;
        for (first, end) in runs {
            let (run, after) = std::mem::take(&mut rest).split_at_mut(end - first);
            rest = after;
            let (several, length) = (run.len() > 1, total(run));
            // Not in the scope, whose closure would be taken for the caller.
            let plan = self.plan_all_reduce(length, &Shared(&op), true)?;
            let plan = plan.of_slices(run.iter().map(|tensor| tensor.len()));
            parts.push(Part { fused: several.then(|| Vec::with_capacity(length)), run, plan });
        }
        self.scope(|s| {
            for Part { run, fused, plan } in &mut parts {
                let data = match (fused, &mut **run) {
                    (None, [alone]) => &mut **alone,
                    (None, _) => continue,
                    (Some(bucket), run) => {
                        run.iter().for_each(|tensor| bucket.extend_from_slice(tensor));
                        bucket.as_mut_slice()
                    }
                };
                // Waited for by the end of the scope; on the wire while the next one is packed.
                s.start::<&mut [T]>(plan, None, Some(data))?;
            }
            Ok(())
        })?;
        for Part { run, fused, .. } in parts {
            let Some(bucket) = fused else { continue };
            let mut bucket = bucket.as_slice();
            for tensor in run {
                let (mine, after) = bucket.split_at(tensor.len());
                tensor.copy_from_slice(mine);
                bucket = after;
            }
        }
        Ok(())
    }
}

/// A run of tensors, and what they are copied together in when there are several.
struct Part<'a, 'b, T> {
    run: &'a mut [&'b mut [T]],
    fused: Option<Vec<T>>,
    plan: Plan,
}

fn total<T>(tensors: &[&mut [T]]) -> usize {
    tensors.iter().map(|tensor| tensor.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tensors_share_a_bucket_and_long_ones_go_alone() {
        let runs = buckets([10, 20, ALONE, 30, 40].into_iter(), 4);
        assert_eq!(runs, [(0, 2), (2, 3), (3, 5)]);
        let runs = buckets([ALONE - 1; 70].into_iter(), 1);
        assert_eq!(runs, [(0, 32), (32, 64), (64, 70)], "a bucket is closed before it grows too long");
        assert_eq!(buckets([].into_iter(), 4), []);
        assert_eq!(buckets([0, 0].into_iter(), 4), [(0, 2)]);
    }
}
