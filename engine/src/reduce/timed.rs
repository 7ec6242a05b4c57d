//! A kernel that says how long it has worked: those of ranks that are traced.
//!
//! Neighbours: `kernel` is what is wrapped; the tracer asks at the end of the call.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::kernel::Kernel;
use super::user::{Operation, Panicked, UserKernel};

/// See the file's head.
pub(crate) struct Timed {
    kernel: Kernel,
    nanoseconds: AtomicU64,
    bytes: AtomicU64,
    times: AtomicU64,
}

impl fmt::Debug for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timed").field("nanoseconds", &self.nanoseconds).finish_non_exhaustive()
    }
}

impl Timed {
    /// Puts itself around `kernel`; both sides keep it.
    pub(crate) fn around(kernel: &mut Kernel) -> Arc<Self> {
        let [nanoseconds, bytes, times] = [const { AtomicU64::new(0) }; 3];
        let inner = std::mem::replace(kernel, Kernel::NONE);
        let timed = Arc::new(Self { kernel: inner, nanoseconds, bytes, times });
        *kernel = Kernel::User(Arc::new(Operation::new(Arc::clone(&timed))));
        timed
    }

    /// How long it has worked, on how many bytes of results, and how often; `None`: never.
    pub(crate) fn spent(&self) -> Option<(Duration, usize, u32)> {
        let [nanoseconds, bytes, times] =
            [&self.nanoseconds, &self.bytes, &self.times].map(|of| of.load(Ordering::Relaxed));
        (times > 0).then(|| (Duration::from_nanos(nanoseconds), bytes as usize, times as u32))
    }

    fn time<R>(&self, bytes: usize, work: impl FnOnce() -> R) -> R {
        let began = Instant::now();
        let result = work();
        self.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.times.fetch_add(1, Ordering::Relaxed);
        result
    }
}

impl UserKernel for Arc<Timed> {
    fn name(&self) -> &str {
        match &self.kernel {
            Kernel::Functions(_) => "",
            Kernel::User(user) => user.name(),
        }
    }

    fn reduce_left(&self, left: &mut [u8], right: &[u8]) -> Result<(), Panicked> {
        self.time(left.len(), || self.kernel.reduce_left(left, right))
    }

    fn reduce_right(&self, left: &[u8], right: &mut [u8]) -> Result<(), Panicked> {
        self.time(right.len(), || self.kernel.reduce_right(left, right))
    }

    fn reduce_apart(&self, left: &[u8], right: &[u8], into: &mut [u8]) -> Result<(), Panicked> {
        self.time(into.len(), || self.kernel.reduce_apart(left, right, into))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Op, Reduction};
    use super::*;

    #[test]
    fn it_reduces_as_what_it_is_put_around_and_counts() {
        let plain = Reduction::<u16>::plan(&Op::Sum).unwrap().kernel;
        let mut kernel = plain.clone();
        let timed = Timed::around(&mut kernel);
        assert_eq!(timed.spent(), None);
        let sum = |kernel: &Kernel| {
            let (mut left, right) = ([1u16, 2], [10u16, 20]);
            kernel.reduce_left(bytemuck::cast_slice_mut(&mut left), bytemuck::cast_slice(&right)).unwrap();
            left
        };
        assert_eq!((sum(&kernel), sum(&plain)), ([11, 22], [11, 22]));
        let (_, bytes, times) = timed.spent().unwrap();
        assert_eq!((bytes, times), (4, 1));
    }
}
