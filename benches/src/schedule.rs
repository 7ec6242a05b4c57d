//! What every measuring program in Rust does alike: which sizes, how often, timed how, printed how.
//!
//! The rules stand in `benches/peers/README.md`, and `benches/peers/twin.c` keeps to them as well. A library
//! under test implements [`Ranks`] and hands over one closure per operation. Used by `src/bin/twin.rs`, and
//! by path in `peers/mpi-rs`, which is no member of this workspace.

use std::io::Write;
use std::time::{Duration, Instant};

/// The sizes measured, in bytes, as far as they lie within the bounds given.
pub const SIZES: [usize; 10] =
    [8, 64, 1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
const BATCHES: u64 = 15;
const FEWEST_BATCHES: u64 = 3;
const MOST_ITERATIONS: u64 = 1 << 22;
/// A batch of a long loop takes so many budgets.
const LONG_BATCH: f64 = 10.0;
const LARGEST_OF_LONG_LOOPS: usize = 1 << 10;
const WINDOW: usize = 64;
const SMALLEST_WINDOW: usize = 4;
const WINDOW_BYTES: usize = 64 << 20;
const LARGEST_OF_RATE: usize = 1 << 10;
/// Programs that are about calls rather than bytes.
const LARGEST_OF_SHAPES: usize = 1 << 20;
const LARGEST_IN_FLIGHT: usize = 64 << 10;
/// Collectives under way at once in [`Operation::InFlight`].
pub const IN_FLIGHT: usize = 32;
/// How many there are in [`Operation::Communicators`].
pub const COMMUNICATORS: usize = 16;
/// What each thread of [`Operation::Threads`] sends or receives before it is answered.
pub const PER_THREAD: usize = 1024;
/// A client of [`Operation::Server`] takes the tags below in turn.
pub const REQUEST_TAGS: u32 = 4;

/// Whatever ends a measurement: a wrong answer, a bad argument, an error of the library.
pub type Error = Box<dyn std::error::Error>;

/// The little that the schedule itself asks of the library under test.
pub trait Ranks {
    /// This rank.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Waits for all ranks.
    ///
    /// # Errors
    ///
    /// What the library says.
    fn barrier(&self) -> Result<(), Error>;
    /// Rank 0's numbers, on every rank.
    ///
    /// # Errors
    ///
    /// What the library says.
    fn of_first(&self, numbers: [u64; 2]) -> Result<[u64; 2], Error>;
    /// On rank 0: the largest number of any rank.
    ///
    /// # Errors
    ///
    /// What the library says.
    fn largest(&self, number: f64) -> Result<f64, Error>;
    /// On rank 0: the sum of all ranks' numbers.
    ///
    /// # Errors
    ///
    /// What the library says.
    fn total(&self, number: f64) -> Result<f64, Error>;
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "their names on the command line are in `NAMES`, their rules in the README")]
pub enum Operation {
    PingPong,
    Stream,
    Bidirectional,
    Rate,
    Barrier,
    Broadcast,
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    RootedBroadcast,
    Reduce,
    Gather,
    Scatter,
    Communicators,
    Pipeline,
    Server,
    Neighbours,
    InFlight,
    Average,
    /// By so many threads of each rank.
    Threads(usize),
}

const NAMES: [(&str, Operation); 23] = [
    ("pingpong", Operation::PingPong),
    ("stream", Operation::Stream),
    ("bidir", Operation::Bidirectional),
    ("rate", Operation::Rate),
    ("barrier", Operation::Barrier),
    ("bcast", Operation::Broadcast),
    ("allreduce", Operation::AllReduce),
    ("allgather", Operation::AllGather),
    ("reducescatter", Operation::ReduceScatter),
    ("alltoall", Operation::AllToAll),
    ("rootedbcast", Operation::RootedBroadcast),
    ("reduce", Operation::Reduce),
    ("gather", Operation::Gather),
    ("scatter", Operation::Scatter),
    ("communicators", Operation::Communicators),
    ("pipeline", Operation::Pipeline),
    ("server", Operation::Server),
    ("neighbours", Operation::Neighbours),
    ("inflight", Operation::InFlight),
    ("average", Operation::Average),
    ("threads1", Operation::Threads(1)),
    ("threads2", Operation::Threads(2)),
    ("threads4", Operation::Threads(4)),
];

