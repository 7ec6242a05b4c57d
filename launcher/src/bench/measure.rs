//! Times one operation at one size: warm-up, then batches, or single calls, then the slowest rank's time of each.
//!
//! Invariant: rank 0 alone decides how often, and tells the others before each batch, so that ranks whose
//! clocks run differently never disagree about the number of calls. Results are checked once per size.

use ringworld::{Op, Result, World};
use std::time::{Duration, Instant};

/// Batches per size: an odd number, so that the median is one of them.
const BATCHES: usize = 11;

/// Single calls are timed at most so many times: their times are kept.
const MOST_CALLS: u64 = 1 << 20;

/// Bytes of the messages that are under way at a time in a stream, unless two are more than that.
const MOST_UNDER_WAY: usize = 16 << 20;

/// Part of the budget spent before anything counts.
pub(crate) const WARM_UP: f64 = 0.2;

/// What came out.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// Seconds per call, one per batch or call, in ascending order.
    pub(crate) seconds: Vec<f64>,
    /// Calls in all together.
    pub(crate) calls: u64,
    /// What was wrong with the result, if anything was.
    pub(crate) wrong: Option<String>,
}

impl Times {
    /// The middle batch or call.
    pub(crate) fn median(&self) -> f64 {
        self.seconds.get(self.seconds.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Measures in one world.
pub(crate) struct Measure<'a> {
    world: &'a World,
    budget: Duration,
    each: bool,
}

impl<'a> Measure<'a> {
    /// Spends about `budget` on each size; `each`: looks at the clock after each call, not after each batch.
    pub(crate) fn new(world: &'a World, budget: Duration, each: bool) -> Self {
        Self { world, budget, each }
    }

    /// Ranks 0 and 1 send a message to and fro; the time is half of the round trip. Others wait.
    pub(crate) fn ping_pong(&self, bytes: usize) -> Result<Times> {
        let rank = self.world.rank();
        let send = vec![marker(rank); bytes];
        let mut recv = vec![0u8; bytes];
        let mut times = self.times(rank == 0, || match rank {
            0 => {
                self.world.send(&send, 1, 0)?;
                self.world.recv(&mut recv, 1, 0).map(drop)
            }
            1 => {
                self.world.recv(&mut recv, 0, 0)?;
                self.world.send(&send, 0, 0)
            }
            _ => Ok(()),
        })?;
        times.seconds.iter_mut().for_each(|time| *time /= 2.0);
        if rank < 2 && recv.iter().any(|&byte| byte != marker(1 - rank)) {
            times.wrong =
                Some(format!("ping-pong of {bytes} bytes: rank {rank} received other bytes than were sent"));
        }
        Ok(times)
    }

    /// Rank 0 sends to rank 1, with several messages under way at a time; the time is that of one message.
    pub(crate) fn stream(&self, bytes: usize) -> Result<Times> {
        let rank = self.world.rank();
        let window = (MOST_UNDER_WAY / bytes.max(1)).clamp(2, 16);
        let send = vec![marker(0); bytes];
        let mut recv = vec![0u8; if rank == 1 { bytes * window } else { 0 }];
        let mut times = self.times(true, || match rank {
            0 => self.world.scope(|s| (0..window).try_for_each(|_| s.send(&send, 1, 0).map(drop))),
            1 => self
                .world
                .scope(|s| recv.chunks_exact_mut(bytes).try_for_each(|chunk| s.recv(chunk, 0, 0).map(drop))),
            _ => Ok(()),
        })?;
        times.seconds.iter_mut().for_each(|time| *time /= window as f64);
        times.calls *= window as u64;
        if recv.iter().any(|&byte| byte != marker(0)) {
            times.wrong = Some(format!("stream of {bytes} bytes: other bytes were received than were sent"));
        }
        Ok(times)
    }

    /// Every rank contributes 32-bit floats and receives their sums.
    pub(crate) fn all_reduce(&self, bytes: usize) -> Result<Times> {
        let (rank, size) = (self.world.rank(), self.world.size());
        // Small whole numbers: their sum is exact in any order.
        let own = |rank: usize| (rank % 64 + 1) as f32;
        let sum: f32 = (0..size).map(own).sum();
        let send = vec![own(rank); (bytes / size_of::<f32>()).max(1)];
        let mut recv = vec![0f32; send.len()];
        let mut times = self.times(true, || self.world.all_reduce_into(&send, &mut recv, Op::Sum))?;
        if let Some(wrong) = recv.iter().find(|&&value| value != sum) {
            times.wrong =
                Some(format!("all-reduce of {bytes} bytes: rank {rank} received {wrong} instead of {sum}"));
        }
        Ok(times)
    }

    /// `counts`: this rank's clock is one of those of which the slowest is taken.
    fn times(&self, counts: bool, mut call: impl FnMut() -> Result<()>) -> Result<Times> {
        let one = self.warm_up(&mut call)?;
        let all = (self.budget.as_secs_f64() / one) as u64;
        let (mut seconds, calls) = if self.each {
            let calls = self.agreed(all.clamp(BATCHES as u64, MOST_CALLS))?;
            (self.singles(calls, &mut call)?, calls)
        } else {
            let calls = self.agreed((all / BATCHES as u64).max(1))?;
            let batch = |_| self.batch(calls, &mut call).map(|took| took / calls as f64);
            ((0..BATCHES).map(batch).collect::<Result<_>>()?, calls * BATCHES as u64)
        };
        if !counts {
            seconds.fill(0.0);
        }
        self.world.all_reduce(&mut seconds, Op::Max)?;
        seconds.sort_by(f64::total_cmp);
        Ok(Times { seconds, calls, wrong: None })
    }

    /// Calls until connections, buffers and caches are as they will be; returns seconds per call.
    fn warm_up(&self, call: &mut impl FnMut() -> Result<()>) -> Result<f64> {
        let budget = self.budget.as_secs_f64() * WARM_UP;
        let (mut calls, mut spent) = (1u64, 0.0);
        loop {
            let took = self.batch(calls, call)?;
            spent += took;
            let more = if spent < budget { calls.saturating_mul(2) } else { 0 };
            match self.agreed(more)? {
                // The last and longest batch; a clock too coarse to see it counts as a nanosecond.
                0 => return Ok((took / calls as f64).max(1e-9)),
                next => calls = next,
            }
        }
    }

    fn batch(&self, calls: u64, call: &mut impl FnMut() -> Result<()>) -> Result<f64> {
        self.world.barrier()?;
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn singles(&self, calls: u64, call: &mut impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
        // Touched before: a page that is new costs as much as a call.
        let mut seconds = vec![f64::NAN; calls as usize];
        self.world.barrier()?;
        let mut last = Instant::now();
        for took in &mut seconds {
            call()?;
            let now = Instant::now();
            *took = (now - last).as_secs_f64();
            last = now;
        }
        Ok(seconds)
    }

    fn agreed(&self, mine: u64) -> Result<u64> {
        let mut value = [mine];
        self.world.broadcast(&mut value, 0)?;
        Ok(value.into_iter().next().unwrap_or(mine))
    }
}

/// The byte that a rank sends; never the one that an unused buffer holds.
fn marker(rank: usize) -> u8 {
    u8::try_from(rank % 100).unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_of_one_is_measured_in_full_and_checked() {
        let world = World::builder().world_size(1).build().unwrap();
        for each in [false, true] {
            let measure = Measure::new(&world, Duration::from_millis(20), each);
            let times = measure.all_reduce(64).unwrap();
            let samples = if each { times.calls as usize } else { BATCHES };
            assert_eq!((times.seconds.len(), times.wrong.clone()), (samples, None));
            assert!(times.calls >= BATCHES as u64 && times.median() > 0.0);
            assert!(times.seconds.is_sorted());
        }
    }
}