impl Operation {
    /// Its name on the command line and in the output.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, operation)| *operation == self).map_or("", |(name, _)| name)
    }

    /// Whether ranks work in pairs.
    #[must_use]
    pub fn in_pairs(self) -> bool {
        matches!(self, Self::PingPong | Self::Stream | Self::Bidirectional | Self::Rate | Self::Threads(_))
    }

    /// The sizes at which it is measured within the bounds. Bounds that are the same multiple of 8 ask for that
    /// size, whether or not it is one of [`SIZES`].
    #[must_use]
    pub fn sizes(self, min: usize, max: usize) -> Vec<usize> {
        let largest = match self {
            Self::Rate | Self::Threads(_) => LARGEST_OF_RATE,
            Self::InFlight => LARGEST_IN_FLIGHT,
            Self::RootedBroadcast
            | Self::Reduce
            | Self::Gather
            | Self::Scatter
            | Self::Communicators
            | Self::Pipeline
            | Self::Server
            | Self::Neighbours => LARGEST_OF_SHAPES,
            _ => usize::MAX,
        };
        match self {
            Self::Barrier => vec![0],
            _ if min == max && min > 0 && min.is_multiple_of(8) && min <= largest => vec![min],
            _ => SIZES.into_iter().filter(|&size| (min..=max).contains(&size) && size <= largest).collect(),
        }
    }

    /// Whether one rank may run ahead of another for as long as a batch lasts, with messages so small that thousands
    /// lie waiting then. What that costs shows only in long batches.
    #[must_use]
    pub fn is_long_loop(self, bytes: usize) -> bool {
        let ahead = matches!(
            self,
            Self::RootedBroadcast | Self::Reduce | Self::Gather | Self::Scatter | Self::Pipeline
        );
        ahead && bytes <= LARGEST_OF_LONG_LOOPS
    }

    /// Messages (requests, collectives) of one iteration of so many ranks; what is reported is the time of one.
    #[must_use]
    pub fn messages(self, bytes: usize, ranks: usize) -> usize {
        match self {
            Self::PingPong => 2,
            Self::Stream | Self::Bidirectional | Self::Rate => window(bytes),
            Self::InFlight => IN_FLIGHT,
            Self::Threads(threads) => threads * PER_THREAD,
            Self::Server => ranks - 1,
            _ => 1,
        }
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// A world that meets once and ends.
    Empty,
    /// Operations, one after the other.
    Measure {
        /// In this order.
        operations: Vec<Operation>,
        /// Bounds of the sizes, both inclusive.
        sizes: (usize, usize),
        /// Time for one size.
        budget: Duration,
    },
}

impl Request {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    ///
    /// A sentence about what was given and what is expected.
    pub fn parse(arguments: &[String]) -> Result<Self, Error> {
        match arguments {
            [only] if only == "empty" => Ok(Self::Empty),
            [operations, min, max, budget] => {
                let operations = operations.split(',').map(named).collect::<Result<_, _>>()?;
                let budget = Duration::from_millis(budget.parse()?);
                Ok(Self::Measure { operations, sizes: (min.parse()?, max.parse()?), budget })
            }
            _ => Err("expected `empty`, or four arguments: <op,..> <min bytes> <max bytes> <milliseconds per size>"
            .into()),
        }
    }
}

fn named(name: &str) -> Result<Operation, Error> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation).ok_or_else(|| {
        let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("there is no operation {name:?}; there are {} and, alone, empty", known.join(", ")).into()
    })
}

/// Messages in flight at once.
#[must_use]
pub fn window(bytes: usize) -> usize {
    (WINDOW_BYTES / bytes.max(1)).clamp(SMALLEST_WINDOW, WINDOW)
}

/// Elements of one rank's block of a vector of so many bytes of f32, rounded up.
#[must_use]
pub fn block(bytes: usize, size: usize) -> usize {
    (bytes / 4).div_ceil(size)
}

/// The sum over all ranks of rank + 1.
#[must_use]
pub fn sum_of_ranks(size: usize) -> f32 {
    (size * (size + 1) / 2) as f32
}

/// Compares every element, when asked to.
///
/// # Errors
///
/// The first element that is wrong.
pub fn verify<T: PartialEq + std::fmt::Debug>(
    check: bool,
    data: &[T],
    expected: impl Fn(usize) -> T,
) -> Result<(), Error> {
    if check && let Some((i, x)) = data.iter().enumerate().find(|(i, x)| **x != expected(*i)) {
        return Err(format!("element {i} is {x:?}, not {:?}", expected(i)).into());
    }
    Ok(())
}

/// Batches, and iterations of each, that fill the budget; of a long loop, few long ones.
fn plan(budget: f64, estimate: f64, long: bool) -> [u64; 2] {
    if long {
        let fit = (LONG_BATCH * budget / estimate.max(1e-9)) as u64;
        return [FEWEST_BATCHES, fit.clamp(1, MOST_ITERATIONS)];
    }
    let fit = budget / estimate.max(1e-9);
    if fit < BATCHES as f64 {
        [(fit as u64).max(FEWEST_BATCHES), 1]
    } else {
        [BATCHES, ((fit / BATCHES as f64) as u64).min(MOST_ITERATIONS)]
    }
}

/// The middle of sorted numbers.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

/// Checks one iteration, warms up, times batches of `iteration` and prints the line of rank 0.
///
/// `iteration` is told whether to compare what it received.
///
/// # Errors
///
/// The first error of `iteration` or of the library.
pub fn measure<R: Ranks>(
    ranks: &R,
    (operation, bytes): (Operation, usize),
    budget: Duration,
    mut iteration: impl FnMut(bool) -> Result<(), Error>,
) -> Result<(), Error> {
    let budget = budget.as_secs_f64();
    // A wildcard must not take what somebody sends who is done with the size before.
    ranks.barrier()?;
    iteration(true).map_err(|error| format!("{} of {bytes} bytes: {error}", operation.name()))?;
    let mut times = 1;
    while ranks.of_first([
        u64::from(batch(ranks, times, &mut iteration)? < budget / 20.0 && times < MOST_ITERATIONS),
        0,
    ])?[0]
        == 1
    {
        times *= 2;
    }
    let estimate = batch(ranks, times, &mut iteration)? / times as f64;
    let [batches, times] = ranks.of_first(plan(budget, estimate, operation.is_long_loop(bytes)))?;
    let mut seconds = Vec::with_capacity(batches as usize);
    let (wire, used) = (loopback(), processor());
    for _ in 0..batches {
        let slowest = batch(ranks, times, &mut iteration)?;
        seconds.push(slowest / (times * operation.messages(bytes, ranks.size()) as u64) as f64);
    }
    let (used, after) = (processor() - used, loopback());
    let used = ranks.total(used)?;
    if ranks.rank() == 0 {
        seconds.sort_by(f64::total_cmp);
        let mut out = std::io::stdout().lock();
        write!(out, "{},{bytes},{},", operation.name(), batches * times)?;
        write!(out, "{:e},{:e},{used:.6}", median(&seconds), seconds[0])?;
        if let (Some((bytes, packets)), Some((more_bytes, more_packets))) = (wire, after) {
            write!(out, ",{},{}", more_bytes.wrapping_sub(bytes), more_packets.wrapping_sub(packets))?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}

/// On rank 0: seconds of the slowest rank for so many iterations.
fn batch<R: Ranks>(
    ranks: &R,
    times: u64,
    iteration: &mut impl FnMut(bool) -> Result<(), Error>,
) -> Result<f64, Error> {
    ranks.barrier()?;
    let start = Instant::now();
    for _ in 0..times {
        iteration(false)?;
    }
    ranks.largest(start.elapsed().as_secs_f64())
}

/// Processor time of this process so far, user and system, all threads.
fn processor() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Bytes and packets that have crossed the loopback interface.
fn loopback() -> Option<(u64, u64)> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/class/net/lo/statistics/{name}")).ok()?;
        text.trim().parse().ok()
    };
    Some((read("tx_bytes")?, read("tx_packets")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Request, Error> {
        Request::parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_line_is_read_or_refused_with_what_is_expected() {
        let read = request("stream,allreduce 8 1024 5").map_err(|error| error.to_string());
        let operations = vec![Operation::Stream, Operation::AllReduce];
        let budget = Duration::from_millis(5);
        assert_eq!(read, Ok(Request::Measure { operations, sizes: (8, 1024), budget }));
        assert_eq!(request("empty").map_err(|error| error.to_string()), Ok(Request::Empty));
        let refused = |text| request(text).map_or_else(|error| error.to_string(), |read| format!("{read:?}"));
        assert!(refused("stream,emptiness 8 8 1").contains("no operation \"emptiness\"; there are pingpong"));
        assert!(refused("stream 8").contains("expected `empty`, or four arguments"));
        assert!(refused("stream 8 x 1").contains("invalid digit"));
    }

    #[test]
    fn the_budget_is_filled_and_never_with_less_than_three_batches() {
        assert_eq!(plan(0.150, 0.001, false), [15, 10]);
        assert_eq!(plan(0.150, 0.015, false), [10, 1]);
        assert_eq!(plan(0.150, 4.0, false), [3, 1]);
        assert_eq!(plan(0.150, 0.0, false), [15, MOST_ITERATIONS]);
    }

    #[test]
    fn small_messages_of_a_rank_that_runs_ahead_go_in_few_long_batches() {
        assert!(Operation::Reduce.is_long_loop(1024) && Operation::Pipeline.is_long_loop(8));
        assert!(!Operation::Reduce.is_long_loop(2048) && !Operation::Broadcast.is_long_loop(8));
        assert_eq!(plan(0.125, 0.001, true), [3, 1250]);
        assert_eq!(plan(0.125, 4.0, true), [3, 1]);
        assert_eq!(plan(0.125, 0.0, true), [3, MOST_ITERATIONS]);
    }

    #[test]
    fn windows_and_blocks_are_those_of_the_c_twin() {
        assert_eq!([8, 1 << 20, 4 << 20, 64 << 20].map(window), [64, 64, 16, 4]);
        assert_eq!(
            [(8, 2), (8, 4), (64, 4), (1024, 3)].map(|(bytes, size)| block(bytes, size)),
            [1, 1, 4, 86]
        );
    }

    #[test]
    fn each_operation_has_its_sizes() {
        assert_eq!(Operation::Barrier.sizes(1024, 2048), [0]);
        assert_eq!(Operation::Rate.sizes(0, 1 << 30), [8, 64, 1024]);
        assert_eq!(Operation::AllToAll.sizes(64, 20_000), [64, 1024, 16_384]);
        assert_eq!(Operation::Gather.sizes(1 << 18, 1 << 30), [1 << 18, 1 << 20]);
        assert_eq!(Operation::InFlight.sizes(1 << 16, 1 << 30), [1 << 16]);
        assert_eq!(Operation::Average.sizes(1 << 24, 1 << 30), [1 << 24, 1 << 26]);
    }

    #[test]
    fn an_iteration_has_as_many_messages_as_in_the_c_twin() {
        let messages = |operation: Operation| operation.messages(8, 4);
        assert_eq!(messages(Operation::PingPong), 2);
        assert_eq!(messages(Operation::Rate), 64);
        assert_eq!(messages(Operation::InFlight), 32);
        assert_eq!(messages(Operation::Server), 3);
        assert_eq!(messages(Operation::Gather), 1);
        assert_eq!(messages(Operation::Threads(4)), 4096);
    }

    #[test]
    fn bounds_that_are_the_same_ask_for_that_size() {
        assert_eq!(Operation::PingPong.sizes(8192, 8192), [8192]);
        assert_eq!(Operation::Barrier.sizes(8192, 8192), [0]);
        assert!(Operation::Rate.sizes(8192, 8192).is_empty());
        assert!(Operation::PingPong.sizes(8190, 8190).is_empty());
        assert!(Operation::PingPong.sizes(0, 0).is_empty());
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!([median(&[1.0, 2.0, 9.0]), median(&[1.0, 2.0, 4.0, 9.0])], [2.0, 3.0]);
    }

    #[test]
    fn a_wrong_element_is_named_only_when_compared() {
        assert!(verify(false, &[1, 2], |_| 1).is_ok());
        let error = verify(true, &[1, 2], |_| 1).map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(error, "element 1 is 2, not 1");
    }
}
